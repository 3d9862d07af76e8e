//! Which bytes go over a connection, and did they arrive as they were?

use crate::Failure;

/// Bytes that follow from a seed and their offset: whoever receives them can tell each missing,
/// doubled, displaced or changed one.
fn fill(seed: u64, offset: u64, bytes: &mut [u8]) {
    let mut at = offset;
    let mut rest = bytes;
    while !rest.is_empty() {
        let word = mix(seed ^ (at / 8).wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes();
        let skip = (at % 8) as usize;
        let count = (8 - skip).min(rest.len());
        rest[..count].copy_from_slice(&word[skip..skip + count]);
        rest = &mut rest[count..];
        at += count as u64;
    }
}

/// The finalizer of SplitMix64.
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// What one side sends.
pub struct Source {
    seed: u64,
    sent: u64,
    total: u64,
    /// Whether it ends the stream when all is sent.
    pub closes: bool,
    pub closed: bool,
    buffer: Vec<u8>,
}

impl Source {
    pub fn new(seed: u64) -> Source {
        Source {
            seed,
            sent: 0,
            total: 0,
            closes: false,
            closed: false,
            buffer: vec![0; 64 << 10],
        }
    }

    /// Sends `bytes` more.
    pub fn send(&mut self, bytes: u64) {
        self.total += bytes;
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn wants_to_write(&self) -> bool {
        self.sent < self.total
    }

    /// Writes until `write` takes no more.
    pub fn pump(
        &mut self,
        mut write: impl FnMut(&[u8]) -> Result<usize, Failure>,
    ) -> Result<(), Failure> {
        while self.sent < self.total {
            let count = (self.total - self.sent).min(self.buffer.len() as u64) as usize;
            fill(self.seed, self.sent, &mut self.buffer[..count]);
            let written = write(&self.buffer[..count])?;
            self.sent += written as u64;
            if written < count {
                break;
            }
        }
        Ok(())
    }

    /// Whether the stream is to be ended now.
    pub fn is_to_close(&mut self) -> bool {
        self.closes && !self.wants_to_write() && !std::mem::replace(&mut self.closed, true)
    }
}

/// What one side receives.
pub struct Sink {
    seed: u64,
    pub received: u64,
    /// Whether the other side ended the stream.
    pub ended: bool,
    expected: Vec<u8>,
}

impl Sink {
    /// Of a source with the same seed.
    pub fn new(seed: u64) -> Sink {
        Sink {
            seed,
            received: 0,
            ended: false,
            expected: vec![0; 64 << 10],
        }
    }

    pub fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        for chunk in bytes.chunks(self.expected.len()) {
            let expected = &mut self.expected[..chunk.len()];
            fill(self.seed, self.received, expected);
            if let Some(wrong) = chunk.iter().zip(&*expected).position(|(a, b)| a != b) {
                let at = self.received + wrong as u64;
                return Err(format!("the stream differs from byte {at} on").into());
            }
            self.received += chunk.len() as u64;
        }
        Ok(())
    }
}
