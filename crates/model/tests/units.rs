//! Are quantities read as they are written, and written as they are read?

use proptest::prelude::*;
use std::time::Duration;
use walkabout_model::units::{BitRate, ByteSize, Probability, Span};

proptest! {
    #[test]
    fn every_rate_comes_back(bits: u64) {
        let rate = BitRate::from_bits_per_second(bits);
        prop_assert_eq!(rate.to_string().parse(), Ok(rate));
    }

    #[test]
    fn every_round_rate_comes_back(thousands in 0..u64::MAX / 1_000) {
        let rate = BitRate::from_bits_per_second(thousands * 1_000);
        prop_assert_eq!(rate.to_string().parse(), Ok(rate));
    }

    #[test]
    fn every_size_comes_back(bytes: u64) {
        let size = ByteSize::from_bytes(bytes);
        prop_assert_eq!(size.to_string().parse(), Ok(size));
    }

    #[test]
    fn every_span_comes_back(nanos: u64) {
        let span = Span::from(Duration::from_nanos(nanos));
        prop_assert_eq!(span.to_string().parse(), Ok(span));
    }

    #[test]
    fn every_round_span_comes_back(ms in 0..u64::MAX / 1_000_000) {
        let span = Span::from_millis(ms);
        prop_assert_eq!(span.to_string().parse(), Ok(span));
    }

    #[test]
    fn every_probability_comes_back(p in 0.0..=1.0) {
        let p = Probability::new(p).unwrap();
        prop_assert_eq!(p.to_string().parse(), Ok(p));
        let json = serde_json::to_string(&p).unwrap();
        prop_assert_eq!(serde_json::from_str::<Probability>(&json).unwrap(), p);
    }

    #[test]
    fn no_text_panics(text in "[0-9._+-]{0,30} ?[a-zA-Zµ%/]{0,6}") {
        let _ = text.parse::<BitRate>();
        let _ = text.parse::<ByteSize>();
        let _ = text.parse::<Probability>();
        let _ = text.parse::<Span>();
    }

    #[test]
    fn sending_takes_at_least_its_time(bits in 1..u64::MAX, bytes in 0..10_000_000_usize) {
        let time = BitRate::from_bits_per_second(bits).time_for(bytes).unwrap();
        // Never early, and late by less than a nanosecond.
        let exact = bytes as u128 * 8_000_000_000;
        let nanos = time.as_nanos();
        prop_assert!(nanos * u128::from(bits) >= exact);
        prop_assert!(nanos == 0 || (nanos - 1) * u128::from(bits) < exact);
    }
}

#[test]
fn spans_are_written_in_their_largest_plain_unit() {
    let written = |ns: u64| Span::from(Duration::from_nanos(ns)).to_string();
    assert_eq!(written(0), "0 s");
    assert_eq!(written(1), "1 ns");
    assert_eq!(written(999), "999 ns");
    assert_eq!(written(1_500), "1.5 us");
    assert_eq!(written(20_000_000), "20 ms");
    assert_eq!(written(1_500_000_000), "1.5 s");
    assert_eq!(written(10_100_000_000), "10.1 s");
    assert_eq!(written(1_000_500_000), "1000.5 ms");
    assert_eq!(written(110_000_000_000), "110 s");
    let longest = Span::from(Duration::MAX);
    assert_eq!(longest.as_nanos(), u64::MAX);
    assert_eq!(
        longest.to_string().parse::<Span>().unwrap().as_nanos(),
        u64::MAX
    );
}

#[test]
fn rates_and_sizes_are_written_in_their_largest_plain_unit() {
    let rate = |bits| BitRate::from_bits_per_second(bits).to_string();
    assert_eq!(rate(0), "0 bit/s");
    assert_eq!(rate(640), "640 bit/s");
    assert_eq!(rate(2_500_000), "2.5 Mbit/s");
    assert_eq!(rate(1_005_000_000), "1.005 Gbit/s");
    assert_eq!(rate(u64::MAX), "18446744073709551.615 kbit/s");
    let size = |bytes| ByteSize::from_bytes(bytes).to_string();
    assert_eq!(size(0), "0 B");
    assert_eq!(size(1500), "1500 B");
    assert_eq!(size(2_000), "2 kB");
    assert_eq!(size(256 << 10), "256 KiB");
    assert_eq!(size(10_000_000), "10 MB");
}

#[test]
fn what_people_write_is_read() {
    let span = |text: &str| text.parse::<Span>().unwrap().get();
    assert_eq!(span("20 ms"), Duration::from_millis(20));
    assert_eq!(span("20ms"), Duration::from_millis(20));
    assert_eq!(span(" 2 min "), Duration::from_secs(120));
    assert_eq!(span("1_000 µs"), Duration::from_millis(1));
    assert_eq!(span("0.1 s"), Duration::from_millis(100));
    assert_eq!(span("0.4 ns"), Duration::ZERO);
    assert_eq!(span("0.5 ns"), Duration::from_nanos(1));
    let bits = |text: &str| text.parse::<BitRate>().unwrap().bits_per_second();
    assert_eq!(bits("640 kbps"), 640_000);
    assert_eq!(bits("0.3 Mbit/s"), 300_000);
    let p = |text: &str| text.parse::<Probability>().unwrap().get();
    assert_eq!(
        (p("1 %"), p("0.01"), p("100%"), p("0")),
        (0.01, 0.01, 1.0, 0.0)
    );
}

#[test]
fn what_is_no_quantity_is_refused() {
    for text in [
        "",
        "ms",
        "20",
        "-20 ms",
        "+20 ms",
        "1e3 ms",
        "20 m s",
        "20 Ms",
        "1.2.3 s",
        ". s",
        "_ s",
        "inf s",
        "NaN s",
        "20 s s",
        "600000000000 min",
    ] {
        let error = text.parse::<Span>().unwrap_err();
        assert_eq!(error.text, text);
    }
    for text in [
        "",
        "10",
        "10 Mb",
        "10 Mbit",
        "-1 bit/s",
        "99999999999999 Gbit/s",
    ] {
        assert!(text.parse::<BitRate>().is_err(), "{text}");
    }
    for text in ["", "10", "1 KiB/s", "-1 B"] {
        assert!(text.parse::<ByteSize>().is_err(), "{text}");
    }
    for text in ["", "%", "-0.1", "1.01", "101 %", "1 permille"] {
        assert!(text.parse::<Probability>().is_err(), "{text}");
    }
    assert_eq!(Probability::new(f64::NAN), None);
    assert_eq!(
        "-5 ms".parse::<Span>().unwrap_err().to_string(),
        "`-5 ms` is not a time of zero or more, such as `500 us`, `20 ms`, `1.5 s` or `2 min`"
    );
}

#[test]
fn nothing_is_sent_at_rate_zero() {
    assert_eq!(BitRate::from_bits_per_second(0).time_for(1), None);
}
