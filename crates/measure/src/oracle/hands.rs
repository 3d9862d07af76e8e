//! How is a decision carried out on a connection of the kernel's, in the order of
//! docs/decisions/0002-kernel-mptcp.md?

use super::kernel::Kernel;
use super::table::{Seen, Tracked};
use crate::netlink::mptcp::{LocalAddress, flag};
use crate::netlink::socket::errno;
use policy::PathState;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was carried out, in words.
    Done(String),
    /// The connection or subflow is gone: there is nothing to do, and nothing is wrong.
    Gone,
    /// The kernel's own path manager has the connection.
    NotOurs,
    /// The kernel refused.
    Refused(String),
}

/// No address of ours ever has this id: a command about it changes nothing, and the refusal tells
/// whose the connection is.
const NO_ADDRESS: u8 = 255;

/// The memory of which address of a connection has which id.
#[derive(Debug, Default)]
pub struct Hands {
    /// By connection.
    books: HashMap<usize, Book>,
}

#[derive(Debug)]
struct Book {
    /// The ids that the kernel may still know.
    ids: BTreeMap<IpAddr, u8>,
    next: u8,
}

impl Default for Book {
    fn default() -> Book {
        // 0 is the initial subflow's address's for good (RFC 8684, section 3.1).
        Book {
            ids: BTreeMap::new(),
            next: 1,
        }
    }
}

impl Book {
    /// An id that the connection does not use. One that was used is not taken again soon, so that
    /// a late RM_ADDR of it cannot hit its successor.
    fn fresh(&mut self, connection: &Tracked) -> u8 {
        let used = |id: u8, ids: &BTreeMap<IpAddr, u8>| {
            let live = |s: &Seen| s.subflow.role.local_id == id;
            connection.subflows.iter().any(live) || ids.values().any(|known| *known == id)
        };
        let after = |id: u8| if id >= NO_ADDRESS - 1 { 1 } else { id + 1 };
        let mut id = self.next;
        // At most 8 subflows: one of these is free.
        for _ in 0..NO_ADDRESS {
            if !used(id, &self.ids) {
                break;
            }
            id = after(id);
        }
        self.next = after(id);
        id
    }
}

impl Hands {
    /// Forgets a connection.
    pub fn forget(&mut self, connection: usize) {
        self.books.remove(&connection);
    }

    /// Whose a connection is: `Done` when it can be steered.
    pub fn probe(&self, kernel: &mut impl Kernel, connection: &Tracked) -> Outcome {
        match kernel.remove(connection.token, NO_ADDRESS) {
            Ok(()) => Outcome::Done(String::new()),
            Err(error) => match judge(&error, "") {
                // That there is no such address is what a connection of ours answers.
                Outcome::Refused(_) if errno(&error) == Some(libc::EINVAL) => {
                    Outcome::Done(String::new())
                }
                other => other,
            },
        }
    }

    /// Opens a subflow from `local` over the interface `interface` to `remote`.
    pub fn open(
        &mut self,
        kernel: &mut impl Kernel,
        connection: &Tracked,
        (local, interface): (IpAddr, u32),
        remote: SocketAddr,
        backup: bool,
    ) -> Outcome {
        let book = self.books.entry(connection.id).or_default();
        let known = book.ids.remove(&local);
        let zero_is_free = !connection
            .subflows
            .iter()
            .any(|s| s.subflow.role.local_id == 0);
        let initial = local == connection.local.ip();
        let mut address = LocalAddress {
            id: match known {
                Some(id) => id,
                None if initial && zero_is_free => 0,
                None => book.fresh(connection),
            },
            ip: local,
            port: None,
            flags: if backup { flag::BACKUP } else { 0 },
            interface,
        };
        let mut done = kernel.create(connection.token, &address, remote);
        if known.is_some() && errno_is(&done, libc::EINVAL) {
            // The kernel forgot the address, or knows it by another priority: start afresh.
            let _ = kernel.remove(connection.token, address.id);
            address.id = book.fresh(connection);
            done = kernel.create(connection.token, &address, remote);
        }
        match done {
            Ok(()) => {
                book.ids.insert(local, address.id);
                let word = if backup { ", as backup" } else { "" };
                Outcome::Done(format!(
                    "{local} to {remote}, address id {}{word}",
                    address.id
                ))
            }
            Err(error) => judge(&error, &format!("SUBFLOW_CREATE from {local} to {remote}")),
        }
    }

    /// Closes a subflow at both ends.
    pub fn close(
        &mut self,
        kernel: &mut impl Kernel,
        connection: &Tracked,
        seen: &Seen,
    ) -> Outcome {
        let subflow = &seen.subflow;
        let (token, id) = (connection.token, subflow.role.local_id);
        if let Some(book) = self.books.get_mut(&connection.id) {
            book.ids.remove(&subflow.local.ip());
        }
        // RM_ADDR leaves on the first subflow that is established, unless the kernel holds that
        // to be stale. The initial subflow can be destroyed first, as the kernel knows the id 0
        // without it; any other id goes with its subflow. An address that another subflow uses
        // as well stays.
        let shared = connection.subflows.iter().any(|other| {
            other.subflow.cookie != subflow.cookie
                && other.subflow.role.local_id == id
                && other.state != PathState::Closing
        });
        let [local, remote] = subflow.ends();
        let (destroyed, removed) = if shared {
            (kernel.destroy(token, local, remote), None)
        } else if id == 0 {
            let destroyed = kernel.destroy(token, local, remote);
            (destroyed, Some(kernel.remove(token, id)))
        } else {
            let removed = kernel.remove(token, id);
            let destroyed = kernel.destroy(token, local, remote);
            (destroyed, Some(removed))
        };
        if let Err(error) = destroyed {
            // The peer was quick: its answer to RM_ADDR has closed this end as well.
            let by_peer = matches!(removed, Some(Ok(())));
            if !(by_peer && errno(&error) == Some(libc::ESRCH)) {
                return judge(&error, &format!("SUBFLOW_DESTROY of {}", subflow.local));
            }
        }
        Outcome::Done(match removed {
            None => "this end closed it".to_owned(),
            Some(Ok(())) => format!("this end closed it and removed address id {id}"),
            Some(Err(error)) => format!(
                "this end closed it; the peer was not told that address id {id} is gone: {error}"
            ),
        })
    }

    /// Makes a subflow backup or regular.
    pub fn set_backup(
        &self,
        kernel: &mut impl Kernel,
        connection: &Tracked,
        seen: &Seen,
        backup: bool,
    ) -> Outcome {
        let subflow = &seen.subflow;
        let done = kernel.set_backup(connection.token, subflow.local, subflow.remote, backup);
        let word = if backup { "backup" } else { "regular" };
        match done {
            Ok(()) => Outcome::Done(format!("this end made it {word}")),
            Err(error) => judge(&error, &format!("SET_FLAGS of {}", subflow.local)),
        }
    }
}

fn errno_is(done: &io::Result<()>, number: i32) -> bool {
    done.as_ref().is_err_and(|e| errno(e) == Some(number))
}

/// What a refusal means. The kernel answers EINVAL both for a connection that is gone and for one
/// of its own path manager; its words tell (net/mptcp/pm_userspace.c).
fn judge(error: &io::Error, what: &str) -> Outcome {
    let words = error.to_string();
    if words.contains("userspace PM not selected") {
        return Outcome::NotOurs;
    }
    let gone = [libc::ESRCH, libc::ENOENT, libc::ENOTCONN];
    if words.contains("invalid token") || errno(error).is_some_and(|n| gone.contains(&n)) {
        return Outcome::Gone;
    }
    Outcome::Refused(format!("{what}: {words}"))
}
