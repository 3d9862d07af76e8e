//! How do QUIC and multipath QUIC connections come in? Each stream the client opens is one channel.

use super::certificate::Certificate;
use super::connection;
use super::desk::Desk;
use super::follow::Followed;
use super::gate::Permit;
use super::guard::{Guarded, VERSION};
use super::metrics::Family;
use super::reasons::Refusal;
use super::stream::Stream;
use super::{Config, ServerError};
use crate::privacy;
use measure::transport::quic::{Congestion, transport_parameters};
use noq::congestion::CubicConfig;
use noq::{
    Connecting, Connection, Endpoint, EndpointConfig, IdleTimeout, Incoming, Runtime, ServerConfig,
    TokioRuntime, VarInt,
};
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// The connection's close when the server stops.
pub(super) const SHUTTING_DOWN: VarInt = VarInt::from_u32(1);
/// Of a connection or stream whose session was cut; the reason is the close's text.
pub(super) const CUT: VarInt = VarInt::from_u32(2);
/// Of a connection that was turned away; the reason is the close's text.
const REFUSED: VarInt = VarInt::from_u32(3);

/// Paths of a connection, as many as of a Multipath TCP connection.
pub(super) const PATHS: u8 = 8;
/// Streams a client may have open: no pattern has more than a few channels.
const STREAMS: u32 = 16;
/// Bytes a client without a session may send before they are read: some hellos.
const STRANGERS_WINDOW: u32 = 64 << 10;
/// The same of a session: twice the window of a stream.
const SESSIONS_WINDOW: u32 = 4_000_000;
/// First packets that wait to be looked at.
const MAX_INCOMING: usize = 1_024;
/// Bytes kept of what follows a first packet, of one connection and of all.
const INCOMING_BYTES: u64 = 32 << 10;
const ALL_INCOMING_BYTES: u64 = 8 << 20;

/// The configuration of every endpoint: the same transport as in the other worlds, with a server's limits.
pub(super) fn server_config(
    config: &Config,
    certificate: &Certificate,
) -> Result<ServerConfig, ServerError> {
    let mut transport = transport_parameters(Some(usize::from(PATHS)), Congestion::Cubic);
    // A connection outlives the silence that ends its session, which then says why.
    let idle = Duration::from_secs(u64::from(config.limits.silence_seconds) + 10);
    transport
        .max_idle_timeout(IdleTimeout::try_from(idle).ok())
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS))
        .receive_window(VarInt::from_u32(STRANGERS_WINDOW))
        // Nobody looks into the controller here.
        .congestion_controller_factory(Arc::new(CubicConfig::default()));
    let mut server = ServerConfig::with_crypto(Arc::new(certificate.tls()?));
    server
        .transport_config(Arc::new(transport))
        .migration(false)
        .max_incoming(MAX_INCOMING)
        .incoming_buffer_size(INCOMING_BYTES)
        .incoming_buffer_size_total(ALL_INCOMING_BYTES);
    server.validation_token.sent(0);
    Ok(server)
}

/// An endpoint at a socket.
pub(super) fn endpoint(socket: UdpSocket, server: ServerConfig) -> io::Result<Endpoint> {
    let runtime = Arc::new(TokioRuntime);
    let socket = Guarded(runtime.wrap_udp_socket(socket)?);
    let mut config = EndpointConfig::default();
    config.supported_versions(vec![VERSION]);
    Endpoint::new_with_abstract_socket(config, Some(server), Box::new(socket), runtime)
}

/// A session began: its client may send more.
pub(super) fn widen(connection: &Connection) {
    connection.set_receive_window(VarInt::from_u32(SESSIONS_WINDOW));
}

/// Accepts until it is dropped, and its connections with it.
pub(super) async fn accept(desk: Arc<Desk>, endpoint: Endpoint) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            incoming = endpoint.accept() => match incoming {
                Some(incoming) => {
                    if let Some((connecting, permit)) = admit(&desk, incoming) {
                        connections.spawn(serve(Arc::clone(&desk), connecting, permit));
                    }
                }
                // Closed: what is left of the connections ends.
                None => break,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    while connections.join_next().await.is_some() {}
}

/// Lets a first packet become a connection when its address is validated (by a Retry, which is shorter
/// than what it answers and costs no memory) and there is room.
fn admit(desk: &Desk, incoming: Incoming) -> Option<(Connecting, Permit)> {
    if !incoming.remote_address_validated() {
        // Not possible only for an address that is validated.
        let _ = incoming.retry();
        return None;
    }
    let address = incoming.remote_address().ip();
    let admitted = match desk.is_draining() {
        true => Err(Refusal::Draining),
        false => desk.gate().admit(address),
    };
    match admitted {
        Ok(permit) => match incoming.accept() {
            Ok(connecting) => Some((connecting, permit)),
            Err(error) => {
                let broken = Refusal::Broken(error.into());
                desk.refused(permit.prefix(), "quic", &broken);
                None
            }
        },
        Err(refusal) => {
            desk.refused(&privacy::prefix(address), "quic", &refusal);
            incoming.refuse();
            None
        }
    }
}

async fn serve(desk: Arc<Desk>, connecting: Connecting, permit: Permit) {
    let limit = Duration::from_secs(desk.limits().hello_seconds.into());
    let connected = timeout(limit, connecting).await;
    let refusal = match connected {
        Ok(Ok(connection)) => {
            converse(&desk, connection, permit.prefix(), limit).await;
            return;
        }
        Ok(Err(error)) => Refusal::Broken(error.into()),
        Err(_) => Refusal::SlowHello,
    };
    desk.refused(permit.prefix(), "quic", &refusal);
}

/// Serves a connection's streams until it is over.
async fn converse(desk: &Arc<Desk>, connection: Connection, prefix: &str, limit: Duration) {
    let followed = Arc::new(Followed::new(connection));
    let connection = followed.connection();
    let transport = match followed.is_multipath() {
        true => "mpquic",
        false => "quic",
    };
    desk.metrics().add(Family::ConnectionsTotal, transport, 1);
    let _held = desk.metrics().hold(Family::Connections, transport);
    let mut streams: JoinSet<Result<(), Refusal>> = JoinSet::new();
    let mut following = std::pin::pin!(followed.follow());
    let (mut follows, mut served) = (true, false);
    let mut idle = std::pin::pin!(sleep(limit));
    loop {
        tokio::select! {
            opened = connection.accept_bi() => {
                let Ok((send, recv)) = opened else { break };
                let stream = Stream::Quic { send, recv, connection: Arc::clone(&followed) };
                let (desk, prefix) = (Arc::clone(desk), prefix.to_owned());
                let deadline = Instant::now() + limit;
                streams.spawn(async move {
                    connection::serve(&desk, stream, &prefix, None, deadline).await
                });
            }
            Some(ended) = streams.join_next() => {
                served |= matches!(ended, Ok(Ok(())));
                if let Ok(Err(refusal)) = ended {
                    desk.refused(prefix, transport, &refusal);
                    if streams.is_empty() {
                        let reason = refusal.to_string();
                        connection.close(REFUSED, reason.as_bytes());
                    }
                }
                idle.as_mut().reset(Instant::now() + limit);
            }
            () = &mut idle, if streams.is_empty() => {
                if !served {
                    desk.refused(prefix, transport, &Refusal::SlowHello);
                }
                connection.close(REFUSED, b"nothing was asked for in time");
                break;
            }
            () = &mut following, if follows => follows = false,
        }
    }
    // Sessions notice that their streams are gone, and end.
    while let Some(ended) = streams.join_next().await {
        if let Ok(Err(refusal)) = ended {
            desk.refused(prefix, transport, &refusal);
        }
    }
}
