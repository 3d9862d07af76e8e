//! How do clients recognise the server? By its certificate's SHA-256: from files, or self-signed once and
//! kept, so that the pin survives a restart.

use super::{Config, ServerError};
use crate::token::hex;
use measure::transport::quic::identity::ALPN;
use noq::crypto::rustls::QuicServerConfig;
use ring::digest;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name in a self-signed certificate; clients check the certificate itself, not its name.
const NAME: &str = "walkabout.test";

/// A certificate (with its chain) and its key.
pub(super) struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    key_file: PathBuf,
    sha256: String,
}

impl Certificate {
    /// The certificate of `config`.
    pub(super) fn load(config: &Config) -> Result<Certificate, ServerError> {
        let (certificate, key) = match &config.certificate {
            Some(files) => files.clone(),
            None => {
                let files = (
                    config.state.join("certificate.pem"),
                    config.state.join("certificate-key.pem"),
                );
                if !files.0.exists() {
                    self_signed(&files.0, &files.1)?;
                }
                files
            }
        };
        Certificate::read(&certificate, key)
    }

    fn read(certificate: &Path, key_file: PathBuf) -> Result<Certificate, ServerError> {
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|e| wrong(certificate, format!("no certificate in PEM: {e}")))?;
        let Some(leaf) = chain.first() else {
            return Err(wrong(certificate, "it holds no certificate in PEM".into()));
        };
        let sha256 = hex(digest::digest(&digest::SHA256, leaf).as_ref());
        let key = PrivateKeyDer::from_pem_file(&key_file)
            .map_err(|e| wrong(&key_file, format!("no private key in PEM: {e}")))?;
        Ok(Certificate {
            chain,
            key,
            key_file,
            sha256,
        })
    }

    /// SHA-256 of the certificate (DER), 64 hexadecimal digits.
    pub(super) fn sha256(&self) -> &str {
        &self.sha256
    }

    /// TLS 1.3 with it, for QUIC. Every test pays for, and shows, a full handshake: no resumption.
    pub(super) fn tls(&self) -> Result<QuicServerConfig, ServerError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let refused = |e: rustls::Error| {
            let what = format!("TLS refuses this key with the certificate: {e}");
            wrong(&self.key_file, what)
        };
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(refused)?
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(refused)?;
        tls.alpn_protocols = vec![ALPN.to_vec()];
        tls.send_tls13_tickets = 0;
        tls.session_storage = Arc::new(NoServerSessionStorage {});
        QuicServerConfig::try_from(tls).map_err(|e| wrong(&self.key_file, e.to_string()))
    }
}

/// Makes a certificate and its key (Ed25519). The key is written first: a certificate without one would
/// stay useless, a key without a certificate is made anew.
fn self_signed(certificate_file: &Path, key_file: &Path) -> Result<(), ServerError> {
    let failed = |e: rcgen::Error| wrong(certificate_file, format!("it cannot be made: {e}"));
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).map_err(failed)?;
    let parameters = rcgen::CertificateParams::new(vec![NAME.to_owned()]).map_err(failed)?;
    let certificate = parameters.self_signed(&key).map_err(failed)?;
    write_secret(key_file, &key.serialize_pem())?;
    write_secret(certificate_file, &certificate.pem())
}

/// Writes a file that only its owner reads, durably and as a whole.
fn write_secret(file: &Path, text: &str) -> Result<(), ServerError> {
    let temporary = file.with_extension("new");
    let write = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut opened = options.open(&temporary)?;
        opened.write_all(text.as_bytes())?;
        opened.sync_all()?;
        fs::rename(&temporary, file)
    };
    write().map_err(|e| wrong(file, format!("it cannot be written: {e}")))
}

fn wrong(file: &Path, what: String) -> ServerError {
    let file = file.to_owned();
    ServerError::File { file, what }
}
