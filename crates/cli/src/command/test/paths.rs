//! Over which interfaces does the test run, and what of them is a trap?

use crate::failure::Failure;
use measure::transport::LocalPath;
use measure::world::live::{self, Interface, InterfaceKind, PathFamilies};
use model::live::{Mode, Network};
use model::{Family, Name, PathKind};
use platform::privacy;
use std::collections::BTreeMap;
use std::str::FromStr;

/// `--path NAME=IFACE[:KIND]`
#[derive(Clone, Debug, PartialEq)]
pub struct PathArgument {
    name: String,
    interface: String,
    kind: Option<PathKind>,
}

impl FromStr for PathArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<PathArgument, String> {
        let expected =
            "NAME=IFACE or NAME=IFACE:KIND was expected, such as cellular=wwan0:cellular";
        let (name, rest) = text.split_once('=').ok_or(expected)?;
        let (interface, kind) = match rest.rsplit_once(':') {
            Some((interface, kind)) => (interface, Some(kind)),
            None => (rest, None),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || name.len() > 15 || !name.chars().all(plain) || interface.is_empty() {
            return Err(format!(
                "{expected}; a name has 1 to 15 letters, digits, `-` and `_`"
            ));
        }
        let kind = match kind {
            None => None,
            Some("wifi") => Some(PathKind::Wifi),
            Some("cellular") => Some(PathKind::Cellular),
            Some("ethernet") => Some(PathKind::Ethernet),
            Some(other) => {
                return Err(format!(
                    "`{other}` is no kind: wifi, cellular or ethernet was expected"
                ));
            }
        };
        Ok(PathArgument {
            name: name.to_owned(),
            interface: interface.to_owned(),
            kind,
        })
    }
}

/// A path of the test.
#[derive(Clone, Debug, PartialEq)]
pub struct TestPath {
    /// Its name in every table.
    pub name: Name,
    /// What carries it.
    pub kind: PathKind,
    /// Its interface as it was at the start.
    pub interface: Interface,
}

impl TestPath {
    /// The versions of the internet protocol it can reach a server with: it has an address of the
    /// family, and a route where it has any.
    pub fn families(&self) -> Vec<Family> {
        let Interface {
            addresses,
            default_route: [v4, v6],
            ..
        } = &self.interface;
        let routed = |family| match family {
            _ if !v4 && !v6 => true,
            Family::Ipv4 => *v4,
            Family::Ipv6 => *v6,
        };
        let has = |family| addresses.iter().any(|a| Family::of(*a) == family);
        let all = Family::ALL.into_iter();
        all.filter(|family| has(*family) && routed(*family))
            .collect()
    }

    /// As a transport sees it, where it has an address of `family`.
    pub fn local(&self, family: Family) -> Option<LocalPath> {
        let interfaces = std::slice::from_ref(&self.interface);
        let name = &self.interface.name;
        live::local_path(interfaces, &self.name, self.kind, name, family).ok()
    }

    /// What the manifest says of it: the network's name as a hash under the device's key.
    pub fn network(&self, device_key: &[u8; 32]) -> Network {
        let wifi = self.interface.wifi.as_ref();
        Network {
            path: self.name.clone(),
            kind: self.kind,
            network_hash: wifi.map(|wifi| privacy::keyed_hash(device_key, &wifi.ssid)),
            signal_dbm: wifi.and_then(|wifi| wifi.signal_dbm),
            families: self.families(),
        }
    }
}

/// A kind's word, which is also the name of a path that the user gave none.
pub fn word(kind: PathKind) -> &'static str {
    match kind {
        PathKind::Wifi => "wifi",
        PathKind::Cellular => "cellular",
        PathKind::Ethernet => "ethernet",
    }
}

/// What paths are called where others see them, by their names here: by their kinds.
pub fn public_names(paths: &[TestPath]) -> BTreeMap<String, String> {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let public = paths.iter().map(|path| {
        let kind = word(path.kind);
        let number = seen.entry(kind).or_default();
        *number += 1;
        let public = match number {
            1 => kind.to_owned(),
            _ => format!("{kind}{number}"),
        };
        (path.name.to_string(), public)
    });
    public.collect()
}

/// The paths given, or every interface that leads out: Wi-Fi first, where connections start, then
/// cellular, then wires.
///
/// # Errors
/// When an interface does not exist or cannot be used, and when there is none at all.
pub fn choose(given: &[PathArgument], interfaces: &[Interface]) -> Result<Vec<TestPath>, Failure> {
    let mut chosen: Vec<TestPath> = Vec::new();
    for argument in given {
        let path = named(argument, interfaces)?;
        if chosen.iter().any(|p| p.name == path.name) {
            return Err(Failure::usage(format!(
                "two paths are called `{}`",
                path.name
            )));
        }
        chosen.push(path);
    }
    if !given.is_empty() {
        return Ok(chosen);
    }
    for kind in [PathKind::Wifi, PathKind::Cellular, PathKind::Ethernet] {
        let leads_out = |i: &&Interface| {
            i.running && i.default_route.contains(&true) && !i.addresses.is_empty()
        };
        let of_kind = interfaces.iter().filter(leads_out);
        let of_kind = of_kind.filter(|i| kind_of(i.kind) == Some(kind));
        for (number, interface) in (1..).zip(of_kind) {
            let name = match number {
                1 => word(kind).to_owned(),
                _ => format!("{}{number}", word(kind)),
            };
            chosen.push(TestPath {
                name: name.as_str().into(),
                kind,
                interface: interface.clone(),
            });
        }
    }
    if chosen.is_empty() {
        return Err(Failure::impossible(format!(
            "no interface leads out of this machine ({}); name one with --path NAME=IFACE:KIND",
            list(interfaces)
        )));
    }
    Ok(chosen)
}

fn named(argument: &PathArgument, interfaces: &[Interface]) -> Result<TestPath, Failure> {
    let PathArgument {
        name,
        interface,
        kind,
    } = argument;
    let found = interfaces.iter().find(|i| i.name == *interface);
    let found = found.ok_or_else(|| {
        Failure::usage(format!(
            "--path {name}={interface}: there is no interface `{interface}` ({})",
            list(interfaces)
        ))
    })?;
    let kind = kind.or(kind_of(found.kind)).ok_or_else(|| {
        Failure::usage(format!(
            "--path {name}={interface}: it does not say what it is; add `:wifi`, `:cellular` or \
             `:ethernet`"
        ))
    })?;
    if !found.running || found.addresses.is_empty() {
        return Err(Failure::impossible(format!(
            "--path {name}={interface}: the interface is down or has no address"
        )));
    }
    Ok(TestPath {
        name: name.as_str().into(),
        kind,
        interface: found.clone(),
    })
}

fn kind_of(kind: InterfaceKind) -> Option<PathKind> {
    match kind {
        InterfaceKind::Wifi => Some(PathKind::Wifi),
        InterfaceKind::Cellular => Some(PathKind::Cellular),
        InterfaceKind::Ethernet => Some(PathKind::Ethernet),
        InterfaceKind::Other => None,
    }
}

fn list(interfaces: &[Interface]) -> String {
    match interfaces {
        [] => "there are no interfaces".to_owned(),
        _ => {
            let each = interfaces.iter().map(|i| match i.running {
                true => i.name.clone(),
                false => format!("{} (down)", i.name),
            });
            format!("there are {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Whether these paths are what `mode` needs.
///
/// # Errors
/// In mobile mode without Wi-Fi or without cellular (MultipathTester, section II-B).
pub fn suit(mode: Mode, paths: &[TestPath]) -> Result<(), Failure> {
    let has = |kind| paths.iter().any(|p| p.kind == kind);
    if mode == Mode::Stable || (has(PathKind::Wifi) && has(PathKind::Cellular)) {
        return Ok(());
    }
    let missing = match has(PathKind::Wifi) {
        true => "cellular is missing",
        false if has(PathKind::Cellular) => "Wi-Fi is missing",
        false => "both are missing",
    };
    let there = paths
        .iter()
        .map(|p| format!("{} ({})", p.name, word(p.kind)));
    Err(Failure::impossible(format!(
        "mobile mode needs Wi-Fi and cellular at the start: {missing}; there is {}. Turn it on, or name \
         the interfaces with --path wifi=IFACE:wifi --path cellular=IFACE:cellular",
        there.collect::<Vec<_>>().join(", ")
    )))
}

/// What of these paths keeps a test over `family` from using them all, a sentence each.
pub fn traps(paths: &[TestPath], server: &[Family], family: Family) -> Vec<String> {
    let families = paths.iter().map(|path| PathFamilies {
        path: path.name.clone(),
        families: path.families(),
    });
    live::traps(&families.collect::<Vec<_>>(), server, family)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use measure::world::live::Wifi;
    use std::net::IpAddr;

    /// An interface with these addresses, and a route of each of their families.
    pub fn interface(name: &str, kind: InterfaceKind, addresses: &[&str]) -> Interface {
        let addresses: Vec<IpAddr> = addresses.iter().map(|a| a.parse().expect("one")).collect();
        Interface {
            index: 1,
            name: name.to_owned(),
            kind,
            running: true,
            default_route: Family::ALL.map(|f| addresses.iter().any(|a| Family::of(*a) == f)),
            addresses,
            wifi: (kind == InterfaceKind::Wifi).then(|| Wifi {
                ssid: "home".into(),
                bssid: "02:00:00:00:00:01".into(),
                signal_dbm: Some(-44.0),
            }),
        }
    }

    #[test]
    fn interfaces_that_lead_out_are_paths_wifi_first() {
        let mut down = interface("wlan1", InterfaceKind::Wifi, &["192.0.2.9"]);
        down.running = false;
        let all = [
            interface("lo", InterfaceKind::Other, &[]),
            interface("eth0", InterfaceKind::Ethernet, &["192.0.2.1"]),
            interface("wwan0", InterfaceKind::Cellular, &["2001:db8::2"]),
            down,
            interface("wlan0", InterfaceKind::Wifi, &["192.0.2.3", "2001:db8::3"]),
            interface("eth1", InterfaceKind::Ethernet, &["192.0.2.4"]),
        ];
        let paths = choose(&[], &all).expect("four");
        let names: Vec<&str> = paths.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["wifi", "cellular", "ethernet", "ethernet2"]);
        assert!(suit(Mode::Mobile, &paths).is_ok());
        let error = suit(Mode::Mobile, &paths[2..]).expect_err("only wires");
        assert_eq!(error.exit_code, crate::failure::IMPOSSIBLE);
        assert!(
            error
                .message
                .contains("both are missing; there is ethernet (ethernet)")
        );

        // Wi-Fi with both families, cellular with IPv6 only.
        let both = Family::ALL;
        assert_eq!(traps(&paths[..2], &both, Family::Ipv6), [""; 0]);
        let trapped = traps(&paths[..2], &both, Family::Ipv4);
        assert!(trapped.len() == 1 && trapped[0].contains("`cellular` has only IPv6"));
        assert_eq!(paths[1].local(Family::Ipv4).map(|p| p.name), None);
        let network = paths[0].network(&[7; 32]);
        assert_eq!(
            network.network_hash,
            Some(privacy::keyed_hash(&[7; 32], "home"))
        );
        assert_eq!(network.signal_dbm, Some(-44.0));
    }

    #[test]
    fn paths_can_be_named() {
        let all = [interface("veth0", InterfaceKind::Other, &["192.0.2.1"])];
        let parse = |text: &str| text.parse::<PathArgument>();
        let one = |text| choose(&[parse(text).expect("readable")], &all);
        let path = &one("wifi=veth0:wifi").expect("a path")[0];
        assert_eq!((path.name.as_str(), path.kind), ("wifi", PathKind::Wifi));
        assert!(
            one("wifi=veth0")
                .expect_err("what is it?")
                .message
                .contains("add `:wifi`")
        );
        let none = one("wifi=wlan0:wifi").expect_err("no such");
        assert!(
            none.message
                .contains("no interface `wlan0` (there are veth0)"),
            "{none:?}"
        );
        for wrong in [
            "wifi",
            "=veth0",
            "wifi=",
            "wifi=veth0:radio",
            "sixteen-letters-=a",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
