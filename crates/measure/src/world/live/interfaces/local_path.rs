//! How does an interface become a path? By its address of the family the server is reached by.

use super::Interface;
use crate::transport::LocalPath;
use model::{Family, Name, PathKind};
use std::net::IpAddr;

/// Why an interface cannot be a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// No such interface.
    #[error(
        "the path `{path}` is to run over {interface}, which this host does not have; it has {others}"
    )]
    NoInterface {
        /// The path's name.
        path: String,
        /// The interface's name.
        interface: String,
        /// The interfaces there are.
        others: String,
    },
    /// It is down.
    #[error(
        "the path `{path}` is to run over {interface}, which is down or has no carrier: bring it up, or connect it to its network"
    )]
    Down {
        /// The path's name.
        path: String,
        /// The interface's name.
        interface: String,
    },
    /// It has no address of the family.
    #[error("the path `{path}` is to run over {interface}, which has no {family} address{advice}")]
    NoAddress {
        /// The path's name.
        path: String,
        /// The interface's name.
        interface: String,
        /// The family in words.
        family: &'static str,
        /// What to do.
        advice: &'static str,
    },
}

/// The path called `name` of this `kind` over the interface called `interface`, with its address of
/// `family`; `interfaces` are the host's.
pub fn local_path(
    interfaces: &[Interface],
    name: &Name,
    kind: PathKind,
    interface: &str,
    family: Family,
) -> Result<LocalPath, PathError> {
    let (path, wanted) = (name.to_string(), interface.to_owned());
    let Some(found) = interfaces.iter().find(|i| i.name == interface) else {
        let others: Vec<&str> = interfaces.iter().map(|i| i.name.as_str()).collect();
        return Err(PathError::NoInterface {
            path,
            interface: wanted,
            others: others.join(", "),
        });
    };
    if !found.running {
        let interface = wanted;
        return Err(PathError::Down { path, interface });
    }
    let of_family = found.addresses.iter().filter(|a| Family::of(**a) == family);
    // A unique local address (RFC 4193) leads to no server beyond the site.
    let Some(address) = of_family.min_by_key(|address| is_unique_local(address)) else {
        let (family, advice) = match (family, found.addresses.is_empty()) {
            (_, true) => (
                words(family),
                ": it has none at all; connect it to its network",
            ),
            (Family::Ipv4, false) => (
                "IPv4",
                ", only IPv6: choose IPv6 for the server, or another interface",
            ),
            (Family::Ipv6, false) => (
                "IPv6",
                ", only IPv4: choose IPv4 for the server, or another interface",
            ),
        };
        return Err(PathError::NoAddress {
            path,
            interface: wanted,
            family,
            advice,
        });
    };
    Ok(LocalPath {
        name: name.clone(),
        kind,
        address: *address,
        interface: found.index,
    })
}

fn words(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    }
}

/// fc00::/7.
fn is_unique_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.segments()[0] & 0xfe00 == 0xfc00,
    }
}

#[cfg(test)]
mod tests {
    use super::super::InterfaceKind;
    use super::*;

    #[test]
    fn a_path_gets_an_address_of_the_family_or_a_reason() {
        let wlan = Interface {
            index: 3,
            name: "wlan0".to_owned(),
            kind: InterfaceKind::Wifi,
            running: true,
            addresses: vec![
                "fd12::7".parse().unwrap(),
                "192.0.2.7".parse().unwrap(),
                "2001:db8::7".parse().unwrap(),
            ],
            default_route: [true, true],
            wifi: None,
        };
        let usb = Interface {
            index: 4,
            name: "usb0".to_owned(),
            addresses: vec!["192.0.2.9".parse().unwrap()],
            ..wlan.clone()
        };
        let eth = Interface {
            index: 5,
            name: "eth0".to_owned(),
            running: false,
            ..wlan.clone()
        };
        let bare = Interface {
            index: 6,
            name: "wwan0".to_owned(),
            addresses: Vec::new(),
            ..wlan.clone()
        };
        let all = [wlan, usb, eth, bare];
        let name = Name::from("cellular");
        let told: Vec<String> = [
            ("wlan0", Family::Ipv4),
            ("wlan0", Family::Ipv6),
            ("usb0", Family::Ipv4),
            ("usb0", Family::Ipv6),
            ("eth0", Family::Ipv4),
            ("wwan0", Family::Ipv4),
            ("wlan1", Family::Ipv4),
        ]
        .into_iter()
        .map(|(interface, family)| {
            match local_path(&all, &name, PathKind::Cellular, interface, family) {
                Ok(path) => format!("{} at {}", path.address, path.interface),
                Err(error) => error.to_string(),
            }
        })
        .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        192.0.2.7 at 3
        2001:db8::7 at 3
        192.0.2.9 at 4
        the path `cellular` is to run over usb0, which has no IPv6 address, only IPv4: choose IPv4 for the server, or another interface
        the path `cellular` is to run over eth0, which is down or has no carrier: bring it up, or connect it to its network
        the path `cellular` is to run over wwan0, which has no IPv4 address: it has none at all; connect it to its network
        the path `cellular` is to run over wlan1, which this host does not have; it has wlan0, usb0, eth0, wwan0
        ");
    }
}
