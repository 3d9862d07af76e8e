//! How do TCP and Multipath TCP connections come in? Each is one channel.

use super::connection;
use super::desk::Desk;
use super::gate::Permit;
use super::metrics::Family;
use super::stream::Stream;
use crate::privacy;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// How long nothing is accepted when the system has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts until it is dropped, and its connections with it.
pub(super) async fn accept(desk: Arc<Desk>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => match desk.gate().admit(peer.ip()) {
                    Ok(permit) => {
                        connections.spawn(serve(Arc::clone(&desk), stream, permit));
                    }
                    Err(refusal) => desk.refused(&privacy::prefix(peer.ip()), "tcp", &refusal),
                },
                // A client that gave up in between, or no descriptor left.
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(desk: Arc<Desk>, stream: TcpStream, permit: Permit) {
    // Interactive traffic is what is measured. A connection that is gone already ends by itself.
    let _ = stream.set_nodelay(true);
    let prefix = permit.prefix().to_owned();
    let stream = Stream::Tcp(stream);
    let transport = stream.transport().name();
    desk.metrics().add(Family::ConnectionsTotal, transport, 1);
    let permit = permit.counted(desk.metrics().hold(Family::Connections, transport));
    let limit = Duration::from_secs(desk.limits().hello_seconds.into());
    let deadline = Instant::now() + limit;
    if let Err(refusal) = connection::serve(&desk, stream, &prefix, Some(permit), deadline).await {
        desk.refused(&prefix, transport, &refusal);
    }
}
