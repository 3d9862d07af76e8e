//! Which traffic patterns are there? One file each, client and server half together.
//!
//! A new one is a file here, a variant of [`Traffic`] with its parameters, and a line in
//! [`PATTERNS`]; the compiler asks for the lines in [`client`], [`server`] and [`check`].

mod answerer;
pub mod bulk;
mod fetch;
mod inbox;
pub mod interactive;
pub mod iperf;
pub mod ping;
#[cfg(test)]
mod pipe;
mod timer;

use crate::Half;
use crate::frame::HEADER;
use model::scenario::Traffic;
use model::units::{ByteSize, Span};

/// An entry of the list.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in scenarios, on the command line, in reports and docs.
    pub name: &'static str,
    /// One line that says what it does.
    pub summary: &'static str,
    /// Its part of a scenario with every parameter, in TOML.
    pub example: &'static str,
}

/// Every pattern, sorted by name.
pub const PATTERNS: &[Entry] = &[
    Entry {
        name: "bulk",
        summary: "one request for a large object; its completion time",
        example: bulk::EXAMPLE,
    },
    Entry {
        name: "interactive",
        summary: "client and server each send a chunk periodically, the peer's application acknowledges each",
        example: interactive::EXAMPLE,
    },
    Entry {
        name: "iperf",
        summary: "as much as the network takes for a time, in blocks that the peer's application acknowledges",
        example: iperf::EXAMPLE,
    },
    Entry {
        name: "ping",
        summary: "a few requests for a small object, one after the other",
        example: ping::EXAMPLE,
    },
];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    PATTERNS.iter().find(|e| e.name == name)
}

/// The half that runs on the host that walks.
pub fn client(traffic: &Traffic) -> Box<dyn Half> {
    match traffic {
        Traffic::Interactive(parameters) => Box::new(interactive::client(parameters)),
        Traffic::Ping(parameters) => Box::new(ping::client(parameters)),
        Traffic::Bulk(parameters) => Box::new(bulk::client(parameters)),
        Traffic::Iperf(parameters) => Box::new(iperf::client(parameters)),
    }
}

/// The half that runs on the host that stays.
pub fn server(traffic: &Traffic) -> Box<dyn Half> {
    match traffic {
        Traffic::Interactive(parameters) => Box::new(interactive::server(parameters)),
        Traffic::Ping(parameters) => Box::new(ping::server(parameters)),
        Traffic::Bulk(parameters) => Box::new(bulk::server(parameters)),
        Traffic::Iperf(parameters) => Box::new(iperf::server(parameters)),
    }
}

/// Parameters that no half can work with.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Impossible {
    /// A message size out of bounds.
    #[error("`{key}` of {size}; it must be from {min} to {max}")]
    Size {
        /// The parameter.
        key: &'static str,
        /// Its value.
        size: ByteSize,
        /// The smallest possible value.
        min: ByteSize,
        /// The largest one allowed.
        max: ByteSize,
    },
    /// A period out of bounds.
    #[error("a period of {period}; it must be from {MIN_PERIOD} to {MAX_PERIOD}")]
    Period {
        /// Its value.
        period: Span,
    },
    /// A duration out of bounds.
    #[error("a duration of {duration}; it must be from {MIN_DURATION} to {MAX_DURATION}")]
    Duration {
        /// Its value.
        duration: Span,
    },
    /// A number of requests out of bounds.
    #[error("a count of {count} requests; it must be from 1 to {MAX_COUNT}")]
    Count {
        /// Its value.
        count: u32,
    },
}

/// The smallest message: a frame's header.
pub const MIN_SIZE: ByteSize = ByteSize::from_bytes(HEADER as u64);
/// The largest chunk or acknowledgement of `interactive` and block of `iperf`: each half holds one of
/// each.
pub const MAX_CHUNK: ByteSize = ByteSize::from_bytes(1 << 20);
/// The largest object of `ping` and `bulk`.
pub const MAX_OBJECT: ByteSize = ByteSize::from_bytes(1_000_000_000_000);
/// The shortest period of `interactive`: bounds what a late wake-up has to make up for.
pub const MIN_PERIOD: Span = Span::from_millis(1);
/// The longest period of `interactive`.
pub const MAX_PERIOD: Span = Span::from_millis(3_600_000);
/// The shortest duration of `iperf`.
pub const MIN_DURATION: Span = Span::from_millis(1);
/// The longest duration of `iperf`.
pub const MAX_DURATION: Span = Span::from_millis(3_600_000);
/// The most requests of `ping`.
pub const MAX_COUNT: u32 = 1_000_000;

/// Whether the halves of `traffic` can do what it asks; a server checks this before it serves
/// a stranger. [`client`] and [`server`] do not check: they raise sizes below [`MIN_SIZE`] and
/// periods below [`MIN_PERIOD`] to these.
///
/// # Errors
/// The first parameter that is out of bounds.
pub fn check(traffic: &Traffic) -> Result<(), Impossible> {
    let size = |key, size: ByteSize, max: ByteSize| {
        if (MIN_SIZE..=max).contains(&size) {
            Ok(())
        } else {
            let min = MIN_SIZE;
            Err(Impossible::Size {
                key,
                size,
                min,
                max,
            })
        }
    };
    match traffic {
        Traffic::Interactive(p) => {
            size("chunk_size", p.chunk_size, MAX_CHUNK)?;
            size("ack_size", p.ack_size, MAX_CHUNK)?;
            if !(MIN_PERIOD..=MAX_PERIOD).contains(&p.period) {
                return Err(Impossible::Period { period: p.period });
            }
        }
        Traffic::Ping(p) => {
            size("size", p.size, MAX_OBJECT)?;
            if !(1..=MAX_COUNT).contains(&p.count) {
                return Err(Impossible::Count { count: p.count });
            }
        }
        Traffic::Bulk(p) => size("size", p.size, MAX_OBJECT)?,
        Traffic::Iperf(p) => {
            size("block_size", p.block_size, MAX_CHUNK)?;
            if !(MIN_DURATION..=MAX_DURATION).contains(&p.duration) {
                return Err(Impossible::Duration {
                    duration: p.duration,
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_list_is_sorted_and_each_entry_is_complete() {
        assert!(PATTERNS.is_sorted_by(|a, b| a.name < b.name));
        for entry in PATTERNS {
            assert!(!entry.summary.is_empty(), "{}", entry.name);
            assert!(!entry.summary.contains('\n'), "{}", entry.name);
            let scenario: BTreeMap<String, Traffic> =
                toml::from_str(entry.example).expect(entry.name);
            let traffic = &scenario["traffic"];
            assert_eq!(traffic.name(), entry.name);
            assert_eq!(check(traffic), Ok(()), "{}", entry.name);
            // The example names every parameter, with its default.
            let written = toml::to_string(&scenario).expect("TOML");
            assert_eq!(entry.example, written, "{}", entry.name);
            // Each has both halves, which have nothing to say for themselves so far.
            for half in [client(traffic), server(traffic)] {
                assert_eq!((half.poll_at(), half.is_done()), (None, false));
                assert_eq!((half.unanswered().len(), half.error()), (0, None));
            }
        }
        assert!(find("interactive").is_some() && find("Interactive").is_none());
    }

    #[test]
    fn impossible_parameters_are_named() {
        let parse = |text| -> Traffic { toml::from_str(text).expect(text) };
        let checked: Vec<String> = [
            "[interactive]\nchunk_size = '8 B'",
            "[interactive]\nack_size = '2 MiB'",
            "[interactive]\nperiod = '10 us'",
            "[ping]\ncount = 0",
            "[ping]\nsize = '0 B'",
            "[bulk]\nsize = '2000 GB'",
            "[iperf]\nblock_size = '2 MiB'",
            "[iperf]\nduration = '0 s'",
        ]
        .map(|text| check(&parse(text)).expect_err(text).to_string())
        .into();
        insta::assert_snapshot!(checked.join("\n"), @r"
        `chunk_size` of 8 B; it must be from 9 B to 1 MiB
        `ack_size` of 2 MiB; it must be from 9 B to 1 MiB
        a period of 10 us; it must be from 1 ms to 3600 s
        a count of 0 requests; it must be from 1 to 1000000
        `size` of 0 B; it must be from 9 B to 1000 GB
        `size` of 2000 GB; it must be from 9 B to 1000 GB
        `block_size` of 2 MiB; it must be from 9 B to 1 MiB
        a duration of 0 s; it must be from 1 ms to 3600 s
        ");
    }
}
