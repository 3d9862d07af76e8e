//! How strong is the signal at a distance, on average over the fast fading.

use crate::normal;
use model::scenario::Walk;
use rand_pcg::Pcg64;

/// Log-distance path loss and log-normal shadowing (Rappaport, "Wireless Communications",
/// section 4.9), the shadowing with the exponential correlation over distance of Gudmundson,
/// "Correlation model for shadow fading in mobile radio systems" (1991).
///
/// The shadowing belongs to the place: on the way back the walker meets the same shadows.
#[derive(Clone, Debug)]
pub struct Propagation {
    signal_at_1m_dbm: f64,
    path_loss_exponent: f64,
    /// Shadowing in dB every `step` metres.
    shadowing: Vec<f64>,
    step: f64,
}

/// Points of shadowing per correlation distance: linear interpolation between points so close
/// takes less than 5 % of the variance away.
const POINTS: f64 = 10.0;
/// Bounds the memory for a way that is very long against the correlation distance.
const MOST_POINTS: f64 = 100_000.0;

impl Propagation {
    /// The model of `walk` for distances up to `farthest` metres.
    pub fn new(walk: &Walk, farthest: f64, mut random: Pcg64) -> Propagation {
        let step = (walk.correlation_m / POINTS).max(farthest / MOST_POINTS);
        let correlation = (-step / walk.correlation_m).exp();
        let innovation = walk.shadowing_db * (1.0 - correlation * correlation).sqrt();
        let count = (farthest / step).ceil() as usize + 2;
        let mut shadow = walk.shadowing_db * normal::draw(&mut random);
        let shadowing = std::iter::repeat_with(|| {
            let here = shadow;
            shadow = correlation * shadow + innovation * normal::draw(&mut random);
            here
        });
        Propagation {
            signal_at_1m_dbm: walk.signal_at_1m_dbm,
            path_loss_exponent: walk.path_loss_exponent,
            shadowing: shadowing.take(count).collect(),
            step,
        }
    }

    /// The local mean of the received signal at `distance` metres, in dBm.
    pub fn mean_dbm(&self, distance: f64) -> f64 {
        let loss = 10.0 * self.path_loss_exponent * distance.max(1.0).log10();
        self.signal_at_1m_dbm - loss + self.shadow_db(distance)
    }

    fn shadow_db(&self, distance: f64) -> f64 {
        let last = self.shadowing.len() - 2;
        let index = ((distance / self.step) as usize).min(last);
        let share = (distance / self.step - index as f64).min(1.0);
        self.shadowing[index] * (1.0 - share) + self.shadowing[index + 1] * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seed;

    #[test]
    fn shadowing_has_its_deviation_and_correlation() {
        let walk = Walk {
            waypoints: Vec::new(),
            signal_at_1m_dbm: 0.0,
            path_loss_exponent: 0.0,
            shadowing_db: 4.0,
            correlation_m: 10.0,
        };
        let propagation = Propagation::new(&walk, 50_000.0, Seed(2).stream("shadowing"));
        let at = |metres: usize| propagation.mean_dbm(metres as f64);
        let count = 49_000;
        let product = |lag: usize| {
            let sum: f64 = (0..count).map(|m| at(m) * at(m + lag)).sum();
            sum / count as f64
        };
        let variance = product(0);
        assert!((variance.sqrt() - 4.0).abs() < 0.25, "{variance}");
        // Gudmundson: exp(-distance / correlation distance).
        assert!((product(10) / variance - (-1.0_f64).exp()).abs() < 0.06);
        assert!((product(20) / variance - (-2.0_f64).exp()).abs() < 0.06);
    }
}
