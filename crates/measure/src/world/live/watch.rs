//! What happens to the host's interfaces during a test, who is told, and what ends the runs?

use super::interfaces::change::matters;
use super::interfaces::wifi::Nl80211;
use super::tee::Tee;
use super::{Interface, InterfaceChange, LiveRecord, Test, Until};
use crate::Clock;
use crate::emulator::PathChangeSender;
use crate::failure::PathChange;
use crate::host::Deadline;
use crate::recording::Sink;
use model::live::Ended;
use model::record::{Event, EventKind, LinkState};
use model::{Direction, PathIndex, PathKind, Side, Time};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How often the state of the interfaces is written down when nothing changes.
const STATE_PERIOD: Duration = Duration::from_secs(1);
/// How soon a raised stop flag, or the end of all runs, is noticed.
const TICK: Duration = Duration::from_millis(20);
/// How long the runs go on after the Wi-Fi is lost: what the transports make of it is what a walk is
/// for, and an answer that comes within this time is a stall that ended.
pub const AFTER_WIFI: Duration = Duration::from_secs(3);

/// Why the runs ended before their time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// As in the manifest.
    pub ended: Ended,
    /// Why the runs do not count.
    pub invalid: Option<String>,
}

/// What the watcher holds of one run.
pub struct Watched {
    /// Where its rows go.
    pub tee: Tee,
    /// When it ends.
    pub deadline: Deadline,
    /// Where it learns of its paths.
    pub changes: PathChangeSender,
    /// Whether it is over, and no row is welcome any more.
    pub over: Arc<AtomicBool>,
}

/// Watches the interfaces for all runs of a test.
pub struct Watcher<'t> {
    test: &'t Test,
    clock: Clock,
    known: Vec<Interface>,
    /// Whether each path is usable.
    up: Vec<bool>,
    signals: Vec<Option<f64>>,
    wifi: Option<Nl80211>,
    runs: Vec<Watched>,
    verdict: &'t OnceLock<Verdict>,
    watch: Sender<LiveRecord>,
}

impl<'t> Watcher<'t> {
    /// A watcher for `runs` on a host with the interfaces `known`; all paths are usable now.
    pub fn new(
        test: &'t Test,
        clock: Clock,
        known: Vec<Interface>,
        runs: Vec<Watched>,
        verdict: &'t OnceLock<Verdict>,
        watch: Sender<LiveRecord>,
    ) -> Watcher<'t> {
        let has_wifi = test.paths.iter().any(|p| p.kind == PathKind::Wifi);
        Watcher {
            test,
            clock,
            known,
            up: vec![true; test.paths.len()],
            signals: vec![None; test.paths.len()],
            wifi: has_wifi.then(Nl80211::open).flatten(),
            runs,
            verdict,
            watch,
        }
    }

    /// Goes on until `all_over` says so.
    pub fn run(
        mut self,
        changes: &Receiver<InterfaceChange>,
        stop: &AtomicBool,
        all_over: impl Fn() -> bool,
    ) {
        let mut state_at = Time::ZERO;
        while !all_over() {
            let now = self.clock.now();
            if now >= state_at {
                self.listen();
                self.write_states(now);
                state_at = now + STATE_PERIOD;
            }
            if stop.load(Ordering::Relaxed) {
                self.end(Ended::Stopped, None, now);
            }
            match changes.recv_timeout(TICK) {
                Ok(change) => self.take_in(change),
                Err(RecvTimeoutError::Timeout) => {}
                // The monitor is there as long as the test: a bug, and no reason to spin.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
            }
        }
    }

    fn take_in(&mut self, change: InterfaceChange) {
        let now = self.clock.now();
        let InterfaceChange { interface, what } = change;
        let place = self.known.iter().position(|i| i.index == interface.index);
        let before = place.map(|place| self.known[place].clone());
        match place {
            Some(place) => self.known[place] = interface.clone(),
            None => self.known.push(interface.clone()),
        }
        let paths = &self.test.paths;
        let of_interface = (0..paths.len()).filter(|i| paths[*i].interface == interface.index);
        let of_interface: Vec<usize> = of_interface.collect();
        for &path in &of_interface {
            self.path_changed(now, path, &interface, &what);
        }
        self.judge(
            now,
            before.as_ref(),
            &interface,
            &what,
            !of_interface.is_empty(),
        );
    }

    /// A path's interface changed: tells the runs, and writes it down.
    fn path_changed(&mut self, now: Time, path: usize, interface: &Interface, what: &str) {
        let up = interface.carries(self.test.paths[path].address);
        let kind = match (self.up[path], up) {
            (true, false) => EventKind::PathDown,
            (false, true) => EventKind::PathUp,
            _ => EventKind::Note,
        };
        self.up[path] = up;
        for run in self.running() {
            run.tee.clone().event(Event {
                side: Some(Side::Client),
                path: Some(self.test.paths[path].name.clone()),
                ..Event::new(now, kind, what)
            });
            if kind != EventKind::Note {
                let path = PathIndex(path);
                run.changes.send(PathChange { path, up });
            }
        }
        if kind != EventKind::Note {
            self.write_states(now);
        }
    }

    /// Whether the change ends the runs.
    fn judge(
        &self,
        now: Time,
        before: Option<&Interface>,
        interface: &Interface,
        what: &str,
        is_path: bool,
    ) {
        match &self.test.until {
            Until::Time => {}
            Until::InterfacesChange => {
                if matters(before, interface, is_path) {
                    let reason = format!("the interfaces changed: {what}");
                    self.end(Ended::InterfacesChanged, Some(reason), now);
                }
            }
            Until::WifiLost(name) => {
                let paths = &self.test.paths;
                let Some(path) = paths.iter().position(|p| p.name == *name) else {
                    return;
                };
                if paths[path].interface != interface.index {
                    return;
                }
                let ssid = |i: &Interface| i.wifi.as_ref().map(|wifi| wifi.ssid.clone());
                let (old, new) = (before.and_then(ssid), ssid(interface));
                let another = old.is_some() && new.is_some() && old != new;
                if another {
                    self.end(Ended::WifiChanged, None, now + AFTER_WIFI);
                } else if !self.up[path] {
                    self.end(Ended::WifiLost, None, now + AFTER_WIFI);
                }
            }
        }
    }

    /// Ends all runs at `at`; the first verdict stands.
    fn end(&self, ended: Ended, invalid: Option<String>, at: Time) {
        // A user who stops what is about to end is heard all the same.
        let _ = self.verdict.set(Verdict { ended, invalid });
        for run in self.running() {
            run.deadline.bring_forward(at);
        }
    }

    fn running(&self) -> impl Iterator<Item = &Watched> {
        let is_running = |run: &&Watched| !run.over.load(Ordering::Relaxed);
        self.runs.iter().filter(is_running)
    }

    /// Asks each Wi-Fi for its signal.
    fn listen(&mut self) {
        let time_us = self.clock.now().as_micros();
        let Some(wifi) = &mut self.wifi else {
            return;
        };
        for (path, signal) in self.test.paths.iter().zip(&mut self.signals) {
            if path.kind != PathKind::Wifi {
                continue;
            }
            *signal = wifi.signal_dbm(path.interface);
            if let Some(signal_dbm) = *signal {
                // Who watches may have gone.
                let _ = self.watch.send(LiveRecord::Signal {
                    path: path.name.clone(),
                    time_us,
                    signal_dbm,
                });
            }
        }
    }

    /// A row of `links` for each path and direction.
    fn write_states(&self, now: Time) {
        for run in self.running() {
            let mut sink = run.tee.clone();
            for (index, path) in self.test.paths.iter().enumerate() {
                for direction in [Direction::Up, Direction::Down] {
                    sink.link(LinkState {
                        time_us: now.as_micros(),
                        path: path.name.clone(),
                        direction,
                        rate_bps: None,
                        delay_us: 0,
                        loss: 0.0,
                        up: self.up[index],
                        queue_bytes: 0,
                        signal_dbm: self.signals[index],
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{InterfaceKind, Wifi};
    use super::*;
    use crate::transport::LocalPath;
    use model::Name;
    use std::sync::mpsc::channel;

    fn wlan(ssid: &str, bssid: &str) -> Interface {
        Interface {
            index: 3,
            name: "wlan0".to_owned(),
            kind: InterfaceKind::Wifi,
            running: true,
            addresses: vec![[192, 0, 2, 7].into()],
            default_route: [true, false],
            wifi: Some(Wifi {
                ssid: ssid.to_owned(),
                bssid: bssid.to_owned(),
                signal_dbm: None,
            }),
        }
    }

    /// What comes of an interface that changes so.
    fn verdict(until: Until, changes: &[Interface]) -> Option<Verdict> {
        let path = |name: &str, index, host| LocalPath {
            name: Name::from(name),
            kind: PathKind::Wifi,
            address: [192, 0, 2, host].into(),
            interface: index,
        };
        let test = Test {
            runs: Vec::new(),
            server: ([192, 0, 2, 1], 443).into(),
            certificate_sha256: [0; 32],
            paths: vec![path("wifi", 3, 7), path("second", 4, 8)],
            until,
        };
        let verdict = OnceLock::new();
        let (watch, _watched) = channel();
        let (sender, receiver) = channel();
        let known = vec![wlan("home", "02:00:00:00:00:01")];
        let clock = Clock::start();
        let watcher = Watcher::new(&test, clock, known, Vec::new(), &verdict, watch);
        for interface in changes {
            let (interface, what) = (interface.clone(), "wlan0 changed".to_owned());
            let change = InterfaceChange { interface, what };
            sender.send(change).expect("the receiver is here");
        }
        let left = std::cell::Cell::new(changes.len() + 1);
        watcher.run(&receiver, &AtomicBool::new(false), || {
            left.set(left.get() - 1);
            left.get() == 0
        });
        verdict.into_inner()
    }

    #[test]
    fn a_walk_ends_with_its_wifi_and_not_with_an_access_point() {
        let ended = |changes: &[Interface]| {
            let until = Until::WifiLost(Name::from("wifi"));
            verdict(until, changes).map(|verdict| (verdict.ended, verdict.invalid))
        };
        let roamed = wlan("home", "02:00:00:00:00:02");
        let elsewhere = wlan("café", "02:00:00:00:00:03");
        let down = Interface {
            running: false,
            wifi: None,
            ..roamed.clone()
        };
        let readdressed = Interface {
            addresses: vec![[198, 51, 100, 7].into()],
            ..roamed.clone()
        };
        let other = Interface {
            index: 4,
            running: false,
            ..roamed.clone()
        };
        assert_eq!(ended(&[]), None);
        assert_eq!(ended(std::slice::from_ref(&roamed)), None);
        assert_eq!(ended(&[other]), None, "another path's interface");
        assert_eq!(
            ended(&[roamed.clone(), elsewhere]),
            Some((Ended::WifiChanged, None))
        );
        assert_eq!(ended(&[down]), Some((Ended::WifiLost, None)));
        assert_eq!(ended(&[readdressed]), Some((Ended::WifiLost, None)));
    }

    #[test]
    fn a_stable_run_is_invalid_by_what_matters() {
        let roamed = wlan("home", "02:00:00:00:00:02");
        let elsewhere = wlan("café", "02:00:00:00:00:03");
        assert_eq!(verdict(Until::InterfacesChange, &[roamed]), None);
        let changed = verdict(Until::InterfacesChange, std::slice::from_ref(&elsewhere));
        let changed = changed.expect("a verdict");
        assert_eq!(changed.ended, Ended::InterfacesChanged);
        let reason = changed.invalid.expect("a reason");
        assert_eq!(reason, "the interfaces changed: wlan0 changed");
        assert_eq!(verdict(Until::Time, &[elsewhere]), None);
    }
}
