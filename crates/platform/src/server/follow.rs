//! What becomes of a QUIC connection's paths? The client opens, closes and ranks them; the server follows
//! its ranks, so that they hold in both directions, and remembers what happened for the records.

use super::quic::PATHS;
use futures_core::Stream;
use measure::transport::kernel::ClientPaths;
use measure::transport::quic::NOQ_VERSION;
use model::manifest::Stack;
use model::record::{EventKind, Sample};
use model::{Name, Side, Time};
use noq::{Connection, PathEvent, PathEvents, PathId, PathStatus};
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// News that nobody took yet, at most.
const MAX_NEWS: usize = 1_000;

/// A connection and its paths.
pub(super) struct Followed {
    connection: Connection,
    /// What happens from the beginning on, until somebody follows.
    events: Mutex<Option<PathEvents>>,
    paths: Mutex<Paths>,
}

#[derive(Default)]
struct Paths {
    /// The paths in use.
    open: Vec<Open>,
    news: Vec<News>,
}

impl Paths {
    /// A path is in use, which may be known.
    fn opened(&mut self, fresh: Open) {
        if self.open.iter().any(|open| open.id == fresh.id) {
            return;
        }
        self.open.push(fresh);
        self.tell(News {
            kind: EventKind::PathOpened,
            address: fresh.address,
            detail: format!("path id {}", fresh.id),
        });
    }

    fn tell(&mut self, news: News) {
        if self.news.len() < MAX_NEWS {
            self.news.push(news);
        }
    }
}

/// A path in use.
#[derive(Clone, Copy)]
struct Open {
    id: PathId,
    /// Whether the client made it a backup.
    backup: bool,
    /// Where it comes from, once that was asked.
    address: Option<IpAddr>,
}

impl Open {
    fn new(connection: &Connection, id: PathId) -> Open {
        let path = connection.path(id);
        let address = path.and_then(|path| path.remote_address().ok());
        Open {
            id,
            backup: false,
            address: address.map(|address| address.ip()),
        }
    }
}

/// Something happened to a path.
pub(super) struct News {
    pub kind: EventKind,
    /// The client's end of the path, if it is known.
    pub address: Option<IpAddr>,
    pub detail: String,
}

impl Followed {
    pub(super) fn new(connection: Connection) -> Followed {
        // Before the look: what is opened after it is an event.
        let events = connection.path_events();
        let mut paths = Paths::default();
        paths.open.push(Open::new(&connection, PathId::ZERO));
        // A client opens paths as soon as it is connected, which may be before this is called.
        let others = (1..u32::from(PATHS)).map(PathId::from);
        for id in others.filter(|id| connection.path(*id).is_some()) {
            paths.opened(Open::new(&connection, id));
        }
        Followed {
            connection,
            events: Mutex::new(Some(events)),
            paths: Mutex::new(paths),
        }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(super) fn is_multipath(&self) -> bool {
        self.connection.is_multipath_enabled()
    }

    /// Follows until the connection is dropped; the first call does.
    pub(super) async fn follow(&self) {
        let events = self.events.lock();
        let events = events.unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut events) = events else {
            return;
        };
        while let Some(event) = poll_fn(|cx| Pin::new(&mut events).poll_next(cx)).await {
            // What was missed, should this lag behind, shows in the next samples.
            if let Ok(event) = event {
                self.take(&event);
            }
        }
    }

    fn take(&self, event: &PathEvent) {
        let (kind, address, detail) = match event {
            PathEvent::Established { id, .. } => {
                let fresh = Open::new(&self.connection, *id);
                return self.paths().opened(fresh);
            }
            PathEvent::Abandoned { id, .. } => {
                let address = self.address(*id);
                self.paths().open.retain(|open| open.id != *id);
                (EventKind::PathClosed, address, format!("path id {id}"))
            }
            PathEvent::RemoteStatus { id, status, .. } => {
                let backup = *status == PathStatus::Backup;
                for path in self.paths().open.iter_mut().filter(|open| open.id == *id) {
                    path.backup = backup;
                }
                if let Some(path) = self.connection.path(*id) {
                    // The path may have closed since; then there is nothing to follow.
                    let _ = path.set_status(*status);
                }
                let rank = if backup { "backup" } else { "regular" };
                let detail = format!("path id {id}: {rank}, by the peer");
                (EventKind::PriorityChanged, self.address(*id), detail)
            }
            _ => return,
        };
        self.paths().tell(News {
            kind,
            address,
            detail,
        });
    }

    /// Where a path in use comes from.
    fn address(&self, id: PathId) -> Option<IpAddr> {
        let paths = self.paths();
        paths.open.iter().find(|open| open.id == id)?.address
    }

    /// What happened since the last call.
    pub(super) fn take_news(&self) -> Vec<News> {
        std::mem::take(&mut self.paths().news)
    }

    /// Adds the rows of this moment; `queued` bytes wait in user space.
    pub(super) fn look(
        &self,
        now: Time,
        queued: usize,
        names: &mut ClientPaths,
        samples: &mut Vec<Sample>,
    ) {
        let open = self.paths().open.clone();
        let mut rows: Vec<Sample> = Vec::new();
        for Open { id, backup, .. } in open {
            let Some(path) = self.connection.path(id) else {
                continue;
            };
            let Ok(remote) = path.remote_address() else {
                continue;
            };
            let index = names.index(remote.ip());
            let name = ClientPaths::name(index);
            // Behind one address translation two paths have one name: the first stands for both.
            if rows.iter().any(|row| row.path.as_ref() == Some(&name)) {
                names.share(index);
                continue;
            }
            let stats = path.stats();
            rows.push(Sample {
                srtt_us: Some(u64::try_from(stats.rtt.as_micros()).unwrap_or(u64::MAX)),
                cwnd_bytes: Some(stats.cwnd),
                sent_packets: Some(stats.sent_packets),
                sent_bytes: Some(stats.udp_tx.bytes),
                received_bytes: Some(stats.udp_rx.bytes),
                // A lost probe for a larger MTU is no loss of the path.
                lost_packets: Some(stats.lost_packets.saturating_sub(stats.lost_plpmtud_probes)),
                backup: Some(path.status() == Ok(PathStatus::Backup)),
                peer_backup: Some(backup),
                ..row(now, Some(name))
            });
        }
        let stats = self.connection.stats();
        samples.push(Sample {
            unsent_bytes: Some(queued as u64),
            sent_packets: Some(stats.sent_packets),
            sent_bytes: Some(stats.udp_tx.bytes),
            received_bytes: Some(stats.udp_rx.bytes),
            lost_packets: Some(stats.lost_packets),
            ..row(now, None)
        });
        samples.append(&mut rows);
    }

    /// What carries the session.
    pub(super) fn stack(&self) -> Stack {
        let (path_manager, scheduler) = match self.is_multipath() {
            true => ("userspace", "noq: lowest available path id"),
            false => ("none", "none: one path"),
        };
        Stack {
            name: "noq".to_owned(),
            version: NOQ_VERSION.to_owned(),
            congestion: "cubic".to_owned(),
            path_manager: path_manager.to_owned(),
            scheduler: scheduler.to_owned(),
            server_scheduler: None,
            security: Some("TLS 1.3".to_owned()),
        }
    }

    fn paths(&self) -> MutexGuard<'_, Paths> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn row(now: Time, path: Option<Name>) -> Sample {
    Sample {
        time_us: now.as_micros(),
        side: Side::Server,
        connection: 0,
        path,
        state: "established".to_owned(),
        srtt_us: None,
        rttvar_us: None,
        rto_us: None,
        timeouts: None,
        cwnd_bytes: None,
        in_flight_bytes: None,
        oldest_unacked_us: None,
        unsent_bytes: None,
        sent_packets: None,
        sent_bytes: None,
        received_bytes: None,
        lost_packets: None,
        retransmitted_packets: None,
        backup: None,
        peer_backup: None,
    }
}
