//! How much may be sent for each acknowledgement while the window falls (RFC 9937, as Linux's
//! tcp_cwnd_reduction)?

/// Proportional rate reduction. All quantities are in bytes.
#[derive(Debug, Default)]
pub(super) struct Reduction {
    /// The window when the reduction began (RecoverFS).
    before: u64,
    delivered: u64,
    sent: u64,
    /// The window meanwhile.
    pub(super) window: u64,
}

impl Reduction {
    pub(super) fn begin(window: u64) -> Reduction {
        Reduction {
            before: window.max(1),
            delivered: 0,
            sent: 0,
            window,
        }
    }

    /// `bytes` were sent.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// An acknowledgement told of `delivered` bytes; `target` is the window to arrive at,
    /// `in_flight` what is in flight after it, `good` whether it advanced the cumulative
    /// acknowledgement and no further loss was found with it (SafeACK).
    pub(super) fn acknowledged(
        &mut self,
        delivered: u64,
        in_flight: u64,
        target: u64,
        mss: u64,
        good: bool,
    ) {
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let mut send = if in_flight > target {
            let share = (u128::from(target) * u128::from(self.delivered))
                .div_ceil(u128::from(self.before)) as u64;
            share.saturating_sub(self.sent)
        } else {
            let mut limit = self.delivered.saturating_sub(self.sent).max(delivered);
            if good {
                limit += mss;
            }
            limit.min(target - in_flight)
        };
        if self.sent == 0 {
            // The fast retransmission goes in any case.
            send = send.max(mss);
        }
        self.window = in_flight + send;
    }
}
