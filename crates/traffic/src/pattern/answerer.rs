//! How does an application acknowledge what its peer sends? Each message, once complete, by a short one.

use super::inbox::Inbox;
use crate::Channels;
use crate::frame::{Kind, Writer};
use model::units::ByteSize;

/// Acknowledges each message of the peer.
pub(super) struct Answerer {
    channel: usize,
    messages: Inbox,
    acks: Writer,
}

impl Answerer {
    /// Answers messages of `size` on `channel` with `ack_size`.
    pub fn new(channel: usize, size: ByteSize, ack_size: ByteSize) -> Answerer {
        Answerer {
            channel,
            messages: Inbox::new(channel, Kind::Chunk, size.bytes()),
            acks: Writer::new(Kind::Ack, ack_size.bytes() as usize),
        }
    }

    /// Reads what has arrived and answers it.
    pub fn poll(&mut self, channels: &mut dyn Channels) {
        for _ in self.messages.poll(channels) {
            let (_, ack) = self.acks.emit();
            if channels.is_open(self.channel) {
                channels.write(self.channel, ack);
            }
        }
    }

    /// The incoming direction.
    pub fn inbox(&self) -> &Inbox {
        &self.messages
    }
}
