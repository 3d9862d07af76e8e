//! How does the application of a [`Pair`] write and read, and does what arrives match?

use std::time::Duration;

use crate::pair::{CLIENT, Pair, SERVER};

/// The byte at `offset` of what `side` writes.
fn byte(side: usize, offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 ^ side as u8
}

impl Pair {
    /// Writes up to `size` bytes; returns how many were taken.
    pub fn write(&mut self, side: usize, size: usize) -> usize {
        let Some(connection) = self.ends[side].connection else {
            return 0;
        };
        let begin = self.ends[side].written;
        let data: Vec<u8> = (begin..begin + size as u64)
            .map(|o| byte(side, o))
            .collect();
        let now = self.network.now;
        let taken = self.stack(side).write(now, connection, &data);
        assert!(taken <= size, "more taken than given");
        self.ends[side].written += taken as u64;
        self.network.settle(side);
        taken
    }

    /// Reads up to `size` bytes and checks them against what the other side wrote; returns how
    /// many there were.
    ///
    /// # Panics
    /// When they are not what was written, unless the connection had fallen back to plain TCP
    /// and the network changed payloads behind a repaired checksum.
    pub fn read(&mut self, side: usize, size: usize) -> usize {
        let Some(connection) = self.ends[side].connection else {
            return 0;
        };
        let mut buffer = vec![0; size];
        let now = self.network.now;
        let read = self.stack(side).read(now, connection, &mut buffer);
        let end = self.ends[side];
        assert!(
            end.read + read as u64 <= self.ends[1 - side].written,
            "side {side} read {} bytes of {} written",
            end.read + read as u64,
            self.ends[1 - side].written,
        );
        let altered = buffer[..read]
            .iter()
            .zip(end.read..)
            .filter(|&(&b, offset)| b != byte(1 - side, offset))
            .map(|(_, offset)| offset);
        let altered: Vec<u64> = altered.collect();
        if let Some(first) = altered.first() {
            let unprotected = self.info(side).is_none_or(|info| !info.multipath);
            let corrupted: u64 = self.network.lanes.iter().map(|l| l.corrupted).sum();
            assert!(
                unprotected && altered.len() as u64 + end.altered <= corrupted,
                "side {side} read {} wrong bytes, the first at {first}\n{}",
                altered.len(),
                self.network.recent(60)
            );
            self.ends[side].altered += altered.len() as u64;
        }
        self.ends[side].read += read as u64;
        self.network.settle(side);
        read
    }

    /// Reads all that waits.
    pub fn drain(&mut self, side: usize) -> usize {
        let mut total = 0;
        loop {
            match self.read(side, 16 << 10) {
                0 => return total,
                read => total += read,
            }
        }
    }

    /// Nothing more will be written by a side.
    pub fn finish(&mut self, side: usize) {
        if let Some(connection) = self.ends[side].connection {
            let now = self.network.now;
            self.stack(side).finish(now, connection);
            self.ends[side].finished = true;
            self.network.settle(side);
        }
    }

    /// Transfers that many bytes from the client and from the server, both reading all the time.
    ///
    /// # Panics
    /// When they do not arrive within ten minutes, or something else arrives.
    pub fn exchange(&mut self, from_client: u64, from_server: u64) {
        let wanted = [from_client, from_server];
        let begin = self.ends;
        let until = self.network.now + Duration::from_secs(600);
        // After a write that was cut short the next one waits for that much to be acknowledged.
        const STEP: u64 = 16 << 10;
        let mut retry_below = [u64::MAX; 2];
        loop {
            let mut missing = 0;
            for side in [CLIENT, SERVER] {
                let left = wanted[side] - (self.ends[side].written - begin[side].written);
                let held = self.info(side).map_or(0, |i| i.unsent + i.unacked);
                if left > 0 && (held < retry_below[side] || held == 0) {
                    let size = left.min(4 * STEP) as usize;
                    let taken = self.write(side, size);
                    retry_below[side] = match taken < size {
                        true => (held + taken as u64).saturating_sub(STEP),
                        false => u64::MAX,
                    };
                }
                self.drain(1 - side);
                missing += wanted[side] - (self.ends[1 - side].read - begin[1 - side].read);
            }
            if missing == 0 {
                return;
            }
            assert!(
                self.network.step(until),
                "{missing} bytes of {wanted:?} did not arrive: {:?}\n{:?}\n{:?}\n{}",
                self.ends,
                self.info(CLIENT),
                self.info(SERVER),
                self.network.recent(60)
            );
            self.accept();
        }
    }
}
