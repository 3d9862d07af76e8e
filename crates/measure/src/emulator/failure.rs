//! How the failures that a host can see come about on the client, and who is told.

use super::attachment::Attachment;
use super::ground::Ground;
use super::namespace::NamespaceError;
use super::stop::StopFlag;
use crate::clock::Clock;
use crate::failure::{self, NoSuchPath, PathChange, Step};
use crate::netlink::route::{RouteError, Routing};
use crate::recording::Sink;
use model::scenario::FailureKind;
use model::{Scenario, Seed, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc;

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
    #[error(transparent)]
    NoSuchPath(#[from] NoSuchPath),
    /// The wait for the next failure failed.
    #[error("could not wait for the next failure: {0}")]
    Wait(io::Error),
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
        Ok(FailureDriver {
            steps: failure::steps(scenario, seed)?,
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
        sink: &mut dyn Sink,
        changes: &PathChangeSender,
        stop: &StopFlag,
    ) -> Result<(), FailureError> {
        for step in std::mem::take(&mut self.steps) {
            if !sleep_until(step.at, clock, stop).map_err(FailureError::Wait)? {
                break;
            }
            let carried_out = self.carry_out(&step);
            carried_out.map_err(|source| FailureError::Route {
                kind: step.name(),
                path: step.failure.path.to_string(),
                source,
            })?;
            if let Some(change) = step.note(clock.now(), sink) {
                changes.send(change);
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
