//! A server's kernel that does what tests want: clients come and go, open and close subflows, use one after the
//! other; notifications are lost, and readings fail.

use crate::netlink::generic::{Attributes, Writer};
use crate::netlink::mptcp::{EventKind, LocalAddress, Notification};
use crate::netlink::sockets::{Connection, Subflow};
use crate::oracle::kernel::{Interface, Kernel};
use crate::transport::kernel::info::{self, TcpInfo};
use crate::transport::kernel::ulp;
use model::Family;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Of the upper layer's flags: what the client has opened, and who wants it as backup.
const INITIAL: u32 = 1;
const JOINED: u32 = 1 << 2;
const THEIR_BACKUP: u32 = 1 << 4;
const OUR_BACKUP: u32 = 1 << 5;
const FULLY: u32 = 1 << 6;
/// A turn of a test, in milliseconds.
const TURN: u32 = 10;

/// A subflow that a client has opened.
#[derive(Clone, Debug)]
pub struct Arrived {
    cookie: u64,
    remote: SocketAddr,
    initial: bool,
    pub backup: bool,
    pub peer_backup: bool,
    received: bool,
    /// Turns without data.
    silent: u32,
}

/// A connection that was accepted.
#[derive(Clone, Debug)]
pub struct Accepted {
    pub token: u32,
    local: SocketAddr,
    remote: SocketAddr,
    mapped: bool,
    pub subflows: Vec<Arrived>,
    /// The place of the one that the client uses.
    pub used: usize,
}

/// The kernel.
#[derive(Debug, Default)]
pub struct Clients {
    pub connections: Vec<Accepted>,
    pub told: Vec<Notification>,
    pub overflow: bool,
    pub fail_reading: bool,
    /// What went wrong that must not.
    pub wrongs: Vec<String>,
    next: u64,
}

fn number(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl Clients {
    fn cookie(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn tell(&mut self, kind: EventKind, token: u32) {
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

    /// A client connects; over IPv4 to a socket of IPv6 when `mapped`.
    pub fn connect(&mut self, family: Family, mapped: bool) {
        let cookie = self.cookie();
        let token = 0x1000 + cookie as u32;
        let (local, remote): (IpAddr, IpAddr) = match family {
            Family::Ipv4 => ([192, 0, 2, 1].into(), [198, 51, 100, 1].into()),
            Family::Ipv6 => (
                [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into(),
                [0x2001, 0xdb8, 1, 0, 0, 0, 0, 1].into(),
            ),
        };
        let remote = SocketAddr::new(remote, 10_000 + cookie as u16);
        self.connections.push(Accepted {
            token,
            local: SocketAddr::new(local, 443),
            remote,
            mapped: mapped && family == Family::Ipv4,
            subflows: vec![Arrived {
                cookie,
                remote,
                initial: true,
                backup: false,
                peer_backup: false,
                received: true,
                silent: 0,
            }],
            used: 0,
        });
        self.tell(EventKind::Created, token);
        self.tell(EventKind::Established, token);
    }

    /// The client opens another subflow.
    pub fn join(&mut self, which: usize, peer_backup: bool) {
        let cookie = self.cookie();
        let connection = &mut self.connections[which];
        let port = 10_000 + cookie as u16;
        connection.subflows.push(Arrived {
            cookie,
            remote: SocketAddr::new(connection.remote.ip(), port),
            initial: false,
            backup: false,
            peer_backup,
            received: false,
            silent: 0,
        });
        let token = connection.token;
        self.tell(EventKind::SubflowEstablished, token);
    }

    /// The client closes a subflow, if it has another.
    pub fn close(&mut self, which: usize, at: usize) {
        let connection = &mut self.connections[which];
        let count = connection.subflows.len();
        if count > 1 {
            let at = at % count;
            connection.subflows.remove(at);
            if connection.used >= at && connection.used > 0 {
                connection.used -= 1;
            }
            let token = connection.token;
            self.tell(EventKind::SubflowClosed, token);
        }
    }

    /// Time passes: each client sends on the subflow it uses.
    pub fn turn(&mut self) {
        for connection in &mut self.connections {
            for (at, subflow) in connection.subflows.iter_mut().enumerate() {
                match at == connection.used {
                    true => (subflow.silent, subflow.received) = (0, true),
                    false => subflow.silent += 1,
                }
            }
        }
    }
}

impl Kernel for Clients {
    fn subflows(&mut self, seen: &mut Vec<Subflow>) -> io::Result<()> {
        seen.clear();
        if self.fail_reading {
            return Err(number(libc::ENOBUFS));
        }
        for connection in &self.connections {
            for subflow in &connection.subflows {
                let mut flags = FULLY | if subflow.initial { INITIAL } else { JOINED };
                flags |= if subflow.backup { OUR_BACKUP } else { 0 };
                flags |= if subflow.peer_backup { THEIR_BACKUP } else { 0 };
                let bytes = Writer::new(0, 0, &[])
                    .attribute(8, &flags.to_ne_bytes())
                    .attribute(9, &[0])
                    .attribute(10, &[0])
                    .finish();
                seen.push(Subflow {
                    cookie: subflow.cookie,
                    inode: connection.token,
                    interface: 0,
                    token: connection.token,
                    local: connection.local,
                    remote: subflow.remote,
                    mapped: connection.mapped,
                    tcp: TcpInfo {
                        state: info::ESTABLISHED,
                        bytes_received: u64::from(subflow.received),
                        last_data_recv: subflow.silent * TURN,
                        ..TcpInfo::default()
                    },
                    role: ulp::role(&Attributes::of_message(&bytes, 0)).unwrap(),
                });
            }
        }
        Ok(())
    }

    fn connections(&mut self, seen: &mut Vec<Connection>) -> io::Result<()> {
        seen.clear();
        if self.fail_reading {
            return Err(number(libc::ENOBUFS));
        }
        seen.extend(self.connections.iter().map(|c| Connection {
            token: c.token,
            inode: c.token,
            local: c.local,
            remote: c.remote,
            open: true,
        }));
        Ok(())
    }

    fn interfaces(&mut self) -> io::Result<Vec<Interface>> {
        Ok(Vec::new())
    }

    fn told(&mut self, told: &mut Vec<Notification>) -> io::Result<()> {
        if std::mem::take(&mut self.overflow) {
            self.told.clear();
            return Err(number(libc::ENOBUFS));
        }
        told.append(&mut self.told);
        Ok(())
    }

    fn interfaces_changed(&mut self) -> bool {
        false
    }

    fn create(&mut self, token: u32, _: &LocalAddress, _: SocketAddr) -> io::Result<()> {
        self.wrongs.push(format!("a subflow of {token} was opened"));
        Ok(())
    }

    fn destroy(&mut self, token: u32, _: SocketAddr, _: SocketAddr) -> io::Result<()> {
        self.wrongs.push(format!("a subflow of {token} was closed"));
        Ok(())
    }

    fn remove(&mut self, token: u32, _: u8) -> io::Result<()> {
        self.wrongs
            .push(format!("an address of {token} was removed"));
        Ok(())
    }

    fn set_backup(
        &mut self,
        token: u32,
        _: SocketAddr,
        remote: SocketAddr,
        backup: bool,
    ) -> io::Result<()> {
        let found = self.connections.iter_mut().find(|c| c.token == token);
        let connection = found.ok_or_else(|| number(libc::ESRCH))?;
        let of = |s: &&mut Arrived| s.remote == remote;
        let subflow = connection.subflows.iter_mut().find(of);
        subflow.ok_or_else(|| number(libc::ESRCH))?.backup = backup;
        if connection.subflows.iter().all(|s| s.backup) {
            self.wrongs
                .push(format!("all subflows of {token} are backup"));
        }
        Ok(())
    }
}
