//! Who is the server, and how does the client know? By the hash of its certificate, which came to
//! the client another way: within the process, or from the collector.

use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::rustls;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::time_provider::TimeProvider;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The application protocol both ends offer (RFC 7301).
pub const ALPN: &[u8] = b"walkabout";

/// The name in the certificate; the client checks the certificate itself, not its name.
pub(super) const SERVER_NAME: &str = "walkabout.test";

/// The server's certificate and private key, both DER. Cheap to clone.
#[derive(Clone)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: Arc<[u8]>,
}

/// The SHA-256 of a certificate's DER: the client accepts that certificate and no other, whoever
/// signed it and whatever its name and dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin(pub [u8; 32]);

impl Pin {
    fn of(certificate: &CertificateDer<'_>) -> Pin {
        Pin(Sha256::digest(certificate).into())
    }

    /// The client's half.
    pub(super) fn client(self) -> Result<QuicClientConfig, IdentityError> {
        let provider = provider();
        let pinned = Pinned {
            pin: self,
            algorithms: provider.signature_verification_algorithms,
        };
        let mut tls = rustls::ClientConfig::builder_with_details(provider, Arc::new(NoTime))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(pinned))
            .with_no_client_auth();
        tls.alpn_protocols = vec![ALPN.to_vec()];
        tls.resumption = rustls::client::Resumption::disabled();
        QuicClientConfig::try_from(tls).map_err(|_| IdentityError::NoInitialCipher)
    }
}

/// Why no identity could be made or used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The certificate could not be made.
    #[error("the server's certificate could not be made: {0}")]
    Generate(#[from] rcgen::Error),
    /// TLS refused it.
    #[error("TLS refused the server's certificate or key: {0}")]
    Tls(#[from] Error),
    /// The provider lacks the cipher of Initial packets.
    #[error("the TLS provider lacks TLS13_AES_128_GCM_SHA256, which QUIC's Initial packets need")]
    NoInitialCipher,
    /// A pin has no key.
    #[error("a server needs a certificate with its key, and was given the hash of one")]
    NoKey,
}

impl Identity {
    /// A fresh key and certificate. Ed25519 and a fixed serial number, so that the handshake's
    /// messages have the same length in every run.
    pub fn generate() -> Result<Identity, IdentityError> {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
        let mut parameters = rcgen::CertificateParams::new(vec![SERVER_NAME.to_owned()])?;
        parameters.serial_number = Some(rcgen::SerialNumber::from(1_u64));
        let certificate = parameters.self_signed(&key)?;
        Ok(Identity {
            certificate: certificate.der().clone(),
            key: key.serialize_der().into(),
        })
    }

    /// What a client needs to know of it.
    pub fn pin(&self) -> Pin {
        Pin::of(&self.certificate)
    }

    /// The server's half.
    pub(super) fn server(&self) -> Result<QuicServerConfig, IdentityError> {
        let key = PrivatePkcs8KeyDer::from(self.key.to_vec());
        let mut tls = rustls::ServerConfig::builder_with_details(provider(), Arc::new(NoTime))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key.into())?;
        tls.alpn_protocols = vec![ALPN.to_vec()];
        // No resumption: every run pays for, and shows, a full handshake.
        tls.send_tls13_tickets = 0;
        tls.session_storage = Arc::new(NoServerSessionStorage {});
        QuicServerConfig::try_from(tls).map_err(|_| IdentityError::NoInitialCipher)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// TLS asks for the time for tickets and validity periods; neither is used here, and the core
/// reads no clock.
#[derive(Debug)]
struct NoTime;

impl TimeProvider for NoTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::ZERO))
    }
}

#[derive(Debug)]
struct Pinned {
    pin: Pin,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if Pin::of(end_entity) == self.pin {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC uses TLS 1.3 only".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
