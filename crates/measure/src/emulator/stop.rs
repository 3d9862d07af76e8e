//! How threads that wait on descriptors learn that the run is over.

use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;

/// A flag that wakes whoever waits for its descriptor; raised once, and never lowered.
#[derive(Clone, Debug)]
pub struct StopFlag(Arc<EventFd>);

impl StopFlag {
    /// A flag that is not raised.
    pub fn new() -> io::Result<StopFlag> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(StopFlag(Arc::new(EventFd::from_flags(flags)?)))
    }

    /// Raises the flag.
    pub fn stop(&self) {
        // Fails only when the counter is full, that is, raised.
        let _ = self.0.write(1);
    }

    /// Whether it is raised.
    pub fn is_stopped(&self) -> bool {
        let mut poll = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        matches!(nix::poll::poll(&mut poll, PollTimeout::ZERO), Ok(1))
    }
}

impl AsRawFd for StopFlag {
    /// Readable from the moment the flag is raised.
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl AsFd for StopFlag {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
