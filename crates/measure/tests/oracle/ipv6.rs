//! Does the same hold over IPv6, and for IPv4 over sockets of IPv6?

use crate::ground::{everywhere, inside, server};
use crate::hosts::echo::serve;
use crate::hosts::{DESKTOP, DESKTOP_BOTH, DESKTOP_IPV6, Hosts};
use crate::{all_leave_and_return, follows};
use model::Family;
use std::net::{IpAddr, SocketAddr};

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
