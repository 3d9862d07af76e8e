//! A kernel that does what tests want: connections come and go, packets vanish, notifications are lost.

use super::addresses::{addresses, leads_nowhere, server};
use crate::netlink::generic::{Attributes, Writer};
use crate::netlink::mptcp::{EventKind, LocalAddress, Notification};
use crate::netlink::sockets::{Connection, Subflow};
use crate::oracle::kernel::{Interface, Kernel};
use crate::transport::kernel::info::{self, TcpInfo};
use crate::transport::kernel::ulp::{self, Role};
use model::Family;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Of the upper layer's flags: the initial subflow, and a joined one, of a client.
const INITIAL: u32 = 1 << 1;
const JOINED: u32 = 1 << 3;
const FULLY: u32 = 1 << 6;
const BACKUP: u32 = 1 << 5;

/// A subflow of the fake.
#[derive(Clone, Debug)]
pub struct FakeSubflow {
    pub cookie: u64,
    pub local: SocketAddr,
    pub interface: u32,
    pub id: u8,
    pub initial: bool,
    pub backup: bool,
    /// When the peer has answered; `None` before.
    pub established: bool,
    /// Turns without an acknowledgement.
    pub silent: u32,
    pub sent: u32,
}

/// A connection of the fake.
#[derive(Clone, Debug)]
pub struct FakeConnection {
    pub token: u32,
    pub inode: u32,
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// Whether its initial subflow is one of IPv6 that carries IPv4.
    pub mapped: bool,
    /// Turns until the kernel says where to.
    pub connecting: u32,
    pub subflows: Vec<FakeSubflow>,
    /// Whether the kernel's own path manager has it.
    pub kernels: bool,
}

/// The kernel.
#[derive(Debug, Default)]
pub struct Fake {
    pub connections: Vec<FakeConnection>,
    pub interfaces: Vec<Interface>,
    /// Whether each interface's packets vanish.
    pub lost: Vec<bool>,
    pub told: Vec<Notification>,
    pub overflow: bool,
    pub fail_reading: bool,
    pub rang: bool,
    /// What went wrong that must not.
    pub wrongs: Vec<String>,
    next: u64,
}

fn refused(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

/// As the kernel says it.
fn words(number: i32, text: &str) -> io::Error {
    let refusal = crate::netlink::socket::Refusal {
        errno: number,
        text: text.to_owned(),
    };
    io::Error::new(refused(number).kind(), refusal)
}

impl Fake {
    pub fn with_interfaces(names: &[&str]) -> Fake {
        let interfaces = (1..).zip(names).map(|(index, name)| Interface {
            index,
            name: (*name).to_owned(),
            kind: None,
            running: true,
            addresses: addresses(index, 2),
            metric: Some(index * 100),
        });
        Fake {
            interfaces: interfaces.collect(),
            lost: vec![false; names.len()],
            rang: true,
            ..Fake::default()
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub fn tell(&mut self, kind: EventKind, token: u32) {
        self.told.push(Notification {
            kind,
            token,
            local_id: None,
            remote_id: None,
            local: None,
            remote: None,
            backup: None,
            error: None,
            reset_reason: None,
        });
    }

    /// An application connects over IPv4 and the first interface that works.
    pub fn connect(&mut self, kernels: bool) {
        self.connect_over(Family::Ipv4, false, kernels);
    }

    /// The same over any family; over IPv4 with a socket of IPv6 when `mapped`.
    pub fn connect_over(&mut self, family: Family, mapped: bool, kernels: bool) {
        let of_family = |a: &&IpAddr| Family::of(**a) == family && !leads_nowhere(a);
        let works = |i: &&Interface| i.running && !self.lost[i.index as usize - 1];
        let address = |i: &Interface| i.addresses.iter().find(of_family).copied();
        let Some(ip) = self.interfaces.iter().filter(works).find_map(address) else {
            return;
        };
        let number = self.number();
        let local = SocketAddr::new(ip, 10_000 + (number % 50_000) as u16);
        let token = 0x1000 + number as u32;
        self.connections.push(FakeConnection {
            token,
            inode: 100_000 + number as u32,
            local,
            remote: server(family),
            mapped: mapped && family == Family::Ipv4,
            connecting: if mapped { 8 } else { 0 },
            subflows: vec![FakeSubflow {
                cookie: number,
                local,
                interface: 0,
                id: 0,
                initial: true,
                backup: false,
                established: true,
                silent: 0,
                sent: 1,
            }],
            kernels,
        });
        if !mapped {
            self.tell(EventKind::Created, token);
            self.tell(EventKind::Established, token);
        }
    }

    /// A connection vanishes.
    pub fn vanish(&mut self, which: usize) {
        if !self.connections.is_empty() {
            let which = which % self.connections.len();
            let gone = self.connections.remove(which);
            self.tell(EventKind::Closed, gone.token);
        }
    }

    /// A subflow is reset by the peer, with or without a word.
    pub fn reset(&mut self, which: usize, word: bool) {
        let count = self.connections.len().max(1);
        if let Some(connection) = self.connections.get_mut(which % count) {
            connection.subflows.pop();
            let token = connection.token;
            if word {
                self.tell(EventKind::SubflowClosed, token);
            }
        }
    }

    fn reaches(&self, subflow: &FakeSubflow) -> bool {
        self.interfaces
            .iter()
            .zip(&self.lost)
            .any(|(interface, lost)| {
                interface.running && !lost && interface.addresses.contains(&subflow.local.ip())
            })
    }

    /// Time passes: what can be answered is.
    pub fn turn(&mut self) {
        let mut told = Vec::new();
        let reaching: Vec<Vec<bool>> = self
            .connections
            .iter()
            .map(|c| c.subflows.iter().map(|s| self.reaches(s)).collect())
            .collect();
        let mut made = Vec::new();
        for (connection, reaching) in self.connections.iter_mut().zip(reaching) {
            if connection.connecting > 0 {
                connection.connecting -= 1;
                made.extend((connection.connecting == 0).then_some(connection.token));
            }
            for (subflow, reaches) in connection.subflows.iter_mut().zip(reaching) {
                subflow.sent += 1;
                if reaches {
                    subflow.silent = 0;
                    if !subflow.established {
                        subflow.established = true;
                        told.push(connection.token);
                    }
                } else {
                    subflow.silent += 1;
                }
            }
            // A SYN is given up at last.
            connection
                .subflows
                .retain(|s| s.established || s.silent < 1_000);
        }
        for token in made {
            self.tell(EventKind::Created, token);
            self.tell(EventKind::Established, token);
        }
        for token in told {
            self.tell(EventKind::SubflowEstablished, token);
        }
    }

    fn find(&mut self, token: u32) -> io::Result<&mut FakeConnection> {
        let found = self.connections.iter_mut().find(|c| c.token == token);
        let connection = found.ok_or_else(|| words(libc::EINVAL, "invalid token"))?;
        match connection.kernels {
            true => Err(words(libc::EINVAL, "userspace PM not selected")),
            false => Ok(connection),
        }
    }
}

fn role(subflow: &FakeSubflow) -> Role {
    let mut flags = if subflow.initial { INITIAL } else { JOINED };
    flags |= if subflow.established { FULLY } else { 0 };
    flags |= if subflow.backup { BACKUP } else { 0 };
    let bytes = Writer::new(0, 0, &[])
        .attribute(8, &flags.to_ne_bytes())
        .attribute(9, &[0])
        .attribute(10, &[subflow.id])
        .finish();
    ulp::role(&Attributes::of_message(&bytes, 0)).unwrap()
}

impl Kernel for Fake {
    fn subflows(&mut self, seen: &mut Vec<Subflow>) -> io::Result<()> {
        seen.clear();
        if self.fail_reading {
            return Err(refused(libc::ENOBUFS));
        }
        for connection in &self.connections {
            for subflow in &connection.subflows {
                let silent = subflow.silent;
                seen.push(Subflow {
                    cookie: subflow.cookie,
                    inode: connection.inode,
                    interface: subflow.interface,
                    token: if subflow.initial { connection.token } else { 0 },
                    local: subflow.local,
                    remote: connection.remote,
                    mapped: connection.mapped && subflow.initial,
                    tcp: TcpInfo {
                        state: match subflow.established {
                            true => info::ESTABLISHED,
                            false => info::SYN_SENT,
                        },
                        rtt: 20_000,
                        rto: 220_000,
                        unacked: u32::from(silent > 0),
                        retransmits: (silent / 10).min(8) as u8,
                        total_retrans: silent / 10,
                        segs_out: subflow.sent,
                        segs_in: subflow.sent,
                        bytes_sent: u64::from(subflow.sent) * 100,
                        bytes_acked: u64::from(subflow.sent.saturating_sub(silent)) * 100,
                        ..TcpInfo::default()
                    },
                    role: role(subflow),
                });
            }
        }
        Ok(())
    }

    fn connections(&mut self, seen: &mut Vec<Connection>) -> io::Result<()> {
        seen.clear();
        if self.fail_reading {
            return Err(refused(libc::ENOBUFS));
        }
        let nowhere = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0);
        seen.extend(self.connections.iter().map(|c| Connection {
            token: c.token,
            inode: c.inode,
            local: if c.connecting > 0 { nowhere } else { c.local },
            remote: if c.connecting > 0 { nowhere } else { c.remote },
            open: true,
        }));
        Ok(())
    }

    fn interfaces(&mut self) -> io::Result<Vec<Interface>> {
        Ok(self.interfaces.clone())
    }

    fn told(&mut self, told: &mut Vec<Notification>) -> io::Result<()> {
        if std::mem::take(&mut self.overflow) {
            self.told.clear();
            return Err(refused(libc::ENOBUFS));
        }
        told.append(&mut self.told);
        Ok(())
    }

    fn interfaces_changed(&mut self) -> bool {
        std::mem::take(&mut self.rang)
    }

    fn create(&mut self, token: u32, local: &LocalAddress, to: SocketAddr) -> io::Result<()> {
        let has = |i: &Interface| i.addresses.contains(&local.ip);
        let assigned = self.interfaces.iter().any(has);
        let cookie = self.number();
        let connection = self.find(token)?;
        let right = connection.remote;
        if to != right || leads_nowhere(&local.ip) || Family::of(local.ip) != Family::of(to.ip()) {
            let text = format!("a subflow of {token} from {} to {to}", local.ip);
            self.wrongs.push(text);
            return Err(refused(libc::EINVAL));
        }
        if !assigned {
            return Err(refused(libc::EADDRNOTAVAIL));
        }
        let clash = |s: &FakeSubflow| s.id == local.id && s.local.ip() != local.ip;
        if connection.subflows.iter().any(clash) {
            return Err(refused(libc::EINVAL));
        }
        connection.subflows.push(FakeSubflow {
            cookie,
            local: SocketAddr::new(local.ip, 20_000 + (cookie % 40_000) as u16),
            interface: local.interface,
            id: local.id,
            initial: false,
            backup: local.flags != 0,
            established: false,
            silent: 0,
            sent: 0,
        });
        Ok(())
    }

    fn destroy(&mut self, token: u32, local: SocketAddr, _: SocketAddr) -> io::Result<()> {
        let connection = self.find(token)?;
        let mapped = connection.mapped;
        let has_it = |s: &FakeSubflow| s.initial && mapped;
        let is_it = |s: &FakeSubflow| {
            let canonical = SocketAddr::new(local.ip().to_canonical(), local.port());
            s.local == canonical && has_it(s) == (canonical != local)
        };
        let Some(at) = connection.subflows.iter().position(is_it) else {
            return Err(refused(libc::ESRCH));
        };
        let another = |(n, s): (usize, &FakeSubflow)| n != at && s.established;
        let last = !connection.subflows.iter().enumerate().any(another);
        connection.subflows.remove(at);
        if last {
            let text = format!("the last established subflow of {token} was closed");
            self.wrongs.push(text);
        }
        Ok(())
    }

    fn remove(&mut self, token: u32, id: u8) -> io::Result<()> {
        let connection = self.find(token)?;
        match id == 0 || connection.subflows.iter().any(|s| s.id == id) {
            true => Ok(()),
            false => Err(words(libc::EINVAL, "address with id not found")),
        }
    }

    fn set_backup(
        &mut self,
        token: u32,
        local: SocketAddr,
        _: SocketAddr,
        backup: bool,
    ) -> io::Result<()> {
        let connection = self.find(token)?;
        let found = connection.subflows.iter_mut().find(|s| s.local == local);
        found.ok_or_else(|| refused(libc::EINVAL))?.backup = backup;
        Ok(())
    }
}
