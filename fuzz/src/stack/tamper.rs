//! What can become of a packet on its way, other than to be lost, late or doubled?

use super::super::checksums;
use super::{Pair, Program};
use walkabout_mptcp::wire::{Flags, OPTION_SPACE, Options, Segment};

impl Pair {
    /// Changes bytes of the next packet.
    pub(super) fn corrupt_next(&mut self, program: &mut Program<'_>) {
        let Some((side, mut packet)) = self.flight.pop_front() else {
            return;
        };
        for _ in 0..=program.byte() % 4 {
            let at = usize::from(program.byte()) % packet.len();
            packet[at] ^= program.byte();
        }
        if checksums::put_right(&mut packet).is_some() {
            self.tampered = true;
        }
        self.deliver(side, &packet);
    }

    /// Gives the next packet other options, or a second one with them.
    pub(super) fn replace_options(&mut self, program: &mut Program<'_>) {
        let kept = program.byte();
        let length = usize::from(program.byte()) % (OPTION_SPACE + 1);
        let bytes = program.take(length);
        self.tamper(kept & 1 != 0, |segment| {
            let Flags { syn, ack, .. } = segment.flags;
            let options = Options::parse(bytes, syn, ack);
            if kept & 2 != 0 {
                segment.options.mptcp = options.mptcp;
            } else {
                segment.options = options;
            }
            if kept & 4 != 0 {
                segment.payload = b"";
            }
        });
    }

    /// Gives the next packet other numbers and flags, or a second one with them.
    pub(super) fn change_header(&mut self, program: &mut Program<'_>) {
        let kept = program.byte();
        let (seq, ack) = (program.distance(), program.distance());
        let flags = program.byte();
        let window = program.byte();
        self.tamper(kept & 1 != 0, |segment| {
            if kept & 2 != 0 {
                segment.seq += seq;
            }
            if kept & 4 != 0 {
                segment.ack += ack;
            }
            if kept & 8 != 0 {
                segment.window = u16::from(window) << 8;
            }
            let (fin, syn, rst) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
            segment.flags.fin ^= fin;
            segment.flags.syn ^= syn && rst;
            segment.flags.rst ^= rst && !syn;
            segment.flags.ack ^= flags & 0x38 == 0x38;
            segment.flags.ece ^= flags & 0x40 != 0;
            segment.flags.cwr ^= flags & 0x80 != 0;
        });
    }

    fn tamper(&mut self, keep: bool, change: impl FnOnce(&mut Segment<'_>)) {
        let Some((side, packet)) = self.flight.pop_front() else {
            return;
        };
        if let Ok(mut segment) = Segment::parse(&packet) {
            change(&mut segment);
            if segment.options.len() <= OPTION_SPACE {
                self.tampered = true;
                let mut changed = vec![0; packet.len() + OPTION_SPACE];
                let length = segment.emit(&mut changed);
                self.deliver(side, &changed[..length]);
            }
        }
        if keep {
            self.flight.push_front((side, packet));
        }
    }
}
