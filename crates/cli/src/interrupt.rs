//! Whether the user asked to stop (Ctrl-C or SIGTERM).

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// What handles the second signal, as an address; 0 leaves it to the default action.
static SECOND: AtomicUsize = AtomicUsize::new(0);

extern "C" fn on_signal(signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
    let second = SECOND.load(Ordering::Relaxed);
    if second != 0 {
        install(signal, second);
    }
}

/// Raised at the first SIGINT or SIGTERM; a second one ends the process at once.
pub fn flag() -> &'static AtomicBool {
    static ONCE: Once = Once::new();
    // Not again: what the first signal has reset is for the second.
    ONCE.call_once(|| {
        let handler: extern "C" fn(libc::c_int) = on_signal;
        for signal in [libc::SIGINT, libc::SIGTERM] {
            install(signal, handler as libc::sighandler_t);
        }
    });
    &INTERRUPTED
}

/// What a second signal of the same kind calls before it ends the process. `handler` has to be safe in a
/// signal handler.
pub fn before_the_second(handler: extern "C" fn(libc::c_int)) {
    SECOND.store(handler as libc::sighandler_t, Ordering::Relaxed);
}

/// `handler` is called once; then the signal has its default action again.
fn install(signal: libc::c_int, handler: libc::sighandler_t) {
    // SAFETY: the action is fully initialised, sigaction may be called in a signal handler, and the
    // handlers only call what is safe in one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}
