//! How is noq configured? The limits and choices both ends share, each with its reason.

use super::config::{QuicError, Security};
use super::controller::Congestion;
use super::identity::IdentityError;
use super::plain::{Plain, PlainHmac, PlainTokenKey};
use model::Seed;
use noq_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, ServerConfig,
    TransportConfig, VarInt,
};
use rand::{Rng, RngExt};
use rand_pcg::Pcg64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A stall is data: only silence this long ends a connection.
const IDLE_TIMEOUT_MS: u32 = 600_000;

/// Above about 2.4 MB noq 1.4 can kill a connection whose receiver sees too many gaps.
const STREAM_RECEIVE_WINDOW: u32 = 2_000_000;

/// What noq may hold unacknowledged in all streams together; enough for 500 Mbit/s at 60 ms.
/// The rest waits in the channels, where it is visible.
const SEND_WINDOW: u64 = 4_000_000;

/// Path ids beyond the number of paths: the old id of a path that is reopened stays occupied
/// for three probe timeouts.
const SPARE_PATHS: u32 = 2;

/// Bytes of a connection ID; noq's own length.
const CONNECTION_ID_BYTES: usize = 8;

/// The transport's parameters. Paths have no idle timeout and no keep-alive: a dead path stays
/// open until the path manager closes it, and a backup needs no pings to stay open.
pub fn transport(multipath_paths: Option<usize>, congestion: Congestion) -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(Some(VarInt::from_u32(IDLE_TIMEOUT_MS).into()))
        .stream_receive_window(VarInt::from_u32(STREAM_RECEIVE_WINDOW))
        .send_window(SEND_WINDOW)
        .max_concurrent_bidi_streams(VarInt::from_u32(256))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .congestion_controller_factory(congestion.factory())
        // One UDP datagram per packet, so that links lose and queue packets one by one.
        .enable_segmentation_offload(false)
        .default_path_max_idle_timeout(None)
        .default_path_keep_alive_interval(None);
    if let Some(paths) = multipath_paths {
        let paths = u32::try_from(paths).unwrap_or(u32::MAX);
        config.max_concurrent_multipath_paths(paths.saturating_add(SPARE_PATHS));
    }
    config
}

/// The endpoint's configuration: seeded, so that times and sizes repeat.
pub(super) fn endpoint(seed: Seed, stream: &str, security: &Security) -> EndpointConfig {
    let mut config = match security {
        // The default draws the key of stateless resets from the system: it changes their bytes,
        // never their length or time.
        Security::Tls(_) | Security::Pinned(_) => EndpointConfig::default(),
        Security::None => EndpointConfig::new(Arc::new(PlainHmac)),
    };
    let mut rng = seed.stream(stream);
    let mut noq_seed = [0; 32];
    rng.fill_bytes(&mut noq_seed);
    config.rng_seed(Some(noq_seed));
    config.cid_generator(Arc::new(move || {
        Box::new(SeededConnectionIds(rng.clone())) as Box<dyn ConnectionIdGenerator>
    }));
    config
}

/// The client's configuration.
pub(super) fn client(
    security: &Security,
    transport: TransportConfig,
    seed: Seed,
) -> Result<ClientConfig, QuicError> {
    let mut config = match security {
        Security::Tls(identity) => ClientConfig::new(Arc::new(identity.pin().client()?)),
        Security::Pinned(pin) => ClientConfig::new(Arc::new(pin.client()?)),
        Security::None => ClientConfig::new(Arc::new(Plain)),
    };
    config.transport_config(Arc::new(transport));
    let rng = Mutex::new(seed.stream("quic.client.first-connection-id"));
    config.initial_dst_cid_provider(Arc::new(move || {
        draw(&mut rng.lock().unwrap_or_else(PoisonError::into_inner))
    }));
    Ok(config)
}

/// The server's configuration. Without migration: a path is where its client opened it.
pub(super) fn server(
    security: &Security,
    transport: TransportConfig,
) -> Result<ServerConfig, QuicError> {
    let mut config = match security {
        Security::Tls(identity) => ServerConfig::with_crypto(Arc::new(identity.server()?)),
        Security::Pinned(_) => return Err(IdentityError::NoKey.into()),
        Security::None => ServerConfig::new(Arc::new(Plain), Arc::new(PlainTokenKey)),
    };
    config
        .transport_config(Arc::new(transport))
        .migration(false);
    config.validation_token.sent(0);
    Ok(config)
}

/// noq's own generator draws from the system's randomness.
struct SeededConnectionIds(Pcg64);

impl ConnectionIdGenerator for SeededConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        draw(&mut self.0)
    }
    fn cid_len(&self) -> usize {
        CONNECTION_ID_BYTES
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

fn draw(rng: &mut Pcg64) -> ConnectionId {
    ConnectionId::new(&rng.random::<[u8; CONNECTION_ID_BYTES]>())
}
