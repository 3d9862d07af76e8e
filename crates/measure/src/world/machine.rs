//! What does a manifest say of the machine that carried out a run?

/// Kernel name, release and machine.
pub fn kernel() -> String {
    let Ok(name) = nix::sys::utsname::uname() else {
        return "unknown".to_owned();
    };
    [name.sysname(), name.release(), name.machine()]
        .map(|part| part.to_string_lossy())
        .join(" ")
}
