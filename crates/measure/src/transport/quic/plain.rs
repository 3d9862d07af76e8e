//! How does QUIC run without cryptography, where nobody could listen? In virtual time both ends
//! are one process: the handshake below has the flights and the sizes of TLS 1.3 and carries
//! nothing but the transport parameters, and packets keep the 16 bytes of a tag that is not
//! computed. So packets have the lengths and times they have under TLS, a test compares the two,
//! and the same seed gives the same bytes. The manifest says so.

use bytes::BytesMut;
use noq_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey,
    KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, PathId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::hash::{Hash, Hasher};

/// Bytes of an AES-128-GCM tag (RFC 9001, section 5.3).
const TAG_BYTES: usize = 16;
/// Bytes of the sample that header protection would take (RFC 9001, section 5.4.2): packets are
/// padded to have it.
const SAMPLE_BYTES: usize = 16;
/// Packets that may be protected with one AES-128-GCM key (RFC 9001, section 6.6).
const CONFIDENTIALITY_LIMIT: u64 = 1 << 23;
/// Packets that may fail before a connection is given up (RFC 9001, section 6.6).
const INTEGRITY_LIMIT: u64 = 1 << 52;

/// Bytes of rustls' ClientHello beside the transport parameters, as a test measures them.
const CLIENT_HELLO_BYTES: usize = 204;
/// Bytes of rustls' ServerHello.
const SERVER_HELLO_BYTES: usize = 90;
/// Bytes of rustls' EncryptedExtensions, Certificate, CertificateVerify and Finished beside the
/// transport parameters, with the certificate of [`super::Identity`].
const SERVER_FLIGHT_BYTES: usize = 442;
/// Bytes of the client's Finished: a header of 4 and a SHA-384 (RFC 8446, section 4.4.4).
const FINISHED_BYTES: usize = 52;

/// Both ends' configuration.
pub(super) struct Plain;

impl ClientConfig for Plain {
    fn start_session(
        &self,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(PlainSession::new(Side::Client, params)))
    }
}

impl ServerConfig for Plain {
    fn initial_keys(&self, _version: u32, _id: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys(INITIAL))
    }
    fn retry_tag(&self, _version: u32, _id: ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }
    fn start_session(&self, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(PlainSession::new(Side::Server, params))
    }
}

/// What comes next in one end's handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// Client: write the ClientHello. Server: read it.
    ClientHello,
    /// Client: read the ServerHello. Server: write it.
    ServerHello,
    /// Client: take the keys that the ServerHello allows.
    HandshakeKeys,
    /// Client: read the server's flight. Server: write it.
    ServerFlight,
    /// Client: write its Finished. Server: read it.
    Finished,
    /// Nothing.
    Done,
}

struct PlainSession {
    side: Side,
    next: Next,
    parameters: Vec<u8>,
    peer: Option<Vec<u8>>,
    /// Bytes of a message that has not wholly arrived.
    input: Vec<u8>,
    /// Of the last keys of application data that were asked for.
    epoch: u32,
}

impl PlainSession {
    fn new(side: Side, params: &TransportParameters) -> PlainSession {
        let mut parameters = Vec::new();
        params.write(&mut parameters);
        PlainSession {
            side,
            next: Next::ClientHello,
            parameters,
            peer: None,
            input: Vec::new(),
            epoch: FIRST_1RTT,
        }
    }

    /// Takes a message off the input once it is there: its body.
    fn message(&mut self) -> Option<Vec<u8>> {
        let head = self.input.first_chunk::<4>()?;
        let whole = u32::from_be_bytes(*head) as usize;
        if self.input.len() < whole {
            return None;
        }
        let rest = self.input.split_off(whole);
        let message = std::mem::replace(&mut self.input, rest);
        Some(message[4..].to_vec())
    }
}

/// Writes a message of `room` bytes beside the parameters it carries: its length in 4 bytes, that
/// of the parameters in 2, the parameters, and zeros.
fn put(buffer: &mut Vec<u8>, room: usize, parameters: &[u8]) {
    let whole = room + parameters.len();
    let end = buffer.len() + whole;
    buffer.extend((whole as u32).to_be_bytes());
    buffer.extend((parameters.len() as u16).to_be_bytes());
    buffer.extend(parameters);
    buffer.resize(end, 0);
}

/// The parameters in a message's body.
fn parameters_in(body: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = body.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    Some(rest.get(..length)?.to_vec())
}

fn malformed() -> TransportError {
    let reason = "the peer's handshake is not the one without cryptography";
    TransportError::new(TransportErrorCode::PROTOCOL_VIOLATION, reason.to_owned())
}

impl Session for PlainSession {
    fn initial_keys(&self, _id: ConnectionId, _side: Side) -> Keys {
        keys(INITIAL)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.peer.as_ref().map(|_| -> Box<dyn Any> { Box::new(()) })
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }
    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        match self.side {
            Side::Client => !matches!(self.next, Next::Finished | Next::Done),
            Side::Server => self.next != Next::Done,
        }
    }

    fn read_handshake(&mut self, data: &[u8]) -> Result<bool, TransportError> {
        self.input.extend(data);
        let mut news = false;
        while let Some(body) = self.message() {
            self.next = match (self.side, self.next) {
                (Side::Server, Next::ClientHello) => {
                    self.peer = Some(parameters_in(&body).ok_or_else(malformed)?);
                    news = true;
                    Next::ServerHello
                }
                (Side::Client, Next::ServerHello) => Next::HandshakeKeys,
                (Side::Client, Next::ServerFlight) => {
                    self.peer = Some(parameters_in(&body).ok_or_else(malformed)?);
                    news = true;
                    Next::Finished
                }
                (Side::Server, Next::Finished) => Next::Done,
                _ => return Err(malformed()),
            };
        }
        Ok(news)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(peer) = &self.peer else {
            return Ok(None);
        };
        let read = TransportParameters::read(self.side, &mut peer.as_slice());
        Ok(Some(read.map_err(TransportError::from)?))
    }

    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<Keys> {
        let (next, epoch) = match (self.side, self.next) {
            (Side::Client, Next::ClientHello) => {
                put(buffer, CLIENT_HELLO_BYTES, &self.parameters);
                (Next::ServerHello, None)
            }
            (Side::Server, Next::ServerHello) => {
                put(buffer, SERVER_HELLO_BYTES, &[]);
                (Next::ServerFlight, Some(HANDSHAKE))
            }
            (Side::Client, Next::HandshakeKeys) => (Next::ServerFlight, Some(HANDSHAKE)),
            (Side::Server, Next::ServerFlight) => {
                put(buffer, SERVER_FLIGHT_BYTES, &self.parameters);
                (Next::Finished, Some(FIRST_1RTT))
            }
            (Side::Client, Next::Finished) => {
                put(buffer, FINISHED_BYTES, &[]);
                (Next::Done, Some(FIRST_1RTT))
            }
            _ => return None,
        };
        self.next = next;
        epoch.map(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.epoch += 1;
        Some(packet_keys(self.epoch))
    }
    fn is_valid_retry(&self, _id: ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        false
    }
    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// The epochs of keys before the first of application data.
const INITIAL: u32 = 0;
const HANDSHAKE: u32 = 1;
const FIRST_1RTT: u32 = 2;

fn keys(epoch: u32) -> Keys {
    Keys {
        header: KeyPair {
            local: Box::new(PlainKey { epoch }),
            remote: Box::new(PlainKey { epoch }),
        },
        packet: packet_keys(epoch),
    }
}

fn packet_keys(epoch: u32) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair {
        local: Box::new(PlainKey { epoch }),
        remote: Box::new(PlainKey { epoch }),
    }
}

/// Protects nothing, in as many bytes as AES-128-GCM: the tag names what a key would depend on,
/// so that a packet fails with the wrong one. noq finds out by trying in which epoch of the keys
/// a packet was sent.
struct PlainKey {
    epoch: u32,
}

impl PlainKey {
    fn tag(&self, path: PathId, number: u64) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        tag[..4].copy_from_slice(&self.epoch.to_be_bytes());
        tag[4..8].copy_from_slice(&number_of(path).to_be_bytes());
        tag[8..].copy_from_slice(&number.to_be_bytes());
        tag
    }
}

/// A path id's number, which noq shows to hashers only.
fn number_of(path: PathId) -> u32 {
    struct Seen(u32);
    impl Hasher for Seen {
        fn write(&mut self, _: &[u8]) {}
        fn write_u32(&mut self, number: u32) {
            self.0 = number;
        }
        fn finish(&self) -> u64 {
            self.0.into()
        }
    }
    let mut seen = Seen(0);
    path.hash(&mut seen);
    seen.0
}

impl PacketKey for PlainKey {
    fn encrypt(&self, path: PathId, number: u64, packet: &mut [u8], _header: usize) {
        if let Some(tag) = packet.last_chunk_mut::<TAG_BYTES>() {
            *tag = self.tag(path, number);
        }
    }
    fn decrypt(
        &self,
        path: PathId,
        number: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        match payload.last_chunk::<TAG_BYTES>() {
            Some(tag) if *tag == self.tag(path, number) => {
                payload.truncate(payload.len() - TAG_BYTES);
                Ok(())
            }
            _ => Err(CryptoError),
        }
    }
    fn tag_len(&self) -> usize {
        TAG_BYTES
    }
    fn confidentiality_limit(&self) -> u64 {
        CONFIDENTIALITY_LIMIT
    }
    fn integrity_limit(&self) -> u64 {
        INTEGRITY_LIMIT
    }
}

impl HeaderKey for PlainKey {
    fn decrypt(&self, _number_at: usize, _packet: &mut [u8]) {}
    fn encrypt(&self, _number_at: usize, _packet: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        SAMPLE_BYTES
    }
}

/// Gives each connection ID a reset token of its own, as noq asks for.
pub(super) struct PlainHmac;

impl HmacKey for PlainHmac {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        // FNV-1a, 64 bit, one more byte of input for each 8 of output.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |byte: u8| {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            hash
        };
        data.iter().for_each(|byte| {
            mix(*byte);
        });
        for (index, chunk) in signature.chunks_mut(8).enumerate() {
            let word = mix(index as u8).to_be_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
    fn signature_len(&self) -> usize {
        32
    }
    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = vec![0; signature.len()];
        self.sign(data, &mut expected);
        match expected == signature {
            true => Ok(()),
            false => Err(CryptoError),
        }
    }
}

/// Tokens are not used (no retry, none sent), and noq asks for a key all the same.
pub(super) struct PlainTokenKey;

impl HandshakeTokenKey for PlainTokenKey {
    fn seal(&self, _nonce: u128, _data: &mut Vec<u8>) -> Result<(), CryptoError> {
        Ok(())
    }
    fn open<'a>(&self, _nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        Ok(data)
    }
}
