//! How does the oracle run on a host: what wakes it, who may ask for its state, how it begins and
//! how it ends?

use super::client::Oracle;
use super::follow::Follower;
use super::linux::Linux;
use super::log::{Entry, Kind};
use super::places::Places;
use super::status::Status;
use super::takeover::{self, TakeOverError, TakenOver};
use crate::Clock;
use model::Time;
use model::daemon::Daemon;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A path manager without a period of its own is asked this often.
const USUAL_PERIOD: Duration = Duration::from_millis(100);
/// The longest wait, after which the stop flag is looked at again.
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// How long somebody who asked for the status may take to read it.
const READER_PATIENCE: Duration = Duration::from_secs(2);
/// So many may be reading it.
const READERS: usize = 8;

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
    /// The kernel has no Multipath TCP, or does not let this process near it.
    #[error(
        "the kernel's Multipath TCP cannot be reached: {0}; it takes CONFIG_MPTCP, Linux 5.19 and CAP_NET_ADMIN"
    )]
    Kernel(#[source] io::Error),
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
        follow,
    } = setup;
    let clock = Clock::start();
    // A process that was killed has left the host taken over; its owner's settings come first.
    let taken = match (config.take_over, dry_run) {
        (true, false) => Some(TakenOver::take(&config.kept)?),
        _ => None,
    };
    if !takeover::is_userspace() && !dry_run {
        return Err(OracleError::NotTakenOver);
    }
    let kernel = Linux::open().map_err(OracleError::Kernel)?;
    let (mut brain, begun) = match follow {
        true => {
            let settings = config.follow.clone();
            let begun = format!("follows clients, period {}", settings.period);
            (
                Brain::Server(Box::new(Follower::new(kernel, settings, *dry_run))),
                begun,
            )
        }
        false => {
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
            (Brain::Client(Box::new(oracle)), begun)
        }
    };
    let door = Door::open(&config.socket)?;
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
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        let (entries, due) = brain.poll(now);
        entries.iter().for_each(&mut *log);
        door.answer(|| brain.status(clock.now()));
        let [events, bell] = brain.wait_for();
        let wait = due.since(clock.now()).min(LONGEST_WAIT);
        wait_for([events, bell, door.listener.as_raw_fd()], wait).map_err(OracleError::Wait)?;
    }
    drop(taken);
    let detail = match config.take_over && !dry_run {
        true => "connections go on as they are; the host's settings are put back",
        false => "connections go on as they are",
    };
    log(&Entry {
        time_us: clock.now().as_micros(),
        kind: Kind::Stopped,
        connection: None,
        path: None,
        detail: detail.to_owned(),
    });
    Ok(())
}

/// Waits until one of `fds` can be read, at most `longest`; a signal ends it as well.
fn wait_for(fds: [RawFd; 3], longest: Duration) -> io::Result<()> {
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
    }
    Ok(())
}

/// Where the status is asked for; gone when this is dropped.
struct Door {
    listener: UnixListener,
    path: PathBuf,
    readers: Arc<AtomicUsize>,
}

impl Door {
    fn open(path: &Path) -> Result<Door, OracleError> {
        let failed = |source| OracleError::Socket {
            path: path.to_owned(),
            source,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        // One that answers is another daemon's; one that does not is a killed one's.
        if UnixStream::connect(path).is_ok() {
            let text = "another oracle answers there";
            return Err(failed(io::Error::new(io::ErrorKind::AddrInUse, text)));
        }
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).map_err(failed)?;
        // Whom this host talks to is nobody else's business.
        let owner_only = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, owner_only).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Door {
            listener,
            path: path.to_owned(),
            readers: Arc::default(),
        })
    }

    /// Writes the status to whoever waits for it, each in a thread of its own: a slow reader holds
    /// up nobody.
    fn answer(&self, status: impl Fn() -> Status) {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.readers.load(Ordering::Relaxed) >= READERS {
                continue;
            }
            let Ok(mut text) = serde_json::to_vec(&status()) else {
                continue;
            };
            text.push(b'\n');
            let readers = self.readers.clone();
            readers.fetch_add(1, Ordering::Relaxed);
            let write = move || {
                let _ = stream.set_nonblocking(false);
                let _ = stream.set_write_timeout(Some(READER_PATIENCE));
                let _ = (&stream).write_all(&text);
                readers.fetch_sub(1, Ordering::Relaxed);
            };
            let thread = std::thread::Builder::new().name("status".to_owned());
            if thread.spawn(write).is_err() {
                self.readers.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
