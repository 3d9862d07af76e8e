//! Which Wi-Fi network is an interface associated with, through which access point, and how well
//! does it hear it? By nl80211; numbers are those of linux/nl80211.h.

use super::Wifi;
use crate::netlink::Socket;
use crate::netlink::generic::{self, Attributes, DUMP, Family, Writer};
use std::collections::BTreeMap;
use std::io;

const FAMILY: &str = "nl80211";
/// The multicast group that tells of associations.
const GROUP: &str = "mlme";

const CMD_GET_INTERFACE: u8 = 5;
const CMD_GET_STATION: u8 = 17;
const ATTR_IFINDEX: u16 = 3;
const ATTR_IFTYPE: u16 = 5;
const ATTR_MAC: u16 = 6;
const ATTR_STA_INFO: u16 = 21;
const ATTR_SSID: u16 = 52;
const STA_INFO_SIGNAL: u16 = 7;
/// `NL80211_IFTYPE_STATION`: a client of an access point.
const IFTYPE_STATION: u32 = 2;

/// The kernel's Wi-Fi configuration; reading it takes no privilege.
pub struct Nl80211 {
    socket: Socket,
    family: u16,
}

impl Nl80211 {
    /// `None` where the kernel has no Wi-Fi.
    pub fn open() -> Option<Nl80211> {
        let mut socket = Socket::open(netlink_sys::protocols::NETLINK_GENERIC).ok()?;
        let family = Family::resolve(&mut socket, FAMILY).ok()?.id;
        Some(Nl80211 { socket, family })
    }

    /// A socket that wakes when an association changes; `None` where the kernel has no Wi-Fi.
    pub fn watch() -> Option<Socket> {
        let mut socket = Socket::open(netlink_sys::protocols::NETLINK_GENERIC).ok()?;
        let group = Family::resolve(&mut socket, FAMILY).ok()?.group(GROUP)?;
        socket.join_group(group).ok()?;
        Some(socket)
    }

    /// The Wi-Fi interfaces by index, each with its network if it is associated with one.
    pub fn associations(&mut self) -> BTreeMap<u32, Option<Wifi>> {
        let request = Writer::generic(self.family, DUMP, CMD_GET_INTERFACE, 0).finish();
        let Ok(answers) = self.socket.request(&request) else {
            return BTreeMap::new();
        };
        let interfaces = answers.iter().filter_map(|answer| parse_interface(answer));
        let interfaces: Vec<_> = interfaces.collect();
        let with_station = |(index, ssid): (u32, Option<String>)| {
            let wifi = ssid.and_then(|ssid| {
                let (bssid, signal_dbm) = self.station(index).ok().flatten()?;
                Some(Wifi {
                    ssid,
                    bssid,
                    signal_dbm,
                })
            });
            (index, wifi)
        };
        interfaces.into_iter().map(with_station).collect()
    }

    /// The signal of the interface with this index, in dBm, if it is associated.
    pub fn signal_dbm(&mut self, index: u32) -> Option<f64> {
        self.station(index).ok().flatten()?.1
    }

    /// The access point of an interface and its signal. The only station a client knows is its
    /// access point.
    fn station(&mut self, index: u32) -> io::Result<Option<(String, Option<f64>)>> {
        let request = Writer::generic(self.family, DUMP, CMD_GET_STATION, 0)
            .attribute(ATTR_IFINDEX, &index.to_ne_bytes())
            .finish();
        let answers = self.socket.request(&request)?;
        Ok(answers.iter().find_map(|answer| parse_station(answer)))
    }
}

/// An interface's index, and its network's name if it is a client of one.
fn parse_interface(message: &[u8]) -> Option<(u32, Option<String>)> {
    let (_, attributes) = generic::parse(message)?;
    let is_client = attributes.u32(ATTR_IFTYPE) == Some(IFTYPE_STATION);
    let ssid = attributes.get(ATTR_SSID).filter(|ssid| !ssid.is_empty());
    // Any bytes make a name (IEEE 802.11, section 9.4.2.2); most are UTF-8.
    let ssid = ssid.map(|ssid| String::from_utf8_lossy(ssid).into_owned());
    Some((attributes.u32(ATTR_IFINDEX)?, ssid.filter(|_| is_client)))
}

/// A station's address and signal.
fn parse_station(message: &[u8]) -> Option<(String, Option<f64>)> {
    let (_, attributes) = generic::parse(message)?;
    let address = attributes.array::<6>(ATTR_MAC)?;
    let address = address.map(|byte| format!("{byte:02x}")).join(":");
    let info: Option<Attributes<'_>> = attributes.nested(ATTR_STA_INFO);
    // The byte is signed.
    let signal = info.and_then(|info| info.u8(STA_INFO_SIGNAL));
    Some((address, signal.map(|byte| f64::from(byte as i8))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Writer {
        Writer::generic(0x20, 0, 7, 1)
    }

    #[test]
    fn an_interface_and_its_network() {
        let index = 3_u32.to_ne_bytes();
        let client = message()
            .attribute(ATTR_IFINDEX, &index)
            .attribute(ATTR_IFTYPE, &IFTYPE_STATION.to_ne_bytes())
            .attribute(ATTR_SSID, "Café".as_bytes())
            .finish();
        assert_eq!(parse_interface(&client), Some((3, Some("Café".to_owned()))));
        let access_point = message()
            .attribute(ATTR_IFINDEX, &index)
            .attribute(ATTR_IFTYPE, &3_u32.to_ne_bytes())
            .attribute(ATTR_SSID, b"mine")
            .finish();
        assert_eq!(parse_interface(&access_point), Some((3, None)));
        let no_network = message().attribute(ATTR_IFINDEX, &index).finish();
        assert_eq!(parse_interface(&no_network), Some((3, None)));
        assert_eq!(parse_interface(&message().finish()), None);
    }

    #[test]
    fn an_access_point_and_its_signal() {
        let station = message()
            .attribute(ATTR_MAC, &[0x02, 0, 0xab, 0, 0, 0x0f])
            .nested(ATTR_STA_INFO, |w| w.attribute(STA_INFO_SIGNAL, &[0xbd]))
            .finish();
        assert_eq!(
            parse_station(&station),
            Some(("02:00:ab:00:00:0f".to_owned(), Some(-67.0)))
        );
        let silent = message().attribute(ATTR_MAC, &[1; 6]).finish();
        assert_eq!(parse_station(&silent).map(|s| s.1), Some(None));
        for end in 0..station.len() {
            let _ = parse_station(&station[..end]);
        }
    }

    #[test]
    fn a_kernel_without_wifi_is_no_error() {
        let associations = Nl80211::open().map(|mut wifi| wifi.associations());
        let known = super::super::interfaces().expect("a list");
        for index in associations.unwrap_or_default().keys() {
            assert!(known.iter().any(|i| i.index == *index));
        }
    }
}
