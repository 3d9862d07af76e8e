//! How is the platform put into operation? As docs/operating.md says: a key, the servers that are given its
//! public half, a collector that is given the servers' certificates.

use crate::clock::Clock;
use crate::collector::Rest;
use crate::ground::{COLLECTOR, Ground};
use crate::processes::{Process, walkabout};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The collector's address.
pub const URL: &str = "http://10.81.10.2:8080";

/// Experiments that are over soon. `walk` has an end of its own.
const EXPERIMENTS: &str = r#"
[[experiment]]
name = "desk"
summary = "Every transport with every pattern"
mode = "stable"
transports = ["tcp", "mptcp", "quic", "mpquic"]
policies = ["backup"]
[[experiment.traffic]]
seconds = 10
traffic.ping = { count = 5, size = "10 B" }
[[experiment.traffic]]
seconds = 10
traffic.bulk = { size = "200 kB" }
[[experiment.traffic]]
seconds = 3
traffic.interactive = { chunk_size = "2 kB", period = "100 ms" }

[[experiment]]
name = "walk"
summary = "Both multipath transports on a walk away from the Wi-Fi"
mode = "mobile"
transports = ["mptcp", "mpquic"]
policies = ["apple-interactive"]
[[experiment.traffic]]
seconds = 60
traffic.interactive = { chunk_size = "2 kB", period = "100 ms" }

[[experiment]]
name = "plain"
summary = "A few runs without Multipath TCP"
mode = "stable"
transports = ["tcp", "mpquic"]
policies = ["backup"]
[[experiment.traffic]]
seconds = 2
traffic.interactive = { chunk_size = "2 kB", period = "100 ms" }

[[experiment]]
name = "pings"
summary = "Every transport, for a moment"
mode = "stable"
transports = ["tcp", "mptcp", "quic", "mpquic"]
policies = ["backup"]
[[experiment.traffic]]
seconds = 10
traffic.ping = { count = 5, size = "10 B" }

[[experiment]]
name = "brief"
summary = "A single run"
mode = "stable"
transports = ["quic"]
policies = ["backup"]
[[experiment.traffic]]
seconds = 2
traffic.interactive = { chunk_size = "2 kB", period = "100 ms" }
"#;

/// A collector, three test servers, and a client's home.
pub struct Deployment {
    /// Where they are.
    pub ground: Ground,
    /// Where they keep what they keep, and their logs.
    pub folder: PathBuf,
    /// The collector's database.
    pub database: String,
    collector: Option<Process>,
    servers: Vec<Option<Process>>,
    token_key: String,
    limits: String,
}

impl Deployment {
    /// Starts it, with the results in `database`; `limits` is the collector's section of that name.
    pub fn start(database: &str, folder: &Path, limits: &str) -> Deployment {
        let ground = Ground::lay();
        let mut deployment = Deployment {
            servers: ground.sites.iter().map(|_| None).collect(),
            ground,
            folder: folder.to_owned(),
            database: database.to_owned(),
            collector: None,
            token_key: String::new(),
            limits: limits.to_owned(),
        };
        deployment.configure("");
        let configuration = deployment.configuration();
        let mut command = walkabout(&["collect", "--token-key", "--json", "--config"]);
        let (folder, host) = (&deployment.folder, &deployment.ground.collector);
        let key = Process::start("key", host, folder, command.arg(configuration)).finish();
        let key = key.success()["token_key"]
            .as_str()
            .expect("a key")
            .to_owned();
        deployment.token_key = key;
        let mut servers = String::new();
        for n in 0..deployment.servers.len() {
            let ready = deployment.start_server(n);
            let pin = ready["certificate_sha256"].as_str().expect("a certificate");
            let site = &deployment.ground.sites[n];
            servers += &format!(
                "[[server]]\nid = \"{}\"\nplace = \"{} ms away\"\naddresses = [\"{}\", \"{}\"]\n\
                 ports = [443, 6121]\ncertificate_sha256 = \"{pin}\"\n",
                site.id,
                site.delay.as_millis(),
                site.address,
                site.address_ipv6
            );
        }
        deployment.configure(&servers);
        deployment.start_collector();
        deployment
    }

    fn configuration(&self) -> PathBuf {
        self.folder.join("collector.toml")
    }

    fn configure(&self, servers: &str) {
        let database = &self.database;
        let text = format!(
            "name = \"The test's\"\nlisten = \"{COLLECTOR}:8080\"\ndatabase = \"{database}\"\n\
             key = \"collector.key\"\nretention_days = 30\n{servers}{EXPERIMENTS}\n{}",
            self.limits
        );
        fs::write(self.configuration(), text).expect("our own folder");
    }

    /// Starts the server of site `n`; returns what it says when it is ready.
    pub fn start_server(&mut self, n: usize) -> Value {
        self.start_server_by(n, None)
    }

    /// The same, on a host whose clock is `clock`.
    pub fn start_server_by(&mut self, n: usize, clock: Option<&Clock>) -> Value {
        let site = &self.ground.sites[n];
        let name = format!("server-{}", site.id);
        let mut command = walkabout(&["serve", "--json", "--id", site.id]);
        command.args(["--token-key", &self.token_key]);
        command.args(["--listen", &site.address.to_string()]);
        command.args(["--listen", &site.address_ipv6.to_string()]);
        command.arg("--state").arg(self.folder.join(&name));
        if let Some(clock) = clock {
            clock.sets(&mut command);
        }
        let server = Process::start(&name, &site.host, &self.folder, &mut command);
        let ready = server.json_line()["ready"].take();
        assert_eq!(ready["id"], site.id);
        assert_eq!(ready["missing"], json!([]), "{}: {ready}", site.id);
        self.servers[n] = Some(server);
        ready
    }

    /// Kills the server of site `n`.
    pub fn kill_server(&mut self, n: usize) {
        self.servers[n].take().expect("it runs").kill();
    }

    /// Starts the collector, and returns when it listens.
    pub fn start_collector(&mut self) {
        let mut command = walkabout(&["collect", "--json", "--config"]);
        command.arg(self.configuration());
        let host = &self.ground.collector;
        let collector = Process::start("collector", host, &self.folder, &mut command);
        let ready = collector.json_line()["ready"].take();
        assert_eq!(ready["url"], URL, "{ready}");
        self.collector = Some(collector);
    }

    /// Stops the collector in order.
    pub fn stop_collector(&mut self) {
        let ended = self.collector.take().expect("it runs").stop();
        assert!(
            ended.status.success(),
            "collector: {}\n{}",
            ended.status,
            ended.err
        );
    }

    /// Kills the collector, if it runs.
    pub fn kill_collector(&mut self) {
        if let Some(collector) = self.collector.take() {
            collector.kill();
        }
    }

    /// The collector's interface, as the client reaches it.
    pub fn rest(&self) -> Rest {
        Rest::at(&self.ground.client, URL)
    }

    /// The collector's interface, as somebody reaches it whose network stays.
    pub fn bystander(&self) -> Rest {
        Rest::at(&self.ground.collector, URL)
    }

    /// The client's command with its two interfaces, over IPv4.
    pub fn test(&self, arguments: &[&str]) -> Command {
        let mut command = self.client(&["test", "--collector", URL, "--family", "ipv4"]);
        command.args([
            "--path",
            "wifi=wlan0:wifi",
            "--path",
            "cellular=wwan0:cellular",
        ]);
        command.args(arguments);
        command
    }

    /// The client's command.
    pub fn client(&self, arguments: &[&str]) -> Command {
        let home = self.folder.join("client");
        fs::create_dir_all(&home).expect("our own folder");
        let mut command = walkabout(arguments);
        command.current_dir(&home).env("HOME", &home);
        command
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME");
        command
    }

    /// Starts a command of the client's.
    pub fn start_client(&self, command: &mut Command) -> Process {
        Process::start("client", &self.ground.client, &self.folder, command)
    }

    /// What the client keeps: runs, the queue, its key.
    pub fn home(&self) -> PathBuf {
        self.folder.join("client")
    }

    /// Ends everything in order.
    pub fn stop(&mut self) {
        self.stop_collector();
        for server in self.servers.drain(..).flatten() {
            let ended = server.stop();
            assert!(
                ended.status.success(),
                "server: {}\n{}",
                ended.status,
                ended.err
            );
        }
    }
}
