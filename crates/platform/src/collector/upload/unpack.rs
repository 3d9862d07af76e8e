//! How is a body unpacked that may grow without end? By a decoder that stops at a limit, with a window
//! of its own limit.

use crate::collector::refusal::Refusal;
use axum::http::{HeaderMap, header};
use std::io::Read;

/// How an upload is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Identity,
    /// RFC 8878.
    Zstd,
}

/// The largest window a frame may ask for: 2^23 bytes, which RFC 8878 says every decoder should take.
const WINDOW_LOG: u32 = 23;

impl Encoding {
    /// What `Content-Encoding` says.
    pub fn of(headers: &HeaderMap) -> Result<Encoding, Refusal> {
        let mut named = headers.get_all(header::CONTENT_ENCODING).into_iter();
        let encoding = match named.next().map(|value| value.to_str().unwrap_or("")) {
            None | Some("identity" | "") => Some(Encoding::Identity),
            Some("zstd") => Some(Encoding::Zstd),
            Some(_) => None,
        };
        match (encoding, named.next()) {
            (Some(encoding), None) => Ok(encoding),
            _ => Err(Refusal::encoding(
                "this encoding is not read: compress with zstd, once, or not at all",
            )),
        }
    }
}

/// The bytes behind `sent`, at most `most`.
pub fn unpack(sent: &[u8], encoding: Encoding, most: u64) -> Result<Vec<u8>, Refusal> {
    let too_large = || {
        Refusal::too_large(format!(
            "the upload has more than the {most} bytes that are accepted when it is decompressed"
        ))
    };
    if encoding == Encoding::Identity {
        return match sent.len() as u64 > most {
            true => Err(too_large()),
            false => Ok(sent.to_vec()),
        };
    }
    let broken = |_| Refusal::malformed("the body is not what zstd writes, or it was cut short");
    let mut decoder = zstd::stream::read::Decoder::with_buffer(sent).map_err(broken)?;
    decoder.window_log_max(WINDOW_LOG).map_err(broken)?;
    let mut bytes = Vec::new();
    let mut limited = decoder.take(most + 1);
    limited.read_to_end(&mut bytes).map_err(broken)?;
    match bytes.len() as u64 > most {
        true => Err(too_large()),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
        std::io::copy(&mut std::io::repeat(0).take(1 << 30), &mut encoder).expect("zeros");
        let bomb = encoder.finish().expect("a frame");
        assert!(bomb.len() < 200_000, "{}", bomb.len());
        let refused = unpack(&bomb, Encoding::Zstd, 1 << 20).expect_err("1 GiB");
        assert!(format!("{refused:?}").contains("TooLarge"));
    }

    #[test]
    fn what_was_packed_comes_back() {
        let packed = zstd::encode_all(&b"walk"[..], 3).expect("packed");
        assert_eq!(
            unpack(&packed, Encoding::Zstd, 4).expect("unpacked"),
            b"walk"
        );
        assert!(unpack(&packed, Encoding::Zstd, 3).is_err());
        assert!(unpack(&packed[..packed.len() - 1], Encoding::Zstd, 4).is_err());
        assert!(unpack(b"walk", Encoding::Zstd, 4).is_err());
        assert!(unpack(b"walk", Encoding::Identity, 3).is_err());
    }
}
