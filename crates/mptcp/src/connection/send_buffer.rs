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

/// Less than this is copied also where it could be referred to: pieces across chunks are copied
/// once more.
const WORTH_REFERRING: usize = 16_384;

/// A part of what was written.
#[derive(Debug)]
enum Chunk {
    /// It was copied here, behind what was before.
    Own(BytesMut),
    /// The application's.
    Given(Bytes),
}

impl Chunk {
    fn len(&self) -> usize {
        match self {
            Chunk::Own(bytes) => bytes.len(),
            Chunk::Given(bytes) => bytes.len(),
        }
    }

    /// Takes the first `length` bytes.
    fn cut(&mut self, length: usize) -> Bytes {
        match self {
            Chunk::Own(bytes) => bytes.split_to(length).freeze(),
            Chunk::Given(bytes) => bytes.split_to(length),
        }
    }
}

/// What was written and not yet cut into pieces. Pieces are slices of the chunks it was copied
/// into when it was written, or of what the application gave, so that nothing is copied again.
#[derive(Default, Debug)]
pub(crate) struct SendBuffer {
    chunks: VecDeque<Chunk>,
    /// Handles of chunks of the largest size that are cut up.
    spent: VecDeque<BytesMut>,
    /// The size of the last chunk taken.
    chunk: usize,
    /// How many of the first chunks are smaller than the largest, too small to be used again.
    small: usize,
    /// Bytes in the chunks that were admitted, and behind them those that were not.
    unsent: u64,
    waiting: u64,
    /// Bytes ever admitted.
    end: u64,
}

impl SendBuffer {
    /// Bytes that wait to be sent.
    pub(super) fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Bytes ever admitted: the offset of the next one.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Whether bytes wait to be admitted.
    pub(super) fn waits(&self) -> bool {
        self.waiting > 0
    }

    /// From now on at most `most` of the bytes that wait are sent; how many.
    pub(super) fn admit(&mut self, most: u64) -> u64 {
        let count = most.min(self.waiting);
        self.waiting -= count;
        self.unsent += count;
        self.end += count;
        count
    }

    /// Appends all of `data`, to be admitted.
    pub(crate) fn enqueue(&mut self, mut data: &[u8]) {
        self.waiting += data.len() as u64;
        while !data.is_empty() {
            match self.chunks.back_mut() {
                Some(Chunk::Own(chunk)) if chunk.len() < chunk.capacity() => {
                    let room = chunk.capacity() - chunk.len();
                    let (now, later) = data.split_at(data.len().min(room));
                    chunk.extend_from_slice(now);
                    data = later;
                }
                _ => {
                    let chunk = self.new_chunk();
                    self.chunks.push_back(Chunk::Own(chunk));
                }
            }
        }
    }

    /// The same without a copy, unless it is small.
    pub(crate) fn enqueue_bytes(&mut self, data: Bytes) {
        if data.len() < WORTH_REFERRING {
            return self.enqueue(&data);
        }
        self.waiting += data.len() as u64;
        self.chunks.push_back(Chunk::Given(data));
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
        let Some(Chunk::Own(chunk)) = self.chunks.pop_front() else {
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
        while self.chunks.len() > 1 && self.chunks[0].len() == 0 {
            self.leave_chunk();
        }
        match self.chunks.front_mut() {
            Some(first) if first.len() >= length => first.cut(length),
            _ => {
                let mut piece = BytesMut::with_capacity(length);
                while piece.len() < length {
                    let Some(first) = self.chunks.front_mut() else {
                        break;
                    };
                    let part = first.cut(first.len().min(length - piece.len()));
                    piece.extend_from_slice(&part);
                    if first.len() == 0 && self.chunks.len() > 1 {
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
        self.waiting = 0;
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
                buffer.enqueue(&[0; 65_536]);
                buffer.admit(u64::MAX);
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
            match part.len() % 2 {
                0 => buffer.enqueue(part),
                _ => buffer.enqueue_bytes(Bytes::copy_from_slice(part)),
            }
            buffer.admit(u64::MAX);
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
