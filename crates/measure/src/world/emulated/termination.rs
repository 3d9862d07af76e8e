//! How a worker that is told to end (SIGTERM) ends in order: tables closed, manifest written.

use crate::emulator::StopFlag;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static TERMINATED: AtomicBool = AtomicBool::new(false);
/// What the handler raises, kept for as long as there is a handler: a descriptor that was closed would be
/// another file's before long, which then got the handler's eight bytes.
static KEPT: OnceLock<StopFlag> = OnceLock::new();
/// Its descriptor, as a handler may read it.
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
/// The first call of a process counts.
pub fn raise_on_termination(stop: &StopFlag) {
    let kept = KEPT.get_or_init(|| stop.clone());
    FLAG.store(kept.as_raw_fd(), Ordering::Relaxed);
    let handler: extern "C" fn(libc::c_int) = on_signal;
    // SAFETY: the handler only does what is allowed in one, and its descriptor lives until the
    // process ends.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    /// A run that was done wrote its manifest when the signal came.
    #[test]
    fn a_late_signal_writes_into_no_file() {
        let stop = StopFlag::new().unwrap();
        raise_on_termination(&stop);
        let descriptor = stop.as_raw_fd();
        drop(stop);
        // Files take the numbers that are free.
        let mut files = Vec::new();
        for _ in 0..=descriptor {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(b"{}").unwrap();
            files.push(file);
        }
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGTERM).unwrap();
        assert!(was_terminated());
        for mut file in files {
            let mut text = String::new();
            file.rewind().unwrap();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "{}");
        }
        assert!(KEPT.get().unwrap().is_stopped());
    }
}
