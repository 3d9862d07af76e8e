//! What is lost when anything is killed at any moment? Collector, test server, clients and PostgreSQL get
//! SIGKILL in random order under load; afterwards nothing acknowledged may be lost, nothing stored twice,
//! and every queue has to drain.

use crate::database;
use crate::deployment::{Deployment, URL};
use crate::device;
use crate::ground;
use crate::postgres::Postgres;
use crate::processes::{self, PATIENCE, Process};
use model::Seed;
use nix::sys::signal::Signal;
use nix::unistd::Uid;
use platform::client::Queue;
use rand::{Rng, RngExt};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// Devices that hand in runs without pause.
const DEVICES: usize = 4;
/// Rounds when nobody says how many.
const ROUNDS: u32 = 200;
/// So that the limits, which have tests of their own, do not end the load.
const LIMITS: &str = "[limits]\nuploads_per_hour = 100000000\ntokens_per_hour = 100000000\n\
    requests_per_second = 100000\ntraffic_bytes_per_hour = 1000000000000000\n\
    live_items_per_hour = 1000000000\n";

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Collector,
    Server,
    Device,
    Client,
    /// All of PostgreSQL.
    Database,
    /// One of PostgreSQL's processes: it then ends the others and recovers by itself.
    Backend,
}

/// `chaos [ROUNDS [SEED [sqlite|postgres]]]`: prints a JSON object per database.
pub fn run(arguments: &[&str]) -> ExitCode {
    let number = |n: usize| arguments.get(n).map(|text| text.parse::<u32>());
    let (Ok(rounds), Ok(seed)) = (number(0).unwrap_or(Ok(ROUNDS)), number(1).unwrap_or(Ok(1)))
    else {
        eprintln!("chaos [ROUNDS [SEED [sqlite|postgres]]]");
        return ExitCode::from(2);
    };
    let databases = match arguments.get(2) {
        Some(database) => vec![*database],
        None => crate::DATABASES.to_vec(),
    };
    if !Uid::effective().is_root() && databases.contains(&"postgres") {
        eprintln!(
            "killing PostgreSQL from within a user namespace is not possible: run it as root"
        );
        return ExitCode::from(127);
    }
    if let Err(reason) = ground::enter() {
        eprintln!("{reason}");
        return ExitCode::FAILURE;
    }
    let mut failed = false;
    for database in databases {
        let folder = tempfile::Builder::new()
            .prefix("walkabout-chaos-")
            .tempdir();
        let folder = folder.expect("a folder");
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| {
            chaos(database, folder.path(), rounds, seed.into())
        }));
        match done {
            Ok(figures) => println!("{figures:#}"),
            Err(_) => {
                eprintln!("{}", processes::logs(folder.path()));
                failed = true;
            }
        }
    }
    ExitCode::from(u8::from(failed))
}

/// Everything under load.
struct Chaos {
    deployment: Deployment,
    postgres: Option<Postgres>,
    random: Box<dyn Rng>,
    template: PathBuf,
    devices: Vec<Process>,
    client: Option<Process>,
    /// Acknowledged: run and test.
    acknowledged: BTreeMap<String, String>,
    killed: BTreeMap<String, u32>,
    /// How long each restart of the collector took.
    restarts: Vec<Duration>,
    /// Tests of the real client that came to their end.
    tests: u32,
}

fn chaos(database: &str, folder: &Path, rounds: u32, seed: u64) -> Value {
    let postgres = (database == "postgres").then(Postgres::start);
    let url = match &postgres {
        Some(postgres) => postgres.new_database(),
        None => format!("sqlite:{}", folder.join("collector.sqlite").display()),
    };
    let deployment = Deployment::start(&url, folder, LIMITS);
    let mut chaos = Chaos {
        template: template(&deployment),
        deployment,
        postgres,
        random: Box::new(Seed(seed).stream("chaos")),
        devices: Vec::new(),
        client: None,
        acknowledged: BTreeMap::new(),
        killed: BTreeMap::new(),
        restarts: Vec::new(),
        tests: 0,
    };
    let begin = Instant::now();
    for device in 0..DEVICES {
        let device = chaos.start_device(device, "load");
        chaos.devices.push(device);
    }
    for round in 0..rounds {
        chaos.keep_client_busy();
        std::thread::sleep(Duration::from_millis(chaos.random.random_range(20..500)));
        chaos.listen();
        let victim = chaos.choose();
        chaos.kill(victim);
        *chaos
            .killed
            .entry(format!("{victim:?}").to_lowercase())
            .or_default() += 1;
        if round % 20 == 19 {
            let stored = database::count(&url, "SELECT COUNT(*) FROM runs");
            eprintln!(
                "{database}: {} rounds, {} acknowledged, {stored} stored",
                round + 1,
                chaos.acknowledged.len()
            );
        }
    }
    let under_load = begin.elapsed();
    chaos.drain();
    let checked = chaos.check(&url);
    let mut restarts: Vec<u128> = chaos.restarts.iter().map(Duration::as_millis).collect();
    restarts.sort_unstable();
    json!({
        "database": database, "rounds": rounds, "seed": seed, "killed": chaos.killed,
        "seconds_under_load": under_load.as_secs(),
        "acknowledged": chaos.acknowledged.len(), "real_tests_completed": chaos.tests,
        "collector_ready_ms": { "median": restarts.get(restarts.len() / 2), "max": restarts.last() },
        "checked": checked,
    })
}

/// A run as a device measures it, to be handed in many times.
fn template(deployment: &Deployment) -> PathBuf {
    let mut command =
        deployment.client(&["test", "brief", "--collector", URL, "--consent", "agree"]);
    command.args([
        "--path",
        "wifi=wlan0:wifi",
        "--path",
        "cellular=wwan0:cellular",
    ]);
    command.args(["--json", "--no-upload", "--out", "template"]);
    let result = deployment.start_client(&mut command).finish().success();
    let folder = result["runs"][0]["folder"].as_str().expect("a run");
    deployment.home().join(folder)
}

impl Chaos {
    fn home(&self, device: usize) -> PathBuf {
        self.deployment.folder.join(format!("device-{device}"))
    }

    fn start_device(&self, device: usize, mode: &str) -> Process {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args(["--device", mode])
            .arg(self.home(device))
            .arg(&self.template);
        let (name, deployment) = (format!("device-{device}"), &self.deployment);
        Process::start(
            &name,
            &deployment.ground.client,
            &deployment.folder,
            &mut command,
        )
    }

    /// Takes in what was acknowledged.
    fn listen(&mut self) {
        for device in &self.devices {
            device::take_acknowledged(&device.waiting_lines(), &mut self.acknowledged);
        }
    }

    /// A real test against the near server is under way, or what was is taken in.
    fn keep_client_busy(&mut self) {
        if let Some(client) = &mut self.client {
            if client.has_ended().is_none() {
                return;
            }
            let ended = self.client.take().expect("just seen").finish();
            // Killed servers and collectors make tests fail: with an error that says so.
            let result: Value = serde_json::from_str(&ended.out).unwrap_or_else(|error| {
                panic!("a client's last word is no JSON: {error}\n{ended:?}")
            });
            assert!(
                ended.status.success() || result["error"]["message"].is_string(),
                "{ended:?}"
            );
            self.tests += u32::from(ended.status.success());
            for id in result["uploads"]["stored"].as_array().into_iter().flatten() {
                let id = id.as_str().expect("an id").to_owned();
                self.acknowledged.insert(id, String::new());
            }
        }
        let number = self.random.random::<u32>();
        let mut command = self
            .deployment
            .client(&["test", "brief", "--collector", URL]);
        command.args([
            "--path",
            "wifi=wlan0:wifi",
            "--path",
            "cellular=wwan0:cellular",
        ]);
        command.args(["--consent", "agree", "--json", "--server", "near"]);
        command.arg("--out").arg(format!("test-{number}"));
        self.client = Some(self.deployment.start_client(&mut command));
    }

    fn choose(&mut self) -> Victim {
        let mut all = vec![
            Victim::Collector,
            Victim::Server,
            Victim::Device,
            Victim::Client,
        ];
        if self.postgres.is_some() {
            all.extend([Victim::Database, Victim::Backend]);
        }
        all[self.random.random_range(0..all.len())]
    }

    /// Kills the victim, and starts it again.
    fn kill(&mut self, victim: Victim) {
        match victim {
            Victim::Collector => {
                self.deployment.kill_collector();
                let begin = Instant::now();
                self.deployment.start_collector();
                self.restarts.push(begin.elapsed());
            }
            Victim::Server => {
                self.deployment.kill_server(0);
                self.deployment.start_server(0);
            }
            Victim::Device => {
                let device = self.random.random_range(0..DEVICES);
                let fresh = self.start_device(device, "load");
                // It locks nothing that the old one needs: for a moment there are two.
                let old = std::mem::replace(&mut self.devices[device], fresh);
                device::take_acknowledged(&old.kill_and_read(), &mut self.acknowledged);
            }
            Victim::Client => {
                if let Some(client) = self.client.take() {
                    client.kill();
                }
            }
            Victim::Database => {
                let postgres = self.postgres.as_ref().expect("it is PostgreSQL");
                postgres.stop(Signal::SIGKILL);
                start_again(postgres);
            }
            Victim::Backend => database::crash(&self.deployment.database, PATIENCE),
        }
    }

    /// Lets every queue become empty.
    fn drain(&mut self) {
        self.listen();
        for device in std::mem::take(&mut self.devices) {
            device::take_acknowledged(&device.kill_and_read(), &mut self.acknowledged);
        }
        if let Some(client) = self.client.take() {
            client.kill();
        }
        // What was killed last is up again; nothing is killed any more.
        for device in 0..DEVICES {
            let drained = self.start_device(device, "drain").finish();
            assert!(drained.status.success(), "device {device}: {drained:?}");
            let lines: Vec<String> = drained.out.lines().map(str::to_owned).collect();
            device::take_acknowledged(&lines, &mut self.acknowledged);
        }
        let mut command = self.deployment.client(&["test", "--upload-only", "--json"]);
        let sent = self
            .deployment
            .start_client(&mut command)
            .finish()
            .success();
        for upload in sent["uploads"].as_array().expect("uploads") {
            assert_eq!(upload["refused"], json!([]), "{sent:#}");
            assert_eq!(upload["waiting"], json!([]), "{sent:#}");
        }
    }

    /// Holds what is stored against what the clients know.
    fn check(&self, url: &str) -> Value {
        let mut homes: Vec<PathBuf> = (0..DEVICES).map(|device| self.home(device)).collect();
        homes.push(self.deployment.home().join(".local/share/walkabout/queue"));
        let (mut sent, mut waiting, mut refused) = (BTreeSet::new(), 0, Vec::new());
        for home in &homes {
            let queue = Queue::open(home).expect("a queue");
            sent.extend(
                queue
                    .sent()
                    .expect("readable")
                    .into_iter()
                    .map(|run| run.id),
            );
            waiting += queue.waiting().expect("readable").len();
            refused.extend(queue.refused().expect("readable"));
        }
        let runs = database::identities(url);
        let stored: BTreeMap<&str, &str> = runs.iter().map(|(id, test)| (&**id, &**test)).collect();
        let tests: BTreeSet<&str> = runs.iter().map(|(_, test)| &**test).collect();
        let lost: Vec<&String> = self
            .acknowledged
            .keys()
            .filter(|id| !stored.contains_key(&***id))
            .collect();
        let unsent = sent
            .iter()
            .filter(|id| !stored.contains_key(&***id))
            .count();
        let unknown = stored.keys().filter(|id| !sent.contains(**id)).count();
        let confused = self
            .acknowledged
            .iter()
            .filter(|(id, test)| !test.is_empty() && stored.get(&***id) != Some(&&***test));
        let documents = database::count(url, "SELECT COUNT(*) FROM documents");
        let figures = json!({
            "stored": runs.len(), "documents": documents, "sent_by_clients": sent.len(),
            "acknowledged_and_lost": lost.len(), "sent_and_lost": unsent, "unknown_to_clients": unknown,
            "stored_twice": runs.len() - stored.len() + (runs.len() - tests.len()),
            "under_another_id": confused.count(), "still_waiting": waiting, "refused": refused.len(),
        });
        let whole = figures["stored"] == figures["documents"]
            && figures["stored"] == figures["sent_by_clients"];
        let nothing = [
            "acknowledged_and_lost",
            "sent_and_lost",
            "unknown_to_clients",
            "stored_twice",
            "under_another_id",
            "still_waiting",
            "refused",
        ];
        let fine = whole && nothing.iter().all(|figure| figures[*figure] == 0);
        assert!(fine, "{figures:#}\nlost: {lost:?}\nrefused: {refused:?}");
        if !url.starts_with("postgres") {
            let integrity = database::texts(url, "PRAGMA integrity_check");
            assert_eq!(integrity, ["ok"], "SQLite's own check");
        }
        figures
    }
}

/// PostgreSQL's processes end on their own when the first one is killed, each in its time; until then it
/// does not start.
fn start_again(postgres: &Postgres) {
    let begin = Instant::now();
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut last = Ok(());
    while begin.elapsed() < PATIENCE {
        last = std::panic::catch_unwind(AssertUnwindSafe(|| postgres.run()));
        if last.is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    std::panic::set_hook(quiet);
    if let Err(panic) = last {
        std::panic::resume_unwind(panic);
    }
}
