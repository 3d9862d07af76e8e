//! Which thread goes first when all are ready: what an ordinary user may ask of the scheduler.

/// The slice asked for. The fair scheduler (EEVDF) lets a thread that asks for a short one run
/// soon after it wakes, and not longer in all; 100 us is the least it takes
/// (sched_setattr(2), `sched_runtime` for SCHED_OTHER, since Linux 6.12).
const SLICE_NS: u64 = 100_000;

/// How far behind the recording thread stands (setpriority(2)); its work can wait.
const BACKGROUND_NICENESS: i32 = 10;

/// `struct sched_attr` of linux/sched/types.h, first version (48 bytes).
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// The calling thread should run soon after it wakes. Older kernels ignore or refuse it: then
/// the lateness is what it is, and recorded.
pub fn prefer_promptness() {
    let attributes = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        runtime: SLICE_NS,
        ..SchedAttr::default()
    };
    // SAFETY: the structure has the size it says, and lives through the call; 0 is this thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// The calling thread's work can wait for the others'.
pub fn stay_in_background() {
    // SAFETY: no pointer is passed; on Linux 0 is the calling thread, not its process.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, BACKGROUND_NICENESS) };
}
