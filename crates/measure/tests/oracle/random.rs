//! Does the daemon stay right in a random order of events: interfaces go and come, addresses change, packets
//! vanish, connections come and go, and the follower at the other end is restarted?

use crate::ground::{Process, Running, everywhere, inside, server, setup, status, wait_for_status};
use crate::hosts::echo::{App, serve};
use crate::hosts::{self, DESKTOP_BOTH, Hosts, NAMES, USUAL, ip};
use crate::{all_on, in_use};
use model::{Family, Seed};
use rand::RngExt;
use serde_json::{Value, json};
use std::path::Path;

const NAME: &str = "random::interfaces_addresses_and_connections_come_and_go";
const SEEDS: [u64; 2] = [6, 7];
const TURNS: usize = 16;

#[test]
fn interfaces_addresses_and_connections_come_and_go() {
    inside(NAME, || SEEDS.into_iter().for_each(sequence));
}

/// In the end every connection that is left is known, steered and on Wi-Fi alone, and its server sends there.
fn sequence(seed: u64) {
    let ground = Hosts::new(DESKTOP_BOTH);
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut follower = follow(&ground, there.path());
    serve(&ground, everywhere());
    let daemon = Running::start(setup(here.path()));
    let start = |n: usize| App::start(server(Family::ALL[n % 2]));
    let mut apps: Vec<App> = (0..2).map(start).collect();
    wait_for_status(here.path(), |s| all_on(s, 2, NAMES[0]));
    let mut random = Seed(seed).stream("oracle.kernel");
    let mut last = [USUAL; 2];
    for turn in 0..TURNS {
        let path: usize = random.random_range(0..2);
        let what = random.random_range(0..8);
        eprintln!("seed {seed}, turn {turn}: {what} on {}", NAMES[path]);
        match what {
            0 => {
                ip(&format!("link set {} down", NAMES[path]));
                wait_for_status(here.path(), |s| s["paths"][path]["up"] == false);
                ip(&format!("link set {} up", NAMES[path]));
                ground.give_address(path, last[path]);
            }
            1 => {
                ground.take_address(path, last[path]);
                last[path] = USUAL + (last[path] + 1) % 5;
                ground.give_address(path, last[path]);
            }
            2 | 3 => {
                ground.lose(0, true, true);
                wait_for_status(here.path(), |s| all_on(s, apps.len(), NAMES[1]));
                ground.find_again(0);
            }
            4 if apps.len() > 1 => drop(apps.remove(0)),
            5 | 6 => {
                follower.kill();
                follower = follow(&ground, there.path());
            }
            _ => apps.push(start(turn)),
        }
        let addresses = Family::ALL.map(|family| hosts::address(family, path, last[path]));
        let addresses = json!(addresses);
        wait_for_status(here.path(), |s| {
            s["paths"][path]["up"] == true && s["paths"][path]["addresses"] == addresses
        });
    }
    wait_for_status(here.path(), |s| all_on(s, apps.len(), NAMES[0]));
    apps.iter().for_each(|app| app.goes_on(10));
    let wifi = Family::ALL.map(|family| hosts::address(family, 0, last[0]).to_string());
    // A connection that ended while no address of its was left is the server's for minutes yet.
    let left = |s: &Value, end: &str| {
        s["connections"]
            .as_array()
            .cloned()
            .unwrap_or_default()
            .into_iter()
            .filter(|c| c["state"] == "steered")
            .map(|c| c[end].clone())
            .collect::<Vec<_>>()
    };
    let ours = status(here.path()).map_or_else(Vec::new, |s| left(&s, "local"));
    wait_for_status(there.path(), |s| {
        let of = |c: &&Value| ours.contains(&c["remote"]);
        let all = s["connections"].as_array().into_iter().flatten();
        let used = in_use(&json!({"connections": all.filter(of).collect::<Vec<_>>()}));
        used.len() == apps.len() && used.iter().all(|ip| wifi.contains(ip))
    });
    daemon.end();
    follower.kill();
}

/// The follower in the server's namespace, as a process that can be killed.
fn follow(ground: &Hosts, folder: &Path) -> Process {
    ground.at_server(|| Process::follow(NAME, folder))
}
