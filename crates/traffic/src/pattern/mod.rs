//! Which traffic patterns are there? One file each, client and server half together.
//!
//! A new one is a file here, a variant of [`Traffic`] with its parameters, and a line in
//! [`PATTERNS`]; the compiler asks for the lines in [`client`], [`server`] and [`check`].

mod answerer;
mod beside;
pub mod bulk;
pub mod bursts;
mod fetch;
mod inbox;
pub mod interactive;
pub mod iperf;
mod periodic;
pub mod ping;
#[cfg(test)]
mod pipe;
pub mod radio;
pub mod request;
mod timer;

use crate::Half;
use crate::frame::HEADER;
use beside::Beside;
use model::Seed;
use model::scenario::{Traffic, WithBackground};
use model::units::{BitRate, ByteSize, Span};

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
        name: "bursts",
        summary: "series of requests in several small writes each, with pauses, as of a voice-activated application",
        example: bursts::EXAMPLE,
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
    Entry {
        name: "radio",
        summary: "the server pushes at a fixed bit rate; what a play-out buffer makes of it",
        example: radio::EXAMPLE,
    },
    Entry {
        name: "request",
        summary: "the client sends a request every period, the server answers each",
        example: request::EXAMPLE,
    },
];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    PATTERNS.iter().find(|e| e.name == name)
}

/// The half that runs on the host that walks; what it draws comes from `seed`.
pub fn client(traffic: &Traffic, seed: Seed) -> Box<dyn Half> {
    match traffic {
        Traffic::Interactive(parameters) => Box::new(interactive::client(parameters)),
        Traffic::Ping(parameters) => Box::new(ping::client(parameters)),
        Traffic::Bulk(parameters) => Box::new(bulk::client(parameters)),
        Traffic::Iperf(parameters) => Box::new(iperf::client(parameters)),
        Traffic::Bursts(parameters) => Box::new(bursts::client(parameters, seed)),
        Traffic::Request(parameters) => Box::new(request::client(parameters)),
        Traffic::Radio(parameters) => Box::new(radio::client(parameters)),
        Traffic::WithBackground(both) => {
            let WithBackground { main, background } = &**both;
            let half = request::client(&request::of(background));
            let (main, channels) = (client(main, seed), main.channels());
            Box::new(Beside::new(main, channels, Box::new(half)))
        }
    }
}

/// The half that runs on the host that stays.
pub fn server(traffic: &Traffic) -> Box<dyn Half> {
    match traffic {
        Traffic::Interactive(parameters) => Box::new(interactive::server(parameters)),
        Traffic::Ping(parameters) => Box::new(ping::server(parameters)),
        Traffic::Bulk(parameters) => Box::new(bulk::server(parameters)),
        Traffic::Iperf(parameters) => Box::new(iperf::server(parameters)),
        Traffic::Bursts(parameters) => Box::new(bursts::server(parameters)),
        Traffic::Request(parameters) => Box::new(request::server(parameters)),
        Traffic::Radio(parameters) => Box::new(radio::server(parameters)),
        Traffic::WithBackground(both) => {
            let WithBackground { main, background } = &**both;
            let half = request::server(&request::of(background));
            let (main, channels) = (server(main), main.channels());
            Box::new(Beside::new(main, channels, Box::new(half)))
        }
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
    /// Writes that cannot be drawn.
    #[error(
        "writes of {min} to {max}; the smallest must be from 1 B, the largest no less, to {MAX_CHUNK}"
    )]
    Writes {
        /// The smallest.
        min: ByteSize,
        /// The largest.
        max: ByteSize,
    },
    /// A bit rate out of bounds.
    #[error("a bit rate of {rate}; it must be from {MIN_RATE} to {MAX_RATE}")]
    Rate {
        /// Its value.
        rate: BitRate,
    },
    /// A background beside traffic that has one already.
    #[error("a background of a background")]
    Nested,
}

/// The smallest message: a frame's header.
pub const MIN_SIZE: ByteSize = ByteSize::from_bytes(HEADER as u64);
/// The largest message of a pattern that repeats itself (chunk, block, burst, request, response, what a
/// radio sends at once): each half holds one of each.
pub const MAX_CHUNK: ByteSize = ByteSize::from_bytes(1 << 20);
/// The largest object of `ping` and `bulk`.
pub const MAX_OBJECT: ByteSize = ByteSize::from_bytes(1_000_000_000_000);
/// The shortest period of anything: bounds what a late wake-up has to make up for.
pub const MIN_PERIOD: Span = Span::from_millis(1);
/// The longest period of anything.
pub const MAX_PERIOD: Span = Span::from_millis(3_600_000);
/// The shortest duration of `iperf`.
pub const MIN_DURATION: Span = Span::from_millis(1);
/// The longest duration of `iperf`.
pub const MAX_DURATION: Span = Span::from_millis(3_600_000);
/// The slowest stream of `radio`.
pub const MIN_RATE: BitRate = BitRate::from_bits_per_second(1_000);
/// The fastest stream of `radio`.
pub const MAX_RATE: BitRate = BitRate::from_bits_per_second(1_000_000_000);
/// The most requests of `ping`, and bursts of a series.
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
    let period = |period| match (MIN_PERIOD..=MAX_PERIOD).contains(&period) {
        true => Ok(()),
        false => Err(Impossible::Period { period }),
    };
    let count = |count| match (1..=MAX_COUNT).contains(&count) {
        true => Ok(()),
        false => Err(Impossible::Count { count }),
    };
    match traffic {
        Traffic::Interactive(p) => {
            size("chunk_size", p.chunk_size, MAX_CHUNK)?;
            size("ack_size", p.ack_size, MAX_CHUNK)?;
            period(p.period)?;
        }
        Traffic::Ping(p) => {
            size("size", p.size, MAX_OBJECT)?;
            count(p.count)?;
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
        Traffic::Bursts(p) => {
            size("burst_size", p.burst_size, MAX_CHUNK)?;
            size("response_size", p.response_size, MAX_CHUNK)?;
            let (min, max) = (p.write_min, p.write_max);
            if min.bytes() == 0 || min > max || max > MAX_CHUNK {
                return Err(Impossible::Writes { min, max });
            }
            period(p.interval)?;
            period(p.pause)?;
            count(p.count)?;
        }
        Traffic::Request(p) => {
            size("request_size", p.request_size, MAX_CHUNK)?;
            size("response_size", p.response_size, MAX_CHUNK)?;
            period(p.period)?;
        }
        Traffic::Radio(p) => {
            size("block_size", p.block_size, MAX_CHUNK)?;
            if p.burst_size > ByteSize::from_bytes(0) {
                size("burst_size", p.burst_size, MAX_CHUNK)?;
            }
            if !(MIN_RATE..=MAX_RATE).contains(&p.bitrate) {
                return Err(Impossible::Rate { rate: p.bitrate });
            }
        }
        Traffic::WithBackground(both) => {
            let WithBackground { main, background } = &**both;
            if matches!(main, Traffic::WithBackground(_)) {
                return Err(Impossible::Nested);
            }
            check(main)?;
            check(&Traffic::Request(request::of(background)))?;
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
            for half in [client(traffic, Seed(1)), server(traffic)] {
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
            "[bursts]\nwrite_max = '20 B'",
            "[bursts]\nwrite_min = '0 B'",
            "[bursts]\ncount = 0",
            "[request]\nresponse_size = '0 B'",
            "[request]\nperiod = '4000 s'",
            "[radio]\nbitrate = '0 bit/s'",
            "[radio]\nburst_size = '2 MiB'",
            "[with-background.main.ping]\ncount = 0\n[with-background.background]",
            "[with-background.main.ping]\n[with-background.background]\nperiod = '1 us'",
            "[with-background.main.with-background.main.ping]\n[with-background.background]\n\
             [with-background.main.with-background.background]",
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
        writes of 50 B to 20 B; the smallest must be from 1 B, the largest no less, to 1 MiB
        writes of 0 B to 500 B; the smallest must be from 1 B, the largest no less, to 1 MiB
        a count of 0 requests; it must be from 1 to 1000000
        `response_size` of 0 B; it must be from 9 B to 1 MiB
        a period of 4000 s; it must be from 1 ms to 3600 s
        a bit rate of 0 bit/s; it must be from 1 kbit/s to 1 Gbit/s
        `burst_size` of 2 MiB; it must be from 9 B to 1 MiB
        a count of 0 requests; it must be from 1 to 1000000
        a period of 1 us; it must be from 1 ms to 3600 s
        a background of a background
        ");
    }
}
