//! What is uploaded? A walk of twenty seconds over two paths, sampled at both ends each tenth of a second:
//! 100 KB of JSON.

mod rig {
    /// The test that the sample names.
    pub const TEST: &str = "0123456789abcdef0123456789abcdef";
}
// Of the sample only the upload is used here.
#[allow(dead_code)]
#[path = "../../tests/collector/sample.rs"]
mod sample;

use super::figures::rounded;
use model::columns::Columns;
use model::record::{Message, Sample};
use model::units::Span;
use model::{Direction, Name, Side};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::{Value, json};

/// Tenths of a second of a walk: what makes 100 KB.
const TENTHS: u64 = 200;

/// Different documents: a client repeats no upload, but making one takes longer than taking it in.
const DOCUMENTS: u64 = 256;

/// How hard clients compress.
const LEVEL: i32 = 3;

/// An upload as it is sent, and its bytes before compression.
pub struct Document {
    pub sent: Vec<u8>,
    expanded: usize,
}

/// The uploads.
pub fn documents() -> Vec<Document> {
    let of = |seed| {
        let json = serde_json::to_vec(&upload(&mut Pcg64::seed_from_u64(seed)));
        let json = json.expect("an upload is JSON");
        Document {
            expanded: json.len(),
            sent: zstd::encode_all(&json[..], LEVEL).expect("compressed"),
        }
    };
    (0..DOCUMENTS).map(of).collect()
}

/// How large they are in the mean.
pub fn sizes(documents: &[Document]) -> Value {
    let mean = |of: fn(&Document) -> usize| {
        let sum: usize = documents.iter().map(of).sum();
        rounded(sum as f64 / documents.len() as f64)
    };
    json!({"bytes": mean(|d| d.expanded), "sent_bytes": mean(|d| d.sent.len())})
}

fn upload(random: &mut impl Rng) -> walkabout_platform::api::Upload {
    let mut upload = sample::upload();
    upload.manifest.scenario.duration = Span::from_millis(100 * TENTHS);
    let mut messages = Vec::new();
    let mut samples = Vec::new();
    // The Wi-Fi is left in the middle.
    let lost = TENTHS / 2;
    for tenth in 0..TENTHS {
        for direction in [Direction::Up, Direction::Down] {
            messages.push(message(random, tenth, direction, lost));
        }
        for (side, paths) in [
            (Side::Client, ["wifi", "cellular"]),
            (Side::Server, ["path-1", "path-2"]),
        ] {
            for (number, path) in paths.into_iter().enumerate() {
                let backup = number == 1;
                // The second path is opened shortly before the first is lost.
                if backup && tenth + 20 < lost {
                    continue;
                }
                samples.push(sample_of(random, tenth, side, path, backup));
            }
        }
    }
    upload.messages = Columns(messages);
    upload.samples = Columns(samples);
    upload
}

fn message(random: &mut impl Rng, tenth: u64, direction: Direction, lost: u64) -> Message {
    let delay_us = match tenth.checked_sub(lost) {
        Some(0..8) => random.random_range(400_000..1_300_000),
        _ => random.random_range(22_000..95_000),
    };
    let sent_us = tenth * 100_000 + random.random_range(20..900);
    Message {
        channel: u64::from(direction == Direction::Down),
        id: tenth,
        direction,
        size_bytes: 2_000,
        answer_bytes: 9,
        sent_us,
        acked_us: Some(sent_us + delay_us),
        delay_us: Some(delay_us),
        path: Some(Name::from(if tenth < lost { "wifi" } else { "cellular" })),
    }
}

fn sample_of(
    random: &mut impl Rng,
    tenth: u64,
    side: Side,
    path: &'static str,
    backup: bool,
) -> Sample {
    let srtt_us = random.random_range(21_000..92_000);
    let rttvar_us = random.random_range(900..18_000);
    Sample {
        time_us: tenth * 100_000 + random.random_range(10..2_000),
        side,
        connection: 0,
        path: Some(Name::from(path)),
        state: "established".into(),
        srtt_us: Some(srtt_us),
        rttvar_us: Some(rttvar_us),
        rto_us: Some(srtt_us + 4 * rttvar_us.max(50_000)),
        timeouts: Some(tenth / 90),
        cwnd_bytes: Some(random.random_range(10..30) * 1_428),
        in_flight_bytes: Some(random.random_range(0..4_000)),
        oldest_unacked_us: Some(random.random_range(100..60_000)),
        unsent_bytes: Some(0),
        sent_packets: Some(4 * tenth),
        sent_bytes: Some(tenth * 2_009),
        received_bytes: Some(tenth * 2_009),
        lost_packets: Some(tenth / 50),
        retransmitted_packets: Some(tenth / 40),
        backup: Some(backup),
        peer_backup: None,
    }
}
