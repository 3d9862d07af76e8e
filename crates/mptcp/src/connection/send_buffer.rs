//! Where does what the application wrote wait until a subflow takes it?

use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// The largest chunk of memory taken at once, bytes.
const CHUNK: usize = 262_144;
/// The first; each is twice as large as the one before.
const FIRST_CHUNK: usize = 2_048;
/// Chunks that are kept to be used again once all of their pieces are acknowledged, at most: a
/// send buffer of 4 MiB.
const MAX_SPENT: usize = 16;

/// What was written and not yet cut into pieces. Pieces are slices of the chunks it was copied
/// into when it was written, so that nothing is copied again.
#[derive(Default, Debug)]
pub(super) struct SendBuffer {
    chunks: VecDeque<BytesMut>,
    /// Handles of chunks of the largest size that are cut up.
    spent: VecDeque<BytesMut>,
    /// The size of the last chunk taken.
    chunk: usize,
    /// How many of the first chunks are smaller than the largest, too small to be used again.
    small: usize,
    /// Bytes in the chunks.
    unsent: u64,
    /// Bytes ever written.
    end: u64,
}

impl SendBuffer {
    /// Bytes that wait.
    pub(super) fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Bytes ever written: the offset of the next one.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Appends all of `data`.
    pub(super) fn write(&mut self, mut data: &[u8]) {
        self.unsent += data.len() as u64;
        self.end += data.len() as u64;
        while !data.is_empty() {
            let room = self.chunks.back().map_or(0, |c| c.capacity() - c.len());
            if room == 0 {
                let chunk = self.new_chunk();
                self.chunks.push_back(chunk);
                continue;
            }
            let (now, later) = data.split_at(data.len().min(room));
            if let Some(chunk) = self.chunks.back_mut() {
                chunk.extend_from_slice(now);
            }
            data = later;
        }
    }

    /// An empty chunk: an old one that nothing refers to, or a new one.
    fn new_chunk(&mut self) -> BytesMut {
        if let Some(oldest) = self.spent.front_mut()
            && oldest.try_reclaim(CHUNK)
            && let Some(chunk) = self.spent.pop_front()
        {
            return chunk;
        }
        self.chunk = (2 * self.chunk).clamp(FIRST_CHUNK, CHUNK);
        self.small += usize::from(self.chunk < CHUNK);
        BytesMut::with_capacity(self.chunk)
    }

    /// Leaves the first chunk, which is cut up.
    fn leave_chunk(&mut self) {
        let Some(chunk) = self.chunks.pop_front() else {
            return;
        };
        if self.small > 0 {
            self.small -= 1;
        } else if self.spent.len() < MAX_SPENT {
            self.spent.push_back(chunk);
        }
    }

    /// Takes the next `length` bytes, or all when fewer wait.
    pub(super) fn cut(&mut self, length: usize) -> Bytes {
        let length = length.min(self.unsent as usize);
        self.unsent -= length as u64;
        while self.chunks.len() > 1 && self.chunks[0].is_empty() {
            self.leave_chunk();
        }
        match self.chunks.front_mut() {
            Some(first) if first.len() >= length => first.split_to(length).freeze(),
            _ => {
                let mut piece = BytesMut::with_capacity(length);
                while piece.len() < length {
                    let Some(first) = self.chunks.front_mut() else {
                        break;
                    };
                    let part = first.split_to(first.len().min(length - piece.len()));
                    piece.extend_from_slice(&part);
                    if first.is_empty() && self.chunks.len() > 1 {
                        self.leave_chunk();
                    }
                }
                piece.freeze()
            }
        }
    }

    /// Forgets all that waits: it will never be sent.
    pub(super) fn clear(&mut self) {
        self.chunks = VecDeque::new();
        self.spent = VecDeque::new();
        self.chunk = 0;
        self.small = 0;
        self.unsent = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_used_again() {
        let mut buffer = SendBuffer::default();
        let mut places = std::collections::BTreeSet::new();
        let mut unacknowledged = VecDeque::new();
        for _ in 0..10_000 {
            while buffer.unsent() < 1_000_000 {
                buffer.write(&[0; 65_536]);
            }
            unacknowledged.push_back(buffer.cut(1_420));
            if unacknowledged.len() > 500 {
                let acknowledged = unacknowledged.pop_front();
                places.extend(acknowledged.map(|p| p.as_ptr() as usize / CHUNK));
            }
        }
        // 1.7 MB are there at a time, in chunks that begin anywhere; 14 MB went through.
        assert!(places.len() < 24, "{} places", places.len());
    }

    #[test]
    fn pieces_are_what_was_written_across_chunks() {
        let data: Vec<u8> = (0..200_000_u32).map(|i| (i % 253) as u8).collect();
        let mut buffer = SendBuffer::default();
        let mut got = Vec::new();
        for part in data.chunks(3_333) {
            buffer.write(part);
            while buffer.unsent() > 5_000 {
                got.extend_from_slice(&buffer.cut(1_420));
            }
        }
        assert_eq!(buffer.end(), 200_000);
        while buffer.unsent() > 0 {
            let piece = buffer.cut(1_420);
            assert!(!piece.is_empty());
            got.extend_from_slice(&piece);
        }
        assert!(got == data);
        assert!(buffer.cut(10).is_empty());
    }
}
