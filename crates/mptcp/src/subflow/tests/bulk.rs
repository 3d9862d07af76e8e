//! Does a stream arrive as it was sent, whatever the line does?

use super::rig::{Fate, Line, ms, pattern};
use crate::subflow::{Config, State};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Transfers `length` bytes each way over a line that drops, reorders and doubles packets.
fn transfer(config: Config, seed: u64, length: usize, trouble: f64, initial: u32) {
    let mut line = Line::new(config, ms(10));
    line.ends[0].initial = crate::wire::Seq(initial);
    line.ends[1].initial = crate::wire::Seq(initial.wrapping_mul(7));
    line.connect();
    let mut random = Pcg64::seed_from_u64(seed);
    line.rule(move |_, _, _| {
        let draw: f64 = random.random();
        if draw < trouble {
            Fate::Drop
        } else if draw < 2.0 * trouble {
            Fate::Twice
        } else if draw < 4.0 * trouble {
            Fate::Late(std::time::Duration::from_micros(
                random.random_range(0..30_000),
            ))
        } else {
            Fate::Pass
        }
    });
    let data = pattern(length);
    line.run_for(ms(15_000));
    assert_eq!(line.ends[1].state(), State::Established);
    line.write(0, &data);
    line.write(1, &data[..length / 3]);
    let now = line.now;
    line.ends[0].tcp().close(now);
    line.run_for(ms(200_000));
    assert!(
        line.ends[1].read == data,
        "seed {seed}: {} of {length}",
        line.ends[1].read.len()
    );
    assert!(line.ends[0].read == data[..length / 3]);
    assert!(line.ends[1].received.iter().any(|r| r.fin));
    let now = line.now;
    line.ends[1].tcp().close(now);
    line.run_for(ms(200_000));
    assert_eq!(line.ends[0].state(), State::Closed);
    assert_eq!(line.ends[1].state(), State::Closed);
    assert_eq!(line.ends[0].tcp().failure(), None);
    assert_eq!(line.ends[1].tcp().failure(), None);
    for end in &mut line.ends {
        let info = end.tcp().info(now);
        assert_eq!((info.unacked, info.queued, info.in_flight), (0, 0, 0));
    }
}

#[test]
fn megabytes_over_a_clean_line() {
    transfer(Config::default(), 0, 3_000_000, 0.0, 1);
}

#[test]
fn megabytes_over_a_bad_line() {
    for seed in 0..4 {
        transfer(Config::default(), seed, 1_500_000, 0.01, 77);
    }
}

#[test]
fn sequence_numbers_wrap() {
    transfer(Config::default(), 5, 500_000, 0.01, u32::MAX - 100_000);
}

#[test]
fn without_any_extension() {
    let config = Config {
        sack: false,
        timestamps: false,
        window_scale: None,
        ..Config::default()
    };
    for seed in 0..3 {
        transfer(config.clone(), seed, 300_000, 0.01, 1);
    }
}

#[test]
fn paced() {
    let config = Config {
        pacing: true,
        ..Config::default()
    };
    transfer(config, 9, 300_000, 0.01, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_stream_arrives(
        seed in any::<u64>(),
        length in 1_usize..120_000,
        trouble in 0.0..0.08,
        initial in any::<u32>(),
        sack in any::<bool>(),
        timestamps in any::<bool>(),
        ecn in any::<bool>(),
    ) {
        let config = Config { sack, timestamps, ecn, ..Config::default() };
        transfer(config, seed, length, trouble, initial);
    }
}
