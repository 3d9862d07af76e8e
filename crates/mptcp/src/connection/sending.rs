//! Which subflow gets what the application wrote, and when?

use super::Config;
use super::machine::{Connection, Context, Stage};
use super::send_buffer::SendBuffer;
use super::sent::Unacknowledged;
use super::views::Views;
use crate::subflow::DataMapping;
use bytes::Bytes;
use model::Time;
use policy::SubflowSet;
use policy::scheduler::{Assignment, Occasion, Piece, Reinjection, Scheduler, View};
use std::time::Duration;

/// The send buffer before anything is known of the paths: what Linux makes of an initial window
/// of ten segments (tcp_sndbuf_expand).
const INITIAL_BUFFER: u64 = 87_040;

/// The sending half of a connection.
pub(super) struct Sending {
    pub(super) scheduler: Box<dyn Scheduler>,
    pub(super) views: Views,
    pub(super) buffer: SendBuffer,
    pub(super) sent: Unacknowledged,
    /// The right edge of the peer's window: an offset in the stream. From the first Data ACK on
    /// it never moves back.
    pub(super) admitted: u64,
    /// Whether a Data ACK told it.
    edge_told: bool,
    /// How much may wait for its acknowledgement at present.
    limit: u64,
    max_limit: u64,
    /// Whether the application has finished.
    finished: bool,
    /// Whether the application wanted to write more than there was room for.
    blocked: bool,
    /// Whether the end was signalled at least once.
    pub(super) fin_signalled: bool,
    /// Whether the peer acknowledged the end.
    pub(super) fin_acked: bool,
    /// When the connection's retransmission timer fires.
    pub(super) timeout_at: Option<Time>,
    /// Its firings in a row while only the DATA_FIN waited.
    pub(super) fin_timeouts: u32,
    /// From which offset on pieces may have no working carrier.
    pub(super) rescue_from: Option<u64>,
    /// Before which offset every usable subflow carries every piece.
    pub(super) carried_everywhere: u64,
    /// Bytes sent once more.
    pub(super) reinjected: u64,
}

impl Sending {
    pub(super) fn new(config: &Config) -> Sending {
        Sending {
            scheduler: (config.scheduler.make)(),
            views: Views::default(),
            buffer: SendBuffer::default(),
            sent: Unacknowledged::default(),
            admitted: 0,
            edge_told: false,
            limit: INITIAL_BUFFER.min(config.send_buffer),
            max_limit: config.send_buffer,
            finished: false,
            blocked: false,
            fin_signalled: false,
            fin_acked: false,
            timeout_at: None,
            fin_timeouts: 0,
            rescue_from: None,
            carried_everywhere: 0,
            reinjected: 0,
        }
    }

    /// Whether the application has finished.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The application has finished.
    pub(super) fn finish(&mut self) {
        self.finished = true;
    }

    /// Whether all that was written, and nothing more, was given to subflows.
    pub(super) fn is_end_reached(&self) -> bool {
        self.finished && self.buffer.unsent() == 0
    }

    /// Whether everything was acknowledged, the end included.
    pub(super) fn is_complete(&self) -> bool {
        self.finished && self.fin_acked
    }

    /// Where all that was written ends, unless more is about to be.
    pub(super) fn written_until(&self) -> Option<u64> {
        (!self.blocked).then(|| self.buffer.end())
    }

    /// When it has something to do.
    pub(super) fn poll_at(&self) -> Option<Time> {
        let scheduler = (self.buffer.unsent() > 0)
            .then(|| self.scheduler.poll_at())
            .flatten();
        Time::earliest([self.timeout_at, scheduler])
    }

    /// How much the peer's window admits beyond what was sent.
    pub(super) fn send_window(&self) -> u64 {
        self.admitted.saturating_sub(self.sent.next())
    }

    /// A Data ACK told a right edge. What stood before the first one was a subflow's own window
    /// from its handshake, relative to no Data ACK; Linux's first one is often smaller, and it
    /// drops what is beyond (MPTcpExtNoDSSInWindow).
    pub(super) fn admit(&mut self, edge: u64) {
        if edge > self.admitted || !self.edge_told {
            self.admitted = edge;
            self.edge_told = true;
            self.views.window_opened();
        }
    }

    /// The buffer grows with the windows: twice their sum, as Linux's (tcp_sndbuf_expand).
    pub(super) fn grow(&mut self, windows: u64) {
        let wanted = windows.saturating_mul(2).min(self.max_limit);
        self.limit = self.limit.max(wanted);
    }

    /// How much can be written.
    fn room(&self) -> u64 {
        let waiting = self.buffer.end() - self.sent.first();
        self.limit.saturating_sub(waiting)
    }

    /// The scheduler, and what it sees.
    fn ask(&mut self, now: Time) -> (&mut dyn Scheduler, View<'_>) {
        let view = View {
            now,
            subflows: self.views.all(),
            unsent: self.buffer.unsent(),
            send_window: self.admitted.saturating_sub(self.sent.next()),
            unacked: self.sent.bytes(),
            first_unacked: self.sent.first(),
        };
        (&mut *self.scheduler, view)
    }

    /// Whether and where a piece is sent once more.
    pub(super) fn ask_reinjection(
        &mut self,
        now: Time,
        occasion: Occasion,
        piece: &Piece,
    ) -> Option<Reinjection> {
        let (scheduler, view) = self.ask(now);
        scheduler.reinject(&view, occasion, piece)
    }

    /// How long to wait for a Data ACK.
    pub(super) fn ask_timeout(&mut self, now: Time) -> Duration {
        let (scheduler, view) = self.ask(now);
        scheduler.retransmission_timeout(&view)
    }

    /// Where the next data goes.
    fn ask_next(&mut self, now: Time) -> Option<Assignment> {
        let (scheduler, mut view) = self.ask(now);
        // A subflow probes the peer's window with what waits on it, so that something is given to
        // one when nothing else is on its way.
        view.send_window = view.send_window.max(u64::from(view.unacked == 0));
        scheduler.next(&view)
    }
}

impl Connection {
    /// Takes as much as there is room for.
    pub(crate) fn write(&mut self, ctx: &mut Context<'_>, data: &[u8]) -> usize {
        if self.is_over() || self.sending.finished || self.sending.buffer.waits() {
            return 0;
        }
        let count = self.sending.room().min(data.len() as u64) as usize;
        self.sending.buffer.enqueue(&data[..count]);
        self.take(ctx, count, count < data.len())
    }

    /// What the application wrote.
    pub(crate) fn send_buffer(&mut self) -> &mut SendBuffer {
        &mut self.sending.buffer
    }

    /// Writes at most `most` bytes of what was enqueued, as much as there is room for.
    pub(crate) fn admit(&mut self, ctx: &mut Context<'_>, most: usize) -> usize {
        self.take(ctx, most, false)
    }

    /// Writes at most `most` bytes of what was enqueued; `more` follows that was not enqueued.
    fn take(&mut self, ctx: &mut Context<'_>, most: usize, more: bool) -> usize {
        if self.is_over() || self.sending.finished {
            return 0;
        }
        let (end, unsent) = (self.sending.buffer.end(), self.sending.buffer.unsent());
        let room = self.sending.room().min(most as u64);
        let count = self.sending.buffer.admit(room);
        self.sending.blocked = more || self.sending.buffer.waits();
        if count > 0 {
            if !self.shared.is_plain() {
                self.sending.sent.written(end, unsent);
            }
            self.progress(ctx);
        }
        count as usize
    }

    /// Sends what can be sent.
    pub(super) fn push(&mut self, ctx: &mut Context<'_>) {
        if self.stage != Stage::Connected {
            return;
        }
        if self.shared.is_plain() {
            self.push_plain(ctx.now);
            return;
        }
        if self.sending.buffer.unsent() == 0 && self.sending.sent.len() == 0 {
            self.arm_timeout(ctx.now);
            return;
        }
        self.refresh_views(ctx.now);
        if self.sending.views.all().is_empty() {
            return;
        }
        self.rescue(ctx);
        while self.sending.buffer.unsent() > 0 {
            if self.is_window_shut() {
                self.offer_blocked(ctx);
                break;
            }
            if !self.assign_next(ctx.now) && !self.offer_idle(ctx) {
                break;
            }
        }
        if self.sending.buffer.unsent() == 0 {
            while self.offer_idle(ctx) {}
        }
        self.arm_timeout(ctx.now);
    }

    /// Asks the scheduler where the next data goes, and gives it there; whether it did.
    fn assign_next(&mut self, now: Time) -> bool {
        let Some(assignment) = self.sending.ask_next(now) else {
            return false;
        };
        let usable = self.sending.views.set();
        let subflows = assignment.subflows.iter();
        let subflows: SubflowSet = subflows.filter(|id| usable.contains(*id)).collect();
        !subflows.is_empty() && self.assign(now, subflows, assignment.bytes)
    }

    /// Whether the peer's window admits nothing, or only a small part of a segment while more
    /// will come (RFC 9293, section 3.8.6.2.1).
    fn is_window_shut(&self) -> bool {
        let sending = &self.sending;
        if sending.sent.bytes() == 0 {
            return false;
        }
        let window = sending.send_window();
        let largest = sending.views.all().iter().map(|v| v.mss).max().unwrap_or(1);
        window < sending.buffer.unsent().min(largest)
    }

    /// Cuts `bytes`, rounded up to whole segments, and gives them to `subflows`; whether any.
    fn assign(&mut self, now: Time, subflows: SubflowSet, bytes: u64) -> bool {
        let before = self.sending.sent.next();
        let mut left = bytes.max(1);
        let mut segment = usize::MAX;
        for id in subflows.iter() {
            if let Some(path) = self.path(id) {
                segment = segment.min(path.tcp.segment_payload());
            }
        }
        let segment = segment.max(1) as u64;
        while left > 0 && self.sending.buffer.unsent() > 0 {
            let unacked = self.sending.sent.bytes();
            let window = match self.sending.send_window() {
                0 if unacked == 0 => segment,
                window => window,
            };
            let length = segment.min(window).min(self.sending.buffer.unsent());
            if length == 0 || (length < segment && self.is_window_shut()) {
                break;
            }
            left = left.saturating_sub(segment);
            let data = self.sending.buffer.cut(length as usize);
            // What goes with MP_CAPABLE cannot have a DATA_FIN.
            let fin = self.sending.is_end_reached() && self.shared.fully_established;
            self.sending.fin_signalled |= fin;
            let offset = self.sending.sent.next();
            for id in subflows.iter() {
                self.enqueue(now, id, offset, &data, fin);
            }
            self.sending.sent.push(data, fin, subflows, now);
        }
        self.sending.sent.next() > before
    }

    /// Gives data to a subflow, in as many segments as it takes there.
    pub(super) fn enqueue(
        &mut self,
        now: Time,
        id: policy::SubflowId,
        offset: u64,
        data: &Bytes,
        fin: bool,
    ) {
        let numbers = self.shared.local.numbers;
        let raise = self
            .sending
            .admitted
            .saturating_sub(self.sending.sent.first());
        let Some(path) = self.path_mut(id) else {
            return;
        };
        let segment = path.tcp.segment_payload().max(1);
        if raise > path.tcp.peer_window() {
            path.tcp.raise_peer_window(raise);
        }
        let mut from = 0;
        while from < data.len() {
            let to = data.len().min(from + segment);
            let mapping = DataMapping {
                dsn: numbers.number(offset + from as u64),
                data_fin: fin && to == data.len(),
            };
            path.tcp.enqueue(now, data.slice(from..to), Some(mapping));
            from = to;
        }
        self.make_ready(id);
        self.sending.views.add_queued(id, data.len() as u64);
    }

    /// Plain TCP: its own send buffer decides.
    fn push_plain(&mut self, now: Time) {
        let usable = self.usable();
        let Some(id) = usable.iter().next() else {
            return;
        };
        if self.sending.buffer.unsent() == 0 {
            return;
        }
        let window = self.controller.window(id);
        self.sending.grow(window);
        let Some(path) = self.paths.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        let segment = path.tcp.segment_payload().max(1) as u64;
        let info = path.tcp.info(now);
        let (queued, in_flight) = (info.queued, info.in_flight);
        // What can leave at once.
        let admitted = window
            .saturating_sub(in_flight)
            .min(info.peer_room + queued);
        let mut given = 0;
        while self.sending.buffer.unsent() > 0 && path.tcp.buffer_room(window) > 0 {
            let unsent = self.sending.buffer.unsent();
            // Less than a segment waits for more to be written, if it has to wait anyway.
            let waits = queued + given + unsent > admitted;
            if unsent < segment && queued + given > 0 && waits && !self.sending.finished {
                break;
            }
            let length = segment.min(unsent);
            let data = self.sending.buffer.cut(length as usize);
            path.tcp.enqueue(now, data, None);
            self.sending.sent.skip(length);
            given += length;
        }
        if given > 0 {
            self.touch(id);
        }
    }
}
