//! Which packets wait to leave together, and through which interface?

use super::ROOM;

/// As many packets leave at once at most: a system call's cost is spread over them.
const PACKETS: usize = 32;

/// Packets in the order in which they leave.
pub(super) struct Outbox {
    rooms: Box<[[u8; ROOM]; PACKETS]>,
    /// Length and interface of each packet.
    packets: Vec<(usize, usize)>,
}

impl Outbox {
    pub(super) fn new() -> Outbox {
        Outbox {
            rooms: vec![[0; ROOM]; PACKETS]
                .into_boxed_slice()
                .try_into()
                .unwrap_or_else(|_| unreachable!("it has that length")),
            packets: Vec::with_capacity(PACKETS),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.packets.len() == PACKETS
    }

    /// Where the next packet is written.
    ///
    /// # Panics
    /// When it is full.
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.rooms[self.packets.len()]
    }

    /// The next packet was written, and leaves through this interface.
    pub(super) fn push(&mut self, length: usize, interface: usize) {
        self.packets.push((length, interface));
    }

    /// Calls `send` for each run of packets that leave through the same interface, and is empty
    /// then.
    pub(super) fn drain(&mut self, mut send: impl FnMut(usize, &[&[u8]])) {
        let mut run: [&[u8]; PACKETS] = [&[]; PACKETS];
        let mut length_of_run = 0;
        let mut packets = self.rooms.iter().zip(&self.packets).peekable();
        while let Some((room, (length, interface))) = packets.next() {
            run[length_of_run] = &room[..*length];
            length_of_run += 1;
            let goes_on = packets
                .peek()
                .is_some_and(|(_, (_, next))| next == interface);
            if !goes_on {
                send(*interface, &run[..length_of_run]);
                length_of_run = 0;
            }
        }
        self.packets.clear();
    }
}
