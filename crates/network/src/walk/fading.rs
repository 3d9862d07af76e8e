//! How much does the signal swing around its local mean: multipath fading along the way.

use model::Time;
use rand::RngExt;
use rand_pcg::Pcg64;
use std::f64::consts::TAU;

/// Wave length of channel 6 (2.437 GHz), in metres.
const WAVE_LENGTH: f64 = 299_792_458.0 / 2.437e9;
/// Scatterers move at 1.2 km/h while the station stands (TGn channel models, IEEE
/// 802.11-03/940r4), in metres per second.
const SCATTERER_SPEED: f64 = 1.2 / 3.6;
/// Within this distance there is a line of sight (TGn model E, large office: break point at
/// 20 m), in metres.
pub const LINE_OF_SIGHT: f64 = 20.0;
/// Power of the direct ray over that of the scattered ones: 6 dB within the line of sight, none
/// beyond it (TGn model E).
const K_FACTOR: f64 = 3.981;
/// Scattered rays: 8 and more are close to Rayleigh (Jakes, "Microwave Mobile Communications").
const RAYS: usize = 8;

/// A sum of rays from all around (Clarke 1968, Jakes 1974), Rician in the line of sight and
/// Rayleigh beyond. It is a fixed function of place and time once its phases are drawn, and so
/// the same for both directions of a channel and for every order in which it is asked.
///
/// At a walker's 0.5 to 1 m/s the coherence time is 40 to 70 ms: a packet's retries meet
/// much the same fade.
#[derive(Clone, Debug)]
pub struct Fading {
    /// Turns per metre along the way, ray by ray.
    wave_numbers: [f64; RAYS],
    /// In turns.
    phases: [f64; RAYS],
    direct_phase: f64,
}

impl Fading {
    /// Draws the rays' angles (one in each of as many sectors) and phases.
    pub fn new(mut random: Pcg64) -> Fading {
        let (mut wave_numbers, mut phases) = ([0.0; RAYS], [0.0; RAYS]);
        for (n, (wave_number, phase)) in wave_numbers.iter_mut().zip(&mut phases).enumerate() {
            let angle = TAU * (n as f64 + random.random::<f64>()) / RAYS as f64;
            *wave_number = angle.cos() / WAVE_LENGTH;
            *phase = random.random::<f64>();
        }
        Fading {
            wave_numbers,
            phases,
            direct_phase: random.random::<f64>(),
        }
    }

    /// Power over the local mean (1 on average) after `walked` metres at `now`.
    pub fn power(&self, now: Time, walked: f64, line_of_sight: bool) -> f64 {
        let way = walked + SCATTERER_SPEED * now.as_secs_f64();
        let mut rays = [(0.0, 0.0); RAYS];
        for (n, ray) in rays.iter_mut().enumerate() {
            *ray = sin_cos_of_turns(self.wave_numbers[n] * way + self.phases[n]);
        }
        let (im, re) = rays
            .iter()
            .fold((0.0, 0.0), |(im, re), (sin, cos)| (im + sin, re + cos));
        let scale = (RAYS as f64).sqrt().recip();
        if !line_of_sight {
            return (re * re + im * im) * scale * scale;
        }
        let scattered = scale * (1.0 / (K_FACTOR + 1.0)).sqrt();
        let direct = (K_FACTOR / (K_FACTOR + 1.0)).sqrt();
        let (sin, cos) = sin_cos_of_turns(way / WAVE_LENGTH + self.direct_phase);
        (re * scattered + direct * cos).powi(2) + (im * scattered + direct * sin).powi(2)
    }
}

/// Sine and cosine of an angle in turns, to 1e-7, by additions and multiplications alone: the
/// same bits on every machine, and all rays at once in vector registers.
#[inline(always)]
fn sin_cos_of_turns(turns: f64) -> (f64, f64) {
    // Adding 1.5 * 2^52 rounds to an integer, which the lowest bits then hold (IEEE 754).
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // Quarters of a turn: the nearest, and the rest in radians within pi/4.
    let quarters = turns * 4.0;
    let rounded = quarters + ROUND;
    let quarter = rounded.to_bits();
    let x = (quarters - (rounded - ROUND)) * (TAU / 4.0);
    let square = x * x;
    // Taylor's series; the first terms left out are x^11/11! and x^10/10!.
    let sin = x
        * (1.0
            - square
                * (1.0 / 6.0)
                * (1.0
                    - square
                        * (1.0 / 20.0)
                        * (1.0 - square * (1.0 / 42.0) * (1.0 - square * (1.0 / 72.0)))));
    let cos = 1.0
        - square
            * 0.5
            * (1.0
                - square
                    * (1.0 / 12.0)
                    * (1.0 - square * (1.0 / 30.0) * (1.0 - square * (1.0 / 56.0))));
    // Without branches: odd quarters swap the two, and bits 0x2 turn into signs.
    let odd = quarter & 1 == 1;
    let (first, second) = if odd { (cos, sin) } else { (sin, cos) };
    let sign = |value: f64, bit: u64| f64::from_bits(value.to_bits() ^ ((bit & 2) << 62));
    (sign(first, quarter), sign(second, quarter + 1))
}

/// Powers that are equally likely under the same distributions, in dB: what a sender that has
/// watched the channel for a while knows of its fades.
pub(super) fn quantiles_db(line_of_sight: bool) -> Vec<f64> {
    const COUNT: usize = 256;
    /// Multiples of the golden ratio cover the angles evenly.
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let k = if line_of_sight { K_FACTOR } else { 0.0 };
    let direct = (k / (k + 1.0)).sqrt();
    let power = |n: usize| {
        // The scattered rays' power is exponential: its quantiles.
        let quantile = (n as f64 + 0.5) / COUNT as f64;
        let scattered = (-(1.0 - quantile).ln() / (k + 1.0)).sqrt();
        let (sin, cos) = (TAU * n as f64 * GOLDEN).sin_cos();
        (direct + scattered * cos).powi(2) + (scattered * sin).powi(2)
    };
    (0..COUNT).map(|n| 10.0 * power(n).log10()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seed;

    /// Share of places with less than a tenth of the mean power, and the mean power.
    fn deep(line_of_sight: bool) -> (f64, f64) {
        let powers: Vec<f64> = (0..50)
            .flat_map(|seed| {
                let fading = Fading::new(Seed(seed).stream("fading"));
                (0..2_000).map(move |n| {
                    fading.power(Time::ZERO, f64::from(n) * 0.37 * WAVE_LENGTH, line_of_sight)
                })
            })
            .collect();
        let count = powers.len() as f64;
        let deep = powers.iter().filter(|p| **p < 0.1).count() as f64 / count;
        (deep, powers.iter().sum::<f64>() / count)
    }

    #[test]
    fn sines_and_cosines_to_seven_digits() {
        for n in -40_000..40_000 {
            let turns = f64::from(n) * 0.001_234_5;
            let (sin, cos) = sin_cos_of_turns(turns);
            let (true_sin, true_cos) = (TAU * turns).sin_cos();
            assert!((sin - true_sin).abs() < 1e-7, "{turns}: {sin} {true_sin}");
            assert!((cos - true_cos).abs() < 1e-7, "{turns}: {cos} {true_cos}");
        }
    }

    #[test]
    fn rayleigh_beyond_the_line_of_sight_and_rician_within() {
        let (rayleigh, mean) = deep(false);
        // 1 - exp(-0.1)
        assert!((rayleigh - 0.095).abs() < 0.01, "{rayleigh}");
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        let (rician, mean) = deep(true);
        assert!(rician < 0.02, "{rician}");
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
    }

    #[test]
    fn the_quantiles_have_the_same_mean_and_fades() {
        for line_of_sight in [false, true] {
            let powers: Vec<f64> = quantiles_db(line_of_sight)
                .iter()
                .map(|db| 10_f64.powf(db / 10.0))
                .collect();
            let mean = powers.iter().sum::<f64>() / powers.len() as f64;
            let deep = powers.iter().filter(|p| **p < 0.1).count() as f64 / powers.len() as f64;
            assert!((mean - 1.0).abs() < 0.03, "{mean}");
            assert!((deep - super::tests::deep(line_of_sight).0).abs() < 0.015);
        }
    }
}
