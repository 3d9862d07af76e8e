//! Which subflows that carry data from their SYN on are accepted (De Coninck and Bonaventure,
//! MultiMob, section III-C)?

use super::fast_join::index;
use super::handshake::Start;
use super::machine::{Connection, Context};
use super::mapping::Mapping;
use super::path::{Fast, Origin, PathState};
use super::receiving::Outcome;
use super::{Event, reason};
use crate::subflow::{Congestion, Subflow, Tuple};
use crate::wire::Segment;
use crate::wire::key::{dss_checksum, fast_join_hmac};
use crate::wire::mptcp::{self, FastJoin, FastJoinForm, Features, Number};
use arrayvec::ArrayVec;
use policy::SubflowId;

/// Numbers of accepted joins that are remembered, of each form; lower ones than the lowest that had
/// to be forgotten are refused.
const REMEMBERED: usize = 32;

/// Why a FAST_JOIN is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JoinRefusal {
    /// The connection has not agreed on it, or ends.
    #[error("the connection has not agreed on fast joins")]
    NotAgreed,
    /// The HMAC is not the peer's.
    #[error("forged: a wrong HMAC")]
    Forged,
    /// The data sequence number or Data ACK is outside of what the paper admits.
    #[error("out of the window")]
    OutOfWindow,
    /// A join with this number was accepted, or may have been.
    #[error("replayed: its number was used before")]
    Replayed,
    /// The option or its data is not whole.
    #[error("malformed: its option or data is not whole")]
    Malformed,
    /// There are as many subflows as there can be.
    #[error("too many subflows")]
    Resources,
}

/// The numbers of the joins accepted, of one form.
#[derive(Default, Debug)]
pub(super) struct Seen {
    /// In order.
    numbers: ArrayVec<u64, REMEMBERED>,
    /// All up to here count as seen.
    floor: Option<u64>,
}

impl Seen {
    pub(super) fn contains(&self, number: u64) -> bool {
        self.floor.is_some_and(|floor| number <= floor) || self.numbers.contains(&number)
    }

    pub(super) fn add(&mut self, number: u64) {
        if self.numbers.is_full() {
            self.floor = self.floor.max(self.numbers.pop_at(0));
        }
        let place = self.numbers.partition_point(|n| *n < number);
        if self.floor.is_none_or(|floor| number > floor) {
            self.numbers.insert(place, number);
        }
    }
}

impl Connection {
    /// Answers a SYN with a FAST_JOIN for this connection's token.
    #[cold]
    pub(crate) fn fast_join(
        &mut self,
        ctx: &mut Context<'_>,
        tuple: Tuple,
        start: Start,
        syn: &Segment<'_>,
        join: &FastJoin,
    ) -> Result<SubflowId, u8> {
        let accepted = self.judge(syn, join);
        let (fast, at) = match accepted {
            Ok(accepted) => accepted,
            Err(refusal) => return Err(self.refuse_fast(ctx, refusal)),
        };
        let &FastJoin::Syn {
            backup, address_id, ..
        } = join
        else {
            return Err(self.refuse_fast(ctx, JoinRefusal::Malformed));
        };
        let Some(id) = self.free_id() else {
            return Err(self.refuse_fast(ctx, JoinRefusal::Resources));
        };
        self.fast_joins.seen[index(fast.form)].add(at);
        let mut config = ctx.config.subflow.clone();
        config.option_reserve = super::option_reserve(true);
        let (initial, offset) = (start.initial, start.timestamp_offset);
        let mut tcp = Subflow::accept(&config, ctx.now, tuple, initial, offset, syn);
        tcp.share_windows();
        let congestion = Congestion {
            controller: &mut *self.controller,
            id,
        };
        tcp.open_early(ctx.now, syn.payload.len(), congestion);
        let mut state = PathState::new(id, tuple, Origin::Joined, ctx.now);
        state.peer_initial = Some(syn.seq);
        state.local_id = self.addresses.local_id(tuple.local.ip());
        state.remote_id = Some(address_id);
        state.peer_backup = backup;
        state.controlled = true;
        state.fast = Some(fast);
        self.add_path(tcp, state);
        self.single = false;
        ctx.counters.fast_joins += 1;
        self.emit(ctx, Event::SubflowOpening(id));
        self.emit(ctx, Event::FastJoin(id, fast.form));
        match fast.form {
            FastJoinForm::Out => self.take_early(ctx, id, fast, syn, join),
            FastJoinForm::In => self.on_data_ack(ctx, id, Number::Wide(fast.number)),
        }
        self.subflow_usable(ctx, id);
        self.progress(ctx);
        Ok(id)
    }

    /// Whether a join may be accepted; with the offset in the stream that its number stands for.
    fn judge(&mut self, syn: &Segment<'_>, join: &FastJoin) -> Result<(Fast, u64), JoinRefusal> {
        let (
            &FastJoin::Syn {
                form,
                token,
                number,
                hmac,
                checksum,
                ..
            },
            Some(peer),
        ) = (join, self.shared.peer)
        else {
            return Err(JoinRefusal::NotAgreed);
        };
        let agreed = self.shared.agreed.has(Features::FAST_JOIN);
        if self.check_multipath().is_err() || !self.shared.fully_established || !agreed {
            return Err(JoinRefusal::NotAgreed);
        }
        if hmac != fast_join_hmac(peer.key, self.shared.local.key, token, number) {
            return Err(JoinRefusal::Forged);
        }
        let wide = Number::Wide(number);
        // The paper's rule: [EDSN - rcv_wnd, EDSN]; for a Data ACK the same of this side's stream,
        // up to what was sent.
        let (numbers, from, window, most) = match form {
            FastJoinForm::Out => {
                let window = self.receiving.announce();
                let next = self.receiving.stream.next();
                (peer.numbers, next, window, next)
            }
            FastJoinForm::In => {
                let sending = &self.sending;
                let first = sending.sent.first();
                let most = sending.sent.next() + u64::from(sending.fin_signalled);
                let window = sending.admitted.saturating_sub(first);
                (self.shared.local.numbers, first, window, most)
            }
        };
        let at = from.checked_add_signed(numbers.beyond(wide, from));
        let at = at.filter(|at| *at <= most && *at >= from.saturating_sub(window));
        let at = at.ok_or(JoinRefusal::OutOfWindow)?;
        if self.fast_joins.seen[index(form)].contains(at) {
            return Err(JoinRefusal::Replayed);
        }
        let wanted = self.shared.checksum && !syn.payload.is_empty();
        let length = u16::try_from(syn.payload.len()).map_err(|_| JoinRefusal::Malformed)?;
        let right = match checksum {
            Some(sum) => wanted && dss_checksum(number, 1, length, sum, syn.payload) == 0,
            None => !wanted,
        };
        let stray = form == FastJoinForm::In && length > 0;
        if !right || stray || syn.flags.fin {
            return Err(JoinRefusal::Malformed);
        }
        let fast = Fast {
            form,
            number,
            syns: 0,
        };
        Ok((fast, at))
    }

    /// Counts a refusal; the reason to reset the SYN with.
    #[cold]
    fn refuse_fast(&mut self, ctx: &mut Context<'_>, refusal: JoinRefusal) -> u8 {
        let counters = &mut ctx.counters.fast_joins_refused;
        let (counter, why) = match refusal {
            JoinRefusal::NotAgreed => (&mut counters.not_agreed, reason::MPTCP),
            JoinRefusal::Forged => (&mut counters.forged, reason::MPTCP),
            JoinRefusal::OutOfWindow => (&mut counters.out_of_window, reason::MPTCP),
            JoinRefusal::Replayed => (&mut counters.replayed, reason::MPTCP),
            JoinRefusal::Malformed => (&mut counters.malformed, reason::MPTCP),
            JoinRefusal::Resources => (&mut counters.resources, reason::RESOURCES),
        };
        *counter += 1;
        if !self.is_over() {
            self.emit(ctx, Event::FastJoinRefused(refusal));
        }
        why
    }

    /// The data of a SYN.
    fn take_early(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        fast: Fast,
        syn: &Segment<'_>,
        join: &FastJoin,
    ) {
        let length = syn.payload.len() as u16;
        let &FastJoin::Syn { checksum, .. } = join else {
            return;
        };
        let Some(path) = self.paths.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        if length == 0 {
            // Something between took the data out; it comes again as any other.
            return;
        }
        let incoming = &mut path.state.incoming;
        let wire = mptcp::Mapping {
            dsn: Number::Wide(fast.number),
            subflow_seq: 1,
            length,
            checksum,
        };
        let mapping = Mapping {
            start: 0,
            length,
            data_fin: false,
            wire,
        };
        let mut outcome = Outcome::default();
        self.receiving.learn(incoming, mapping);
        self.receiving
            .take(incoming, 0, syn.payload, false, &mut outcome);
        ctx.counters.bad_mappings += outcome.bad;
        if let Some(fault) = outcome.fault {
            self.on_fault(ctx, id, fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_as_seen_even_when_it_had_to_be_forgotten() {
        let mut seen = Seen::default();
        for number in (0..1_000)
            .rev()
            .step_by(10)
            .chain((1_000..2_000).step_by(10))
        {
            if !seen.contains(number) {
                seen.add(number);
            }
            assert!(seen.contains(number), "{number}");
        }
        assert_eq!(seen.numbers.len(), REMEMBERED);
        assert!((0..1_990).step_by(10).all(|number| seen.contains(number)));
        assert!(!seen.contains(1_995) && !seen.contains(2_000));
    }
}
