//! Which window does the receiver announce (RFC 9293, section 3.8.6.2.2; Linux's
//! __tcp_select_window)?

/// The window field's largest value.
const LARGEST_FIELD: u64 = u16::MAX as u64;

/// The receive window. Positions are offsets of the peer's stream.
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    /// What the owner can take from the next byte in order on.
    free: u64,
    /// The most it could ever.
    full: u64,
    /// The right edge that was promised. It never moves back; rounding up for the wire does not
    /// move it, so that it cannot creep beyond what the owner can take.
    edge: u64,
    /// The right edge as the peer reads it from the last segment.
    announced: u64,
    /// The furthest it ever read: beyond `edge` by less than a unit of the scale.
    limit: u64,
    /// Our window scale.
    pub(super) scale: u8,
    /// Whether the owner shares its window among several connections: its right edge counts, and
    /// what it says is announced.
    pub(super) shared: bool,
}

impl ReceiveWindow {
    /// What is announced before the owner says something.
    pub(super) fn new() -> ReceiveWindow {
        ReceiveWindow {
            free: LARGEST_FIELD,
            full: 0,
            edge: 0,
            announced: 0,
            limit: 0,
            scale: 0,
            shared: false,
        }
    }

    /// The owner can take `bytes` more. Whether the window opened by enough to say so now: it
    /// was less than half, and at least doubles (tcp_cleanup_rbuf).
    pub(super) fn set_free(&mut self, bytes: u64, next: u64, mss: u64) -> bool {
        self.free = bytes;
        self.full = self.full.max(bytes);
        let left = self.announced.saturating_sub(next);
        if 2 * left > self.full.min(self.largest()) {
            return false;
        }
        let new = self.select(mss);
        new > 0 && new >= 2 * left
    }

    /// The largest window that the field can tell.
    fn largest(&self) -> u64 {
        LARGEST_FIELD << self.scale
    }

    /// What to announce, were there no promise.
    fn select(&self, mss: u64) -> u64 {
        let free = self.free.min(self.largest());
        if self.shared {
            return free >> self.scale << self.scale;
        }
        let full = self.full.min(self.largest());
        if free < full / 2 && (free < full >> 4 || free < mss) {
            // Not worth a segment: against silly windows.
            return 0;
        }
        if self.scale == 0 {
            // Whole segments, but for a buffer that holds no two.
            if free >= mss && full > mss {
                free - free % mss
            } else {
                free
            }
        } else {
            free >> self.scale << self.scale
        }
    }

    /// The window field of a segment sent now; `next` is the next byte in order.
    pub(super) fn announce(&mut self, next: u64, mss: u64) -> u16 {
        let selected = next + self.select(mss);
        self.edge = if self.shared {
            selected
        } else {
            self.edge.max(selected)
        };
        let field = (self.edge - next.min(self.edge))
            .div_ceil(1 << self.scale)
            .min(LARGEST_FIELD);
        self.announced = next + (field << self.scale);
        self.limit = self.limit.max(self.announced);
        field as u16
    }

    /// The window field of a SYN or SYN/ACK, which is never scaled (RFC 7323, section 2.2).
    pub(super) fn announce_syn(&mut self) -> u16 {
        let field = self.free.min(LARGEST_FIELD);
        self.edge = self.edge.max(field);
        self.announced = self.edge;
        self.limit = self.limit.max(self.edge);
        field as u16
    }

    /// The right edge as the peer reads it.
    #[cfg(test)]
    pub(super) fn announced(&self) -> u64 {
        self.announced
    }

    /// Data is taken up to here.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }
}
