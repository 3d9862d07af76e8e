//! Who opens a socket by which the kernel is to be asked as by anybody, not as by an administrator?

use std::io;

/// `_LINUX_CAPABILITY_VERSION_3` (linux/capability.h).
const VERSION: u32 = 0x2008_0522;

/// What `open` returns, which is called in a thread of its own that has given up every capability, in the same
/// namespaces. Netlink heeds who opened a socket, whoever uses it.
///
/// # Errors
/// Those of `open`, and when capabilities may not be given up.
pub fn open<T: Send>(open: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("unprivileged".to_owned());
        let opened = thread.spawn_scoped(scope, || {
            give_up_capabilities()?;
            open()
        })?;
        let panicked = |_| Err(io::Error::other("the thread that opens a socket panicked"));
        opened.join().unwrap_or_else(panicked)
    })
}

/// Gives up every capability of the calling thread.
fn give_up_capabilities() -> io::Result<()> {
    let header: [u32; 2] = [VERSION, 0];
    let nothing = [0_u32; 6];
    // SAFETY: the header and the six words are what version 3 of the call reads.
    match unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), nothing.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_opening_thread_has_no_capabilities() {
        let effective = || {
            let status = std::fs::read_to_string("/proc/thread-self/status")?;
            let line = status.lines().find(|line| line.starts_with("CapEff:"));
            Ok(line.map(str::to_owned))
        };
        let before: io::Result<_> = effective();
        let within = open(effective).unwrap();
        assert_eq!(within.as_deref(), Some("CapEff:\t0000000000000000"));
        assert_eq!(effective().unwrap(), before.unwrap());
        assert!(open(|| Err::<(), _>(io::Error::other("not there"))).is_err());
    }
}
