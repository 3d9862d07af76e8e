//! `walkabout oracle`: a path manager for every Multipath TCP connection of this host.

use crate::command::run::input::mistake;
use crate::failure::Failure;
use crate::interrupt;
use measure::oracle::{Entry, Kind, OracleError, Setup, restore, run};
use model::daemon::Daemon;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Read when no other file is named; it need not be there.
const CONFIG: &str = "/etc/walkabout/oracle.toml";
/// How long a daemon may take to tell its status.
const PATIENCE: Duration = Duration::from_secs(5);

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
        let mut config = read(self.common.config.as_deref())?;
        if let Some(socket) = &self.common.socket {
            config.socket.clone_from(socket);
        }
        match self.what {
            Some(What::Status) => status(&config.socket, json),
            Some(What::Restore) => put_back(&config.kept, json),
            None => self.steer(config, json),
        }
    }

    fn steer(self, mut config: Daemon, json: bool) -> Result<(), Failure> {
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
            OracleError::NotTakenOver | OracleError::Kernel(_) => Failure::impossible(error),
            _ => Failure::failed(error),
        })
    }
}

fn policies() -> Vec<&'static str> {
    policy::list::MANAGERS.iter().map(|e| e.name).collect()
}

/// The configuration in `file`, or in the usual place, or the default.
fn read(file: Option<&Path>) -> Result<Daemon, Failure> {
    let path = file.unwrap_or(Path::new(CONFIG));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Daemon::default());
        }
        Err(error) => {
            let words = format!("cannot read {}: {error}", path.display());
            return Err(Failure::usage(words));
        }
    };
    let source = path.display().to_string();
    Daemon::parse(&text, &source, &policies()).map_err(mistake)
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

/// Shows the status of the daemon that answers at `socket`.
fn status(socket: &Path, json: bool) -> Result<(), Failure> {
    let no_answer = |error: std::io::Error| {
        let at = socket.display();
        Failure::failed(format!(
            "no oracle answers at {at}: {error}; is it running (systemctl status walkabout-oracle), and may \
             you read its socket?"
        ))
    };
    let mut stream = UnixStream::connect(socket).map_err(no_answer)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(no_answer)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(no_answer)?;
    let status: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Failure::failed(format!("the oracle's answer is no status: {error}")))?;
    if json {
        println!("{status:#}");
        return Ok(());
    }
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let dry = if status["dry_run"] == true {
        ", dry run"
    } else {
        ""
    };
    println!(
        "{} ({}){dry}",
        text(&status["policy"]),
        text(&status["role"])
    );
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    for path in list(&status["paths"]) {
        let up = if path["up"] == true { "up" } else { "down" };
        println!(
            "path {} ({}): {up}",
            text(&path["interface"]),
            text(&path["kind"])
        );
    }
    for connection in list(&status["connections"]) {
        println!(
            "connection {} {} to {}",
            text(&connection["connection"]),
            text(&connection["state"]),
            text(&connection["remote"]),
        );
        for subflow in list(&connection["subflows"]) {
            let backup = if subflow["backup"] == true {
                ", backup"
            } else {
                ""
            };
            println!(
                "  {} over {}{backup}, srtt {} us, {} sent again",
                text(&subflow["state"]),
                text(&subflow["path"]),
                text(&subflow["srtt_us"]),
                text(&subflow["retransmissions"]),
            );
        }
    }
    println!("counters {}", status["counters"]);
    Ok(())
}

fn put_back(kept: &Path, json: bool) -> Result<(), Failure> {
    let done = restore(kept).map_err(Failure::failed)?;
    if json {
        println!("{:#}", serde_json::json!({"restored": done}));
    } else if done.is_empty() {
        println!("nothing to put back");
    } else {
        println!("put back: {}", done.join(", "));
    }
    Ok(())
}
