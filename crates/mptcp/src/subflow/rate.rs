//! At which rate did the network deliver (draft-ietf-ccwg-bbr, section 4.1)?

use super::scoreboard::Sent;
use model::Time;
use policy::congestion::DeliveryRate;
use std::time::Duration;

/// What is remembered with each segment sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtSend {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    app_limited: bool,
}

/// The connection's delivery state.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// Total bytes delivered.
    pub(super) delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Until how much is delivered the application limits the rate; 0 when it does not.
    app_limited: u64,
}

/// The sample of one acknowledgement, as it is built.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    newest: Option<(u64, Time, AtSend)>,
}

impl Sample {
    /// A segment was delivered: that sent last counts.
    pub(super) fn delivered(&mut self, delivery: &mut Delivery, sent: &Sent) {
        if self.newest.is_none_or(|(order, ..)| sent.order > order) {
            self.newest = Some((sent.order, sent.sent_at, sent.at_send));
            delivery.first_sent = sent.sent_at;
        }
    }

    /// Total bytes delivered when the newest segment acknowledged was sent.
    pub(super) fn prior_delivered(&self) -> Option<u64> {
        self.newest.map(|(_, _, at_send)| at_send.delivered)
    }
}

impl Delivery {
    /// The state to remember with a segment sent now; `idle` when nothing was in flight.
    pub(super) fn at_send(&mut self, now: Time, idle: bool) -> AtSend {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        AtSend {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited != 0,
        }
    }

    /// There was nothing to send though the windows had room.
    pub(super) fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// The rate of an acknowledgement that told of `newly` bytes (already counted).
    pub(super) fn rate(
        &mut self,
        now: Time,
        newly: u64,
        sample: &Sample,
        min_rtt: Option<Duration>,
    ) -> Option<DeliveryRate> {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if newly > 0 {
            self.delivered_at = now;
        }
        let (_, sent_at, at_send) = sample.newest?;
        let interval = sent_at
            .since(at_send.first_sent)
            .max(now.since(at_send.delivered_at));
        // Shorter than any round trip: the acknowledgements were compressed.
        if interval.is_zero() || min_rtt.is_some_and(|min| interval < min) {
            return None;
        }
        Some(DeliveryRate {
            delivered: self.delivered - at_send.delivered,
            interval,
            app_limited: at_send.app_limited,
            prior_delivered: at_send.delivered,
        })
    }
}
