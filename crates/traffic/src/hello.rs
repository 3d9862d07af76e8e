//! What does a client say first on each channel? Which channel of the pattern it is, and the
//! pattern with its parameters; to a test server also by which right it asks.
//!
//! ```text
//! bytes 0-3   magic `WLK1`, or `WLK2` with a token
//! byte 4      channel of the pattern, from 0
//! bytes 5-8   length of what follows, big-endian
//! bytes 9..   JSON: the `Traffic` (`WLK1`), or the token and the request (`WLK2`):
//!             {"token": "...", "request": {"traffic": {"ping": {}}}}
//!             {"token": "...", "request": "records"}
//! ```

use crate::Channels;
use crate::pattern::{self, Impossible};
use model::scenario::Traffic;
use serde::{Deserialize, Serialize};

/// The first bytes of a hello without a token: the name and version of this protocol.
pub const MAGIC: [u8; 4] = *b"WLK1";
/// The first bytes of a hello with a token.
pub const MAGIC_WITH_TOKEN: [u8; 4] = *b"WLK2";
/// Bytes before the JSON.
pub const HEADER: usize = 9;
/// The longest JSON that is accepted: many times what any pattern needs, and little enough for
/// a server to hold for each stranger.
pub const MAX_LENGTH: usize = 4096;

/// A channel's first words.
#[derive(Clone, PartialEq, Debug)]
pub struct Hello {
    /// The channel of the pattern; 0 for anything but traffic.
    pub channel: usize,
    /// What is asked for.
    pub request: Request,
    /// By which right, towards a test server; its words are the platform's.
    pub token: Option<String>,
}

/// What a client asks for on a channel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// The other half of this pattern.
    Traffic(Traffic),
    /// What the server recorded of the token's session (`model::live::SessionRecords`): its length as
    /// four bytes, big-endian, and the JSON. Only with a token.
    Records,
}

/// The JSON behind [`MAGIC_WITH_TOKEN`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WithToken {
    token: String,
    request: Request,
}

/// A hello that cannot be accepted.
#[derive(Debug, thiserror::Error)]
pub enum HelloError {
    /// Not this protocol.
    #[error(
        "the channel begins with {found:02x?}, not with `WLK1` or `WLK2`: the peer is not Walkabout, or of \
         another version"
    )]
    Magic {
        /// The first bytes.
        found: [u8; 4],
    },
    /// Too long.
    #[error("the hello announces {length} bytes, more than the {MAX_LENGTH} allowed")]
    TooLong {
        /// The announced length.
        length: usize,
    },
    /// The JSON is not a traffic pattern.
    #[error("the hello's JSON is no traffic pattern: {0}")]
    Json(#[from] serde_json::Error),
    /// The parameters cannot be served.
    #[error("the hello asks for {0}")]
    Impossible(#[from] Impossible),
    /// The pattern has no such channel.
    #[error("the hello is for channel {channel}, but `{pattern}` has {channels}")]
    Channel {
        /// The channel.
        channel: usize,
        /// The pattern's name.
        pattern: &'static str,
        /// How many channels the pattern has.
        channels: usize,
    },
}

/// What was found at the front of a buffer.
#[derive(Clone, PartialEq, Debug)]
pub enum Parsed {
    /// A hello, which took `length` bytes.
    Complete {
        /// The hello.
        hello: Hello,
        /// Bytes of the buffer that belong to it.
        length: usize,
    },
    /// At least this many more bytes belong to it. Reading no more than these never takes a
    /// byte of what follows the hello.
    Incomplete {
        /// Bytes.
        missing: usize,
    },
}

/// The bytes of a hello.
///
/// # Panics
/// When it asks for records without a token: no server could say whose.
pub fn emit(hello: &Hello) -> Vec<u8> {
    let (magic, json) = match (&hello.token, &hello.request) {
        (Some(token), request) => {
            let (token, request) = (token.clone(), request.clone());
            let json = serde_json::to_vec(&WithToken { token, request });
            (MAGIC_WITH_TOKEN, json)
        }
        (None, Request::Traffic(traffic)) => (MAGIC, serde_json::to_vec(traffic)),
        (None, Request::Records) => panic!("records are asked for with a token"),
    };
    let json = json.expect("hellos are JSON");
    let mut bytes = Vec::with_capacity(HEADER + json.len());
    bytes.extend_from_slice(&magic);
    bytes.push(u8::try_from(hello.channel).expect("patterns have few channels"));
    bytes.extend_from_slice(&(json.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&json);
    bytes
}

/// Begins every channel of `traffic`, with `token` towards a test server: what the client's driver
/// does once, before the first poll of the client half.
pub fn greet(channels: &mut dyn Channels, traffic: &Traffic, token: Option<&str>) {
    for channel in 0..traffic.channels() {
        let hello = Hello {
            channel,
            request: Request::Traffic(traffic.clone()),
            token: token.map(str::to_owned),
        };
        channels.write(channel, &emit(&hello));
    }
}

/// Parses the front of `bytes`.
///
/// ```
/// use model::scenario::{Ping, Traffic};
/// use walkabout_traffic::hello::{Hello, Parsed, Request, emit, parse};
/// let request = Request::Traffic(Traffic::Ping(Ping::default()));
/// let hello = Hello { channel: 0, request, token: None };
/// let bytes = emit(&hello);
/// assert_eq!(parse(&bytes[..3]).unwrap(), Parsed::Incomplete { missing: 6 });
/// let length = bytes.len();
/// assert_eq!(parse(&bytes).unwrap(), Parsed::Complete { hello, length });
/// ```
///
/// # Errors
/// As soon as the bytes so far cannot become an acceptable hello.
pub fn parse(bytes: &[u8]) -> Result<Parsed, HelloError> {
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if !MAGIC.starts_with(magic) && !MAGIC_WITH_TOKEN.starts_with(magic) {
        let mut found = [0; 4];
        found[..magic.len()].copy_from_slice(magic);
        return Err(HelloError::Magic { found });
    }
    let with_token = *magic == MAGIC_WITH_TOKEN;
    let Some((&[_, _, _, _, channel, l0, l1, l2, l3], rest)) = bytes.split_first_chunk::<HEADER>()
    else {
        return Ok(Parsed::Incomplete {
            missing: HEADER - bytes.len(),
        });
    };
    let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
    if length > MAX_LENGTH {
        return Err(HelloError::TooLong { length });
    }
    let Some(json) = rest.get(..length) else {
        return Ok(Parsed::Incomplete {
            missing: length - rest.len(),
        });
    };
    let (token, request) = match with_token {
        true => {
            let WithToken { token, request } = serde_json::from_slice(json)?;
            (Some(token), request)
        }
        false => (None, Request::Traffic(serde_json::from_slice(json)?)),
    };
    let channel = usize::from(channel);
    let (pattern, channels) = match &request {
        Request::Traffic(traffic) => {
            pattern::check(traffic)?;
            (traffic.name(), traffic.channels())
        }
        Request::Records => ("records", 1),
    };
    if channel >= channels {
        return Err(HelloError::Channel {
            channel,
            pattern,
            channels,
        });
    }
    Ok(Parsed::Complete {
        hello: Hello {
            channel,
            request,
            token,
        },
        length: HEADER + length,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::scenario::{Bulk, Interactive};
    use model::units::{ByteSize, Span};
    use proptest::prelude::*;

    fn interactive(channel: usize) -> Hello {
        Hello {
            channel,
            request: Request::Traffic(Traffic::Interactive(Interactive::default())),
            token: None,
        }
    }

    fn error(bytes: &[u8]) -> String {
        parse(bytes).expect_err("not acceptable").to_string()
    }

    /// A hello with any JSON.
    fn with_json(channel: u8, json: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(channel);
        bytes.extend((json.len() as u32).to_be_bytes());
        bytes.extend(json.as_bytes());
        bytes
    }

    #[test]
    fn the_wire_image_stays() {
        let bytes = emit(&interactive(1));
        assert_eq!(bytes[..9], *b"WLK1\x01\x00\x00\x00\x48");
        insta::assert_snapshot!(
            std::str::from_utf8(&bytes[9..]).expect("JSON is UTF-8"),
            @r#"{"interactive":{"chunk_size":"2 kB","period":"100 ms","ack_size":"9 B"}}"#
        );
    }

    #[test]
    fn bad_hellos_say_what_is_wrong() {
        assert!(error(b"GET / HTTP/1.1").contains("not with `WLK1` or `WLK2`"));
        assert!(error(b"W1").contains("not with `WLK1` or `WLK2`"));
        assert!(
            error(b"WLK1\x00\xff\xff\xff\xff").contains("4294967295 bytes, more than the 4096")
        );
        assert!(error(&with_json(0, "[]")).contains("no traffic pattern"));
        assert!(error(&with_json(0, r#"{"ping":{"cuont":5}}"#)).contains("cuont"));
        assert!(error(&with_json(1, r#"{"ping":{}}"#)).contains("channel 1, but `ping` has 1"));
        let no_period = r#"{"interactive":{"period":"0 s"}}"#;
        assert!(error(&with_json(0, no_period)).contains("a period of 0 s"));
    }

    #[test]
    fn a_token_comes_with_its_request() {
        let token = Some("e30.c2ln".to_owned());
        let hello = Hello {
            token,
            ..interactive(0)
        };
        let bytes = emit(&hello);
        assert_eq!(bytes[..4], MAGIC_WITH_TOKEN);
        insta::assert_snapshot!(
            std::str::from_utf8(&bytes[9..]).expect("JSON is UTF-8"),
            @r#"{"token":"e30.c2ln","request":{"traffic":{"interactive":{"chunk_size":"2 kB","period":"100 ms","ack_size":"9 B"}}}}"#
        );
        let mut records = with_json(0, r#"{"token":"x","request":"records"}"#);
        records[..4].copy_from_slice(&MAGIC_WITH_TOKEN);
        let Ok(Parsed::Complete { hello, .. }) = parse(&records) else {
            panic!("a hello");
        };
        assert_eq!(hello.request, Request::Records);
    }

    proptest! {
        #[test]
        fn every_hello_comes_back(
            chunk in 9u64..1_000_000, ack in 9u64..1_000_000, period_us in 1_000u64..3_600_000_000,
            size in 9u64..1_000_000_000_000, channel in 0usize..2, tail: Vec<u8>,
        ) {
            let traffic = Traffic::Interactive(Interactive {
                chunk_size: ByteSize::from_bytes(chunk),
                period: Span::from(std::time::Duration::from_micros(period_us)),
                ack_size: ByteSize::from_bytes(ack),
            });
            let bulk = Traffic::Bulk(Bulk { size: ByteSize::from_bytes(size) });
            let hello = |channel, traffic, token: Option<&str>| Hello {
                channel,
                request: Request::Traffic(traffic),
                token: token.map(str::to_owned),
            };
            let records = Hello { channel: 0, request: Request::Records, token: Some("t".into()) };
            for hello in [
                hello(channel, traffic.clone(), None),
                hello(channel, traffic, Some("a.b")),
                hello(0, bulk, None),
                records,
            ] {
                let mut bytes = emit(&hello);
                let length = bytes.len();
                bytes.extend(&tail);
                // Reading what is asked for, and no more, ends exactly at its end.
                let mut have = 0;
                while let Parsed::Incomplete { missing } = parse(&bytes[..have]).expect("valid") {
                    prop_assert!(missing > 0);
                    have += missing;
                }
                prop_assert_eq!(have, length);
                prop_assert_eq!(parse(&bytes).expect("valid"), Parsed::Complete { hello, length });
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>, json: String) {
            let _ = parse(&bytes);
            let _ = parse(&with_json(0, &json));
        }
    }
}
