//! How a made-up Wi-Fi fades on a walk.

use model::record::LinkState;
use model::{Direction, Seed};
use rand::RngExt;

/// The links over time, a row each 100 ms.
pub struct Radio {
    /// Rows of the `links` table.
    pub links: Vec<LinkState>,
    /// Loss and rate of Wi-Fi, each 100 ms.
    wifi: Vec<(f64, u64)>,
}

impl Radio {
    /// Wi-Fi is gone between two moments.
    pub fn new(seed: Seed, gone_ms: u64, back_ms: u64, end_ms: u64) -> Radio {
        let mut random = seed.stream("wifi.fading");
        let mut radio = Radio {
            links: Vec::new(),
            wifi: Vec::new(),
        };
        let mut fading_db = 0.0;
        for at_ms in (0..=end_ms).step_by(100) {
            fading_db = 0.985 * fading_db + (random.random::<f64>() - 0.5) * 1.8;
            let distance_m = match at_ms {
                at if at < gone_ms => 3.0 + 65.0 * (at as f64 / gone_ms as f64).powi(2),
                at => 68.0 - (at - gone_ms) as f64 * 43.0 / (end_ms - gone_ms) as f64,
            };
            let signal_dbm = -30.0 - 30.0 * distance_m.log10() + fading_db;
            let quality = ((signal_dbm + 90.0) / 40.0).clamp(0.0, 1.0);
            let rate_bps = (30e6 * quality.powf(1.3)).max(5e5) as u64;
            let loss = (0.35 * (1.0 - quality).powi(6)).min(1.0);
            let up = !(gone_ms..back_ms).contains(&at_ms);
            radio.wifi.push((loss, rate_bps));
            for direction in [Direction::Up, Direction::Down] {
                radio.links.push(LinkState {
                    time_us: at_ms * 1_000,
                    path: "wifi".into(),
                    direction,
                    rate_bps: Some(rate_bps),
                    delay_us: 10_000,
                    loss,
                    up,
                    queue_bytes: if up { at_ms / 100 % 5 * 500 } else { 0 },
                    signal_dbm: Some(signal_dbm),
                });
                radio.links.push(LinkState {
                    time_us: at_ms * 1_000,
                    path: "cellular".into(),
                    direction,
                    rate_bps: Some(match direction {
                        Direction::Up => 10_000_000,
                        Direction::Down => 20_000_000,
                    }),
                    delay_us: 30_000,
                    loss: 0.0,
                    up: true,
                    queue_bytes: 0,
                    signal_dbm: None,
                });
            }
        }
        radio
    }

    /// Loss and rate of Wi-Fi at a moment.
    pub fn at(&self, at_ms: u64) -> (f64, u64) {
        self.wifi[(at_ms / 100) as usize]
    }
}
