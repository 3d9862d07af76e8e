//! Which network does the test stand on?
//!
//! ```text
//! client ─ wlan0 ─┐          ┌─ collector
//!                 ├─ router ─┼─ line  2 ms ─ near
//! client ─ wwan0 ─┘          ├─ line 15 ms ─ middle
//!                            └─ line 40 ms ─ far
//! ```
//! Each host is a network namespace without a name: all of it is gone when this process and those it
//! started are.

use crate::line::Line;
use measure::emulator::device::turn_off_offloads;
use measure::emulator::{NetNs, enter_user_namespace};
use nix::unistd::Uid;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The client's addresses: what nobody but the client itself may keep.
pub const CLIENT: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 81, 1, 123), Ipv4Addr::new(10, 81, 2, 134)];
/// The same of IPv6.
pub const CLIENT_IPV6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd81, 1, 0, 0, 0, 0, 0, 0x123),
    Ipv6Addr::new(0xfd81, 2, 0, 0, 0, 0, 0, 0x134),
];
/// From a link-local address a router asks for the neighbours that it forwards to (RFC 4861, section 7.2.2).
const ASKS: &str = "addr add fe80::1/64";
/// Where the collector is.
pub const COLLECTOR: Ipv4Addr = Ipv4Addr::new(10, 81, 10, 2);
/// The test servers: id and one-way delay.
const SERVERS: [(&str, u64); 3] = [("near", 2), ("middle", 15), ("far", 40)];

/// Becomes able to make network namespaces, as root or in a user namespace.
///
/// # Errors
/// The reason, when the machine does not let it.
pub fn enter() -> Result<(), String> {
    if Uid::effective().is_root() {
        return Ok(());
    }
    enter_user_namespace().map_err(|error| format!("no namespaces can be made here: {error}"))
}

/// The hosts.
pub struct Ground {
    /// Wi-Fi and cellular.
    pub client: NetNs,
    router: NetNs,
    /// At [`COLLECTOR`].
    pub collector: NetNs,
    /// The nearest first.
    pub sites: Vec<Site>,
}

/// A test server's host, and the line that leads there.
pub struct Site {
    /// The server's id.
    pub id: &'static str,
    /// Its address.
    pub address: IpAddr,
    /// Its address of IPv6.
    pub address_ipv6: IpAddr,
    /// Its host.
    pub host: NetNs,
    /// What every packet to it goes through.
    pub line: Line,
    /// The line's delay, one way.
    pub delay: Duration,
}

/// Runs a command in `host` from its start.
pub fn at<'c>(host: &NetNs, command: &'c mut Command) -> &'c mut Command {
    let host = host.clone();
    // SAFETY: between fork and exec only system calls are made: setns, and prctl with no pointer.
    unsafe {
        command.pre_exec(move || {
            host.enter().map_err(std::io::Error::other)?;
            // Nothing that was started here outlives this process, whatever ends it.
            match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                -1 => Err(std::io::Error::last_os_error()),
                _ => Ok(()),
            }
        })
    }
}

/// Configures `host`: lines for `ip -batch`.
fn ip(host: &NetNs, lines: &str) {
    ip_with(host, &[], lines);
}

/// The same with options before it.
fn ip_with(host: &NetNs, options: &[&str], lines: &str) {
    let mut command = Command::new("ip");
    command
        .args(options)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = at(host, &mut command)
        .spawn()
        .expect("`ip` (iproute2) can be started");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(lines.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip -batch: {said}\n{lines}");
}

/// A new host, on which IPv6 says nothing of its own accord; forwarding as asked.
fn host(forwards: bool) -> NetNs {
    let host = NetNs::create().unwrap_or_else(|error| panic!("no network namespace: {error}"));
    let set = |name: &str, value: u8| {
        let file = format!("/proc/sys/net/{name}");
        std::fs::write(&file, value.to_string()).unwrap_or_else(|e| panic!("{file}: {e}"));
    };
    host.run(|| {
        set("ipv4/ip_forward", forwards.into());
        set("ipv6/conf/all/forwarding", forwards.into());
        for interfaces in ["all", "default"] {
            // No link-local address, none by announcement, and no question whether one is taken.
            set(&format!("ipv6/conf/{interfaces}/addr_gen_mode"), 1);
            set(&format!("ipv6/conf/{interfaces}/accept_ra"), 0);
            // As IPv4's do, addresses outlive an interface that is down for a while.
            set(&format!("ipv6/conf/{interfaces}/keep_addr_on_down"), 1);
            set(&format!("ipv6/conf/{interfaces}/accept_dad"), 0);
            set(
                &format!("ipv6/conf/{interfaces}/ignore_routes_with_linkdown"),
                1,
            );
            set(&format!("ipv4/conf/{interfaces}/rp_filter"), 0);
            // As network managers do when a cable or a Wi-Fi is gone.
            set(
                &format!("ipv4/conf/{interfaces}/ignore_routes_with_linkdown"),
                1,
            );
        }
    })
    .expect("it can be entered");
    host
}

/// A veth pair, `name` in `here` and `peer` in `there`; every packet in it is one of the wire's.
fn cable(here: &NetNs, name: &str, there: &NetNs, peer: &str) {
    let (process, descriptor) = (std::process::id(), there.as_fd().as_raw_fd());
    let veth = format!("link add {name} type veth peer name {peer}");
    ip(
        here,
        &format!("{veth} netns /proc/{process}/fd/{descriptor}\nlink set {name} up\n"),
    );
    ip(there, &format!("link set {peer} up\n"));
    for (host, end) in [(here, name), (there, peer)] {
        let done = host
            .run(|| turn_off_offloads(end))
            .expect("it can be entered");
        done.unwrap_or_else(|error| panic!("{end}: {error}"));
    }
}

impl Ground {
    /// Lays it.
    pub fn lay() -> Ground {
        let (client, router, collector) = (host(false), host(true), host(false));
        for (n, (interface, end)) in [("wlan0", "wlan-r"), ("wwan0", "wwan-r")]
            .iter()
            .enumerate()
        {
            cable(&router, end, &client, interface);
            let (net, address, table) = (n + 1, CLIENT[n], 100 + n);
            ip(
                &router,
                &format!(
                    "addr add 10.81.{net}.1/24 dev {end}\n\
                     addr add fd81:{net}::1/64 dev {end} nodad\n\
                     {ASKS} dev {end} nodad\n"
                ),
            );
            let gateway = format!("via 10.81.{net}.1 dev {interface}");
            let address_ipv6 = CLIENT_IPV6[n];
            let gateway_ipv6 = format!("via fd81:{net}::1 dev {interface}");
            ip(
                &client,
                &format!(
                    "addr add {address}/24 dev {interface}\n\
                     rule add from {address} lookup {table}\n\
                     route add default {gateway} table {table}\n\
                     route add unreachable default metric 9999 table {table}\n\
                     route add default {gateway} metric {table}\n"
                ),
            );
            ip_with(
                &client,
                // Rules are of IPv4 unless told.
                &["-6"],
                &format!(
                    "addr add {address_ipv6}/64 dev {interface} nodad\n\
                     rule add from {address_ipv6} lookup {table}\n\
                     route add default {gateway_ipv6} table {table}\n\
                     route add unreachable default metric 9999 table {table}\n\
                     route add default {gateway_ipv6} metric {table}\n"
                ),
            );
        }
        cable(&router, "collector-r", &collector, "eth0");
        ip(&router, "addr add 10.81.10.1/24 dev collector-r\n");
        let home = |net| format!("route add default via 10.81.{net}.1 dev eth0\n");
        ip(
            &collector,
            &format!("addr add {COLLECTOR}/24 dev eth0\n{}", home(10)),
        );
        let sites = SERVERS.iter().zip(21u8..).map(|((id, delay_ms), net)| {
            let (site, middle) = (host(false), host(false));
            let end = format!("{id}-r");
            cable(&middle, "inner", &router, &end);
            cable(&middle, "outer", &site, "eth0");
            let address = Ipv4Addr::new(10, 81, net, 2);
            let address_ipv6 = Ipv6Addr::new(0xfd81, net.into(), 0, 0, 0, 0, 0, 2);
            ip(
                &router,
                &format!(
                    "addr add 10.81.{net}.1/24 dev {end}\n\
                     addr add {}/64 dev {end} nodad\n\
                     {ASKS} dev {end} nodad\n",
                    Ipv6Addr::new(0xfd81, net.into(), 0, 0, 0, 0, 0, 1)
                ),
            );
            ip(
                &site,
                &format!(
                    "addr add {address}/24 dev eth0\n{}\
                     addr add {address_ipv6}/64 dev eth0 nodad\n\
                     route add ::/0 via {} dev eth0\n",
                    home(net),
                    Ipv6Addr::new(0xfd81, net.into(), 0, 0, 0, 0, 0, 1)
                ),
            );
            let delay = Duration::from_millis(*delay_ms);
            Site {
                id,
                address: address.into(),
                address_ipv6: address_ipv6.into(),
                host: site,
                line: Line::lay(&middle, ["inner", "outer"], delay),
                delay,
            }
        });
        let sites = sites.collect();
        Ground {
            client,
            router,
            collector,
            sites,
        }
    }

    /// Switches the access point off, or on again: the client's interface loses its carrier.
    pub fn wifi(&self, on: bool) {
        let state = if on { "up" } else { "down" };
        ip(&self.router, &format!("link set wlan-r {state}\n"));
    }

    /// IP packets that went to or came from any test server so far.
    pub fn packets(&self) -> u64 {
        self.sites.iter().map(|site| site.line.packets()).sum()
    }
}
