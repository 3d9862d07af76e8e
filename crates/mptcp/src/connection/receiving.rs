//! How does data in order on a subflow become data of the connection?

use super::mapping::{Added, Mapping, Mappings};
use super::numbers::{DataSequence, expand};
use super::reassembly::Reassembly;
use super::window::ReceiveWindow;
use crate::wire::key::dss_checksum;
use crate::wire::mptcp;
use model::Time;

/// What is taken beyond the window when it is in order: the largest segment.
const PROBE: u64 = 65_535;

/// What a subflow brings.
#[derive(Default, Debug)]
pub(super) struct Incoming {
    /// The offset in the subflow of the next byte to come in order.
    pub(super) next: u64,
    pub(super) mappings: Mappings,
    /// Data of a mapping whose checksum needs more.
    held: Vec<u8>,
}

/// Why data cannot be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// No mapping speaks of it.
    NoMapping,
    /// Its mapping has no checksum where one was agreed on, or the other way round (RFC 8684,
    /// section 3.3).
    ChecksumMissing,
    /// The checksum is wrong of the mapping that begins at this data sequence number.
    Checksum(u64),
    /// The mapping is infinite: plain TCP from here on.
    Infinite,
}

/// What became of data.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Outcome {
    /// Whether there was something new.
    pub(super) new: bool,
    /// Mappings that contradicted.
    pub(super) bad: u64,
    /// Why it was taken as plain TCP's from there on.
    pub(super) fell_back: Option<Fault>,
    /// Why it was not taken.
    pub(super) fault: Option<Fault>,
}

/// The receiving half of a connection.
#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) stream: Reassembly,
    pub(super) window: ReceiveWindow,
    /// The peer's data sequence numbers, once its key is known.
    pub(super) numbers: Option<DataSequence>,
    /// Where the peer's stream ends, once it said so.
    fin: Option<u64>,
    /// Whether all before it arrived.
    finished: bool,
    /// Offsets in the stream less offsets in the only subflow, when it is plain TCP.
    plain: Option<u64>,
    /// Whether mappings have checksums.
    pub(super) checksum: bool,
    /// Whether a mapping was ever used.
    pub(super) mapped: bool,
}

impl Receiving {
    pub(super) fn new(buffer: u64, now: Time) -> Receiving {
        Receiving {
            stream: Reassembly::default(),
            window: ReceiveWindow::new(buffer, now),
            numbers: None,
            fin: None,
            finished: false,
            plain: None,
            checksum: false,
            mapped: false,
        }
    }

    /// Whether all that the peer wrote has arrived.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The Data ACK to send.
    pub(super) fn data_ack(&self) -> Option<u64> {
        let numbers = self.numbers?;
        Some(numbers.number(self.stream.next() + u64::from(self.finished)))
    }

    /// The window to announce.
    pub(super) fn announce(&mut self) -> u64 {
        self.window
            .announce(self.stream.read_offset(), self.stream.next())
    }

    /// Plain TCP from here on: what comes next on the only subflow is next in the stream.
    pub(super) fn become_plain(&mut self, incoming: &mut Incoming) {
        if self.plain.is_none() {
            let held = std::mem::take(&mut incoming.held);
            let next = incoming.next - held.len() as u64;
            self.plain = Some(self.stream.next().wrapping_sub(next));
            incoming.mappings.clear();
            self.take_plain(next, &held);
        }
    }

    fn take_plain(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let at = self.plain.unwrap_or_default().wrapping_add(offset);
        self.insert(at, bytes)
    }

    /// The stream ends at `offset`; false when that contradicts what is known. An end beyond the
    /// window is dropped like data there: it is told again with what lies before it. Linux sends
    /// both where it takes a Data ACK with the window that its subflow had before.
    pub(super) fn learn_end(&mut self, offset: u64) -> bool {
        if let Some(fin) = self.fin {
            return fin == offset;
        }
        let possible = offset >= self.stream.end();
        let within = self.plain.is_some() || offset <= self.window.edge();
        if possible && within {
            self.fin = Some(offset);
        }
        possible
    }

    /// A DATA_FIN without data.
    pub(super) fn learn_fin(&mut self, fin: &mptcp::Mapping) -> bool {
        let Some(numbers) = self.numbers else {
            return true;
        };
        let next = self.stream.next();
        if let (true, Some(checksum)) = (self.checksum, fin.checksum) {
            let dsn = expand(fin.dsn, numbers.number(next));
            if dss_checksum(dsn, fin.subflow_seq, fin.length, checksum, &[]) != 0 {
                return false;
            }
        }
        let at = next.checked_add_signed(numbers.beyond(fin.dsn, next));
        at.is_some_and(|at| self.learn_end(at))
    }

    /// Whether the peer's stream is complete only now.
    pub(super) fn take_finish(&mut self) -> bool {
        let finished = !self.finished && self.fin == Some(self.stream.next());
        self.finished |= finished;
        finished
    }

    /// Puts data into the stream; what is beyond the window or the end is dropped. Whether it was
    /// new.
    fn insert(&mut self, at: u64, bytes: &[u8]) -> bool {
        // What plain TCP has acknowledged is not sent again: its own window is the bound, which
        // the wire may round up beyond this one.
        let edge = match self.plain {
            Some(_) => u64::MAX,
            // A probe of a window that is shut, which a subflow took because its own was open;
            // as in Linux, what is in order is not dropped for the window.
            None if at <= self.stream.next() => self.window.edge() + PROBE,
            None => self.window.edge(),
        };
        let limit = self.fin.unwrap_or(u64::MAX).min(edge);
        let room = limit.saturating_sub(at).min(bytes.len() as u64) as usize;
        if room == 0 {
            if at < self.stream.next() {
                self.stream.count_duplicates(bytes.len() as u64);
            }
            return false;
        }
        let (next, end) = (self.stream.next(), self.stream.end());
        self.stream.insert(at, &bytes[..room]);
        self.stream.next() > next || self.stream.end() > end
    }

    /// A mapping came with a segment.
    pub(super) fn learn(&mut self, incoming: &mut Incoming, mapping: Mapping) -> Added {
        incoming.mappings.add(mapping, self.numbers)
    }

    /// Takes `bytes` that are in order at `offset` of a subflow; they become plain TCP's when
    /// they cannot be taken otherwise and `may_fall_back`.
    pub(super) fn take(
        &mut self,
        incoming: &mut Incoming,
        offset: u64,
        mut bytes: &[u8],
        may_fall_back: bool,
        outcome: &mut Outcome,
    ) {
        if offset != incoming.next {
            debug_assert!(false, "a subflow's stream has a hole before {offset}");
            outcome.fault = Some(Fault::NoMapping);
            return;
        }
        while !bytes.is_empty() && outcome.fault.is_none() {
            if self.plain.is_some() {
                outcome.new |= self.take_plain(incoming.next, bytes);
                incoming.next += bytes.len() as u64;
                return;
            }
            match self.take_mapped(incoming, bytes, outcome) {
                Ok(taken) => bytes = &bytes[taken..],
                Err(fault) if may_fall_back && self.is_next(incoming, fault) => {
                    self.become_plain(incoming);
                    outcome.fell_back = Some(fault);
                }
                Err(fault) => outcome.fault = Some(fault),
            }
        }
        if !bytes.is_empty() {
            incoming.next += bytes.len() as u64;
        }
    }

    /// Whether plain TCP could go on with the data that cannot be taken: where something comes a
    /// second time, be it this or what waits behind it, its sender cannot.
    fn is_next(&self, incoming: &Incoming, fault: Fault) -> bool {
        let Some(numbers) = self.numbers else {
            return self.stream.is_contiguous();
        };
        let next = self.stream.next();
        let again = matches!(fault, Fault::Checksum(dsn) if dsn != numbers.number(next));
        let base = incoming.next - incoming.held.len() as u64;
        let in_step = incoming.mappings.after(base).all(|mapping| {
            numbers.beyond(mapping.wire.dsn, next) == mapping.start.wrapping_sub(base) as i64
        });
        self.stream.is_contiguous() && !again && in_step
    }

    /// Whether a mapping says of data to come something else than plain TCP will make of it: its
    /// sender did not fall back, and sends once more what it holds for lost.
    pub(super) fn is_out_of_step(&self, incoming: &Incoming, wire: &mptcp::Mapping) -> bool {
        let (Some(_), Some(numbers)) = (self.plain, self.numbers) else {
            return false;
        };
        let start = wire.subflow_seq.wrapping_sub(1);
        let ahead = start.wrapping_sub(incoming.next as u32) as i32;
        let speaks_of_data = wire.subflow_seq != 0 && wire.length != 0 && ahead >= 0;
        speaks_of_data && numbers.beyond(wire.dsn, self.stream.next()) != i64::from(ahead)
    }

    /// Takes what the next mapping covers; how much.
    fn take_mapped(
        &mut self,
        incoming: &mut Incoming,
        bytes: &[u8],
        outcome: &mut Outcome,
    ) -> Result<usize, Fault> {
        let numbers = self.numbers.ok_or(Fault::NoMapping)?;
        let from = incoming.next;
        let mapping = incoming.mappings.at(from).ok_or(Fault::NoMapping)?;
        let count = bytes.len().min((mapping.end() - from) as usize);
        if mapping.wire.checksum.is_some() != self.checksum {
            return Err(Fault::ChecksumMissing);
        }
        let place = |receiving: &Receiving, begin: u64| {
            let next = receiving.stream.next();
            let beyond = numbers.beyond(mapping.wire.dsn, next);
            beyond.wrapping_add((begin - mapping.start) as i64)
        };
        if !self.checksum {
            let beyond = place(self, from);
            outcome.new |= self.insert_beyond(beyond, &bytes[..count]);
        } else if count == usize::from(mapping.length) {
            self.verify(numbers, &mapping, &bytes[..count])?;
            let beyond = place(self, from);
            outcome.new |= self.insert_beyond(beyond, &bytes[..count]);
        } else {
            incoming.held.extend_from_slice(&bytes[..count]);
            if incoming.held.len() < usize::from(mapping.length) {
                incoming.next += count as u64;
                return Ok(count);
            }
            if let Err(fault) = self.verify(numbers, &mapping, &incoming.held) {
                incoming.held.truncate(incoming.held.len() - count);
                return Err(fault);
            }
            let held = std::mem::take(&mut incoming.held);
            let beyond = place(self, mapping.start);
            outcome.new |= self.insert_beyond(beyond, &held);
            incoming.held = held;
            incoming.held.clear();
        }
        incoming.next += count as u64;
        self.mapped = true;
        if mapping.data_fin && incoming.next == mapping.end() {
            let next = self.stream.next();
            let length = i64::from(mapping.length);
            let end = numbers.beyond(mapping.wire.dsn, next).wrapping_add(length);
            let end = next.checked_add_signed(end);
            if !end.is_some_and(|end| self.learn_end(end)) {
                outcome.bad += 1;
            }
        }
        Ok(count)
    }

    /// Puts in `bytes` that begin `beyond` after the next byte.
    fn insert_beyond(&mut self, beyond: i64, bytes: &[u8]) -> bool {
        let next = self.stream.next();
        match next.checked_add_signed(beyond) {
            Some(at) if at.checked_add(bytes.len() as u64).is_some() => self.insert(at, bytes),
            // Before the stream's beginning, as a window probe before any data.
            _ => {
                let before = usize::try_from(beyond.unsigned_abs() - next).unwrap_or(usize::MAX);
                self.stream.count_duplicates(before.min(bytes.len()) as u64);
                bytes.get(before..).is_some_and(|rest| self.insert(0, rest))
            }
        }
    }

    fn verify(&self, numbers: DataSequence, mapping: &Mapping, data: &[u8]) -> Result<(), Fault> {
        let wire = &mapping.wire;
        let dsn = expand(wire.dsn, numbers.number(self.stream.next()));
        let checksum = wire.checksum.unwrap_or_default();
        if dss_checksum(dsn, wire.subflow_seq, wire.length, checksum, data) == 0 {
            Ok(())
        } else {
            Err(Fault::Checksum(dsn))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_beyond_the_window_is_no_contradiction_and_not_believed() {
        let mut receiving = Receiving::new(1 << 20, Time::ZERO);
        let edge = receiving.announce();
        assert!(receiving.learn_end(edge + 1));
        assert!(receiving.learn_end(edge));
        assert!(!receiving.learn_end(edge + 1));
        assert!(!receiving.learn_end(edge - 1));
    }
}
