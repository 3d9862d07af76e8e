//! Which rates does 802.11 have, what signal does each need, and what does a retry cost?

use std::time::Duration;

/// A modulation and coding scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mcs {
    /// Tenths of the fastest rate.
    pub tenths: u32,
    /// The signal at which a frame of 4096 bytes is lost with 10 %, in dBm.
    pub sensitivity_dbm: f64,
}

const fn mcs(tenths: u32, sensitivity_dbm: f64) -> Mcs {
    Mcs {
        tenths,
        sensitivity_dbm,
    }
}

/// 802.11n at 20 MHz with one stream and a guard interval of 800 ns, 6.5 to 65 Mbit/s (IEEE
/// 802.11-2016, table 19-27), and the receiver's minimum sensitivity (section 19.3.19.1, table
/// 19-23).
pub const MCS: [Mcs; 8] = [
    mcs(1, -82.0),  // BPSK 1/2
    mcs(2, -79.0),  // QPSK 1/2
    mcs(3, -77.0),  // QPSK 3/4
    mcs(4, -74.0),  // 16-QAM 1/2
    mcs(6, -70.0),  // 16-QAM 3/4
    mcs(8, -66.0),  // 64-QAM 2/3
    mcs(9, -65.0),  // 64-QAM 3/4
    mcs(10, -64.0), // 64-QAM 5/6
];

/// The rate of the fastest scheme, where the link does not give one, in bits per second.
pub const FASTEST: u64 = 65_000_000;

/// Transmissions of a frame before the sender gives up (dot11ShortRetryLimit, IEEE
/// 802.11-2016, annex C: 7 by default).
pub const ATTEMPTS: usize = 7;

/// What precedes a retry: an acknowledgement that does not come (SIFS 10 us, slot 9 us and the
/// preamble of 36 us), DIFS (28 us), and the new frame's preamble (IEEE 802.11-2016, tables 18-5
/// and 19-25).
pub const RETRY: Duration = Duration::from_micros(10 + 9 + 36 + 28 + 36);

/// A slot of the backoff (IEEE 802.11-2016, table 18-5, short slot).
pub const SLOT: Duration = Duration::from_micros(9);

/// The most slots of backoff before the transmission with this index (from 0): CWmin is 15,
/// CWmax 1023, and each failure doubles the window (IEEE 802.11-2016, section 10.3.3).
pub const fn contention_window(attempt: usize) -> u32 {
    let window = 16_u32 << if attempt < 6 { attempt } else { 6 };
    window - 1
}

/// Probability that a frame of `bytes` is lost at `margin_db` above the sensitivity.
///
/// Bits fail independently, and their error rate falls by a decade per decibel, which is the
/// slope of 802.11's convolutional codes around it (Pei and Henderson, "Validation of OFDM error
/// rate model in ns-3", 2010); the sensitivity's definition gives its absolute value.
pub fn frame_error(margin_db: f64, bytes: usize) -> f64 {
    /// 1 - (1 - p)^(8 * 4096) = 0.1
    const BIT_ERROR_AT_SENSITIVITY: f64 = 3.2154e-6;
    // Where it is 0 or 1 to four digits for all packets from 50 to 65,535 bytes.
    if margin_db > 8.0 {
        return 0.0;
    }
    if margin_db < -5.0 {
        return 1.0;
    }
    let bit_error = BIT_ERROR_AT_SENSITIVITY * 10_f64.powf(-margin_db);
    let bits = bytes as f64 * 8.0;
    -(bits * (-bit_error.min(0.5)).ln_1p()).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sensitivity_is_where_the_standard_defines_it() {
        assert!((frame_error(0.0, 4096) - 0.1).abs() < 1e-4);
        assert!(frame_error(3.0, 1500) < 1e-4);
        assert!(frame_error(-3.0, 1500) > 0.999);
        assert!(frame_error(-1.0, 100) < frame_error(-1.0, 1500));
        assert!(frame_error(-5.0, 50) > 0.99);
    }

    #[test]
    fn windows_double_up_to_the_largest() {
        let windows: Vec<u32> = (0..ATTEMPTS + 2).map(contention_window).collect();
        assert_eq!(windows, [15, 31, 63, 127, 255, 511, 1023, 1023, 1023]);
    }
}
