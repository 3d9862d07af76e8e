//! How do the windows grow and fall, round trip by round trip? Tables of what happens after a given
//! sequence of events, kept as snapshots.

use super::simulation::{MSS, Network};
use super::{Ack, Controller, Signal, list};
use crate::SubflowId;
use model::Time;
use std::fmt::Write;
use std::time::Duration;

const RTT: Duration = Duration::from_millis(100);
const RTO: Duration = Duration::from_millis(300);

/// What happens at the beginning of a round.
fn events(round: u64) -> Option<&'static str> {
    match round {
        3 => Some("loss on each"),
        6 => Some("loss"),
        20 => Some("ecn"),
        30 => Some("timeout"),
        31 => Some("spurious"),
        40 => Some("timeout"),
        50 => Some("penalty"),
        55 => Some("idle 1 s"),
        _ => None,
    }
}

/// Acknowledges a window of `subflow`: an acknowledgement for every two segments, 1 ms apart.
fn round(controller: &mut dyn Controller, subflow: SubflowId, start: Time, delivered: &mut u64) {
    let acks = (controller.window(subflow) / MSS).div_ceil(2) as u32;
    let apart = Duration::from_millis(1).min(RTT / acks.max(1));
    let mut left = controller.window(subflow);
    for i in 0..acks {
        let acked = left.min(2 * MSS);
        left -= acked;
        *delivered += acked;
        controller.on_ack(
            subflow,
            &Ack {
                now: start + apart * i,
                acked,
                rtt: Some(RTT),
                smoothed_rtt: RTT,
                min_rtt: RTT,
                in_flight: controller.window(subflow),
                window_limited: true,
                lost: 0,
                in_recovery: false,
                delivered: *delivered,
                rate: None,
            },
        );
    }
}

fn happens(controller: &mut dyn Controller, subflow: SubflowId, now: Time, event: &str) {
    let window = controller.window(subflow);
    match event {
        "loss" | "loss on each" => controller.on_congestion(subflow, now, Signal::Loss, window),
        "ecn" => controller.on_congestion(subflow, now, Signal::Ecn, window),
        "timeout" => controller.on_congestion(subflow, now, Signal::Timeout, window),
        "spurious" => controller.on_spurious(subflow, now),
        "penalty" => controller.on_penalty(subflow, now),
        "idle 1 s" => controller.on_idle_restart(subflow, now, Duration::from_secs(1), RTO),
        other => unreachable!("{other}"),
    }
}

/// Windows in segments at the beginning of each round, after its event; all but the first event meet
/// the first subflow only.
fn table(controllers: &[&str], subflows: usize) -> String {
    let ids = || (0..subflows).map(SubflowId::new);
    let mut running: Vec<_> = controllers
        .iter()
        .map(|name| {
            let mut controller = (list::find(name).expect("it is in the list").make)();
            ids().for_each(|id| controller.opened(id, Time::ZERO, MSS));
            (controller, vec![0; subflows])
        })
        .collect();
    let mut text = String::from("round");
    let width = 7 * subflows;
    for name in controllers {
        write!(text, "{name:>width$}").unwrap();
    }
    for number in 0..60 {
        let now = Time::ZERO + RTT * number as u32;
        write!(text, "\n{number:5}").unwrap();
        for (controller, delivered) in &mut running {
            if let Some(event) = events(number) {
                let met = if event == "loss on each" { subflows } else { 1 };
                for id in ids().take(met) {
                    happens(controller.as_mut(), id, now, event);
                }
            }
            for id in ids() {
                let segments = controller.window(id) as f64 / MSS as f64;
                write!(text, "{segments:7.1}").unwrap();
            }
            for id in ids() {
                round(controller.as_mut(), id, now, &mut delivered[id.index()]);
            }
        }
        if let Some(event) = events(number) {
            write!(text, "  {event}").unwrap();
        }
    }
    text
}

#[test]
fn one_subflow_round_by_round() {
    let names = ["reno", "cubic", "lia", "olia", "balia"];
    let table = table(&names, 1);
    insta::assert_snapshot!(table);
}

#[test]
fn two_coupled_subflows_round_by_round() {
    insta::assert_snapshot!(table(&["lia", "olia", "balia"], 2));
}

#[test]
fn bbr_round_by_round() {
    // 20 Mbit/s and 40 ms: 100 kB, 71 segments; 100 ms of queue.
    let mut network = Network::new(1);
    let link = network.link(20, 100);
    network.connection("bbr", &[(link, 40)]);
    let mut text = String::from("   ms window in flight  rate  delay lost");
    let ms = (0..40).map(|i| i * 40);
    let ms = ms.chain((0..40).map(|i| 1_600 + i * 200));
    for ms in ms.chain((0..40).map(|i| 9_600 + i * 40)) {
        network.run_until(Time::from_millis(ms));
        let flow = &network.flows[0];
        let controller = &network.connections[0];
        let rate = controller.pacing_rate(flow.id).unwrap() as f64 / 125_000.0;
        write!(
            text,
            "\n{ms:5} {:6.1} {:9.1} {rate:5.1} {:6.1} {:4}",
            controller.window(flow.id) as f64 / MSS as f64,
            flow.in_flight as f64 / MSS as f64,
            flow.last_rtt.as_secs_f64() * 1e3,
            flow.losses,
        )
        .unwrap();
    }
    insta::assert_snapshot!(text);
}
