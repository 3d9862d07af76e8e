//! What is seen of a host's interfaces, and of what happens to them.

use crate::ground::LIMIT;
use crate::hosts::{DESKTOP_BOTH, Hosts, inside, ip};
use std::net::IpAddr;
use walkabout_measure::world::live::{InterfaceChange, InterfaceKind, Monitor, interfaces};

#[test]
fn interfaces_are_listed_as_they_are() {
    inside("interfaces::interfaces_are_listed_as_they_are", || {
        let _ground = Hosts::new(DESKTOP_BOTH);
        ip("link set cell down");
        ip("link add eth9 type veth peer name eth10");
        let all = interfaces().unwrap();
        let named = |name: &str| all.iter().find(|i| i.name == name).unwrap();
        let wifi = named("wifi");
        // What it stands for here is for the user to say: to the kernel it is a virtual wire.
        assert_eq!(wifi.kind, InterfaceKind::Other);
        assert!(wifi.running && wifi.wifi.is_none());
        let mut addresses = wifi.addresses.clone();
        addresses.sort();
        let expected: [IpAddr; 2] = ["10.77.1.2".parse().unwrap(), "fd77:1::2".parse().unwrap()];
        assert_eq!(addresses, expected, "of global scope only");
        assert_eq!(wifi.default_route, [true, true]);
        assert!(!named("cell").running);
        assert_eq!(named("cell").default_route, [false, false]);
        assert_eq!(
            named("cell").addresses,
            ["10.77.2.2".parse::<IpAddr>().unwrap()]
        );
        assert!(!named("eth9").running && named("eth9").addresses.is_empty());
    });
}

#[test]
fn changes_are_told_as_they_happen() {
    inside("interfaces::changes_are_told_as_they_happen", || {
        let ground = Hosts::new(DESKTOP_BOTH);
        let (_monitor, changes) = Monitor::start().unwrap();
        // A change may come in several steps; the last says how it is now.
        let settle = |is_done: &dyn Fn(&InterfaceChange) -> bool| {
            let mut words = Vec::new();
            loop {
                let change = changes.recv_timeout(LIMIT).expect("a change");
                words.push(change.what.clone());
                if is_done(&change) {
                    return words.join("; ");
                }
            }
        };
        let named = |change: &InterfaceChange, name: &str| change.interface.name == name;

        ground.at_server(|| ip("link set s1 down"));
        let words = settle(&|c| named(c, "cell") && !c.interface.running);
        assert!(words.contains("cell lost its carrier"), "{words}");
        ground.at_server(|| ip("link set s1 up"));
        let words = settle(&|c| named(c, "cell") && c.interface.running);
        assert!(words.contains("cell is up and has a carrier"), "{words}");

        ip("addr del 10.77.1.2/24 dev wifi");
        let v4 = |c: &InterfaceChange| c.interface.addresses.iter().any(IpAddr::is_ipv4);
        let words = settle(&|c| named(c, "wifi") && !v4(c) && !c.interface.default_route[0]);
        assert!(words.contains("wifi lost an address"), "{words}");
        ip("addr add 10.77.1.2/24 dev wifi");
        let words = settle(&|c| named(c, "wifi") && v4(c));
        assert!(words.contains("wifi got an address"), "{words}");
        ip("route add default via 10.77.1.1 dev wifi");
        let words = settle(&|c| named(c, "wifi") && c.interface.default_route[0]);
        assert!(words.contains("wifi got an IPv4 default route"), "{words}");

        ip("link add veth0 type veth peer name veth1");
        let words = settle(&|c| named(c, "veth0"));
        assert!(words.contains("veth0 appeared"), "{words}");
        ip("link del veth0");
        let words = settle(&|c| c.what.contains("veth0 is gone"));
        assert!(words.contains("veth0 is gone"), "{words}");
    });
}
