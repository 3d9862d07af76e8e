//! How is as much sent as goes through, without looking at each byte?

use walkabout_mptcp::stack::ConnectionId;

use crate::network::Network;

const BLOCK: usize = 64 << 10;
static ZEROS: [u8; BLOCK] = [0; BLOCK];

/// A sender with endless data and the receiver that reads it.
pub struct Bulk {
    from: (usize, ConnectionId),
    to: (usize, ConnectionId),
    /// Bytes read at the receiver.
    pub read: u64,
    /// Bytes that the sender may have unacknowledged and unsent before it is asked to take more.
    low_water: u64,
    buffer: Vec<u8>,
}

impl Bulk {
    /// From one host's connection to the other's.
    pub fn new(from: (usize, ConnectionId), to: (usize, ConnectionId), send_buffer: u64) -> Bulk {
        Bulk {
            from,
            to,
            read: 0,
            low_water: send_buffer.saturating_sub(BLOCK as u64 / 4),
            buffer: vec![0; BLOCK],
        }
    }

    /// The sender: its host and connection.
    pub fn sender(&self) -> (usize, ConnectionId) {
        self.from
    }

    /// Writes what the sender takes and reads what has arrived; for after every event.
    pub fn turn(&mut self, network: &mut Network) {
        let now = network.now;
        let sender = &mut network.hosts[self.from.0].stack;
        let info = sender.info(self.from.1).expect("connected");
        if info.unsent + info.unacked <= self.low_water
            && sender.write(now, self.from.1, &ZEROS) > 0
        {
            network.settle(self.from.0);
        }
        let receiver = &mut network.hosts[self.to.0].stack;
        let mut any = false;
        loop {
            let read = receiver.read(now, self.to.1, &mut self.buffer);
            if read == 0 {
                break;
            }
            self.read += read as u64;
            any = true;
        }
        if any {
            network.settle(self.to.0);
        }
    }
}
