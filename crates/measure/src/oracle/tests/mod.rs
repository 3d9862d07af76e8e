//! Does the oracle stay right, whatever the kernel does under it?

mod addresses;
mod clients;
mod fake;
mod follower;

use super::client::Oracle;
use super::log::Kind;
use super::places::Places;
use crate::netlink::mptcp::EventKind;
use addresses::addresses;
use fake::Fake;
use model::daemon::Place;
use model::{Family, Seed, Time};
use rand::RngExt;
use std::net::IpAddr;
use std::time::Duration;

/// Time between two turns of a test.
const TURN: Duration = Duration::from_millis(10);

fn oracle(policy: &str, fake: Fake) -> Oracle<Fake> {
    let entry = policy::list::find(policy).expect("in the list");
    let manager = (entry.make)(&policy::list::Parameters::default());
    let place = |name: &str| Place {
        interface: Some(name.to_owned()),
        kind: None,
    };
    let places = Places::new(place("wlan0"), place("wwan0"));
    Oracle::new(
        fake,
        manager,
        policy,
        Duration::from_millis(50),
        places,
        false,
    )
}

struct Stage {
    oracle: Oracle<Fake>,
    now: Time,
    log: Vec<super::Entry>,
}

impl Stage {
    fn new(policy: &str) -> Stage {
        Stage {
            oracle: oracle(policy, Fake::with_interfaces(&["wlan0", "wwan0"])),
            now: Time::ZERO,
            log: Vec::new(),
        }
    }

    fn kernel(&mut self) -> &mut Fake {
        self.oracle.kernel_mut()
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now += TURN;
            self.kernel().turn();
            self.oracle.poll(self.now);
            self.log.extend(self.oracle.take_log());
        }
    }

    fn count(&self, kind: Kind) -> usize {
        self.log.iter().filter(|e| e.kind == kind).count()
    }

    /// The third parts of the addresses of each connection's established subflows.
    fn places(&mut self) -> Vec<Vec<u32>> {
        let of = |c: &fake::FakeConnection| {
            let open = c.subflows.iter().filter(|s| s.established);
            open.map(|s| third(s.local.ip())).collect()
        };
        self.kernel().connections.iter().map(of).collect()
    }
}

#[test]
fn a_silent_wifi_is_left_by_all_and_returned_to() {
    let mut stage = Stage::new("break-before-make");
    for _ in 0..5 {
        stage.kernel().connect(false);
    }
    stage.pass(Duration::from_secs(1));
    assert_eq!(stage.count(Kind::Adopted), 5);
    assert_eq!(stage.count(Kind::Decision), 0);
    stage.kernel().lost[0] = true;
    stage.pass(Duration::from_secs(2));
    assert_eq!(stage.places(), vec![vec![2]; 5]);
    stage.kernel().lost[0] = false;
    stage.pass(Duration::from_secs(20));
    assert_eq!(stage.places(), vec![vec![1]; 5]);
    assert_eq!(stage.count(Kind::Failed), 0);
    assert_eq!(stage.kernel().wrongs, Vec::<String>::new());
}

#[test]
fn a_connection_of_the_kernels_own_path_manager_is_left_alone() {
    let mut stage = Stage::new("break-before-make");
    stage.kernel().connect(true);
    stage.kernel().connect(false);
    stage.pass(Duration::from_secs(1));
    assert_eq!(
        (stage.count(Kind::LeftAlone), stage.count(Kind::Adopted)),
        (1, 1)
    );
    stage.kernel().lost[0] = true;
    stage.pass(Duration::from_secs(2));
    assert_eq!(stage.places(), vec![vec![1], vec![2]]);
    assert_eq!(stage.count(Kind::Failed), 0);
}

#[test]
fn a_connection_that_is_being_made_is_waited_for() {
    let mut stage = Stage::new("break-before-make");
    stage.kernel().connect_over(Family::Ipv4, true, false);
    stage.kernel().connect_over(Family::Ipv6, false, false);
    stage.pass(Duration::from_millis(50));
    let adopted = |stage: &Stage| stage.count(Kind::Adopted);
    assert_eq!(adopted(&stage), 1, "{:#?}", stage.log);
    stage.pass(Duration::from_secs(1));
    assert_eq!(adopted(&stage), 2, "{:#?}", stage.log);
    stage.kernel().lost[0] = true;
    stage.pass(Duration::from_secs(2));
    assert_eq!(stage.places(), vec![vec![2]; 2]);
    assert_eq!(stage.count(Kind::Failed), 0, "{:#?}", stage.log);
    assert_eq!(stage.kernel().wrongs, Vec::<String>::new());
}

/// Cellular has no IPv6: who uses it stays on Wi-Fi, and the others' trials of cellular are none the worse.
#[test]
fn a_connection_that_a_path_cannot_carry_stays_and_is_no_failure() {
    let mut stage = Stage::new("break-before-make");
    let of_ipv4 = |ip: &IpAddr| ip.is_ipv4();
    stage.kernel().interfaces[1].addresses.retain(of_ipv4);
    stage.kernel().connect_over(Family::Ipv6, false, false);
    stage.kernel().connect(false);
    stage.pass(Duration::from_secs(1));
    stage.kernel().lost[0] = true;
    stage.pass(Duration::from_secs(2));
    assert_eq!(stage.places(), vec![vec![1], vec![2]]);
    stage.kernel().lost[0] = false;
    stage.pass(Duration::from_secs(20));
    assert_eq!(stage.places(), vec![vec![1]; 2]);
    assert_eq!(stage.count(Kind::Failed), 0, "{:#?}", stage.log);
    // Now it has, and then Wi-Fi has none any more.
    stage.kernel().interfaces[1].addresses = addresses(2, 2);
    stage.kernel().rang = true;
    stage.pass(Duration::from_secs(1));
    stage.kernel().interfaces[0].addresses.retain(of_ipv4);
    stage.kernel().rang = true;
    stage.pass(Duration::from_secs(60));
    assert_eq!(stage.places(), vec![vec![2], vec![1]], "{:#?}", stage.log);
    stage.kernel().lost[0] = true;
    stage.pass(Duration::from_secs(2));
    assert_eq!(stage.places(), vec![vec![2]; 2]);
    stage.kernel().lost[0] = false;
    stage.pass(Duration::from_secs(60));
    assert_eq!(stage.places(), vec![vec![2], vec![1]]);
    assert_eq!(stage.count(Kind::Failed), 0, "{:#?}", stage.log);
    assert_eq!(stage.kernel().wrongs, Vec::<String>::new());
}

/// Looked at while its SYN is on the way, it is left alone as well.
#[test]
fn a_connection_that_a_path_cannot_carry_is_not_adopted_while_it_is_made() {
    let mut stage = Stage::new("break-before-make");
    stage.kernel().interfaces[1]
        .addresses
        .retain(IpAddr::is_ipv4);
    stage.kernel().connect_over(Family::Ipv6, false, false);
    stage.kernel().connections[0].subflows[0].established = false;
    stage.kernel().lost[0] = true;
    stage.pass(Duration::from_secs(1));
    assert_eq!(stage.places(), [Vec::<u32>::new()]);
    stage.kernel().lost[0] = false;
    stage.pass(Duration::from_secs(1));
    assert_eq!(stage.places(), vec![vec![1]]);
    assert_eq!(stage.count(Kind::Adopted), 0, "{:#?}", stage.log);
}

#[test]
fn a_new_address_is_moved_to_and_the_old_subflow_closed() {
    let mut stage = Stage::new("break-before-make");
    stage.kernel().connect(false);
    stage.pass(Duration::from_secs(1));
    let new = addresses(1, 99);
    stage.kernel().interfaces[0].addresses.clone_from(&new);
    stage.kernel().rang = true;
    stage.pass(Duration::from_secs(30));
    let kernel = stage.kernel();
    let locals: Vec<IpAddr> = kernel.connections[0]
        .subflows
        .iter()
        .map(|s| s.local.ip())
        .collect();
    assert_eq!(locals, new[..1], "{:#?}", stage.log);
    assert_eq!(stage.kernel().wrongs, Vec::<String>::new());
}

/// Connections come and vanish, subflows are reset, packets get lost, interfaces go and come and change
/// their addresses, notifications overflow and readings fail, in any order; then all is well again. What
/// must hold: no last subflow is ever closed, nothing that is merely gone is a failure, and in the end
/// every connection is known, and on Wi-Fi alone.
#[test]
fn random_sequences_of_events_leave_it_right() {
    for policy in ["break-before-make", "multimob", "multimob-tlp"] {
        for seed in 0..12 {
            random_sequence(policy, seed);
        }
    }
}

fn random_sequence(policy: &str, seed: u64) {
    let mut random = Seed(seed).stream("oracle.events");
    let mut stage = Stage::new(policy);
    for _ in 0..60 {
        let which: usize = random.random_range(0..1_000);
        let path = which % 2;
        match random.random_range(0..14) {
            0..=2 => {
                let (family, mapped) = [
                    (Family::Ipv4, false),
                    (Family::Ipv4, true),
                    (Family::Ipv6, false),
                ][which % 3];
                let kernels = which.is_multiple_of(7);
                stage.kernel().connect_over(family, mapped, kernels);
            }
            3 => stage.kernel().vanish(which),
            4 => {
                let fake = stage.kernel();
                let several = fake.connections.len() > 1;
                if several && fake.connections.iter().all(|c| c.subflows.len() > 1) {
                    fake.reset(which, which.is_multiple_of(3));
                }
            }
            5 => stage.kernel().lost[path] = true,
            6 => stage.kernel().lost[path] = false,
            7 | 8 => {
                let fake = stage.kernel();
                fake.interfaces[path].running ^= true;
                fake.rang = !which.is_multiple_of(5);
            }
            9 => {
                let fake = stage.kernel();
                let last = 2 + (which % 3) as u8;
                fake.interfaces[path].addresses = addresses(path as u32 + 1, last);
                fake.rang = true;
            }
            10 => {
                let fake = stage.kernel();
                // All of them, or those of IPv6.
                let stays = which.is_multiple_of(3);
                let addresses = &mut fake.interfaces[path].addresses;
                addresses.retain(|ip| stays && ip.is_ipv4());
                fake.rang = true;
            }
            11 => stage.kernel().overflow = true,
            12 => stage.kernel().fail_reading = which.is_multiple_of(2),
            // Of a connection that never was.
            _ => stage.kernel().tell(EventKind::SubflowClosed, which as u32),
        }
        stage.pass(Duration::from_millis(random.random_range(0..1_500)));
    }
    let fake = stage.kernel();
    fake.fail_reading = false;
    fake.lost = vec![false; 2];
    for (path, interface) in fake.interfaces.iter_mut().enumerate() {
        interface.running = true;
        if interface.addresses.len() < 3 {
            interface.addresses = addresses(path as u32 + 1, 2);
        }
    }
    fake.rang = true;
    // The longest hold-down, and what a trial takes.
    stage.pass(Duration::from_secs(180));
    let case = format!("{policy}, seed {seed}");
    assert_eq!(stage.kernel().wrongs, Vec::<String>::new(), "{case}");
    let status = stage.oracle.status(stage.now);
    let known: Vec<u32> = status.connections.iter().map(|c| c.token).collect();
    let mut there: Vec<u32> = stage.kernel().connections.iter().map(|c| c.token).collect();
    there.sort_unstable();
    let mut sorted = known.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, there, "{case}");
    for connection in &stage.kernel().connections.clone() {
        // One whose address had changed before it was ever seen is over no path of ours.
        let of = |c: &&super::ConnectionStatus| c.token == connection.token;
        let state = status.connections.iter().find(of).map(|c| c.state);
        if connection.kernels || state == Some("other") {
            continue;
        }
        let open: Vec<u32> = connection
            .subflows
            .iter()
            .map(|s| s.local.ip())
            .map(third)
            .collect();
        assert_eq!(open, [1], "{case}: {connection:#?}");
    }
    let failed: Vec<_> = stage
        .log
        .iter()
        .filter(|e| e.kind == Kind::Failed)
        .collect();
    let excused = |e: &&&super::Entry| {
        let words = [
            "Cannot assign requested address",
            "has no address from which",
        ];
        words.iter().any(|w| e.detail.contains(w))
    };
    let wrong: Vec<_> = failed.iter().filter(|e| !excused(e)).collect();
    assert!(wrong.is_empty(), "{case}: {wrong:#?}");
}

fn third(ip: IpAddr) -> u32 {
    match ip {
        IpAddr::V4(ip) => u32::from(ip.octets()[2]),
        IpAddr::V6(ip) => u32::from(ip.segments()[2]),
    }
}
