//! How the failures that a host can see come about on the client, and who is told.

use super::attachment::Attachment;
use super::ground::Ground;
use super::namespace::NamespaceError;
use super::stop::StopFlag;
use crate::clock::Clock;
use crate::netlink::route::{RouteError, Routing};
use crate::recording::Log;
use model::record::{Event, EventKind};
use model::scenario::{Failure, FailureKind};
use model::{Direction, PathIndex, Scenario, Seed, Side, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc;

/// A path of the client's host came or went, as the host itself sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// Which path.
    pub path: PathIndex,
    /// Whether it is usable now.
    pub up: bool,
}

/// Tells of changes; cheap to clone.
#[derive(Clone, Debug)]
pub struct PathChangeSender {
    changes: mpsc::Sender<PathChange>,
    bell: Arc<EventFd>,
}

impl PathChangeSender {
    /// Tells the receiver, and wakes it.
    pub fn send(&self, change: PathChange) {
        // A receiver that is gone needs no news; a full counter is a bell that rings.
        let _ = self.changes.send(change);
        let _ = self.bell.write(1);
    }
}

/// Learns of changes; its descriptor is readable while there are some.
#[derive(Debug)]
pub struct PathChangeReceiver {
    changes: mpsc::Receiver<PathChange>,
    bell: Arc<EventFd>,
}

impl PathChangeReceiver {
    /// The changes since the last call, the oldest first.
    pub fn take(&mut self) -> Vec<PathChange> {
        // Silenced before the changes are read, so that none is missed.
        let _ = self.bell.read();
        self.changes.try_iter().collect()
    }
}

impl AsRawFd for PathChangeReceiver {
    fn as_raw_fd(&self) -> RawFd {
        self.bell.as_raw_fd()
    }
}

impl AsFd for PathChangeReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// A channel for changes of paths.
pub fn path_changes() -> io::Result<(PathChangeSender, PathChangeReceiver)> {
    let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
    let bell = Arc::new(EventFd::from_flags(flags)?);
    let (sender, receiver) = mpsc::channel();
    let sender = PathChangeSender {
        changes: sender,
        bell: Arc::clone(&bell),
    };
    let receiver = PathChangeReceiver {
        changes: receiver,
        bell,
    };
    Ok((sender, receiver))
}

/// Why a failure could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum FailureError {
    /// The client's namespace could not be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The client's network could not be changed.
    #[error("could not carry out the {kind} of path `{path}`: {source}")]
    Route {
        /// The failure.
        kind: &'static str,
        /// The path.
        path: String,
        /// The kernel's answer.
        source: RouteError,
    },
    /// The network of a namespace could not be opened.
    #[error(transparent)]
    Open(#[from] RouteError),
    /// A failure names a path that is not there.
    #[error("the scenario's failure number {index} names the path `{path}`, which does not exist")]
    NoSuchPath {
        /// The failure's place in the scenario, from 0.
        index: usize,
        /// The path it names.
        path: String,
    },
    /// The wait for the next failure failed.
    #[error("could not wait for the next failure: {0}")]
    Wait(io::Error),
}

/// The beginning or the end of a failure.
struct Step {
    at: Time,
    begins: bool,
    failure: Failure,
    path: PathIndex,
}

/// Carries out the scenario's failures at their times. Those a host can see change the client's
/// network; silent ones happen in the links, and are only written down here.
///
/// A repair restores address, routes and rule, as a host's network manager would.
pub struct FailureDriver {
    steps: Vec<Step>,
    attachments: Vec<Attachment>,
    client: Routing,
    emulator: Routing,
}

impl FailureDriver {
    /// The scenario's failures under `seed`, on the paths of `ground`.
    pub fn new(
        scenario: &Scenario,
        seed: Seed,
        ground: &Ground,
    ) -> Result<FailureDriver, FailureError> {
        let mut steps = Vec::new();
        for (index, failure) in scenario.failures.iter().enumerate() {
            let path = scenario.path_index(failure.path.as_str());
            let path = path.filter(|path| path.0 < ground.attachments.len());
            let path = path.ok_or_else(|| FailureError::NoSuchPath {
                index,
                path: failure.path.to_string(),
            })?;
            let ends = failure.repair(seed, index).map(|at| (at, false));
            for (at, begins) in [(failure.onset(seed, index), true)].into_iter().chain(ends) {
                steps.push(Step {
                    at,
                    begins,
                    failure: failure.clone(),
                    path,
                });
            }
        }
        steps.sort_by_key(|step| step.at);
        Ok(FailureDriver {
            steps,
            attachments: ground.attachments.clone(),
            client: ground.client.run(Routing::open)??,
            emulator: ground.emulator.run(Routing::open)??,
        })
    }

    /// Carries out one failure after the other until the last, or until `stop` is raised; to be
    /// called on a thread of its own.
    pub fn run(
        mut self,
        clock: Clock,
        log: Option<&Log>,
        changes: &PathChangeSender,
        stop: &StopFlag,
    ) -> Result<(), FailureError> {
        for step in std::mem::take(&mut self.steps) {
            if !sleep_until(step.at, clock, stop).map_err(FailureError::Wait)? {
                break;
            }
            let carried_out = self.carry_out(&step);
            carried_out.map_err(|source| FailureError::Route {
                kind: name(step.failure.kind),
                path: step.failure.path.to_string(),
                source,
            })?;
            let now = clock.now();
            if let Some(log) = log {
                log.event(event(&step, now, EventKind::Failure, describe(&step)));
            }
            if step.failure.kind.is_visible() {
                let up = !step.begins;
                if let Some(log) = log {
                    let (kind, detail) = match up {
                        true => (EventKind::PathUp, "the interface is usable again"),
                        false => (EventKind::PathDown, "the interface is not usable"),
                    };
                    log.event(event(&step, now, kind, detail.to_owned()));
                }
                changes.send(PathChange {
                    path: step.path,
                    up,
                });
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, step: &Step) -> Result<(), RouteError> {
        let FailureDriver {
            attachments,
            client,
            emulator,
            ..
        } = self;
        let attachment = &attachments[step.path.0];
        match (step.failure.kind, step.begins) {
            (FailureKind::SilentLoss, _) => Ok(()),
            (FailureKind::CarrierLoss, begins) => attachment.set_carrier(client, emulator, !begins),
            (FailureKind::InterfaceDown, true) => attachment.take_down(client),
            (FailureKind::AddressWithdrawn, true) => attachment.withdraw(client),
            (FailureKind::InterfaceDown | FailureKind::AddressWithdrawn, false) => {
                attachment.attach(client)
            }
        }
    }
}

/// Sleeps; `false` when `stop` was raised before.
fn sleep_until(at: Time, clock: Clock, stop: &StopFlag) -> io::Result<bool> {
    loop {
        let left = TimeSpec::from_duration(at.since(clock.now()));
        let mut poll = [PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut poll, Some(left), None) {
            Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
            Ok(0) if clock.now() >= at => return Ok(true),
            Ok(0) => {}
            Ok(_) => return Ok(false),
        }
    }
}

fn event(step: &Step, now: Time, kind: EventKind, detail: String) -> Event {
    let side = step.failure.kind.is_visible().then_some(Side::Client);
    Event {
        side,
        path: Some(step.failure.path.clone()),
        ..Event::new(now, kind, detail)
    }
}

fn name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::SilentLoss => "silent-loss",
        FailureKind::CarrierLoss => "carrier-loss",
        FailureKind::InterfaceDown => "interface-down",
        FailureKind::AddressWithdrawn => "address-withdrawn",
    }
}

fn describe(step: &Step) -> String {
    let direction = match (step.failure.kind.is_visible(), step.failure.direction) {
        (true, _) => "",
        (false, None) => " in both directions",
        (false, Some(Direction::Up)) => " in the up direction",
        (false, Some(Direction::Down)) => " in the down direction",
    };
    let verb = if step.begins { "begins" } else { "ends" };
    format!("{}{direction} {verb}", name(step.failure.kind))
}
