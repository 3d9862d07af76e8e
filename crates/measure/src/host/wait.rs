//! How a host sleeps: until a descriptor is ready or a moment comes.

use crate::Clock;
use model::Time;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};

/// Waits until one of `fds` is ready (`true`: writable as well) or `until` has come.
pub fn wait(clock: &Clock, fds: &[(RawFd, bool)], until: Time) -> io::Result<()> {
    let mut polled: Vec<PollFd<'_>> = fds
        .iter()
        .map(|&(fd, writable)| {
            // SAFETY: the endpoint that named the descriptor is not touched while we wait.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            let mut flags = PollFlags::POLLIN;
            flags.set(PollFlags::POLLOUT, writable);
            PollFd::new(fd, flags)
        })
        .collect();
    let timeout = TimeSpec::from_duration(until.since(clock.now()));
    match ppoll(&mut polled, Some(timeout), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
