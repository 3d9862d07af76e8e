//! By which right does a client use a test server? A token the collector signed: single use, for one
//! server, for a time and a number of bytes.
//!
//! ```text
//! token    = base64url(claims as JSON) "." base64url(Ed25519 signature of the first part)
//! ```
//! (RFC 4648 without padding, RFC 8032.) A server needs the collector's public key and nothing else. It
//! remembers the ids it has seen until they expire, which makes a token single use there; as a token
//! names its server, there is no other place to use it again.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How far the clocks of collector and server may differ: a token is valid this much before it was
/// issued.
pub const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The longest token that is looked at; a hello holds no more than 4,096 bytes.
pub const MAX_LENGTH: usize = 2_048;

/// What a token allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// 32 hexadecimal digits, unique.
    pub id: String,
    /// The test it was issued for: 32 hexadecimal digits.
    pub test: String,
    /// The server's id.
    pub server: String,
    /// When it was issued, seconds since 1970 in UTC.
    pub issued_s: u64,
    /// From when on no session may begin with it.
    pub expires_s: u64,
    /// Bytes a session may carry, both directions together.
    pub bytes: u64,
    /// Seconds a session may last.
    pub seconds: u32,
}

/// Why a token gives no right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not a token.
    #[error("this is no token: {0}")]
    Malformed(&'static str),
    /// Not signed by the collector.
    #[error("the token's signature is not the collector's: was it issued by another collector?")]
    Forged,
    /// For another server.
    #[error("the token is for the server `{0}`")]
    OtherServer(String),
    /// Too old.
    #[error("the token expired {0} s ago: ask the collector for a new one")]
    Expired(u64),
    /// From the future.
    #[error(
        "the token was issued {0} s in the future: the clock of the collector or of this server is off"
    )]
    NotYet(u64),
}

/// The collector's key.
pub struct SigningKey(Ed25519KeyPair);

/// A key file that holds none.
#[derive(Debug, thiserror::Error)]
#[error("this is no Ed25519 key in PKCS #8: {0}; a new one is made when the file does not exist")]
pub struct KeyError(String);

impl SigningKey {
    /// A fresh key, and its PKCS #8 document for [`SigningKey::from_pkcs8`].
    ///
    /// # Panics
    /// When the system has no randomness.
    pub fn generate() -> (SigningKey, Vec<u8>) {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("randomness");
        let key = SigningKey::from_pkcs8(document.as_ref()).expect("just made");
        (key, document.as_ref().to_vec())
    }

    /// The key in a PKCS #8 document.
    pub fn from_pkcs8(document: &[u8]) -> Result<SigningKey, KeyError> {
        let key = Ed25519KeyPair::from_pkcs8(document).map_err(|e| KeyError(e.to_string()))?;
        Ok(SigningKey(key))
    }

    /// What servers verify with.
    pub fn verifying_key(&self) -> VerifyingKey {
        let mut key = [0; 32];
        key.copy_from_slice(self.0.public_key().as_ref());
        VerifyingKey(key)
    }

    /// The token of `claims`.
    ///
    /// # Panics
    /// Never: claims are JSON.
    pub fn sign(&self, claims: &Claims) -> String {
        let claims = URL_SAFE_NO_PAD.encode(serde_json::to_vec(claims).expect("claims are JSON"));
        let signature = self.0.sign(claims.as_bytes());
        format!("{claims}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// The public half of the collector's key: 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyingKey([u8; 32]);

impl std::fmt::Display for VerifyingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl std::str::FromStr for VerifyingKey {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<VerifyingKey, Self::Err> {
        unhex(text)
            .map(VerifyingKey)
            .ok_or("a key is 64 hexadecimal digits: `token_key` of the collector's metadata")
    }
}

impl VerifyingKey {
    /// What `token` allows at `server` at `now_s` (seconds since 1970). Whether it was used before is
    /// for the server to know.
    pub fn verify(&self, token: &str, server: &str, now_s: u64) -> Result<Claims, TokenError> {
        if token.len() > MAX_LENGTH {
            return Err(TokenError::Malformed("it is too long"));
        }
        let (claims, signature) = token
            .split_once('.')
            .ok_or(TokenError::Malformed("it has no signature"))?;
        let signature = URL_SAFE_NO_PAD
            .decode(signature)
            .map_err(|_| TokenError::Malformed("its signature is not base64url"))?;
        UnparsedPublicKey::new(&ED25519, self.0)
            .verify(claims.as_bytes(), &signature)
            .map_err(|_| TokenError::Forged)?;
        let claims = URL_SAFE_NO_PAD
            .decode(claims)
            .map_err(|_| TokenError::Malformed("its claims are not base64url"))?;
        let claims: Claims = serde_json::from_slice(&claims)
            .map_err(|_| TokenError::Malformed("its claims are of another version"))?;
        if claims.server != server {
            return Err(TokenError::OtherServer(claims.server));
        }
        if now_s >= claims.expires_s {
            return Err(TokenError::Expired(now_s - claims.expires_s));
        }
        if now_s + CLOCK_SKEW.as_secs() < claims.issued_s {
            return Err(TokenError::NotYet(claims.issued_s - now_s));
        }
        Ok(claims)
    }
}

/// `N` random bytes as hexadecimal digits: ids and secrets.
///
/// # Panics
/// When the system has no randomness.
pub fn random_hex<const N: usize>() -> String {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("randomness");
    hex(&bytes)
}

/// Hexadecimal digits, lower case.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of `2 N` hexadecimal digits.
pub fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claims() -> Claims {
        Claims {
            id: random_hex::<16>(),
            test: random_hex::<16>(),
            server: "near".into(),
            issued_s: 1_000_000,
            expires_s: 1_000_600,
            bytes: 1 << 30,
            seconds: 600,
        }
    }

    #[test]
    fn a_token_says_what_was_signed_and_to_whom() {
        let (key, document) = SigningKey::generate();
        let key_again = SigningKey::from_pkcs8(&document).expect("the same key");
        let (claims, verifying) = (claims(), key_again.verifying_key());
        assert_eq!(verifying.to_string().parse(), Ok(verifying));
        let token = key.sign(&claims);
        let verify = |server, now| verifying.verify(&token, server, now);
        assert_eq!(verify("near", 1_000_001), Ok(claims.clone()));
        assert_eq!(verify("near", 1_000_600), Err(TokenError::Expired(0)));
        assert_eq!(verify("near", 999_940), Ok(claims));
        assert_eq!(verify("near", 999_939), Err(TokenError::NotYet(61)));
        assert_eq!(
            verify("far", 1_000_001),
            Err(TokenError::OtherServer("near".into()))
        );
        let other = SigningKey::generate().0.verifying_key();
        assert_eq!(
            other.verify(&token, "near", 1_000_001),
            Err(TokenError::Forged)
        );
    }

    proptest! {
        #[test]
        fn no_other_text_is_a_token(at in 0usize..1_000, byte in 0u8..128, text in ".{0,200}") {
            let (key, _) = SigningKey::generate();
            let claims = claims();
            let token = key.sign(&claims);
            let mut changed = token.clone().into_bytes();
            let at = at % changed.len();
            changed[at] = byte;
            let verifying = key.verifying_key();
            let changed = String::from_utf8(changed).expect("ASCII");
            if changed != token {
                prop_assert!(verifying.verify(&changed, "near", 1_000_001).is_err());
            }
            prop_assert!(verifying.verify(&text, "near", 1_000_001).is_err());
        }
    }
}
