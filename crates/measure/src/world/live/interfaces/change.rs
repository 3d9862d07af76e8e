//! What is the difference between two lists of interfaces, in words, and does it make a stable run
//! invalid?

use super::{Interface, InterfaceChange, InterfaceKind};

/// What changed from `before` to `after`, one entry per interface.
pub(super) fn between(before: &[Interface], after: &[Interface]) -> Vec<InterfaceChange> {
    let mut changes = Vec::new();
    for old in before {
        match after.iter().find(|new| new.index == old.index) {
            Some(new) => changes.extend(of_one(old, new)),
            None => {
                let mut interface = old.clone();
                interface.running = false;
                interface.addresses.clear();
                interface.default_route = [false; 2];
                interface.wifi = None;
                let what = format!("{} is gone", old.name);
                changes.push(InterfaceChange { interface, what });
            }
        }
    }
    let is_new = |new: &&Interface| before.iter().all(|old| old.index != new.index);
    changes.extend(after.iter().filter(is_new).map(|new| InterfaceChange {
        interface: new.clone(),
        what: format!("{} appeared", new.name),
    }));
    changes
}

/// The difference of one interface. The signal is no change.
fn of_one(old: &Interface, new: &Interface) -> Option<InterfaceChange> {
    let mut words: Vec<String> = Vec::new();
    if old.name != new.name {
        words.push(format!("was called {} before", old.name));
    }
    match (old.running, new.running) {
        (true, false) => words.push("lost its carrier or was taken down".to_owned()),
        (false, true) => words.push("is up and has a carrier".to_owned()),
        _ => {}
    }
    let (lost, gained) = (
        missing(&old.addresses, &new.addresses),
        missing(&new.addresses, &old.addresses),
    );
    match (lost, gained) {
        (0, 0) => {}
        (0, _) => words.push("got an address".to_owned()),
        (_, 0) if new.addresses.is_empty() => words.push("lost its last address".to_owned()),
        (_, 0) => words.push("lost an address".to_owned()),
        (_, _) => words.push("got other addresses".to_owned()),
    }
    for (family, version) in [(0, "IPv4"), (1, "IPv6")] {
        match (old.default_route[family], new.default_route[family]) {
            (true, false) => words.push(format!("lost its {version} default route")),
            (false, true) => words.push(format!("got an {version} default route")),
            _ => {}
        }
    }
    match (&old.wifi, &new.wifi) {
        (Some(_), None) => words.push("left its network".to_owned()),
        (None, Some(_)) => words.push("joined a network".to_owned()),
        (Some(a), Some(b)) if a.ssid != b.ssid => {
            words.push("went from one network to another".to_owned());
        }
        (Some(a), Some(b)) if a.bssid != b.bssid => {
            words.push("went to another access point of its network".to_owned());
        }
        _ => {}
    }
    (!words.is_empty()).then(|| InterfaceChange {
        what: format!("{} {}", new.name, words.join(", ")),
        interface: new.clone(),
    })
}

fn missing<T: PartialEq>(from: &[T], there: &[T]) -> usize {
    from.iter().filter(|item| !there.contains(item)).count()
}

/// Whether the step from `old` (`None`: it was not there) to `new` changes what is available to a
/// run: an interface comes, goes or loses a family, a default route or its network. Another access
/// point of the same network does not, nor another address beside the first, nor an interface
/// that no one walks with, unless a path uses it (`is_path`).
pub fn matters(old: Option<&Interface>, new: &Interface, is_path: bool) -> bool {
    let relevant = |i: &Interface| is_path || i.kind != InterfaceKind::Other;
    if !relevant(new) && !old.is_some_and(relevant) {
        return false;
    }
    let available = |i: &Interface| {
        let usable = i.running && !i.addresses.is_empty();
        let network = i.wifi.as_ref().map(|wifi| wifi.ssid.clone());
        usable.then(|| (i.families(), i.default_route, network))
    };
    old.and_then(available) != available(new)
}

#[cfg(test)]
mod tests {
    use super::super::Wifi;
    use super::*;

    fn wlan() -> Interface {
        Interface {
            index: 3,
            name: "wlan0".to_owned(),
            kind: InterfaceKind::Wifi,
            running: true,
            addresses: vec![[192, 0, 2, 7].into()],
            default_route: [true, false],
            wifi: Some(wifi("home", "02:00:00:00:00:01")),
        }
    }

    fn wifi(ssid: &str, bssid: &str) -> Wifi {
        Wifi {
            ssid: ssid.to_owned(),
            bssid: bssid.to_owned(),
            signal_dbm: Some(-50.0),
        }
    }

    fn docker() -> Interface {
        Interface {
            index: 9,
            name: "docker0".to_owned(),
            kind: InterfaceKind::Other,
            wifi: None,
            ..wlan()
        }
    }

    #[test]
    fn changes_are_told_in_words_and_weighed() {
        let down = Interface {
            running: false,
            default_route: [false; 2],
            wifi: None,
            ..wlan()
        };
        let weaker = Interface {
            wifi: Some(Wifi {
                signal_dbm: Some(-80.0),
                ..wifi("home", "02:00:00:00:00:01")
            }),
            ..wlan()
        };
        let roamed = Interface {
            wifi: Some(wifi("home", "02:00:00:00:00:02")),
            ..wlan()
        };
        let elsewhere = Interface {
            wifi: Some(wifi("café", "02:00:00:00:00:03")),
            ..wlan()
        };
        let two = Interface {
            addresses: vec![[192, 0, 2, 7].into(), [192, 0, 2, 8].into()],
            ..wlan()
        };
        let dual = Interface {
            addresses: vec![[192, 0, 2, 7].into(), "2001:db8::7".parse().unwrap()],
            ..wlan()
        };
        let mut told = Vec::new();
        for new in [&weaker, &down, &roamed, &elsewhere, &two, &dual] {
            let changes = between(&[wlan()], std::slice::from_ref(new));
            let words: Vec<&str> = changes.iter().map(|c| c.what.as_str()).collect();
            let matters = matters(Some(&wlan()), new, true);
            told.push(format!("{matters}: {}", words.join("; ")));
        }
        insta::assert_snapshot!(told.join("\n"), @r"
        false: 
        true: wlan0 lost its carrier or was taken down, lost its IPv4 default route, left its network
        false: wlan0 went to another access point of its network
        true: wlan0 went from one network to another
        false: wlan0 got an address
        true: wlan0 got an address
        ");
    }

    #[test]
    fn interfaces_come_and_go() {
        let gone = between(&[wlan(), docker()], &[docker()]);
        assert_eq!(gone.len(), 1);
        assert_eq!(gone[0].what, "wlan0 is gone");
        assert!(!gone[0].interface.running && gone[0].interface.addresses.is_empty());
        assert!(matters(Some(&wlan()), &gone[0].interface, false));
        let came = between(&[docker()], &[docker(), wlan()]);
        assert_eq!(came[0].what, "wlan0 appeared");
        assert!(matters(None, &came[0].interface, false));
    }

    #[test]
    fn containers_do_not_matter_unless_a_path_runs_over_them() {
        assert!(!matters(None, &docker(), false));
        assert!(matters(None, &docker(), true));
    }
}
