//! What is the smoothed rate, when periods count by how much was sent in them?

/// A volume-weighted exponential moving average (V-EMA), as Android has it for beacons of Wi-Fi:
/// MultiMob, equations 1 to 3.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Average {
    product: f64,
    volume: f64,
    value: f64,
}

impl Average {
    /// The smoothed value: 0 before the first volume.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// A period in which `part` of `volume` were of the kind that is counted, with the weight
    /// `alpha`, above 0 and up to 1; returns whether the value rose. One without volume changes
    /// nothing.
    pub fn add(&mut self, part: f64, volume: f64, alpha: f64) -> bool {
        if volume <= 0.0 {
            return false;
        }
        let before = self.value;
        // The new value times its volume is the part itself.
        self.product = alpha * part + (1.0 - alpha) * self.product;
        self.volume = alpha * volume + (1.0 - alpha) * self.volume;
        self.value = self.product / self.volume;
        self.value > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_equations_by_hand() {
        let mut average = Average::default();
        assert_eq!(average.value(), 0.0);
        // prod = 0.5 * 0, vol = 0.5 * 10
        assert!(!average.add(0.0, 10.0, 0.5));
        assert_eq!((average.product, average.volume), (0.0, 5.0));
        // prod = 0.5 * (0.4 * 10) + 0.5 * 0 = 2, vol = 0.5 * 10 + 0.5 * 5 = 7.5
        assert!(average.add(4.0, 10.0, 0.5));
        assert_eq!((average.product, average.volume), (2.0, 7.5));
        assert_eq!(average.value(), 2.0 / 7.5);
        // Nothing was sent: no value is computed.
        assert!(!average.add(0.0, 0.0, 0.5));
        assert_eq!(average.value(), 2.0 / 7.5);
        // prod = 0.5 * 2 + 0.5 * 2 = 2, vol = 0.5 * 2 + 0.5 * 7.5 = 4.75: all of 2 were lost
        assert!(average.add(2.0, 2.0, 0.5));
        assert_eq!(average.value(), 2.0 / 4.75);
        // A quiet period counts for little, a busy one for much: 1.5 of 3.375, then 0.5 of 51.6875
        assert!(average.add(1.0, 2.0, 0.5));
        assert_eq!((average.product, average.volume), (1.5, 3.375));
        assert!(!average.add(0.0, 100.0, 0.5));
        assert_eq!(average.value(), 0.75 / 51.6875);
    }

    #[test]
    fn with_all_the_weight_on_the_new_it_is_the_rate_itself() {
        let mut average = Average::default();
        for (part, volume, rate) in [(1.0, 4.0, 0.25), (0.0, 4.0, 0.0), (3.0, 4.0, 0.75)] {
            average.add(part, volume, 1.0);
            assert_eq!(average.value(), rate);
        }
    }
}
