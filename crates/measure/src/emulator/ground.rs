//! Which hosts, interfaces, addresses and routes an emulated experiment stands on.

use super::attachment::{Attachment, Carrier};
use super::device::{self, Device, DeviceKind, MTU, PacketSocket, Tun};
use super::namespace::{NamespaceError, NetNs};
use super::sysctl;
use crate::addresses::{self, MAX_PATHS};
use crate::netlink::route::{MAIN_TABLE, Route, RouteError, Routing};
use crate::transport::LocalPath;
use model::{Family, Name, PathKind};
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

/// Packets that wait in a TUN device for the emulator to read them: a burst of a whole
/// congestion window should fit (the kernel's own default is 500).
const TUN_QUEUE: u32 = 4_096;
/// Longest interface name (`IFNAMSIZ` less the terminating zero).
const LONGEST_NAME: usize = 15;

/// Why the hosts could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum GroundError {
    /// A namespace could not be made.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The network of a namespace could not be configured.
    #[error("{0}: `walkabout doctor` looks for the reason")]
    Route(#[from] RouteError),
    /// No device could be opened.
    #[error("could not open a {kind} device for the interface {interface}: {source}{advice}")]
    Device {
        /// Of which kind.
        kind: DeviceKind,
        /// For which interface.
        interface: String,
        /// The kernel's answer.
        source: io::Error,
        /// What to do about it.
        advice: &'static str,
    },
    /// The address plan has no room.
    #[error("{0} paths are too many: there is room for 1 to {MAX_PATHS}")]
    Paths(usize),
}

/// The emulator's sides of all interfaces.
#[derive(Debug)]
pub struct Devices {
    /// One per path, with the client's address on it.
    pub clients: Vec<(IpAddr, Device)>,
    /// The server's one.
    pub server: Device,
}

/// Two hosts, each in a network namespace of its own, and the devices that join them to the
/// emulator. Everything disappears with the process.
///
/// The client has one interface per path, named like it, and a routing table per path; the
/// server has one interface and one address. Nothing carries a packet until an
/// [`super::Emulator`] runs on the devices.
#[derive(Debug)]
pub struct Ground {
    /// The host that walks.
    pub client: NetNs,
    /// The host that stays.
    pub server: NetNs,
    /// Where the emulator's ends of the interfaces are: the namespace of the thread that made
    /// the ground.
    pub emulator: NetNs,
    /// The client's paths, in order.
    pub local_paths: Vec<LocalPath>,
    /// How each path is attached to the client, in the same order.
    pub attachments: Vec<Attachment>,
    /// The server's address.
    pub server_address: IpAddr,
    /// How packets enter and leave the emulator.
    pub kind: DeviceKind,
    devices: Option<Devices>,
}

impl Ground {
    /// The emulator's sides, for [`super::Emulator::new`].
    ///
    /// # Panics
    /// When they were taken before.
    pub fn take_devices(&mut self) -> Devices {
        self.devices.take().expect("the devices were not taken yet")
    }

    /// Sets up the hosts for these paths, with addresses of `family`, on devices of `kind`, or on
    /// the best kind that opens here. To be called after [`super::enter_user_namespace`], or by root.
    pub fn make(
        paths: &[(Name, PathKind)],
        family: Family,
        kind: Option<DeviceKind>,
    ) -> Result<Ground, GroundError> {
        if paths.is_empty() || paths.len() > MAX_PATHS {
            return Err(GroundError::Paths(paths.len()));
        }
        sysctl::prepare(Family::Ipv4);
        let emulator = NetNs::current()?;
        let (client, server) = (NetNs::create()?, NetNs::create()?);
        for host in [&client, &server] {
            host.run(|| sysctl::prepare(family))?;
        }
        let kind = match kind {
            Some(kind) => kind,
            None if server.run(|| Tun::create("probe").is_ok())? => DeviceKind::Tun,
            None => DeviceKind::PacketSocket,
        };

        let mut clients = Vec::new();
        let mut local_paths = Vec::new();
        let mut attachments = Vec::new();
        let names = interface_names(paths.iter().map(|(name, _)| name.as_str()));
        for (path, ((name, path_kind), interface)) in paths.iter().zip(&names).enumerate() {
            let ends = Ends {
                number: path as u8 + 1,
                interface,
                family,
            };
            let (device, index, carrier) = ends.open(kind, &client)?;
            let address = addresses::client(family, path);
            let attachment = Attachment::new(path, index, address, carrier);
            client.run(|| attachment.attach(&mut Routing::open()?))??;
            attachments.push(attachment);
            clients.push((address, device));
            local_paths.push(LocalPath {
                name: name.clone(),
                kind: *path_kind,
                address,
                interface: index,
            });
        }

        let ends = Ends {
            number: 0,
            interface: "server",
            family,
        };
        let server_address = addresses::server(family);
        let (device, index, _) = ends.open(kind, &server)?;
        server.run(|| {
            let mut routing = Routing::open()?;
            routing.add_address(
                index,
                server_address,
                if family == Family::Ipv4 { 32 } else { 128 },
            )?;
            routing.set_up(index, true)?;
            routing.add_route(&Route {
                family,
                destination: None,
                interface: Some(index),
                source: Some(server_address),
                table: MAIN_TABLE,
                metric: 100,
            })?;
            routing.wait_for_address(server_address)
        })??;
        Ok(Ground {
            client,
            server,
            emulator,
            local_paths,
            attachments,
            server_address,
            kind,
            devices: Some(Devices {
                clients,
                server: device,
            }),
        })
    }
}

/// Both ends of one interface.
struct Ends<'n> {
    /// The path's number from 1, or 0 for the server.
    number: u8,
    /// The interface's name at the host.
    interface: &'n str,
    /// What it carries.
    family: Family,
}

impl Ends<'_> {
    /// Opens the emulator's end; the host's is configured but for its address, and down.
    fn open(&self, kind: DeviceKind, host: &NetNs) -> Result<(Device, u32, Carrier), GroundError> {
        match kind {
            DeviceKind::Tun => {
                let tun = host.run(|| {
                    let tun = Tun::create(self.interface).map_err(|e| self.error(kind, e))?;
                    let mut routing = Routing::open()?;
                    routing.set_queue_length(tun.index(), TUN_QUEUE)?;
                    routing.set_mtu(tun.index(), MTU)?;
                    Ok::<_, GroundError>(tun)
                })??;
                let index = tun.index();
                Ok((Device::Tun(tun), index, Carrier::Switch))
            }
            DeviceKind::PacketSocket => {
                let end = format!("end{}", self.number);
                // Locally administered (bit 1 of the first octet).
                let address = |end| [0x02, 0x77, 0, 0, self.number, end];
                let mut here = Routing::open()?;
                let near = (end.as_str(), address(1));
                here.create_veth(near, (self.interface, address(2)), host.as_fd())?;
                let peer = here.link(&end)?.index;
                here.set_mtu(peer, MTU)?;
                device::turn_off_offloads(&end).map_err(|e| self.error(kind, e))?;
                here.set_up(peer, true)?;
                let index = host.run(|| {
                    let mut there = Routing::open()?;
                    let index = there.link(self.interface)?.index;
                    there.set_mtu(index, MTU)?;
                    // There is no one to ask: frames go out to the interface's own hardware
                    // address, which makes the emulator's kernel ignore them as another
                    // host's, while the packet socket sees them.
                    there.set_no_arp(index)?;
                    device::turn_off_offloads(self.interface).map_err(|e| self.error(kind, e))?;
                    Ok::<_, GroundError>(index)
                })??;
                let socket = PacketSocket::open(peer, self.family, &address(2));
                let socket = socket.map_err(|e| self.error(kind, e))?;
                Ok((Device::PacketSocket(socket), index, Carrier::Peer(peer)))
            }
        }
    }

    fn error(&self, kind: DeviceKind, source: io::Error) -> GroundError {
        GroundError::Device {
            kind,
            interface: self.interface.to_owned(),
            source,
            advice: match kind {
                DeviceKind::Tun => {
                    "; /dev/net/tun must be there and writable, or use a packet socket"
                }
                DeviceKind::PacketSocket => "",
            },
        }
    }
}

/// A usable interface name for each path: its own, shortened; or `pathN` where that is no
/// interface name or taken.
fn interface_names<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<String> {
    // `all` and `default` have another meaning among the kernel's settings.
    let mut names: Vec<String> = ["lo", "all", "default", "server"].map(str::to_owned).into();
    let reserved = names.len();
    for (index, path) in paths.enumerate() {
        let name: String = path.chars().take(LONGEST_NAME).collect();
        let fits = !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        if fits && !names.contains(&name) {
            names.push(name);
        } else {
            names.push(format!("path{index}"));
        }
    }
    names.split_off(reserved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_names_are_short_and_unique() {
        let paths = [
            "wifi",
            "a-very-long-name-1",
            "a-very-long-name-2",
            "lo",
            "a b",
            "ü",
        ];
        let names = interface_names(paths.into_iter());
        assert_eq!(
            names,
            [
                "wifi",
                "a-very-long-nam",
                "path2",
                "path3",
                "path4",
                "path5"
            ]
        );
    }
}
