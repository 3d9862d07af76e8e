//! How does the oracle run on a host: how it begins, what wakes it, and how it ends?

use super::client::Oracle;
use super::door::Door;
use super::follow::Follower;
use super::linux::Linux;
use super::log::{Entry, Kind};
use super::places::Places;
use super::status::Status;
use super::takeover::{self, TakeOverError, TakenOver};
use crate::Clock;
use crate::netlink::socket::errno;
use model::Time;
use model::daemon::Daemon;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A path manager without a period of its own is asked this often.
const USUAL_PERIOD: Duration = Duration::from_millis(100);
/// The longest wait, after which the stop flag is looked at again.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// What a daemon is to do.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The configuration.
    pub config: Daemon,
    /// To say what would be done, and do nothing.
    pub dry_run: bool,
    /// To follow clients, in place of steering what this host opens.
    pub follow: bool,
}

/// Why a daemon could not run.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// The path manager is not in the list.
    #[error("unknown path manager `{0}`")]
    Policy(String),
    /// The kernel manages the paths itself.
    #[error(
        "this host's Multipath TCP is managed by the kernel: nothing could be steered; allow it with --take-over \
         (or `take_over = true`), which is undone at the end, or set `sysctl net.mptcp.path_manager=userspace` \
         (net.mptcp.pm_type=1 before Linux 6.15) yourself"
    )]
    NotTakenOver,
    /// The kernel has no Multipath TCP.
    #[error(
        "the kernel's Multipath TCP cannot be reached: {0}; it takes Linux 5.19 with CONFIG_MPTCP"
    )]
    Kernel(#[source] io::Error),
    /// The kernel does not let this process near it.
    #[error(
        "this user may not watch this host's Multipath TCP ({0}), not even for a dry run: it takes CAP_NET_ADMIN; \
         run it as root (sudo)"
    )]
    Permission(#[source] io::Error),
    /// There is one already.
    #[error(
        "another oracle runs and answers at {path} (`walkabout oracle status`); end that one first, or give this \
         one another `socket`"
    )]
    Running {
        /// Where.
        path: PathBuf,
    },
    /// Taking over or giving back.
    #[error(transparent)]
    TakeOver(#[from] TakeOverError),
    /// The status cannot be offered.
    #[error("cannot offer the status at {path}: {source}; give another path by `socket`")]
    Socket {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Waiting failed.
    #[error("cannot wait for the kernel: {0}")]
    Wait(#[source] io::Error),
}

/// What runs.
enum Brain {
    Client(Box<Oracle<Linux>>),
    Server(Box<Follower<Linux>>),
}

impl Brain {
    fn poll(&mut self, now: Time) -> (Vec<Entry>, Time) {
        match self {
            Brain::Client(oracle) => {
                oracle.poll(now);
                (oracle.take_log(), oracle.poll_at())
            }
            Brain::Server(follower) => {
                follower.poll(now);
                (follower.take_log(), follower.poll_at())
            }
        }
    }

    fn wait_for(&self) -> [RawFd; 2] {
        match self {
            Brain::Client(oracle) => oracle.kernel().wait_for(),
            Brain::Server(follower) => follower.kernel().wait_for(),
        }
    }

    fn status(&self, now: Time) -> Status {
        match self {
            Brain::Client(oracle) => oracle.status(now),
            Brain::Server(follower) => follower.status(now),
        }
    }
}

/// Runs until `stop` is raised, in the calling thread's network namespace; every entry of the log
/// goes to `log` as it comes. Connections go on when it ends, however it ends.
///
/// # Errors
/// What is missing at the start. Afterwards nothing the kernel answers ends it.
pub fn run(
    setup: &Setup,
    stop: &AtomicBool,
    log: &mut dyn FnMut(&Entry),
) -> Result<(), OracleError> {
    let Setup {
        config,
        dry_run,
        follow: _,
    } = setup;
    let clock = Clock::start();
    // Nothing is changed before it is clear that this process may, and that it is alone.
    let kernel = Linux::open().map_err(|error| match errno(&error) {
        Some(libc::EPERM | libc::EACCES) => OracleError::Permission(error),
        _ => OracleError::Kernel(error),
    })?;
    let (mut brain, begun) = brain(setup, kernel)?;
    let door = Door::open(&config.socket)?;
    // A process that was killed has left the host taken over; its owner's settings come first.
    let taken = match (config.take_over, dry_run) {
        (true, false) => Some(TakenOver::take(&config.kept)?),
        _ => None,
    };
    if !takeover::is_userspace() && !dry_run {
        return Err(OracleError::NotTakenOver);
    }
    let mut say = |kind, detail: String| {
        log(&Entry {
            time_us: clock.now().as_micros(),
            kind,
            connection: None,
            path: None,
            detail,
        });
    };
    let dry = if *dry_run {
        ", nothing is carried out"
    } else {
        ""
    };
    say(Kind::Started, format!("{begun}{dry}"));
    let mut knocked = false;
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        let (entries, due) = brain.poll(now);
        entries.iter().for_each(&mut *log);
        if knocked {
            door.answer(|| brain.status(clock.now()));
        }
        let [events, bell] = brain.wait_for();
        let wait = due.since(clock.now()).min(LONGEST_WAIT);
        let fds = [events, bell, door.listener.as_raw_fd()];
        [.., knocked] = wait_for(fds, wait).map_err(OracleError::Wait)?;
    }
    let given_back = taken.map(TakenOver::give_back);
    // Only now: who is not refused there finds the host as it was.
    drop(door);
    let how = match &given_back {
        None => String::new(),
        Some(Ok(done)) if done.is_empty() => "; the host's settings were as before".to_owned(),
        Some(Ok(done)) => format!("; put back: {}", done.join(", ")),
        Some(Err(error)) => format!("; the host's settings could not be put back: {error}"),
    };
    log(&Entry {
        time_us: clock.now().as_micros(),
        kind: Kind::Stopped,
        connection: None,
        path: None,
        detail: format!("connections go on as they are{how}"),
    });
    given_back.transpose()?;
    Ok(())
}

/// What is to run, and what it says at its beginning.
fn brain(setup: &Setup, kernel: Linux) -> Result<(Brain, String), OracleError> {
    let Setup {
        config,
        dry_run,
        follow,
    } = setup;
    if *follow {
        let settings = config.follow.clone();
        let begun = format!("follows clients, period {}", settings.period);
        let follower = Follower::new(kernel, settings, *dry_run);
        return Ok((Brain::Server(Box::new(follower)), begun));
    }
    let entry = policy::list::find(&config.policy)
        .ok_or_else(|| OracleError::Policy(config.policy.clone()))?;
    let manager = (entry.make)(&policy::list::Parameters {
        oracle: config.oracle.clone(),
    });
    let own = manager.period().unwrap_or(USUAL_PERIOD);
    let period = config.period.map_or(own, |span| span.get());
    let places = Places::new(config.home.clone(), config.backup.clone());
    let begun = format!("policy {}, period {} ms", entry.name, period.as_millis());
    let oracle = Oracle::new(kernel, manager, entry.name, period, places, *dry_run);
    Ok((Brain::Client(Box::new(oracle)), begun))
}

/// Waits until one of `fds` can be read, at most `longest`, and says which can; a signal ends it as well.
fn wait_for(fds: [RawFd; 3], longest: Duration) -> io::Result<[bool; 3]> {
    let mut poll = fds.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    let longest = libc::timespec {
        tv_sec: longest.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(longest.subsec_nanos() as i32),
    };
    // SAFETY: three valid pollfds, a valid timespec, and no signal mask.
    let ready = unsafe { libc::ppoll(poll.as_mut_ptr(), 3, &raw const longest, std::ptr::null()) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        return Ok([false; 3]);
    }
    Ok(poll.map(|p| p.revents != 0))
}
