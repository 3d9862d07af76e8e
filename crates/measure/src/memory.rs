//! How much memory has this process had at most?

use std::fs;

/// The process's highest resident memory so far, in bytes: `VmHWM` of proc_pid_status(5). Not
/// getrusage(2), whose maximum outlives exec and tells of the parent.
pub fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn grows_with_what_is_used() {
        let before = super::peak().expect("Linux has /proc");
        let block = vec![1_u8; 32 << 20];
        assert!(block.contains(&1));
        let after = super::peak().expect("Linux has /proc");
        assert!(after >= before + (16 << 20), "{before} {after}");
    }
}
