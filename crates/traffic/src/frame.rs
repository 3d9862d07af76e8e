//! How are messages told apart on a channel? By frames: a kind, a number, and padding up to a
//! size that both ends know from the hello.
//!
//! ```text
//! byte 0      kind
//! bytes 1-8   number of the message on this channel and in this direction, big-endian, from 0
//! bytes 9..   padding (zeros; not looked at)
//! ```
//!
//! One direction of a channel carries frames of one kind and one size, numbered without gaps,
//! so anything else is an error: the byte streams are reliable and ordered.

/// Bytes of a frame's header, and of the smallest frame.
pub const HEADER: usize = 9;

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A chunk of `interactive`, a block of `iperf`, a burst, a request that comes every period.
    Chunk = 1,
    /// The application's answer to it.
    Ack = 2,
    /// A request for an object or a stream.
    Request = 3,
    /// The object, a block of the stream.
    Object = 4,
}

/// A byte stream that holds something else than the frames of the pattern.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FrameError {
    /// Another kind than this direction of the channel carries.
    #[error(
        "frame {number} of the channel has kind {found}, not {} ({expected:?}): the peer runs another \
         pattern or another version of Walkabout",
        *expected as u8
    )]
    Kind {
        /// The number of the frame that was expected.
        number: u64,
        /// The kind that this direction carries.
        expected: Kind,
        /// The byte in its place.
        found: u8,
    },
    /// A frame with another number than the next one.
    #[error(
        "a {kind:?} frame has number {found}, not {expected}: the peer's message size is not \
         ours, or bytes were lost or repeated"
    )]
    Number {
        /// The frame's kind.
        kind: Kind,
        /// The number that comes next.
        expected: u64,
        /// The number in the frame.
        found: u64,
    },
}

/// The header of a frame.
pub fn header(kind: Kind, number: u64) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[0] = kind as u8;
    bytes[1..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Frames of one kind and size ready to be sent; the padding is allocated once.
#[derive(Clone, Debug)]
pub struct Writer {
    kind: Kind,
    frame: Vec<u8>,
    next: u64,
}

impl Writer {
    /// Writes frames of `size` bytes, at least [`HEADER`].
    pub fn new(kind: Kind, size: usize) -> Writer {
        Writer {
            kind,
            frame: vec![0; size.max(HEADER)],
            next: 0,
        }
    }

    /// The next frame and its number.
    pub fn emit(&mut self) -> (u64, &[u8]) {
        let number = self.next;
        self.next += 1;
        self.frame[..HEADER].copy_from_slice(&header(self.kind, number));
        (number, &self.frame)
    }

    /// How many frames were emitted.
    pub fn emitted(&self) -> u64 {
        self.next
    }

    /// Bytes of a frame.
    pub fn size(&self) -> u64 {
        self.frame.len() as u64
    }
}

/// Finds the ends of frames in a byte stream that comes in arbitrary pieces. Bodies are
/// counted, not kept.
#[derive(Clone, Debug)]
pub struct Reader {
    kind: Kind,
    size: u64,
    next: u64,
    header: [u8; HEADER],
    /// Bytes of the current frame that were seen.
    seen: u64,
}

impl Reader {
    /// Reads frames of `size` bytes, at least [`HEADER`].
    pub fn new(kind: Kind, size: u64) -> Reader {
        Reader {
            kind,
            size: size.max(HEADER as u64),
            next: 0,
            header: [0; HEADER],
            seen: 0,
        }
    }

    /// Takes bytes from the front of `bytes`, up to the end of a frame, and returns that
    /// frame's number; `None` when `bytes` is used up before.
    ///
    /// ```
    /// use walkabout_traffic::frame::{Kind, Reader, header};
    /// let mut reader = Reader::new(Kind::Ack, 9);
    /// let (first, second) = (header(Kind::Ack, 0), header(Kind::Ack, 1));
    /// let mut bytes = &first[..];
    /// assert_eq!(reader.next(&mut bytes), Ok(Some(0)));
    /// assert_eq!(reader.next(&mut &second[..4]), Ok(None));
    /// assert_eq!(reader.next(&mut &second[4..]), Ok(Some(1)));
    /// ```
    ///
    /// # Errors
    /// When the header is not the expected one. What follows makes no sense then: stop.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<u64>, FrameError> {
        if self.seen < HEADER as u64 {
            let have = self.seen as usize;
            let n = bytes.len().min(HEADER - have);
            self.header[have..have + n].copy_from_slice(&bytes[..n]);
            *bytes = &bytes[n..];
            self.seen += n as u64;
            if self.seen < HEADER as u64 {
                return Ok(None);
            }
            self.check()?;
        }
        let n = (bytes.len() as u64).min(self.size - self.seen);
        *bytes = &bytes[n as usize..];
        self.seen += n;
        if self.seen < self.size {
            return Ok(None);
        }
        self.seen = 0;
        let number = self.next;
        self.next += 1;
        Ok(Some(number))
    }

    /// How many frames are complete.
    pub fn complete(&self) -> u64 {
        self.next
    }

    fn check(&self) -> Result<(), FrameError> {
        let [kind, number @ ..] = self.header;
        if kind != self.kind as u8 {
            return Err(FrameError::Kind {
                number: self.next,
                expected: self.kind,
                found: kind,
            });
        }
        let found = u64::from_be_bytes(number);
        if found != self.next {
            return Err(FrameError::Number {
                kind: self.kind,
                expected: self.next,
                found,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(size: usize, frames: usize) -> Vec<u8> {
        let mut writer = Writer::new(Kind::Chunk, size);
        (0..frames).flat_map(|_| writer.emit().1.to_vec()).collect()
    }

    /// The numbers found, and the error that ended the reading.
    fn read(size: u64, bytes: &[u8], cuts: &[usize]) -> (Vec<u64>, Option<FrameError>) {
        let mut reader = Reader::new(Kind::Chunk, size);
        let mut numbers = Vec::new();
        let mut rest = bytes;
        let mut cuts = cuts.iter().cycle();
        while !rest.is_empty() {
            let n = cuts.next().copied().unwrap_or(1).clamp(1, rest.len());
            let (mut piece, after) = rest.split_at(n);
            rest = after;
            while !piece.is_empty() {
                match reader.next(&mut piece) {
                    Ok(number) => numbers.extend(number),
                    Err(error) => return (numbers, Some(error)),
                }
            }
        }
        (numbers, None)
    }

    proptest! {
        #[test]
        fn any_split_finds_every_frame(
            size in 0usize..300,
            frames in 0usize..20,
            cuts in prop::collection::vec(1usize..400, 1..20),
        ) {
            let (numbers, error) = read(size as u64, &stream(size, frames), &cuts);
            prop_assert_eq!(error, None);
            prop_assert_eq!(numbers, (0..frames as u64).collect::<Vec<_>>());
        }

        #[test]
        fn a_changed_header_byte_is_an_error_wherever_the_stream_is_cut(
            size in HEADER..100,
            frame in 0usize..5,
            byte in 0..HEADER,
            flip in 1u8..,
            cuts in prop::collection::vec(1usize..40, 1..20),
        ) {
            let mut bytes = stream(size, 5);
            bytes[frame * size + byte] ^= flip;
            let (numbers, error) = read(size as u64, &bytes, &cuts);
            prop_assert_eq!(numbers, (0..frame as u64).collect::<Vec<_>>());
            match error {
                Some(FrameError::Kind { number, .. }) => {
                    prop_assert_eq!((byte, number), (0, frame as u64));
                }
                Some(FrameError::Number { expected, .. }) => {
                    prop_assert!(byte > 0);
                    prop_assert_eq!(expected, frame as u64);
                }
                None => prop_assert!(false, "corruption was not noticed"),
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>, size: u64, cuts in prop::collection::vec(1usize..40, 1..9)) {
            read(size, &bytes, &cuts);
        }
    }

    #[test]
    fn errors_say_what_was_expected() {
        let (_, error) = read(9, &header(Kind::Ack, 0), &[9]);
        assert!(
            error
                .expect("an error")
                .to_string()
                .contains("kind 2, not 1 (Chunk)")
        );
        let (_, error) = read(9, &header(Kind::Chunk, 7), &[9]);
        assert!(
            error
                .expect("an error")
                .to_string()
                .contains("number 7, not 0")
        );
    }
}
