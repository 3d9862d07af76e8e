//! What can be told of a connection that somebody else drives? Rows for the table of samples: one for the
//! connection, one for each of its subflows.

use super::info::{self, Subflow};
use super::observe::{self, Ages, Observation, Observed};
use super::socket;
use model::live::SeenPath;
use model::record::Sample;
use model::{Name, PathIndex, Side, Time};
use policy::PathState;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// More client addresses than this are not told apart: the kernel's own limit of subflows.
const MAX_PATHS: usize = 32;

/// What a server calls the paths of a client that it knows by their addresses only: `path-1`, `path-2`
/// ... in the order in which they were seen. Behind one address translation they are one path.
#[derive(Clone, Debug, Default)]
pub struct ClientPaths(Vec<SeenPath>);

impl ClientPaths {
    /// The path of a client's address.
    pub fn index(&mut self, client: IpAddr) -> PathIndex {
        let client = client.to_canonical();
        let known = self.0.iter().position(|seen| seen.address == client);
        let index = known.unwrap_or_else(|| {
            if self.0.len() < MAX_PATHS {
                self.0.push(SeenPath {
                    name: ClientPaths::name(PathIndex(self.0.len())),
                    address: client,
                    shared: false,
                });
            }
            self.0.len() - 1
        });
        PathIndex(index)
    }

    /// Two of the client's paths are in use at once under this one name.
    pub fn share(&mut self, path: PathIndex) {
        if let Some(seen) = self.0.get_mut(path.0) {
            seen.shared = true;
        }
    }

    /// Those that were seen.
    pub fn seen(&self) -> &[SeenPath] {
        &self.0
    }

    /// What a path is called.
    pub fn name(path: PathIndex) -> Name {
        Name::from(format!("path-{}", path.0 + 1).as_str())
    }
}

/// Watches one connection.
#[derive(Debug)]
pub struct Watch {
    mptcp: bool,
    local: SocketAddr,
    client: SocketAddr,
    ages: Ages,
}

impl Watch {
    /// Watches the server's end of a connection.
    pub fn server(socket: BorrowedFd<'_>, local: SocketAddr, client: SocketAddr) -> Watch {
        Watch {
            mptcp: socket::is_mptcp(socket.as_raw_fd()).unwrap_or(false),
            local,
            client,
            ages: Ages::default(),
        }
    }

    /// Whether it is Multipath TCP, as far as is known: it may still turn out to have fallen back.
    pub fn is_multipath(&self) -> bool {
        self.mptcp
    }

    /// Adds the rows of this moment; `queued` bytes wait in user space. The connection has the number
    /// `connection` in its session.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn look(
        &mut self,
        now: Time,
        socket: BorrowedFd<'_>,
        connection: usize,
        queued: usize,
        paths: &mut ClientPaths,
        samples: &mut Vec<Sample>,
    ) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        let unsent = socket::unsent(fd).unwrap_or(0);
        let unacknowledged = socket::unacknowledged(fd).unwrap_or(0);
        let outstanding = unacknowledged.saturating_sub(unsent);
        let mptcp = match self.mptcp {
            true => info::mptcp(fd)?,
            false => None,
        };
        self.mptcp = mptcp.is_some();
        let subflows = match &mptcp {
            Some(mptcp) => mptcp.subflows.clone(),
            None => vec![Subflow {
                local: self.local,
                remote: self.client,
                tcp: info::tcp(fd)?,
            }],
        };
        self.ages.keep(&subflows);
        let mut observed = Vec::new();
        for subflow in subflows {
            let oldest_unacked = self.ages.of_subflow(now, &subflow);
            if let Some(state) = observe::state(&subflow.tcp, None) {
                observed.push(Observed {
                    path: paths.index(subflow.remote.ip()),
                    state,
                    subflow,
                    role: None,
                    oldest_unacked,
                });
            }
        }
        let in_use = observed
            .iter()
            .filter(|o| o.state == PathState::Established);
        let mut used: Vec<PathIndex> = in_use.map(|o| o.path).collect();
        used.sort();
        for twice in used.windows(2).filter(|pair| pair[0] == pair[1]) {
            paths.share(twice[0]);
        }
        let subflows = observe::one_for_each_path(observed);
        let oldest_unacked = match (&mptcp, subflows.as_slice()) {
            (Some(mptcp), _) => {
                let acknowledged = mptcp.info.snd_una;
                self.ages
                    .of_connection(now, acknowledged + outstanding, acknowledged)
            }
            (None, [only]) => only.oldest_unacked,
            (None, _) => None,
        };
        let observation = Observation {
            mptcp: mptcp.map(|m| m.info),
            subflows,
            unsent: unsent + queued as u64,
            outstanding,
            oldest_unacked,
        };
        let row =
            observe::connection_row(now, Side::Server, connection, "established", &observation);
        samples.push(row);
        for subflow in &observation.subflows {
            let name = ClientPaths::name(subflow.path);
            let mut row = observe::subflow_row(now, Side::Server, connection, name, subflow);
            if observation.mptcp.is_none() {
                // All that waits, waits for this one path.
                row.unsent_bytes = Some(observation.unsent);
            }
            samples.push(row);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_named_in_the_order_seen_and_are_bounded() {
        let mut paths = ClientPaths::default();
        let address = |n: u8| IpAddr::from([192, 0, 2, n]);
        assert_eq!(paths.index(address(7)), PathIndex(0));
        assert_eq!(paths.index(address(9)), PathIndex(1));
        let mapped = "::ffff:192.0.2.7".parse().expect("an address");
        assert_eq!(paths.index(mapped), PathIndex(0));
        assert_eq!(ClientPaths::name(PathIndex(1)), Name::from("path-2"));
        for n in 0..=255 {
            paths.index(address(n));
        }
        assert_eq!(paths.0.len(), MAX_PATHS);
    }
}
