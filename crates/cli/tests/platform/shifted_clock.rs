//! What is the time, when it is another? A library that a program is started with (`LD_PRELOAD`): the clock
//! of day is ahead by the seconds in `WALKABOUT_TEST_CLOCK_AHEAD_S`, all other clocks are as they are.

use std::ffi::{c_char, c_int, c_long, c_longlong};

#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: c_long,
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn getenv(name: *const c_char) -> *const c_char;
    fn atoll(text: *const c_char) -> c_longlong;
}

/// Its number (syscalls(2)).
#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: c_long = 228;
#[cfg(target_arch = "aarch64")]
const CLOCK_GETTIME: c_long = 113;

const CLOCK_REALTIME: c_int = 0;

/// # Safety
/// As of clock_gettime(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    // SAFETY: the caller's pointer goes where it was meant to go.
    let done = unsafe { syscall(CLOCK_GETTIME, clock, time) };
    if done == 0 && clock == CLOCK_REALTIME {
        // SAFETY: the name ends with NUL, and the call has filled in the time.
        unsafe {
            let ahead = getenv(c"WALKABOUT_TEST_CLOCK_AHEAD_S".as_ptr());
            if !ahead.is_null() {
                (*time).seconds += atoll(ahead);
            }
        }
    }
    done as c_int
}
