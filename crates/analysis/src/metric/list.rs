//! The list of metrics.

use super::Unit::{Bytes, Count, Seconds, Share, Truth, Word};
use super::{Metric, cause, cellular, completion, delay, gap, handover, timing, unanswered};

/// Every metric, sorted by name.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    Metric { name: "cellular-bytes", heading: "cellular", unit: Bytes, of: cellular::bytes,
        summary: "IP bytes the client sent and received over cellular paths" },
    Metric { name: "cellular-cause", heading: "cellular cause", unit: Word, of: cause::either,
        summary: "why cellular was first used, under RTO by either definition" },
    Metric { name: "cellular-cause-retransmission", heading: "cellular cause (retransmission)", unit: Word, of: cause::retransmission,
        summary: "why cellular was first used, under RTO when the retransmissions rose since the last sample" },
    Metric { name: "cellular-cause-timer", heading: "cellular cause (timer)", unit: Word, of: cause::timer,
        summary: "why cellular was first used, under RTO when the timer fired and nothing was acknowledged since" },
    Metric { name: "cellular-share", heading: "cellular share", unit: Share, of: cellular::share,
        summary: "cellular bytes in those of all paths" },
    Metric { name: "completion-time", heading: "completion", unit: Seconds, of: completion::time,
        summary: "bulk and ping: from the first request to the last byte of the last answer" },
    Metric { name: "delay-max", heading: "max delay", unit: Seconds, of: delay::max,
        summary: "longest application delay of any message, in either direction" },
    Metric { name: "delay-max-down", heading: "max delay down", unit: Seconds, of: delay::max_down,
        summary: "longest application delay of a message from the server" },
    Metric { name: "delay-max-up", heading: "max delay up", unit: Seconds, of: delay::max_up,
        summary: "longest application delay of a message from the client" },
    Metric { name: "delay-median-down", heading: "median delay down", unit: Seconds, of: delay::median_down,
        summary: "median application delay of the messages from the server" },
    Metric { name: "delay-median-up", heading: "median delay up", unit: Seconds, of: delay::median_up,
        summary: "median application delay of the messages from the client" },
    Metric { name: "delay-p95-down", heading: "P95 delay down", unit: Seconds, of: delay::p95_down,
        summary: "95th percentile of the application delay of the messages from the server" },
    Metric { name: "delay-p95-up", heading: "P95 delay up", unit: Seconds, of: delay::p95_up,
        summary: "95th percentile of the application delay of the messages from the client" },
    Metric { name: "gap-longest", heading: "longest gap", unit: Seconds, of: gap::longest,
        summary: "longest time in which no payload arrived in a direction that had some to carry" },
    Metric { name: "handover-received", heading: "handover (received)", unit: Seconds, of: handover::received,
        summary: "first cellular data sent to the last packet the client received over Wi-Fi; negative when abrupt" },
    Metric { name: "handover-sent", heading: "handover (sent)", unit: Seconds, of: handover::sent,
        summary: "first cellular data sent to the last packet the client sent over Wi-Fi; negative when abrupt" },
    Metric { name: "timing-kept", heading: "timing kept", unit: Truth, of: timing::kept,
        summary: "whether the emulator kept the bound on its lateness that was declared before the run" },
    Metric { name: "unanswered-down", heading: "unanswered down", unit: Count, of: unanswered::down,
        summary: "messages from the server without an answer when the run ended" },
    Metric { name: "unanswered-up", heading: "unanswered up", unit: Count, of: unanswered::up,
        summary: "messages from the client without an answer when the run ended" },
];

/// The metric called `name`.
pub fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|m| m.name == name)
}
