//! Is the energy of a radio the one that its model gives by hand, and are its states those of its packets?

mod written;

use model::manifest::Status;
use model::scenario::{Radio, Traffic};
use model::units::{BitRate, ByteSize, Span};
use model::{Direction, PathKind};
use proptest::prelude::*;
use walkabout_analysis::energy::list::{MODELS, find};
use walkabout_analysis::energy::{Model, Power, Radios, State, Trace};
use written::Run;

const UP: Direction = Direction::Up;
const DOWN: Direction = Direction::Down;
const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn model(name: &str) -> &'static Model {
    find(name).expect("a model of the list")
}

/// What one packet costs that finds the radio idle, in J.
fn one_packet(name: &str) -> f64 {
    let trace = Trace::of(model(name), &[0], 60 * S);
    let idle_since = trace.intervals.last().expect("idle").from_ns;
    trace.energy(idle_since).all_j
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} for {expected}");
}

#[test]
fn the_list_is_sorted_and_cites_its_sources() {
    assert!(MODELS.is_sorted_by(|a, b| a.name < b.name));
    for model in MODELS {
        assert!(model.source.contains("20"), "{}: a year", model.name);
        assert!(model.summary.len() > 20, "{}", model.name);
        let idle = model.idle.mean_mw();
        let states = model.connected.iter().chain([&model.promotion]);
        assert!(states.clone().all(|phase| phase.power.mean_mw() > idle));
        assert!(states.clone().all(|phase| phase.lasts_ns > 0));
    }
}

#[test]
fn a_packet_from_idle_costs_what_the_papers_say() {
    // 12.8 J over LTE and 0.0382 J over Wi-Fi, what the radio takes in these states and no idle after them.
    assert_eq!(format!("{:.1}", one_packet("lte")), "12.8");
    assert_eq!(format!("{:.4}", one_packet("wifi")), "0.0382");
    let by_hand = 1.2107 * 0.2601
        + 1.68 * 0.1
        + (1.06 + (1.6802 - 1.06) / 20.0) * 0.02
        + (1.06 + (1.6801 - 1.06) / 40.0) * 11.456;
    close(one_packet("lte"), by_hand);
    close(one_packet("wifi"), 0.1244 * 0.0791 + 0.1193 * 0.2381);
    close(
        one_packet("3g"),
        0.6594 * 0.5821 + 0.8039 * 8.0882 + 0.6013 * 0.8242,
    );
}

#[test]
fn idle_is_what_paging_takes() {
    close(model("lte").idle.mean_mw(), 594.3 * 43.2 / 1_280.0);
    close(model("wifi").idle.mean_mw(), 77.2 * 7.6 / 308.2);
    close(Power::steady(5.0).mean_mw(), 5.0);
    let idle = Trace::of(model("lte"), &[], 100 * S);
    assert_eq!((idle.intervals.len(), idle.promotions), (1, 0));
    close(idle.energy(100 * S).all_j, 2.005_762_5);
    close(idle.energy(100 * S).above_idle_j, 0.0);
    close(idle.mean_mw().expect("some time"), 20.057_625);
    assert_eq!(Trace::of(model("lte"), &[], 0).mean_mw(), None);
}

#[test]
fn the_states_follow_the_packets() {
    // At 1 s from idle; at 1.1 s, during the promotion; at 2 s and 2.05 s; then nothing.
    let moments = [1_000, 1_100, 2_000, 2_050].map(|ms| ms * MS);
    let trace = Trace::of(model("lte"), &moments, 20 * S);
    let states: Vec<(State, u64)> = trace
        .intervals
        .iter()
        .map(|i| (i.state, i.from_ns / 100_000))
        .collect();
    let expected = [
        (State::Idle, 0),
        (State::Promotion, 10_000),
        (State::Reception, 12_601),
        (State::ShortDrx, 13_601),
        (State::LongDrx, 13_801),
        (State::Reception, 20_000),
        (State::ShortDrx, 21_500),
        (State::LongDrx, 21_700),
        (State::Idle, 136_260),
    ];
    assert_eq!(states, expected);
    assert_eq!(trace.promotions, 1);
    assert!(trace.intervals.is_sorted_by(|a, b| a.to_ns == b.from_ns));
    let long_drx = model("lte").connected[2].power.mean_mw();
    let by_hand = 20.057_625 * 1.0
        + 1_210.7 * 0.2601
        + 1_680.0 * (0.1 + 0.15)
        + (1_060.0 + 31.01) * 0.04
        + long_drx * (0.6199 + 11.456)
        + 20.057_625 * 6.374;
    close(trace.energy(20 * S).all_j, by_hand / 1e3);
    // Before anything was sent, nothing above idle.
    close(trace.energy(S).above_idle_j, 0.0);
}

#[test]
fn a_packet_after_the_tail_is_a_promotion_anew_and_the_end_cuts() {
    let trace = Trace::of(model("wifi"), &[0, 400 * MS, 1_000 * MS], 1_050 * MS);
    assert_eq!(trace.promotions, 3);
    let last = trace.intervals.last().expect("a promotion");
    assert_eq!((last.state, last.to_ns), (State::Promotion, 1_050 * MS));
    // What comes at the end or later did not happen.
    let later = Trace::of(model("wifi"), &[1_050 * MS, 9_000 * MS], 1_050 * MS);
    assert_eq!(later.promotions, 0);
}

#[test]
fn three_g_has_two_tails() {
    let trace = Trace::of(model("3g"), &[0], 20 * S);
    let states: Vec<State> = trace.intervals.iter().map(|i| i.state).collect();
    assert_eq!(
        states,
        [State::Promotion, State::Dch, State::Fach, State::Idle]
    );
}

proptest! {
    #[test]
    fn a_trace_has_no_gaps_and_is_never_below_idle(
        mut moments in prop::collection::vec(0..100 * S, 0..200), which in 0..MODELS.len(), end in 1..120 * S,
    ) {
        moments.sort_unstable();
        let trace = Trace::of(MODELS[which], &moments, end);
        prop_assert_eq!(trace.intervals[0].from_ns, 0);
        prop_assert_eq!(trace.intervals.last().map(|i| i.to_ns), Some(end));
        for pair in trace.intervals.windows(2) {
            prop_assert_eq!(pair[0].to_ns, pair[1].from_ns);
            prop_assert!(pair[0].state != pair[1].state);
        }
        let idle_mw = MODELS[which].idle.mean_mw();
        prop_assert!(trace.intervals.iter().all(|i| i.power_mw >= idle_mw && i.from_ns < i.to_ns));
        let energy = trace.energy(end);
        let idle_j = end as f64 * idle_mw * 1e-12;
        prop_assert!(energy.above_idle_j >= 0.0);
        prop_assert!((energy.all_j - energy.above_idle_j - idle_j).abs() < 1e-6);
        prop_assert!(trace.promotions <= moments.len() as u64);
    }

    #[test]
    fn a_packet_more_at_the_end_never_costs_less(
        mut moments in prop::collection::vec(0..60 * S, 1..50), which in 0..MODELS.len(),
    ) {
        moments.sort_unstable();
        let energy = |moments: &[u64]| Trace::of(MODELS[which], moments, 100 * S).energy(100 * S).all_j;
        let fewer = energy(&moments[..moments.len() - 1]);
        prop_assert!(energy(&moments) >= fewer - 1e-9);
    }

    #[test]
    fn a_packet_more_anywhere_saves_no_more_than_a_promotion(
        mut moments in prop::collection::vec(0..60 * S, 1..50), more in 0..60 * S, which in 0..MODELS.len(),
    ) {
        // It may keep a radio awake that would have to be promoted soon after.
        let model = MODELS[which];
        let energy = |moments: &[u64]| Trace::of(model, moments, 100 * S).energy(100 * S).all_j;
        moments.sort_unstable();
        let before = energy(&moments);
        moments.push(more);
        moments.sort_unstable();
        let promotion = model.promotion.power.mean_mw() * model.promotion.lasts_ns as f64 * 1e-12;
        prop_assert!(energy(&moments) >= before - promotion - 1e-9);
    }
}

#[test]
fn the_metrics_count_what_the_clients_interface_saw() {
    let run = Run::new("mptcp", "backup")
        .packet("wifi", UP, 0, 500, None)
        // Lost on the way: it was sent all the same, and before the failure.
        .packet("cellular", UP, 4_990, 0, Some("random-loss"))
        // Never arrived, never sent: the radio saw neither.
        .packet("cellular", DOWN, 500, 500, Some("random-loss"))
        .packet("cellular", UP, 600, 500, Some("device-down"))
        .failure(5_000, None);
    assert_eq!(run.number("cellular-promotions"), Some((1.0, false)));
    assert_eq!(run.number("cellular-packet-share"), Some((0.5, false)));
    let trace = Trace::of(model("lte"), &[4_990 * MS], 20 * S);
    let energy = trace.energy(20 * S);
    let rounded = |value: f64| Some(((value * 1e6).round() / 1e6, false));
    assert_eq!(run.number("cellular-energy"), rounded(energy.all_j));
    assert_eq!(
        run.number("cellular-energy-above-idle"),
        rounded(energy.above_idle_j)
    );
    assert_eq!(
        run.number("cellular-power"),
        rounded(energy.all_j / 20.0 * 1e3)
    );
    // 10 ms of promotion.
    let before = (1_210.7 - 20.057_625) * 10e-6;
    assert_eq!(
        run.number("cellular-energy-before-failure"),
        rounded(before)
    );
    let wifi = Trace::of(model("wifi"), &[0], 20 * S).energy(20 * S).all_j;
    assert_eq!(run.number("wifi-energy"), rounded(wifi));
}

#[test]
fn a_sleeping_cellular_radio_takes_nothing_above_idle() {
    let run = Run::new("mptcp", "backup").packet("wifi", UP, 0, 500, None);
    assert_eq!(run.number("cellular-energy-above-idle"), Some((0.0, false)));
    assert_eq!(run.number("cellular-power"), Some((20.057_625, false)));
    assert_eq!(run.number("cellular-packet-share"), Some((0.0, false)));
    assert_eq!(
        run.number("cellular-energy-before-failure"),
        None,
        "no failure"
    );
    let run = run.failure(5_000, None);
    assert_eq!(
        run.number("cellular-energy-before-failure"),
        Some((0.0, false))
    );
}

#[test]
fn a_cable_has_no_radio_and_another_model_can_be_chosen() {
    let mut cable = Run::new("tcp", "single").packet("wifi", UP, 0, 500, None);
    cable.manifest.scenario.paths[0].kind = PathKind::Ethernet;
    cable.manifest.scenario.paths.truncate(1);
    for name in ["wifi-energy", "cellular-energy", "cellular-packet-share"] {
        assert_eq!(cable.number(name), None, "{name}");
    }
    let mut run = Run::new("mptcp", "backup")
        .packet("cellular", UP, 0, 500, None)
        .read();
    run.radios = Radios {
        cellular: model("3g"),
        ..Radios::default()
    };
    let energy = walkabout_analysis::metric::list::find("cellular-energy").expect("it is listed");
    let value = (energy.of)(&run)
        .and_then(|v| v.number())
        .expect("a number")
        .value;
    let by_hand = Trace::of(model("3g"), &[0], 20 * S).energy(20 * S).all_j;
    close(value, by_hand);
}

#[test]
fn without_packets_the_samples_tell_to_within_their_period() {
    let counted = |path: &'static str, packets| {
        move |s: &mut model::record::Sample| {
            s.path = Some(path.into());
            s.sent_packets = Some(packets);
            s.sent_bytes = Some(packets * 100);
            s.received_bytes = Some(0);
        }
    };
    let run = Run::new("mptcp", "backup")
        .sample(0, 100, counted("wifi", 2))
        .sample(0, 200, counted("wifi", 2))
        .sample(0, 7_000, counted("cellular", 3));
    assert_eq!(run.number("cellular-promotions"), Some((1.0, false)));
    let trace = Trace::of(model("lte"), &[7 * S], 20 * S);
    let expected = (trace.energy(20 * S).all_j * 1e6).round() / 1e6;
    assert_eq!(run.number("cellular-energy"), Some((expected, false)));
    assert_eq!(
        run.number("cellular-packet-share"),
        None,
        "packets were not counted"
    );
}

#[test]
fn a_stream_that_falls_silent_is_a_stall() {
    let mut run = Run::new("mptcp", "backup");
    run.manifest.scenario.traffic = Traffic::Radio(Radio {
        bitrate: BitRate::from_bits_per_second(80_000),
        block_size: ByteSize::from_bytes(1_000),
        burst_size: ByteSize::from_bytes(0),
        start_threshold: Span::from_millis(1_000),
    });
    // A block of 100 ms every 100 ms, but for 5 s from 10 s on.
    for block in 0..200 {
        let due = block * 100;
        let stalled = (10_000..15_000).contains(&due);
        let arrives = if stalled { 15_000 } else { due + 20 };
        run = run.message(DOWN, due, Some(arrives));
    }
    // Plays from 920 ms on; what is left at 10 s is 1 s of 10 s received, less what was played.
    assert_eq!(run.number("playout-start"), Some((0.92, false)));
    assert_eq!(run.number("stalls"), Some((1.0, false)));
    assert_eq!(run.number("stall-longest"), Some((15.0 - 10.92, false)));
    assert_eq!(run.number("stall-total"), Some((4.08, false)));

    run.messages.retain(|m| m.sent_us < 10_000_000);
    assert_eq!(
        run.number("stall-longest"),
        Some((9.08, true)),
        "to the end at least"
    );
    run.messages.clear();
    assert_eq!(run.number("stalls"), None);
    run = run.message(DOWN, 0, None);
    run.manifest.status = Status::Complete;
    assert_eq!(run.number("playout-start"), Some((20.0, true)));
}

#[test]
fn the_background_is_in_no_delay() {
    let mut run = Run::new("mptcp", "backup")
        .message(UP, 0, Some(20))
        .message(UP, 100, Some(9_000));
    run.messages[1].channel = 2;
    assert_eq!(run.number("delay-max-up"), Some((8.9, false)));
    run.manifest.scenario.background = Some(model::scenario::Background::default());
    assert_eq!(run.number("delay-max-up"), Some((0.02, false)));
    assert_eq!(run.number("answered"), Some((1.0, false)));
    assert_eq!(run.read().background.len(), 1);
}
