//! What do the options of a TCP header say, and how are they laid out?

use super::mptcp::{self, Dss, MptcpOption, MptcpOptions};
use super::{OPTION_SPACE, Seq, put};
use arrayvec::ArrayVec;
use bytes::Buf;

// Kinds (RFC 9293, section 3.1; RFC 7323, section 2.2 and 3.2; RFC 2018, sections 2 and 3).
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// The largest window scale (RFC 7323, section 2.3).
const MAX_WINDOW_SCALE: u8 = 14;

/// Selective acknowledgements (RFC 2018): beginnings and ends.
pub type SackBlocks = ArrayVec<(Seq, Seq), 4>;

/// The timestamps option (RFC 7323).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// TSval.
    pub value: u32,
    /// TSecr.
    pub echo: u32,
}

impl Timestamps {
    /// Timestamps as every sender aligns them, in front of all else, and what follows: nearly every
    /// segment has them there (RFC 7323, appendix A; Linux's tcp_parse_aligned_timestamp).
    #[inline]
    fn aligned(bytes: &[u8]) -> Option<(Timestamps, &[u8])> {
        let (&[NOP, NOP, TIMESTAMPS, 10, v0, v1, v2, v3, e0, e1, e2, e3], rest) =
            bytes.split_first_chunk()?
        else {
            return None;
        };
        let timestamps = Timestamps {
            value: u32::from_be_bytes([v0, v1, v2, v3]),
            echo: u32::from_be_bytes([e0, e1, e2, e3]),
        };
        Some((timestamps, rest))
    }

    /// The option without padding.
    #[inline]
    fn bytes(self) -> [u8; 10] {
        let [v0, v1, v2, v3] = self.value.to_be_bytes();
        let [e0, e1, e2, e3] = self.echo.to_be_bytes();
        [TIMESTAMPS, 10, v0, v1, v2, v3, e0, e1, e2, e3]
    }
}

/// The options of a TCP header. What is unknown or malformed is left out when parsed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale (RFC 7323); at most 14.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
    /// Multipath TCP's.
    pub mptcp: MptcpOptions,
}

impl Options {
    /// The bytes they take in a header, padding to a multiple of four included.
    ///
    /// Each begins at a multiple of four, as in Linux, which lets a SACK permitted take the
    /// place of the padding before timestamps.
    pub fn len(&self) -> usize {
        let mut length = 0;
        if self.mss.is_some() {
            length += 4;
        }
        if self.timestamps.is_some() {
            length += 12;
        } else if self.sack_permitted {
            length += 4;
        }
        if self.window_scale.is_some() {
            length += 4;
        }
        if !self.sack.is_empty() {
            length += 4 + 8 * self.sack.len();
        }
        length
            + self
                .mptcp
                .iter()
                .map(|option| option.len().next_multiple_of(4))
                .sum::<usize>()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads what follows the fixed part of a TCP header. The flags say in which segment of a
    /// handshake the options are.
    ///
    /// An option of a wrong length is left out; one whose length is illegal or goes beyond the
    /// header ends the reading (RFC 9293, section 3.1, MUST-7). Of two of a kind the later
    /// counts; Multipath TCP's are kept all, up to four.
    pub fn parse(bytes: &[u8], syn: bool, ack: bool) -> Options {
        let mut options = Options::default();
        options.read(bytes, syn, ack);
        options
    }

    /// Only the first data sequence signal (RFC 8684, section 3.3) among the options of a segment
    /// without SYN, for those who look at packets of others: without one it costs next to nothing.
    pub fn data_sequence_signal(bytes: &[u8]) -> Option<Dss> {
        let rest = Timestamps::aligned(bytes).map_or(bytes, |(_, rest)| rest);
        let mut own = split(rest).filter(|(kind, _)| *kind == mptcp::KIND);
        own.find_map(|(_, option)| MptcpOption::data_sequence_signal(option))
    }

    /// [`Options::parse`] to where they are to be: they are large.
    pub(super) fn read(&mut self, bytes: &[u8], syn: bool, ack: bool) {
        let mut rest = bytes;
        if let Some((timestamps, behind)) = Timestamps::aligned(bytes) {
            self.timestamps = Some(timestamps);
            rest = behind;
        }
        for (kind, option) in split(rest) {
            self.read_one(kind, option, syn, ack);
        }
    }

    /// Reads one option; `option` includes kind and length.
    fn read_one(&mut self, kind: u8, option: &[u8], syn: bool, ack: bool) {
        let mut value = &option[2..];
        match (kind, value.len()) {
            (MSS, 2) => {
                let mss = value.get_u16();
                if mss != 0 {
                    self.mss = Some(mss);
                }
            }
            (WINDOW_SCALE, 1) => self.window_scale = Some(value.get_u8().min(MAX_WINDOW_SCALE)),
            (SACK_PERMITTED, 0) => self.sack_permitted = true,
            (TIMESTAMPS, 8) => {
                self.timestamps = Some(Timestamps {
                    value: value.get_u32(),
                    echo: value.get_u32(),
                });
            }
            (SACK, 8 | 16 | 24 | 32) => {
                self.sack.clear();
                while !value.is_empty() {
                    self.sack.push((Seq(value.get_u32()), Seq(value.get_u32())));
                }
            }
            (mptcp::KIND, _) if !self.mptcp.is_full() => {
                if let Some(option) = MptcpOption::parse(option, syn, ack) {
                    self.mptcp.push(option);
                }
            }
            _ => {}
        }
    }

    /// Writes them; returns their length.
    ///
    /// # Panics
    /// When they take more than [`OPTION_SPACE`], or `out` is too short.
    pub fn emit(&self, out: &mut [u8]) -> usize {
        let space = out.len().min(OPTION_SPACE);
        let mut rest = &mut out[..space];
        if let Some(mss) = self.mss {
            let [m0, m1] = mss.to_be_bytes();
            put(&mut rest, [MSS, 4, m0, m1]);
        }
        let sack_permitted = if self.sack_permitted {
            [SACK_PERMITTED, 2]
        } else {
            [NOP, NOP]
        };
        if let Some(timestamps) = self.timestamps {
            put(&mut rest, sack_permitted);
            put(&mut rest, timestamps.bytes());
        } else if self.sack_permitted {
            put(&mut rest, [NOP, NOP]);
            put(&mut rest, sack_permitted);
        }
        if let Some(scale) = self.window_scale {
            let scale = scale.min(MAX_WINDOW_SCALE);
            put(&mut rest, [NOP, WINDOW_SCALE, 3, scale]);
        }
        if !self.sack.is_empty() {
            let length = 2 + 8 * self.sack.len();
            put(&mut rest, [NOP, NOP, SACK, length as u8]);
            for &(begin, end) in &self.sack {
                put(&mut rest, begin.0.to_be_bytes());
                put(&mut rest, end.0.to_be_bytes());
            }
        }
        for option in &self.mptcp {
            let length = option.emit(rest);
            rest = &mut rest[length..];
            for _ in length..length.next_multiple_of(4) {
                put(&mut rest, [NOP]);
            }
        }
        space - rest.len()
    }
}

/// The options of a TCP header, each with its kind and as a whole, to the end of the list or the
/// first that is not of a legal length.
fn split(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        loop {
            let (kind, length) = match *bytes {
                [NOP, ..] => {
                    bytes = &bytes[1..];
                    continue;
                }
                [kind, length, ..] if kind != END && length >= 2 => (kind, length),
                _ => return None,
            };
            let (option, rest) = bytes.split_at_checked(usize::from(length))?;
            bytes = rest;
            return Some((kind, option));
        }
    })
}
