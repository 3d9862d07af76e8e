//! A PostgreSQL server of the test's own: in a folder of its own, on a Unix socket in it, with fsync on.
//! It ends with the process, and with the last that uses it.

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User, chown};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A server.
pub struct Postgres {
    folder: tempfile::TempDir,
    programs: PathBuf,
    process: Mutex<Option<Process>>,
    databases: AtomicU32,
}

struct Process {
    pid: Pid,
    /// Tells when it has ended.
    ended: Receiver<()>,
}

/// Where the server's programs are: Debian keeps them out of the search path, a folder per version.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut folders: Vec<PathBuf> = versions.flatten().map(|v| v.path().join("bin")).collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    let found = folders.into_iter().find(|f| f.join("postgres").exists());
    found.expect(
        "these tests need a PostgreSQL server: `apt-get install -y postgresql`, or have `postgres` and \
         `initdb` in the search path",
    )
}

impl Postgres {
    /// A fresh server.
    pub fn start() -> Postgres {
        Postgres::start_in(&std::env::temp_dir())
    }

    /// A fresh server with all that it writes in a folder of its own in `place`.
    pub fn start_in(place: &Path) -> Postgres {
        let folder = tempfile::Builder::new()
            .prefix("walkabout-postgres-")
            // Whoever reaches the socket may do anything in it.
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir_in(place)
            .expect("a folder");
        if let Some(user) = other_user() {
            chown(folder.path(), Some(user.uid), Some(user.gid)).expect("root may give folders");
        }
        let server = Postgres {
            programs: programs(),
            folder,
            process: Mutex::new(None),
            databases: AtomicU32::new(0),
        };
        let made = server
            .program("initdb")
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8"])
            .args(["--locale=C", "--no-sync"])
            .arg(server.data())
            .output()
            .expect("initdb can be started");
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "initdb: {said}");
        server.run();
        server
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program of PostgreSQL's, which refuses to run as root.
    fn program(&self, name: &str) -> Command {
        let program = self.programs.join(name);
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "INT"]);
        if let Some(user) = other_user() {
            command.arg(format!("--reuid={}", user.uid));
            command.arg(format!("--regid={}", user.gid));
            command.arg("--clear-groups");
        }
        command.arg(program).current_dir("/");
        command
    }

    /// Starts it, and returns when it takes connections.
    pub fn run(&self) {
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.data());
        command.arg("-k").arg(self.folder.path());
        command.args(["-c", "listen_addresses=", "-c", "fsync=on"]);
        command.args(["-c", "max_connections=100"]);
        let (started, starting) = channel();
        let (over, ended) = channel();
        // The server is told to end when the thread that started it does: this one stays with it.
        thread::spawn(move || {
            let child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
            let mut child = child.expect("postgres can be started");
            let pid = Pid::from_raw(child.id().cast_signed());
            let said = child.stderr.take().expect("piped");
            let mut all = String::new();
            let mut lines = BufReader::new(said);
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                if line.contains("ready to accept connections") {
                    let _ = started.send(Ok(pid));
                    break;
                }
                all.push_str(&line);
                line.clear();
            }
            let _ = std::io::copy(&mut lines, &mut std::io::sink());
            let _ = child.wait();
            let _ = started.send(Err(all));
            let _ = over.send(());
        });
        let pid = starting.recv().expect("the thread says how it went");
        let pid = pid.unwrap_or_else(|said| panic!("postgres did not start: {said}"));
        *self.process() = Some(Process { pid, ended });
    }

    fn process(&self) -> std::sync::MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it with `signal` and returns when it is gone: `SIGINT` ends sessions and writes everything
    /// back, `SIGQUIT` is a crash.
    pub fn stop(&self, signal: Signal) {
        if let Some(process) = self.process().take() {
            let _ = kill(process.pid, signal);
            let _ = process.ended.recv();
        }
    }

    /// The URL of a database in it.
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.path().display();
        format!("postgres://postgres@localhost/{database}?host={folder}")
    }

    /// The URL of a new, empty database.
    pub fn new_database(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test{number}");
        let mut made = Command::new(self.programs.join("psql"));
        made.arg("-h").arg(self.folder.path());
        made.args(["-U", "postgres", "-d", "postgres", "-qc"]);
        let made = made.arg(format!("CREATE DATABASE {name}")).output();
        let made = made.expect("psql can be started");
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "CREATE DATABASE: {said}");
        self.url(&name)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // At once, whatever it is doing: a server that recovers from a crash may take SIGINT for never.
        // Its data goes with the folder.
        self.stop(Signal::SIGQUIT);
    }
}

/// Who runs the server when this process may not.
fn other_user() -> Option<User> {
    if !Uid::effective().is_root() {
        return None;
    }
    let user = User::from_name("postgres").expect("users can be looked up");
    Some(user.expect("a user `postgres`: the package `postgresql` makes one"))
}
