//! What must hold for every controller, whatever happens? Random calls, one after the other, that need
//! not make sense.

use super::list::CONTROLLERS;
use super::window::MAX_WINDOW;
use super::{Ack, Controller, DeliveryRate, Signal};
use crate::SubflowId;
use model::Time;
use proptest::prelude::*;
use std::time::Duration;

const SUBFLOWS: usize = 3;

#[derive(Clone, Debug)]
enum Call {
    Opened(u64),
    Closed,
    Ack(Ack),
    Congestion(Signal, u64),
    Spurious,
    Recovered,
    Idle(Duration, Duration),
    Penalty,
}

/// Small numbers, ordinary ones, and the largest there are.
fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => 0u64..3,
        6 => 0u64..200_000,
        1 => any::<u64>(),
        1 => Just(u64::MAX),
    ]
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        1 => Just(Duration::ZERO),
        6 => (1u64..3_000_000).prop_map(Duration::from_micros),
        1 => Just(Duration::MAX),
    ]
}

fn ack() -> impl Strategy<Value = Ack> {
    let rate = (bytes(), duration(), any::<bool>(), bytes()).prop_map(
        |(delivered, interval, app_limited, prior_delivered)| DeliveryRate {
            delivered,
            interval,
            app_limited,
            prior_delivered,
        },
    );
    (
        (bytes(), bytes(), bytes(), bytes()),
        (prop::option::of(duration()), duration(), duration()),
        (prop::bool::weighted(0.8), prop::bool::weighted(0.2)),
        prop::option::of(rate),
    )
        .prop_map(|(bytes, times, flags, rate)| Ack {
            now: Time::ZERO,
            acked: bytes.0,
            rtt: times.0,
            smoothed_rtt: times.1,
            min_rtt: times.2,
            in_flight: bytes.1,
            window_limited: flags.0,
            lost: bytes.2,
            in_recovery: flags.1,
            delivered: bytes.3,
            rate,
        })
}

fn call() -> impl Strategy<Value = Call> {
    let signal = prop_oneof![Just(Signal::Loss), Just(Signal::Ecn), Just(Signal::Timeout)];
    let mss = prop_oneof![4 => 500u64..9_000, 1 => bytes()];
    prop_oneof![
        2 => mss.prop_map(Call::Opened),
        1 => Just(Call::Closed),
        12 => ack().prop_map(Call::Ack),
        3 => (signal, bytes()).prop_map(|(signal, bytes)| Call::Congestion(signal, bytes)),
        1 => Just(Call::Spurious),
        2 => Just(Call::Recovered),
        1 => (duration(), duration()).prop_map(|(idle, rto)| Call::Idle(idle, rto)),
        1 => Just(Call::Penalty),
    ]
}

/// Carries out `call`; returns whether the window may have grown by it.
fn carry_out(controller: &mut dyn Controller, id: SubflowId, now: Time, call: &Call) -> bool {
    match call.clone() {
        Call::Opened(mss) => controller.opened(id, now, mss),
        Call::Closed => controller.closed(id),
        Call::Ack(ack) => {
            controller.on_ack(id, &Ack { now, ..ack });
            return ack.window_limited && !ack.in_recovery;
        }
        Call::Congestion(signal, in_flight) => {
            controller.on_congestion(id, now, signal, in_flight);
            return false;
        }
        Call::Spurious => controller.on_spurious(id, now),
        Call::Recovered => controller.on_recovered(id, now),
        Call::Idle(idle, rto) => {
            controller.on_idle_restart(id, now, idle, rto);
            return false;
        }
        Call::Penalty => {
            controller.on_penalty(id, now);
            return false;
        }
    }
    true
}

proptest! {
    #[test]
    fn any_calls_in_any_order_are_safe(
        calls in prop::collection::vec((0..SUBFLOWS, duration(), call()), 0..60),
    ) {
        for entry in CONTROLLERS {
            let mut controller = (entry.make)();
            let mut open = [false; SUBFLOWS];
            let mut now = Time::ZERO;
            for (subflow, passes, call) in &calls {
                now += *passes;
                let id = SubflowId::new(*subflow);
                let before = controller.window(id);
                let may_grow = carry_out(controller.as_mut(), id, now, call);
                let after = controller.window(id);
                let threshold = controller.slow_start_threshold(id);
                match call {
                    Call::Opened(_) => open[*subflow] = true,
                    Call::Closed => open[*subflow] = false,
                    Call::Congestion(Signal::Timeout, _) if !controller.has_own_recovery() => {
                        prop_assert!(after < threshold || !open[*subflow], "{}", entry.name);
                    }
                    Call::Congestion(_, _) if !controller.has_own_recovery() => {
                        prop_assert!(after == threshold || !open[*subflow], "{}", entry.name);
                    }
                    _ => {}
                }
                let is_open = open[*subflow];
                prop_assert_eq!(after > 0, is_open, "{}: {:?}", entry.name, call);
                prop_assert!(after <= MAX_WINDOW, "{}: {:?}", entry.name, call);
                prop_assert!(threshold > 0);
                prop_assert!(controller.pacing_rate(id) != Some(0), "{}", entry.name);
                // The floor of two segments lifts a window of one; BBR grows by itself.
                let floor = matches!(call, Call::Congestion(..)) && before < threshold;
                if !may_grow && !controller.has_own_recovery() && !floor {
                    prop_assert!(after <= before, "{}: {:?}", entry.name, call);
                }
            }
        }
    }

    /// What the other subflows went through does not outlive them: one that is opened after all
    /// were closed behaves as if it were the first.
    #[test]
    fn closed_subflows_are_forgotten(
        past in prop::collection::vec((0..SUBFLOWS, call()), 0..40),
        future in prop::collection::vec(call(), 0..40),
    ) {
        for entry in CONTROLLERS {
            let mut used = (entry.make)();
            for (subflow, call) in &past {
                carry_out(used.as_mut(), SubflowId::new(*subflow), Time::ZERO, call);
            }
            (0..SUBFLOWS).for_each(|i| used.closed(SubflowId::new(i)));
            let mut fresh = (entry.make)();
            let id = SubflowId::new(0);
            let mut now = Time::ZERO;
            used.opened(id, now, 1_400);
            fresh.opened(id, now, 1_400);
            for call in &future {
                now += Duration::from_millis(7);
                carry_out(used.as_mut(), id, now, call);
                carry_out(fresh.as_mut(), id, now, call);
                prop_assert_eq!(used.window(id), fresh.window(id), "{}", entry.name);
                prop_assert_eq!(used.pacing_rate(id), fresh.pacing_rate(id));
            }
        }
    }
}
