//! When did a path's radio have something to send or receive, as its host sees it?
//!
//! Where packets were captured, by them: a packet that was sent counts when it entered the uplink, lost
//! later or not, unless the interface was down; one that was received counts when it left the downlink. On
//! real interfaces the counters of the client's samples tell, to within their period of 100 ms.

use crate::folder::RunFolder;
use crate::metric::activity::{is_sampled, rises};
use ::model::record::{Packet, Sample};
use ::model::{Direction, Name, Side};

/// Stages that drop what an interface which is down does not send: its radio never saw it.
const NEVER_SENT: [&str; 2] = ["device-down", "link-down"];

/// The moments at which a path was in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// In order, in nanoseconds: one for each packet, or for each sample that shows some.
    pub moments_ns: Vec<u64>,
    /// Whether each of them is a packet.
    pub is_exact: bool,
}

/// The activity of the path called `name`; `None` where nothing was recorded that could tell.
pub fn activity(run: &RunFolder, name: &Name) -> Option<Activity> {
    if run.packets.is_empty() && run.samples.is_empty() {
        return None;
    }
    let mut moments_ns: Vec<u64> = if is_sampled(run) {
        sampled(run, name)
    } else {
        let packets = run.packets.iter().filter(|p| p.path == *name);
        packets.filter_map(seen_ns).collect()
    };
    moments_ns.sort_unstable();
    Some(Activity {
        moments_ns,
        is_exact: !is_sampled(run),
    })
}

/// When the client's interface saw a packet, if it did.
fn seen_ns(packet: &Packet) -> Option<u64> {
    match packet.direction {
        Direction::Up => {
            let dropped = packet.dropped.as_deref();
            let sent = dropped.is_none_or(|stage| !NEVER_SENT.contains(&stage));
            sent.then_some(packet.enqueued_ns)
        }
        Direction::Down => packet.delivered_ns,
    }
}

fn sampled(run: &RunFolder, name: &Name) -> Vec<u64> {
    let counters: [fn(&Sample) -> Option<u64>; 3] =
        [|s| s.sent_packets, |s| s.sent_bytes, |s| s.received_bytes];
    let of = |path: Option<&Name>| path == Some(name);
    let moments = counters
        .iter()
        .flat_map(|counter| rises(run, Side::Client, of, counter))
        .map(|rise| rise.at_us * 1_000);
    let mut moments: Vec<u64> = moments.collect();
    moments.sort_unstable();
    moments.dedup();
    moments
}
