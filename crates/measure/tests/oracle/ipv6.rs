//! Does the same hold over IPv6, and for IPv4 over sockets of IPv6?

use crate::ground::{Running, everywhere, inside, server, setup, wait_for_status};
use crate::hosts::echo::{App, serve};
use crate::hosts::{DESKTOP, DESKTOP_BOTH, DESKTOP_IPV6, Hosts, NAMES, USUAL, address, ip};
use crate::{all_leave_and_return, all_on, follows};
use model::Family;
use std::net::{IpAddr, SocketAddr};
use walkabout_measure::oracle::Kind;

/// As an application names an address of IPv4 that makes all its sockets of IPv6.
fn mapped(to: SocketAddr) -> SocketAddr {
    match to.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), to.port()),
        IpAddr::V6(_) => to,
    }
}

#[test]
fn connections_over_ipv6_leave_a_silent_wifi_and_return() {
    const NAME: &str = "ipv6::connections_over_ipv6_leave_a_silent_wifi_and_return";
    inside(NAME, || {
        let ground = Hosts::new(DESKTOP_IPV6);
        serve(&ground, server(Family::Ipv6));
        all_leave_and_return(&ground, server(Family::Ipv6));
    });
}

#[test]
fn on_a_host_with_both_families_ipv6_stays_ipv6() {
    const NAME: &str = "ipv6::on_a_host_with_both_families_ipv6_stays_ipv6";
    inside(NAME, || {
        let ground = Hosts::new(DESKTOP_BOTH);
        serve(&ground, everywhere());
        all_leave_and_return(&ground, server(Family::Ipv6));
    });
}

#[test]
fn ipv4_over_sockets_of_ipv6_is_steered_as_well() {
    const NAME: &str = "ipv6::ipv4_over_sockets_of_ipv6_is_steered_as_well";
    inside(NAME, || {
        let ground = Hosts::new(DESKTOP);
        serve(&ground, everywhere());
        all_leave_and_return(&ground, mapped(server(Family::Ipv4)));
    });
}

/// Cellular has no IPv6: who uses it stays on Wi-Fi, and the others come and go as ever.
#[test]
fn what_cellular_cannot_carry_stays_on_wifi() {
    inside("ipv6::what_cellular_cannot_carry_stays_on_wifi", || {
        let ground = Hosts::new(DESKTOP_BOTH);
        serve(&ground, everywhere());
        let none = address(Family::Ipv6, 1, USUAL);
        ip(&format!("-6 addr del {none}/64 dev {}", NAMES[1]));
        let folder = tempfile::tempdir().unwrap();
        let daemon = Running::start(setup(folder.path()));
        let apps = Family::ALL.map(|family| App::start(server(family)));
        let stays = |s: &serde_json::Value| {
            let all = s["connections"].as_array().into_iter().flatten();
            let mut of_ipv6 = all.filter(|c| c["remote"] == server(Family::Ipv6).to_string());
            of_ipv6.any(|c| c["state"] == "other" && c["subflows"][0]["state"] == "established")
        };
        let now = |path: &'static str| {
            wait_for_status(folder.path(), |s| all_on(s, 1, path) && stays(s));
        };
        now(NAMES[0]);
        ground.lose(0, true, true);
        now(NAMES[1]);
        apps[0].goes_on(10);
        ground.find_again(0);
        now(NAMES[0]);
        apps.iter().for_each(|app| app.goes_on(10));
        let seen = daemon.end();
        assert!(seen.iter().all(|e| e.kind != Kind::Failed), "{seen:#?}");
    });
}

#[test]
fn a_server_follows_its_client_over_ipv6() {
    inside("ipv6::a_server_follows_its_client_over_ipv6", || {
        let ground = Hosts::new(DESKTOP_IPV6);
        follows(&ground, server(Family::Ipv6), server(Family::Ipv6));
    });
}

#[test]
fn a_server_that_takes_both_families_follows_its_client_over_ipv4() {
    const NAME: &str = "ipv6::a_server_that_takes_both_families_follows_its_client_over_ipv4";
    inside(NAME, || {
        let ground = Hosts::new(DESKTOP);
        follows(&ground, everywhere(), server(Family::Ipv4));
    });
}
