//! How a process gets networks of its own without being root.

use crate::netlink::route::Routing;
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Gid, Uid};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread;

/// Why a namespace could not be made or entered.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// The process has more than one thread.
    #[error(
        "a user namespace can be entered by a process with one thread, and this one has {0}: \
         call it before any thread starts"
    )]
    Threads(usize),
    /// The machine forbids it.
    #[error("this machine does not let you make namespaces ({source}): {finding}. {advice}")]
    Forbidden {
        /// The kernel's answer.
        source: io::Error,
        /// What forbids it.
        finding: String,
        /// What to do about it.
        advice: String,
    },
    /// The namespace exists, but it could not be set up.
    #[error("could not {task}: {source}")]
    SetUp {
        /// What was tried.
        task: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl NamespaceError {
    fn set_up(task: impl Into<String>, source: impl Into<io::Error>) -> NamespaceError {
        NamespaceError::SetUp {
            task: task.into(),
            source: source.into(),
        }
    }
}

/// Moves the process into new user, network and mount namespaces, in which it may do what root
/// may do to a network. To be called before the process starts a thread. The user keeps their
/// files: they appear as root's.
///
/// Where user namespaces are forbidden, a process that is root outside does without one.
pub fn enter_user_namespace() -> Result<(), NamespaceError> {
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads != 1 {
        return Err(NamespaceError::Threads(threads));
    }
    let (uid, gid) = (Uid::effective(), Gid::effective());
    let networks = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
    match unshare(CloneFlags::CLONE_NEWUSER | networks) {
        Ok(()) => {
            // Since Linux 3.19 a group can be mapped only once setgroups is denied.
            write_map("setgroups", "deny")?;
            write_map("uid_map", &format!("0 {uid} 1"))?;
            write_map("gid_map", &format!("0 {gid} 1"))?;
        }
        // Root outside needs no user namespace.
        Err(errno) => unshare(networks).map_err(|_| forbidden(errno))?,
    }
    // AppArmor lets the call pass on some distributions and takes the capabilities away.
    let loopback = Routing::open().and_then(|mut routing| routing.set_up(1, true));
    match loopback {
        Err(error) if error.errno() == Some(libc::EPERM) => Err(forbidden(Errno::EPERM)),
        Err(error) => Err(NamespaceError::set_up(error.task, error.source)),
        Ok(()) => Ok(()),
    }
}

fn write_map(file: &str, text: &str) -> Result<(), NamespaceError> {
    let path = format!("/proc/self/{file}");
    fs::write(&path, text).map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => forbidden(Errno::EPERM),
        _ => NamespaceError::set_up(format!("write {path}"), error),
    })
}

/// What forbids namespaces on this machine, and what to do about it; `None` when no known
/// switch forbids them.
pub fn obstacle() -> Option<(String, String)> {
    let sysctl = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let set = |name: &str, value: u32| {
        format!("An administrator allows them with `sudo sysctl -w {name}={value}`")
    };
    for name in ["user/max_user_namespaces", "user/max_net_namespaces"] {
        if sysctl(name) == Some(0) {
            let name = name.replace('/', ".");
            return Some((format!("{name} is 0"), set(&name, 10_000)));
        }
    }
    // Debian's patch.
    if sysctl("kernel/unprivileged_userns_clone") == Some(0) && !Uid::effective().is_root() {
        let name = "kernel.unprivileged_userns_clone";
        return Some((format!("{name} is 0"), set(name, 1)));
    }
    if sysctl("kernel/apparmor_restrict_unprivileged_userns") == Some(1)
        && !Uid::effective().is_root()
    {
        let name = "kernel.apparmor_restrict_unprivileged_userns";
        return Some((
            format!("AppArmor restricts user namespaces ({name} is 1, as on Ubuntu since 23.10)"),
            format!(
                "{}, or gives this program an AppArmor profile with `userns,`",
                set(name, 0)
            ),
        ));
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let filtered = status.lines().any(|line| {
        line.strip_prefix("Seccomp:")
            .is_some_and(|mode| mode.trim() == "2")
    });
    filtered.then(|| {
        (
            "a system call filter (seccomp) is in force, as in containers".to_owned(),
            "Start the container with `--security-opt seccomp=unconfined`, or run outside of it"
                .to_owned(),
        )
    })
}

fn forbidden(errno: Errno) -> NamespaceError {
    let (finding, advice) = obstacle().unwrap_or_else(|| match errno {
        Errno::ENOSPC => (
            "the limit on namespaces is reached".to_owned(),
            "Raise user.max_user_namespaces and user.max_net_namespaces".to_owned(),
        ),
        Errno::EUSERS => (
            "user namespaces are nested too deeply (32 levels)".to_owned(),
            "Run outside of the containers".to_owned(),
        ),
        Errno::EINVAL | Errno::ENOSYS => (
            "the kernel was built without user or network namespaces".to_owned(),
            "Use a kernel with CONFIG_USER_NS and CONFIG_NET_NS".to_owned(),
        ),
        _ => (
            "a security module or the container's runtime refuses".to_owned(),
            "Run outside of the container, or as root".to_owned(),
        ),
    });
    NamespaceError::Forbidden {
        source: errno.into(),
        finding,
        advice,
    }
}

/// A network namespace without a name: it is gone when the last handle, thread, socket and
/// device in it are. Cheap to clone.
#[derive(Clone, Debug)]
pub struct NetNs(Arc<File>);

impl NetNs {
    /// A new one, with its loopback interface up. The calling thread stays where it is.
    pub fn create() -> Result<NetNs, NamespaceError> {
        let made = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                unshare(CloneFlags::CLONE_NEWNET).map_err(forbidden)?;
                let namespace = NetNs::current()?;
                Routing::open()
                    .and_then(|mut routing| routing.set_up(1, true))
                    .map_err(|error| NamespaceError::set_up(error.task, error.source))?;
                Ok(namespace)
            });
            thread.join()
        });
        made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// The calling thread's.
    pub fn current() -> Result<NetNs, NamespaceError> {
        let path = "/proc/thread-self/ns/net";
        let file = File::open(path)
            .map_err(|error| NamespaceError::set_up(format!("open {path}"), error))?;
        Ok(NetNs(Arc::new(file)))
    }

    /// Moves the calling thread into it; sockets it opens from now on are there.
    pub fn enter(&self) -> Result<(), NamespaceError> {
        setns(self.as_fd(), CloneFlags::CLONE_NEWNET)
            .map_err(|errno| NamespaceError::set_up("enter a network namespace", errno))
    }

    /// Runs `work` in it, on a thread of its own, and waits for the result.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        let done = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter()?;
                Ok(work())
            });
            thread.join()
        });
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl AsFd for NetNs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
