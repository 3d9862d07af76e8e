//! What is the state of a session's connections and paths? Asked of the kernel and of noq at every period
//! while something moves.

use super::lanes::Lanes;
use super::stream::{Stream, Transport};
use measure::transport::kernel::{self, ClientPaths, Watch};
use model::live::SeenPath;
use model::manifest::Stack;
use model::record::Sample;
use model::{Name, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

/// A session's eyes.
#[derive(Default)]
pub(super) struct Sampler {
    watches: BTreeMap<usize, Watch>,
    paths: ClientPaths,
}

impl Sampler {
    /// What the path from this address of the client's is called.
    pub(super) fn name(&mut self, client: IpAddr) -> Name {
        ClientPaths::name(self.paths.index(client))
    }

    /// The client's paths.
    pub(super) fn seen(&self) -> &[SeenPath] {
        self.paths.seen()
    }

    /// Adds the rows of this moment.
    pub(super) fn look(&mut self, now: Time, lanes: &Lanes, samples: &mut Vec<Sample>) {
        let mut waiting = lanes.waiting();
        for (channel, lane) in lanes.iter() {
            match &lane.stream {
                Stream::Tcp(stream) => {
                    let (Ok(local), Ok(client)) = (stream.local_addr(), stream.peer_addr()) else {
                        continue;
                    };
                    let socket = stream.as_fd();
                    let watch = self.watches.entry(channel);
                    let watch = watch.or_insert_with(|| Watch::server(socket, local, client));
                    let queued = lanes.waiting_on(channel);
                    // A connection that is going tells nothing any more.
                    let _ = watch.look(now, socket, channel, queued, &mut self.paths, samples);
                }
                Stream::Quic { connection, .. } => {
                    // All streams are of one connection: one look is enough.
                    connection.look(now, std::mem::take(&mut waiting), &mut self.paths, samples);
                    return;
                }
            }
        }
    }
}

/// What carries a session.
pub(super) fn stack(stream: &Stream) -> Stack {
    match stream {
        Stream::Tcp(tcp) => {
            let congestion = kernel::congestion(tcp.as_raw_fd());
            let congestion = congestion.unwrap_or_else(|_| "unknown".to_owned());
            let manager = match stream.transport() {
                Transport::Mptcp => "kernel",
                _ => "none",
            };
            kernel::stack(congestion, manager)
        }
        Stream::Quic { connection, .. } => connection.stack(),
    }
}
