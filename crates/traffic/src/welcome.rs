//! Which of a server's channels is which channel of the pattern? The hellos say.

use crate::Channels;
use crate::hello::{self, Hello, HelloError, Parsed, Request};
use bytes::Bytes;
use model::scenario::Traffic;

/// Why a channel was turned away.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The hello is not acceptable.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// The hello asks for another pattern than the one being served.
    #[error(
        "the hello asks for `{asked}`, but this client's other channels asked for `{served}`, or with other parameters"
    )]
    OtherTraffic {
        /// The pattern asked for.
        asked: &'static str,
        /// The pattern being served.
        served: &'static str,
    },
    /// Only test servers hand out records.
    #[error("the hello asks for records, which only a test server hands out")]
    Records,
    /// The pattern's channel is taken.
    #[error("a second hello for channel {channel} of the pattern")]
    Taken {
        /// The channel of the pattern.
        channel: usize,
    },
    /// It closed before its hello was complete.
    #[error("it closed after {bytes} bytes of its hello")]
    Closed {
        /// Bytes of the hello that arrived.
        bytes: usize,
    },
}

/// A client's channels as a server accepts them: reads the hellos, learns the pattern, and
/// presents the channels under the pattern's numbers.
///
/// ```no_run
/// # use walkabout_traffic::{Channels, pattern, welcome::Welcome};
/// # fn accepted() -> Option<usize> { None }
/// # fn serve(transport: &mut dyn Channels, now: model::Time) {
/// let mut welcome = Welcome::default();
/// let (mut half, mut log) = (None, Vec::new());
/// // After each wake-up:
/// while let Some(channel) = accepted() {
///     welcome.accept(channel);
/// }
/// for (channel, refusal) in welcome.poll(transport) {
///     eprintln!("channel {channel} was turned away: {refusal}");
/// }
/// if half.is_none() {
///     half = welcome.traffic().map(pattern::server);
/// }
/// if let Some(half) = &mut half {
///     half.poll(now, &mut welcome.channels(transport), &mut log);
/// }
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Welcome {
    /// The transport's channels whose hello is not complete, with its bytes so far.
    waiting: Vec<(usize, Vec<u8>)>,
    traffic: Option<Traffic>,
    /// The transport's channel of each channel of the pattern.
    numbers: Vec<Option<usize>>,
}

impl Welcome {
    /// The transport accepted `channel` (its own number).
    pub fn accept(&mut self, channel: usize) {
        self.waiting.push((channel, Vec::new()));
    }

    /// Reads hellos, and not a byte more. Returns the channels (the transport's numbers) that
    /// are turned away; they are not looked at again.
    pub fn poll(&mut self, transport: &mut dyn Channels) -> Vec<(usize, Refusal)> {
        let mut refused = Vec::new();
        if self.waiting.is_empty() {
            return refused;
        }
        for (channel, mut bytes) in std::mem::take(&mut self.waiting) {
            match read(transport, channel, &mut bytes) {
                Ok(None) => self.waiting.push((channel, bytes)),
                Ok(Some(hello)) => {
                    if let Err(refusal) = self.admit(channel, hello) {
                        refused.push((channel, refusal));
                    }
                }
                Err(refusal) => refused.push((channel, refusal)),
            }
        }
        refused
    }

    /// The pattern, once a hello named it.
    pub fn traffic(&self) -> Option<&Traffic> {
        self.traffic.as_ref()
    }

    /// The channels under the pattern's numbers, for the server half.
    pub fn channels<'t>(&'t self, transport: &'t mut dyn Channels) -> Renumbered<'t> {
        Renumbered {
            transport,
            numbers: &self.numbers,
        }
    }

    fn admit(&mut self, number: usize, hello: Hello) -> Result<(), Refusal> {
        let Hello {
            channel, request, ..
        } = hello;
        // A token asks for no more than is given here without one.
        let Request::Traffic(traffic) = request else {
            return Err(Refusal::Records);
        };
        let served = self.traffic.get_or_insert_with(|| traffic.clone());
        if *served != traffic {
            return Err(Refusal::OtherTraffic {
                asked: traffic.name(),
                served: served.name(),
            });
        }
        self.numbers.resize(traffic.channels(), None);
        match &mut self.numbers[channel] {
            Some(_) => Err(Refusal::Taken { channel }),
            slot => {
                *slot = Some(number);
                Ok(())
            }
        }
    }
}

/// Reads as much of the hello on `channel` as there is.
fn read(
    transport: &mut dyn Channels,
    channel: usize,
    bytes: &mut Vec<u8>,
) -> Result<Option<Hello>, Refusal> {
    loop {
        let missing = match hello::parse(bytes)? {
            Parsed::Complete { hello, .. } => return Ok(Some(hello)),
            Parsed::Incomplete { missing } => missing,
        };
        let start = bytes.len();
        bytes.resize(start + missing, 0);
        let n = transport.read(channel, &mut bytes[start..]);
        bytes.truncate(start + n);
        if n == 0 {
            return if transport.is_open(channel) {
                Ok(None)
            } else {
                Err(Refusal::Closed { bytes: start })
            };
        }
    }
}

/// Channels under the pattern's numbers; one without a hello so far is not open.
pub struct Renumbered<'t> {
    transport: &'t mut dyn Channels,
    numbers: &'t [Option<usize>],
}

impl Renumbered<'_> {
    fn number(&self, channel: usize) -> Option<usize> {
        self.numbers.get(channel).copied().flatten()
    }
}

impl Channels for Renumbered<'_> {
    /// # Panics
    /// When the channel had no hello: nobody is there to write to.
    fn write(&mut self, channel: usize, data: &[u8]) {
        let number = self
            .number(channel)
            .expect("only open channels are written to");
        self.transport.write(number, data);
    }
    /// # Panics
    /// As [`Renumbered::write`].
    fn write_bytes(&mut self, channel: usize, data: Bytes) {
        let number = self
            .number(channel)
            .expect("only open channels are written to");
        self.transport.write_bytes(number, data);
    }
    fn queued(&self, channel: usize) -> usize {
        self.number(channel).map_or(0, |n| self.transport.queued(n))
    }
    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        self.number(channel)
            .map_or(0, |n| self.transport.read(n, buffer))
    }
    fn read_each(
        &mut self,
        channel: usize,
        buffer: &mut [u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> usize {
        self.number(channel)
            .map_or(0, |n| self.transport.read_each(n, buffer, take))
    }
    fn is_open(&self, channel: usize) -> bool {
        self.number(channel)
            .is_some_and(|n| self.transport.is_open(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::scenario::{Interactive, Ping};
    use std::collections::{BTreeMap, VecDeque};

    /// Channels by the transport's number, and what the client sent on each.
    #[derive(Default)]
    struct Transport {
        arrived: BTreeMap<usize, VecDeque<u8>>,
        written: Vec<(usize, Vec<u8>)>,
        closed: Vec<usize>,
    }

    impl Transport {
        fn arrive(&mut self, channel: usize, bytes: &[u8]) {
            self.arrived.entry(channel).or_default().extend(bytes);
        }
    }

    impl Channels for Transport {
        fn write(&mut self, channel: usize, data: &[u8]) {
            self.written.push((channel, data.to_vec()));
        }
        fn queued(&self, channel: usize) -> usize {
            channel
        }
        fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
            let arrived = self.arrived.entry(channel).or_default();
            let n = arrived.len().min(buffer.len());
            for (byte, arrived) in buffer.iter_mut().zip(arrived.drain(..n)) {
                *byte = arrived;
            }
            n
        }
        fn is_open(&self, channel: usize) -> bool {
            !self.closed.contains(&channel)
        }
    }

    /// What a client's driver sends on each channel.
    fn greetings(traffic: &Traffic) -> Vec<Vec<u8>> {
        let mut client = Transport::default();
        hello::greet(&mut client, traffic, None);
        client.written.into_iter().map(|(_, bytes)| bytes).collect()
    }

    #[test]
    fn channels_get_the_patterns_numbers_whatever_the_order() {
        let traffic = Traffic::Interactive(Interactive::default());
        let hellos = greetings(&traffic);
        let (mut transport, mut welcome) = (Transport::default(), Welcome::default());
        for number in [40, 50] {
            welcome.accept(number);
        }
        // Channel 1 comes first, in two pieces, with data right behind it.
        transport.arrive(40, &hellos[1][..20]);
        assert!(welcome.poll(&mut transport).is_empty());
        assert_eq!(welcome.traffic(), None);
        transport.arrive(40, &hellos[1][20..]);
        transport.arrive(40, b"chunk");
        assert!(welcome.poll(&mut transport).is_empty());
        assert_eq!(welcome.traffic(), Some(&traffic));
        let channels = welcome.channels(&mut transport);
        assert_eq!([0, 1, 2].map(|c| channels.is_open(c)), [false, true, false]);

        transport.arrive(50, &hellos[0]);
        assert!(welcome.poll(&mut transport).is_empty());
        let mut channels = welcome.channels(&mut transport);
        assert_eq!([0, 1].map(|c| channels.is_open(c)), [true, true]);
        assert_eq!([0, 1].map(|c| channels.queued(c)), [50, 40]);
        let mut buffer = [0; 99];
        assert_eq!(channels.read(1, &mut buffer), 5);
        assert_eq!(&buffer[..5], b"chunk");
        channels.write(0, b"answer");
        assert_eq!(transport.written, [(50, b"answer".to_vec())]);
        transport.closed.push(40);
        assert!(!welcome.channels(&mut transport).is_open(1));
    }

    #[test]
    fn strangers_and_contradictions_are_turned_away_and_the_client_is_served() {
        let interactive = greetings(&Traffic::Interactive(Interactive::default()));
        let ping = greetings(&Traffic::Ping(Ping::default()));
        let (mut transport, mut welcome) = (Transport::default(), Welcome::default());
        (0..5).for_each(|number| welcome.accept(number));
        transport.arrive(0, &interactive[0]);
        transport.arrive(1, b"GET / HTTP/1.1");
        transport.arrive(2, &ping[0]);
        transport.arrive(3, &interactive[0]);
        transport.arrive(4, &interactive[1][..10]);
        transport.closed.push(4);
        let refused: Vec<String> = welcome
            .poll(&mut transport)
            .iter()
            .map(|(channel, refusal)| format!("{channel}: {refusal}"))
            .collect();
        insta::assert_snapshot!(refused.join("\n"), @r"
        1: the channel begins with [47, 45, 54, 20], not with `WLK1` or `WLK2`: the peer is not Walkabout, or of another version
        2: the hello asks for `ping`, but this client's other channels asked for `interactive`, or with other parameters
        3: a second hello for channel 0 of the pattern
        4: it closed after 10 bytes of its hello
        ");
        assert!(welcome.poll(&mut transport).is_empty());
        assert!(welcome.channels(&mut transport).is_open(0));
    }
}
