//! How are connections taken? A few thousand at most, some per network prefix, none of which may take
//! long to say what it wants; and all are let go in order when the collector stops.

use super::gate::{Full, Inside};
use super::{Collector, CollectorError};
use crate::privacy::prefix;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower_service::Service;

/// How long a connection may take for the head of a request, and stay silent between two requests.
const HEAD: Duration = Duration::from_secs(15);
/// Bytes of a request's head.
const HEAD_BYTES: usize = 32 * 1024;
/// Headers of a request.
const HEADERS: usize = 64;
/// How long connections may go on after the collector was told to stop.
const DRAIN: Duration = Duration::from_secs(10);
/// How long nothing is accepted after the system refused (no more files).
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` resolves; `ready` is told where.
pub async fn serve(
    collector: &Collector,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<(), CollectorError> {
    let state = &collector.state;
    let address = state.listen;
    let wrong = |source| CollectorError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(wrong)?;
    ready(listener.local_addr().map_err(wrong)?);
    let router = collector.router();
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
            // What has ended is let go.
            Some(_) = connections.join_next() => continue,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Ok(place) = place(collector, peer) else {
            // Closed without a word: a word is what a flood would make the collector send.
            continue;
        };
        let stopping = state.stopping.subscribe();
        connections.spawn(connection(router.clone(), stream, peer, place, stopping));
    }
    drop(listener);
    tracing::info!(connections = connections.len(), "stopping");
    state.stopping.send_replace(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
    connections.shutdown().await;
    state.store.close().await;
    Ok(())
}

fn place(collector: &Collector, peer: SocketAddr) -> Result<Inside, Full> {
    let state = &collector.state;
    let address = peer.ip().to_canonical();
    if state.trusted_proxies.contains(&address) {
        // Speaks for many: each connection counts by itself.
        return state
            .connections
            .enter(&format!("proxy port {}", peer.port()));
    }
    state.connections.enter(&prefix(address))
}

async fn connection(
    router: axum::Router,
    stream: TcpStream,
    peer: SocketAddr,
    place: Inside,
    mut stopping: watch::Receiver<bool>,
) {
    // Small answers are not to wait for an acknowledgement; a stream that refuses is about to fail.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        router.clone().call(request)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let stopped = async { stopping.wait_for(|stop| *stop).await.is_ok() };
    let ended = tokio::select! {
        _ = connection.as_mut() => true,
        _ = stopped => false,
    };
    // An error is the peer's: it went away, or said what is no request.
    if !ended {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
    drop(place);
}
