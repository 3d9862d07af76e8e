//! How a worker that is told to end (SIGTERM) ends in order: tables closed, manifest written.

use crate::emulator::StopFlag;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static TERMINATED: AtomicBool = AtomicBool::new(false);
static FLAG: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_signal(_: libc::c_int) {
    TERMINATED.store(true, Ordering::Relaxed);
    let one = 1_u64.to_ne_bytes();
    // SAFETY: write(2) may be called from a signal handler, and the buffer outlives the call.
    unsafe {
        libc::write(FLAG.load(Ordering::Relaxed), one.as_ptr().cast(), one.len());
    }
}

/// Raises `stop` on SIGTERM, and ignores SIGPIPE. SIGINT is left to the parent, which gets it as well and decides.
pub fn raise_on_termination(stop: &StopFlag) {
    FLAG.store(stop.as_raw_fd(), Ordering::Relaxed);
    let handler: extern "C" fn(libc::c_int) = on_signal;
    // SAFETY: the handler only does what is allowed in one, and its descriptor lives until the
    // process ends (`stop` is kept by the caller).
    unsafe {
        libc::signal(libc::SIGTERM, handler as libc::sighandler_t);
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        // A peer that is gone is an error of a write, and no reason to die.
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// Whether the worker was told to end.
pub fn was_terminated() -> bool {
    TERMINATED.load(Ordering::Relaxed)
}
