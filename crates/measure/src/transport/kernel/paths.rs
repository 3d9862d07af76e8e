//! How the client's subflows are opened, closed and given a priority.

use super::observe::{Observation, Observed};
use super::{PathManagement, SetupError, sysctl};
use crate::netlink::mptcp::{Control, Limits, LocalAddress, flag};
use crate::netlink::socket::errno;
use crate::transport::LocalPath;
use model::{PathIndex, PathKind};
use policy::PathState;
use policy::list::KernelManaged;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

/// What the in-kernel path manager is allowed: its own maximum.
pub const LIMITS: Limits = Limits {
    subflows: 8,
    add_addr_accepted: 8,
};

/// A token that no connection has: a command about it is refused, and does nothing.
const NO_CONNECTION: u32 = 0;

/// The paths of an MPTCP client.
pub struct Paths {
    control: Control,
    management: PathManagement,
    paths: Vec<LocalPath>,
    server: SocketAddr,
    /// Whether the kernel's path manager has each path as an endpoint.
    endpoints: Vec<bool>,
    /// The address ids that the kernel may still know, by channel and path.
    ids: BTreeMap<(usize, PathIndex), u8>,
    /// The next address id of each channel.
    next_id: BTreeMap<usize, u8>,
}

impl Paths {
    /// Sets up this network namespace for the connections to come.
    pub fn prepare(
        management: PathManagement,
        paths: &[LocalPath],
        server: SocketAddr,
    ) -> Result<Paths, SetupError> {
        sysctl::set("net.mptcp.enabled", "1")?;
        sysctl::set_path_manager(management == PathManagement::Userspace)?;
        let mut paths = Paths {
            control: Control::open().map_err(refused("finding its netlink family"))?,
            management,
            paths: paths.to_vec(),
            server,
            endpoints: vec![false; paths.len()],
            ids: BTreeMap::new(),
            next_id: BTreeMap::new(),
        };
        if management == PathManagement::Userspace
            && let Err(error) = paths.control.remove(NO_CONNECTION, 0)
            && errno(&error) == Some(libc::EPERM)
        {
            // Now, and not when the first subflow is wanted.
            return Err(refused("a first command, as a trial")(error));
        }
        if let PathManagement::Kernel(_) = management {
            let control = &mut paths.control;
            control
                .flush_endpoints()
                .map_err(refused("removing old endpoints"))?;
            control
                .set_limits(LIMITS)
                .map_err(refused("setting the limits"))?;
            for path in 0..paths.paths.len() {
                paths
                    .add_endpoint(PathIndex(path))
                    .map_err(refused("adding an endpoint"))?;
            }
        }
        Ok(paths)
    }

    /// `kernel` or `userspace`.
    pub fn manager(&self) -> &'static str {
        match self.management {
            PathManagement::Kernel(_) => "kernel",
            PathManagement::Userspace => "userspace",
        }
    }

    /// The path as an endpoint of the kernel's path manager; `None` when it gets none.
    fn endpoint(&self, path: PathIndex) -> Option<LocalAddress> {
        let local = self.paths.get(path.0)?;
        let flags = match self.management {
            PathManagement::Userspace | PathManagement::Kernel(KernelManaged::Single) => {
                return None;
            }
            // Not flag::FULLMESH: it adds nothing against a server with one address, and an
            // endpoint that comes back while its old subflow still closes gets none with it.
            PathManagement::Kernel(KernelManaged::Fullmesh) => flag::SUBFLOW,
            PathManagement::Kernel(KernelManaged::Backup) => match local.kind {
                PathKind::Cellular => flag::SUBFLOW | flag::BACKUP,
                PathKind::Wifi | PathKind::Ethernet => flag::SUBFLOW,
            },
        };
        Some(LocalAddress {
            id: u8::try_from(path.0 + 1).ok()?,
            ip: local.address,
            port: None,
            flags,
            interface: local.interface,
        })
    }

    fn add_endpoint(&mut self, path: PathIndex) -> io::Result<bool> {
        match self.endpoint(path) {
            Some(endpoint) if !self.endpoints[path.0] => {
                self.control.add_endpoint(&endpoint)?;
                self.endpoints[path.0] = true;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn remove_endpoint(&mut self, path: PathIndex) -> io::Result<bool> {
        match self.endpoint(path) {
            Some(endpoint) if self.endpoints[path.0] => {
                self.endpoints[path.0] = false;
                self.control.remove_endpoint(endpoint.id)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Does what a host's network daemon does for the kernel's path manager: an endpoint goes
    /// with its address and comes back with it. Returns what was done.
    pub fn path_changed(
        &mut self,
        path: PathIndex,
        up: bool,
    ) -> Result<Option<&'static str>, String> {
        let Some(local) = self.paths.get(path.0) else {
            return Err(format!("there is no path {}", path.0));
        };
        let assigned = is_assigned(local)
            .map_err(|e| format!("cannot list the addresses of this host: {e}"))?;
        let (done, words) = match (up, assigned) {
            (true, true) => (self.add_endpoint(path), "endpoint added"),
            (false, false) => (self.remove_endpoint(path), "endpoint removed"),
            _ => return Ok(None),
        };
        match done {
            Ok(done) => Ok(done.then_some(words)),
            Err(error) => Err(format!("{words}: refused: {error}")),
        }
    }

    fn userspace(&self) -> Result<(), String> {
        match self.management {
            PathManagement::Userspace => Ok(()),
            PathManagement::Kernel(_) => {
                Err("the kernel's own path manager has the connection".to_owned())
            }
        }
    }

    /// Opens a subflow of `channel` over `path`.
    pub fn open(
        &mut self,
        channel: usize,
        path: PathIndex,
        backup: bool,
        seen: &Observation,
    ) -> Result<u8, String> {
        self.userspace()?;
        let token = token(seen)?;
        let Some(local) = self.paths.get(path.0).cloned() else {
            return Err(format!("there is no path {}", path.0));
        };
        let there = seen.subflows.iter().find(|s| s.path == path);
        if there.is_some_and(|s| s.state != PathState::Closing) {
            return Err("it has a subflow already".to_owned());
        }
        let known = self.ids.remove(&(channel, path));
        let initial = path == INITIAL && !seen.subflows.iter().any(has_id_zero);
        let mut address = LocalAddress {
            id: match known {
                Some(id) => id,
                None if initial => 0,
                None => self.fresh_id(channel, seen),
            },
            ip: local.address,
            port: None,
            flags: if backup { flag::BACKUP } else { 0 },
            interface: local.interface,
        };
        let mut done = self.control.create_subflow(token, &address, self.server);
        if known.is_some() && done.as_ref().is_err_and(is_invalid) {
            // The kernel forgot the address, or knows it by another priority: start afresh.
            let _ = self.control.remove(token, address.id);
            address.id = self.fresh_id(channel, seen);
            done = self.control.create_subflow(token, &address, self.server);
        }
        done.map_err(|e| format!("SUBFLOW_CREATE with address id {}: {e}", address.id))?;
        self.ids.insert((channel, path), address.id);
        Ok(address.id)
    }

    /// An address id that the connection does not use, and that is not the initial address's. A closed subflow's id is not used again
    /// soon, so that a late RM_ADDR of it cannot hit its successor.
    fn fresh_id(&mut self, channel: usize, seen: &Observation) -> u8 {
        let next = self.next_id.entry(channel).or_insert(1);
        let in_use = |id: u8| {
            let theirs = seen.subflows.iter().filter_map(|s| s.role);
            theirs.into_iter().any(|r| r.local_id == id)
                || self
                    .ids
                    .iter()
                    .any(|((c, _), known)| *c == channel && *known == id)
        };
        while in_use(*next) {
            *next = next.wrapping_add(1).max(1);
        }
        let id = *next;
        *next = next.wrapping_add(1).max(1);
        id
    }

    /// Closes the subflow of `channel` over `path` at both ends. RM_ADDR makes the peer drop
    /// its end even when the path carries nothing any more.
    pub fn close(
        &mut self,
        channel: usize,
        path: PathIndex,
        seen: &Observation,
    ) -> Result<String, String> {
        self.userspace()?;
        let token = token(seen)?;
        let subflow = seen.subflows.iter().find(|s| s.path == path);
        let subflow = subflow.ok_or("it has no subflow")?;
        let known = self.ids.remove(&(channel, path));
        // The initial subflow's address has the id 0 (RFC 8684 section 3.1).
        let id = subflow.role.map(|r| r.local_id).or(known).unwrap_or(0);
        let (local, remote) = (subflow.subflow.local, subflow.subflow.remote);
        // RM_ADDR leaves on the first subflow that is established, unless the kernel holds that
        // to be stale: on the dead one, when we are quick. The initial subflow can be destroyed
        // first, as the kernel knows the id 0 without it; any other id goes with its subflow.
        let (destroyed, removed) = if id == 0 {
            let destroyed = self.control.destroy_subflow(token, local, remote);
            (destroyed, self.control.remove(token, id))
        } else {
            let removed = self.control.remove(token, id);
            (self.control.destroy_subflow(token, local, remote), removed)
        };
        match destroyed {
            // The peer was quick: its answer to RM_ADDR has closed this end as well.
            Err(error) if removed.is_ok() && errno(&error) == Some(libc::ESRCH) => {}
            other => other.map_err(|e| format!("SUBFLOW_DESTROY of {local}: {e}"))?,
        }
        Ok(match removed {
            Ok(()) => format!("this end closed it and removed address id {id}"),
            Err(error) => {
                format!(
                    "this end closed it; the peer was not told that address id {id} is gone: {error}"
                )
            }
        })
    }

    /// Makes the subflow of `channel` over `path` backup or regular.
    pub fn set_backup(
        &mut self,
        path: PathIndex,
        backup: bool,
        seen: &Observation,
    ) -> Result<(), String> {
        self.userspace()?;
        let token = token(seen)?;
        let subflow = seen.subflows.iter().find(|s| s.path == path);
        let subflow = subflow.ok_or("it has no subflow")?.subflow;
        self.control
            .set_backup(token, subflow.local, subflow.remote, backup)
            .map_err(|e| format!("SET_FLAGS of {}: {e}", subflow.local))
    }
}

/// The path connections start on. Its address has the id 0 for good (RFC 8684, section 3.1), also
/// for a subflow that is opened again over it.
const INITIAL: PathIndex = PathIndex(0);

fn has_id_zero(observed: &Observed) -> bool {
    observed.role.is_some_and(|role| role.local_id == 0)
}

fn token(seen: &Observation) -> Result<u32, String> {
    let mptcp = seen.mptcp.ok_or("the connection fell back to TCP")?;
    Ok(mptcp.token)
}

fn is_invalid(error: &io::Error) -> bool {
    errno(error) == Some(libc::EINVAL)
}

fn refused(what: &'static str) -> impl Fn(io::Error) -> SetupError {
    move |source| SetupError::PathManager { what, source }
}

/// Whether an interface of this network namespace has the path's address.
fn is_assigned(path: &LocalPath) -> io::Result<bool> {
    let mut interfaces = nix::ifaddrs::getifaddrs()?;
    Ok(interfaces.any(|interface| {
        let Some(address) = interface.address else {
            return false;
        };
        let v4 = address.as_sockaddr_in().map(|a| a.ip().into());
        let v6 = address.as_sockaddr_in6().map(|a| a.ip().into());
        v4.or(v6) == Some(path.address)
    }))
}
