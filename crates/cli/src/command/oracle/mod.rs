//! `walkabout oracle`: a path manager for every Multipath TCP connection of this host.

mod status;

use crate::command::run::input::mistake;
use crate::failure::Failure;
use crate::interrupt;
use measure::oracle::{Entry, Kind, OracleError, Setup, restore, run};
use model::daemon::{Daemon, no_interface};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Read when no other file is named; it need not be there.
const CONFIG: &str = "/etc/walkabout/oracle.toml";

/// Steer every Multipath TCP connection of this host, whichever application opens it.
///
/// On SIGTERM or Ctrl-C it puts back what it has changed on the host and ends; connections go on, as they do
/// when it is killed. Needs CAP_NET_ADMIN.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Oracle {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    common: Common,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Set `net.mptcp.path_manager=userspace` (pm_type=1), and put it back at the end.
    #[arg(long)]
    take_over: bool,
    /// On a server: send on the subflow that each client used last, in place of steering what this host opens.
    #[arg(long, conflicts_with_all = ["policy", "home", "backup"])]
    follow: bool,
    /// The path manager (`walkabout list policies`).
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// The interface connections prefer.
    #[arg(long, value_name = "INTERFACE")]
    home: Option<String>,
    /// The interface that helps out.
    #[arg(long, value_name = "INTERFACE")]
    backup: Option<String>,
}

/// What every form of the command takes.
#[derive(clap::Args)]
struct Common {
    /// The configuration; /etc/walkabout/oracle.toml, if it is there, by default.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Where the status is asked for.
    #[arg(long, value_name = "PATH", global = true)]
    socket: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum What {
    /// Show what the running daemon sees and has done.
    Status,
    /// Put back what a daemon that was killed had changed on this host.
    Restore,
}

impl Oracle {
    /// Runs until it is told to stop, or asks the one that runs.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        let mut file = read(self.common.config.as_deref())?;
        if let Some(socket) = &self.common.socket {
            // As a path of the command line: from here, where a configuration has no here.
            file.config.socket = std::path::absolute(socket).map_err(Failure::usage)?;
        }
        match self.what {
            Some(What::Status) => status::show(&file.config.socket, json),
            Some(What::Restore) => put_back(&file.config.kept, json),
            None => self.steer(file, json),
        }
    }

    fn steer(self, file: File, json: bool) -> Result<(), Failure> {
        if !self.follow {
            self.look_for_interfaces(&file)?;
        }
        let mut config = file.config;
        config.take_over |= self.take_over;
        if let Some(policy) = self.policy {
            config.policy = policy;
        }
        for (place, name) in [
            (&mut config.home, self.home),
            (&mut config.backup, self.backup),
        ] {
            place.interface = name.or(place.interface.take());
        }
        // The options are checked as if they had been in the file.
        config.check(&policies()).map_err(mistake)?;
        let setup = Setup {
            config,
            dry_run: self.dry_run,
            follow: self.follow,
        };
        let mut say = |entry: &Entry| tell(entry, json);
        run(&setup, interrupt::flag(), &mut say).map_err(|error| match error {
            OracleError::NotTakenOver | OracleError::Kernel(_) | OracleError::Permission(_) => {
                Failure::impossible(error)
            }
            _ => Failure::failed(error),
        })
    }

    /// One that is named on the command line has to be there. One of the configuration may come later, as
    /// at a host's start, or with a modem: that is only said.
    fn look_for_interfaces(&self, file: &File) -> Result<(), Failure> {
        let Ok(all) = measure::world::live::interfaces() else {
            return Ok(()); // the daemon says so again and again
        };
        let present: Vec<&str> = all.iter().map(|i| i.name.as_str()).collect();
        for (option, name) in [("--home", &self.home), ("--backup", &self.backup)] {
            let missing = name.as_ref().and_then(|n| no_interface(n, &present));
            if let Some(missing) = missing {
                return Err(Failure::usage(format!("{option}: {missing}")));
            }
        }
        let File {
            config,
            text,
            source,
        } = file;
        for missing in config.absent(text, source, &present) {
            let overruled = match missing.key.as_str() {
                "home.interface" => self.home.is_some(),
                _ => self.backup.is_some(),
            };
            if !overruled {
                eprintln!("walkabout: {missing}; it is waited for");
            }
        }
        Ok(())
    }
}

/// The configuration, and where it is from.
struct File {
    config: Daemon,
    text: String,
    source: String,
}

fn policies() -> Vec<&'static str> {
    policy::list::MANAGERS.iter().map(|e| e.name).collect()
}

/// The configuration in `file`, or in the usual place, or the default.
fn read(file: Option<&Path>) -> Result<File, Failure> {
    let path = file.unwrap_or(Path::new(CONFIG));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(File {
                config: Daemon::default(),
                text: String::new(),
                source: String::new(),
            });
        }
        Err(error) => {
            let words = format!("cannot read {}: {error}", path.display());
            return Err(Failure::usage(words));
        }
    };
    let source = path.display().to_string();
    let config = Daemon::parse(&text, &source, &policies()).map_err(mistake)?;
    Ok(File {
        config,
        text,
        source,
    })
}

/// A line of the log, at once: a line of JSON for scripts.
fn tell(entry: &Entry, json: bool) {
    if json {
        if let Ok(line) = serde_json::to_string(entry) {
            println!("{line}");
        }
    } else {
        let Entry {
            time_us,
            kind,
            connection,
            path,
            detail,
        } = entry;
        let seconds = *time_us as f64 / 1e6;
        let connection = connection
            .map(|c| format!(" connection {c}"))
            .unwrap_or_default();
        let path = path.as_ref().map(|p| format!(" {p}")).unwrap_or_default();
        println!("{seconds:10.3} {}{connection}{path}: {detail}", word(*kind));
    }
    let _ = std::io::stdout().flush();
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Started => "started",
        Kind::Stopped => "stopped",
        Kind::Path => "path",
        Kind::Adopted => "adopted",
        Kind::LeftAlone => "left alone",
        Kind::Gone => "gone",
        Kind::Decision => "decision",
        Kind::Done => "done",
        Kind::Failed => "failed",
        Kind::Resync => "resync",
    }
}

fn put_back(kept: &Path, json: bool) -> Result<(), Failure> {
    let done = restore(kept).map_err(Failure::failed)?;
    if json {
        println!("{}", serde_json::json!({"restored": done}));
    } else if done.is_empty() {
        println!("nothing to put back");
    } else {
        println!("put back: {}", done.join(", "));
    }
    Ok(())
}
