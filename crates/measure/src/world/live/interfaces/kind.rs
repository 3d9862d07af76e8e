//! What is an interface: Wi-Fi, cellular, a wire, or nothing one walks with?

use super::InterfaceKind;
use crate::netlink::route::Link;
use std::fs;
use std::path::{Path, PathBuf};

/// `ARPHRD_ETHER` (linux/if_arp.h).
const ETHERNET: u16 = 1;

/// Names that drivers of modems give their interfaces: the kernel's wwan devices, Qualcomm's, and
/// the point-to-point protocol's.
const CELLULAR_NAMES: [&str; 3] = ["wwan", "rmnet", "ppp"];

/// What `link` is; `is_wifi` when nl80211 knows it.
pub(super) fn of(link: &Link, is_wifi: bool) -> InterfaceKind {
    let sysfs = sysfs(link);
    let is = |file: &str| sysfs.as_deref().is_some_and(|dir| dir.join(file).exists());
    if is_wifi || is("wireless") || is("phy80211") {
        InterfaceKind::Wifi
    } else if named_like_a_modem(link) || sysfs.as_deref().is_some_and(is_wwan) {
        InterfaceKind::Cellular
    } else if link.hardware == ETHERNET && link.made_by.is_none() {
        InterfaceKind::Ethernet
    } else {
        InterfaceKind::Other
    }
}

fn named_like_a_modem(link: &Link) -> bool {
    let of_a_modem = |text: &str| CELLULAR_NAMES.iter().any(|name| text.starts_with(name));
    of_a_modem(&link.name) || link.made_by.as_deref().is_some_and(of_a_modem)
}

/// The interface's directory in /sys, unless /sys shows another network namespace.
fn sysfs(link: &Link) -> Option<PathBuf> {
    let directory = Path::new("/sys/class/net").join(&link.name);
    let index = fs::read_to_string(directory.join("ifindex")).ok()?;
    (index.trim() == link.index.to_string()).then_some(directory)
}

fn is_wwan(directory: &Path) -> bool {
    let uevent = fs::read_to_string(directory.join("uevent"));
    uevent.is_ok_and(|text| text.lines().any(|line| line == "DEVTYPE=wwan"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_name_and_maker_tell() {
        let link = |name: &str, hardware, made_by: Option<&str>| Link {
            index: 1_000_000,
            name: name.to_owned(),
            hardware,
            made_by: made_by.map(str::to_owned),
            ..Link::default()
        };
        let loopback = 772;
        let raw_ip = 519;
        for (link, is_wifi, expected) in [
            (link("wlp3s0", ETHERNET, None), true, InterfaceKind::Wifi),
            (link("eth0", ETHERNET, None), false, InterfaceKind::Ethernet),
            (
                link("veth3", ETHERNET, Some("veth")),
                false,
                InterfaceKind::Other,
            ),
            (
                link("docker0", ETHERNET, Some("bridge")),
                false,
                InterfaceKind::Other,
            ),
            (
                link("wwan0", raw_ip, Some("wwan")),
                false,
                InterfaceKind::Cellular,
            ),
            (
                link("mob0", raw_ip, Some("rmnet")),
                false,
                InterfaceKind::Cellular,
            ),
            (
                link("rmnet_data0", raw_ip, None),
                false,
                InterfaceKind::Cellular,
            ),
            (link("ppp0", 512, None), false, InterfaceKind::Cellular),
            (
                link("tun0", 0xfffe, Some("tun")),
                false,
                InterfaceKind::Other,
            ),
            (link("lo", loopback, None), false, InterfaceKind::Other),
        ] {
            assert_eq!(of(&link, is_wifi), expected, "{}", link.name);
        }
    }
}
