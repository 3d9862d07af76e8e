//! How packets move between the hosts: one thread that reads every device, asks the link
//! models when each packet is due, and delivers it then.

use super::device::Device;
use super::ground::Devices;
use super::lateness::Histogram;
use super::stop::StopFlag;
use super::wait::Wait;
use crate::clock::Clock;
use crate::lane::{DEVICE_DOWN, Lane, PacketBuf, STATE_PERIOD};
use crate::recording::{Log, PacketObservation, Sink};
use model::manifest::Timing;
use model::record::{Event, EventKind};
use model::{Direction, PathIndex, Scenario, Seed, Time};
use network::link::Exit;
use network::topology::{self, TopologyError, Traces};
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// Observations that are handed to the log at once.
const OBSERVATIONS: usize = 256;
/// Buffers that are kept for packets to come, 2 KiB each.
const SPARE_BUFFERS: usize = 1_024;

/// Why the emulator ended early.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The links could not be built.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// There are more or fewer devices than paths.
    #[error("the scenario has {paths} paths, and there are devices for {devices}")]
    Devices {
        /// Paths of the scenario.
        paths: usize,
        /// Devices of the client.
        devices: usize,
    },
    /// A device, a timer or the wait for both failed.
    #[error("the emulator could not {task}: {source}")]
    System {
        /// What was tried.
        task: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

pub(super) fn failed<E: Into<io::Error>>(task: &'static str) -> impl FnOnce(E) -> EmulatorError {
    move |source| EmulatorError::System {
        task,
        source: source.into(),
    }
}

/// What the emulator may be told apart from the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// For how long before an event it waits without sleeping: that takes the scheduler's
    /// latency out of the delay, and the processor's time. At most 100 us are useful.
    pub spin: Duration,
    /// The declared bound on the 99th percentile of the lateness.
    pub bound: Duration,
    /// Packets that are read from one device before the others get their turn.
    pub batch: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            spin: Duration::from_micros(50),
            bound: Duration::from_micros(500),
            batch: 32,
        }
    }
}

/// The emulator of one run.
///
/// It takes a packet in when it reads it, and delivers it when its link says so. A wake-up
/// that comes late delivers what was due in the order of the due times, and counts how late
/// each packet was; the links never learn of it.
pub struct Emulator {
    devices: Vec<Device>,
    /// The clients' addresses, in the order of the paths.
    addresses: Vec<IpAddr>,
    /// Up and down of the first path, up and down of the second ...
    lanes: Vec<Lane>,
    clock: Clock,
    log: Option<Log>,
    settings: Settings,
    spare: Vec<PacketBuf>,
    observations: Vec<PacketObservation>,
    lateness: Histogram,
    /// Packets that belong to no path.
    strays: u64,
}

impl Emulator {
    /// An emulator of the scenario's links between `devices`. Without a log nothing is
    /// recorded.
    pub fn new(
        scenario: &Scenario,
        seed: Seed,
        traces: &Traces,
        devices: Devices,
        clock: Clock,
        log: Option<Log>,
        settings: Settings,
    ) -> Result<Emulator, EmulatorError> {
        let Devices { clients, server } = devices;
        if clients.len() != scenario.paths.len() {
            return Err(EmulatorError::Devices {
                paths: scenario.paths.len(),
                devices: clients.len(),
            });
        }
        let mut lanes = Vec::new();
        for (index, path) in scenario.paths.iter().enumerate() {
            let index = PathIndex(index);
            let links = topology::build(scenario, index, seed, traces)?;
            for (link, direction) in [(links.up, Direction::Up), (links.down, Direction::Down)] {
                lanes.push(Lane::new(link, index, path.name.clone(), direction));
            }
        }
        let (addresses, mut devices): (Vec<_>, Vec<_>) = clients.into_iter().unzip();
        devices.push(server);
        Ok(Emulator {
            devices,
            addresses,
            lanes,
            clock,
            log,
            settings,
            spare: Vec::new(),
            observations: Vec::new(),
            lateness: Histogram::new(),
            strays: 0,
        })
    }

    /// Moves packets until `stop` is raised; to be called on a thread of its own. Packets that
    /// are inside then are recorded as such.
    pub fn run(mut self, stop: &StopFlag) -> Result<Timing, EmulatorError> {
        crate::priority::prefer_promptness();
        // Sleeps end when they should and not up to 50 us later (PR_SET_TIMERSLACK(2const)).
        // SAFETY: no pointer is passed.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        let mut wait = Wait::new(&self.devices, stop, self.clock)?;
        let mut changes: Vec<Time> = self.lanes.iter().flat_map(|l| l.link.changes()).collect();
        changes.sort_unstable();
        changes.dedup();
        let mut changes = changes.into_iter().peekable();
        let mut next_states = Time::ZERO;
        loop {
            let now = self.clock.now();
            let mut states = now >= next_states;
            while changes.next_if(|change| *change <= now).is_some() {
                states = true;
            }
            if states {
                self.log_states(now);
                while next_states <= now {
                    next_states += STATE_PERIOD;
                }
            }
            self.deliver()?;

            let due = self.lanes.iter().filter_map(|lane| lane.link.poll_at());
            let due = due
                .chain(changes.peek().copied())
                .chain([next_states])
                .min();
            let until = due.filter(|_| !wait.any_ready());
            if wait.wait(until, self.settings.spin, &self.devices)? {
                break;
            }
            for device in 0..self.devices.len() {
                if wait.ready[device] && !self.receive(device)? {
                    wait.ready[device] = false;
                }
            }
        }
        self.finish()
    }

    /// Reads a batch; `true` when there may be more.
    fn receive(&mut self, device: usize) -> Result<bool, EmulatorError> {
        for _ in 0..self.settings.batch {
            let mut buffer = self.spare.pop().unwrap_or_else(PacketBuf::new);
            let received = self.devices[device].recv(&mut buffer.bytes[..]);
            let Some(length) = received.map_err(failed("read a packet"))? else {
                self.spare.push(buffer);
                return Ok(false);
            };
            buffer.length = length;
            match self.lane_of(device, buffer.packet()) {
                Some(lane) => {
                    let now = self.clock.now();
                    self.lanes[lane].push(now, buffer, self.log.is_some());
                }
                None => {
                    self.strays += 1;
                    self.spare.push(buffer);
                }
            }
        }
        Ok(true)
    }

    /// Which lane a packet takes that was read from a device: the client's interface says which
    /// path, and for the server the destination address does.
    fn lane_of(&self, device: usize, packet: &[u8]) -> Option<usize> {
        let destination = destination(packet)?;
        if device < self.addresses.len() {
            return Some(2 * device);
        }
        let path = self.addresses.iter().position(|a| *a == destination)?;
        Some(2 * path + 1)
    }

    /// Delivers what is due, lane by lane, each lane in the order of its due times.
    fn deliver(&mut self) -> Result<(), EmulatorError> {
        let server = self.devices.len() - 1;
        for lane in &mut self.lanes {
            let device = match lane.direction {
                Direction::Up => &self.devices[server],
                Direction::Down => &self.devices[lane.path.0],
            };
            let mut now = self.clock.now();
            while let Some(exit) = lane.link.poll(now) {
                let mut refused = None;
                if let Exit::Delivered { packet, at } = &exit {
                    self.lateness.add(self.clock.now().since(*at));
                    if let Err(error) = device.send(packet.payload.packet()) {
                        let reason = refusal(&error).ok_or(error);
                        refused = Some(reason.map_err(failed("deliver a packet"))?);
                    }
                }
                if self.log.is_some() {
                    self.observations.push(lane.observe(&exit, refused).kept());
                }
                let (Exit::Delivered { packet, .. } | Exit::Dropped { packet, .. }) = exit;
                if self.spare.len() < SPARE_BUFFERS {
                    self.spare.push(packet.payload);
                }
                now = self.clock.now();
                if self.observations.len() >= OBSERVATIONS {
                    flush(&mut self.observations, &self.log);
                }
            }
        }
        Ok(())
    }

    fn log_states(&mut self, now: Time) {
        if let Some(log) = &mut self.log {
            for lane in &mut self.lanes {
                lane.log_state(now, log);
            }
        }
        flush(&mut self.observations, &self.log);
    }

    fn finish(mut self) -> Result<Timing, EmulatorError> {
        let timing = self.lateness.timing(self.settings.bound);
        let now = self.clock.now();
        self.log_states(now);
        let Some(log) = &mut self.log else {
            return Ok(timing);
        };
        for lane in &mut self.lanes {
            log.packets(
                lane.remaining()
                    .iter()
                    .map(PacketObservation::kept)
                    .collect(),
            );
        }
        let mut lost = 0;
        for device in &mut self.devices {
            lost += device.lost().map_err(failed("count lost packets"))?;
        }
        let counts = [
            (lost, "were lost between a host and the emulator"),
            (self.strays, "belonged to no path and were dropped"),
        ];
        for (count, what) in counts {
            if count > 0 {
                let detail = format!("{count} packets {what}");
                log.event(Event::new(now, EventKind::Note, detail));
            }
        }
        Ok(timing)
    }
}

/// Where an IP packet goes (RFC 791, section 3.1, and RFC 8200, section 3).
pub(crate) fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => Some(IpAddr::from(*packet.get(16..)?.first_chunk::<4>()?)),
        6 => Some(IpAddr::from(*packet.get(24..)?.first_chunk::<16>()?)),
        _ => None,
    }
}

fn flush(observations: &mut Vec<PacketObservation>, log: &Option<Log>) {
    if let (Some(log), false) = (log, observations.is_empty()) {
        let room = Vec::with_capacity(OBSERVATIONS);
        log.packets(std::mem::replace(observations, room));
    }
}

/// Why a device refused a packet, when that is the packet's end and not the emulator's.
fn refusal(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error()? {
        libc::ENOBUFS | libc::EAGAIN | libc::ENOMEM => Some("device-full"),
        // TUN answers EIO, and a packet socket ENETDOWN or ENXIO.
        libc::ENETDOWN | libc::EIO | libc::ENXIO | libc::ENODEV => Some(DEVICE_DOWN),
        libc::EMSGSIZE | libc::EINVAL => Some("device-refused"),
        _ => None,
    }
}
