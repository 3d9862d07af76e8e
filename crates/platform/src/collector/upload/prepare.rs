//! From the bytes of an upload to what the store keeps: the work of a processor, away from the threads
//! that answer requests.

use super::check;
use super::clean::{self, Keeping};
use super::paths::kind_word;
use super::shape::{self, Most};
use super::unpack::{Encoding, unpack};
use crate::api::{MetricValue, RunSummary, Upload};
use crate::collector::Limits;
use crate::collector::refusal::Refusal;
use crate::collector::state::{State, now_s};
use crate::store::NewRun;
use analysis::folder::RunFolder;
use analysis::metric::{self, Value};
use model::Family;
use model::live::{LiveFacts, Mode};
use ring::digest;
use std::collections::BTreeMap;
use std::io::{BufWriter, Read};
use std::path::PathBuf;

/// Arrays and objects within each other: a manifest has about ten.
const DEPTH: u32 = 32;
/// Bytes of one text as written.
const TEXT_BYTES: usize = 8_192;
/// How hard documents are compressed: zstd's default.
const LEVEL: i32 = 3;
/// Bytes of JSON that are handed to the compression at once.
const BUFFER: usize = 64 * 1_024;
/// Bytes of a stored document when decompressed: what is stored was accepted under limits that may
/// have been other ones then.
const MOST_DOCUMENT_BYTES: u64 = 2 << 30;

/// What there is to know of an upload beside its bytes.
pub struct Context {
    id: String,
    prefix: String,
    secret_sha256: [u8; 32],
    experiments: Vec<String>,
    servers: Vec<String>,
    network_key: [u8; 32],
    limits: Limits,
    expires_s: u64,
}

impl Context {
    /// That of an upload to this collector now.
    pub fn of(state: &State, id: String, prefix: String, secret_sha256: [u8; 32]) -> Context {
        let day = 86_400;
        Context {
            id,
            prefix,
            secret_sha256,
            experiments: state.experiments.iter().map(|e| e.name.clone()).collect(),
            servers: state.servers.iter().map(|s| s.id.clone()).collect(),
            network_key: state.network_key,
            limits: state.limits,
            expires_s: now_s() + u64::from(state.retention_days) * day,
        }
    }
}

/// The run in `sent`.
pub fn prepare(context: &Context, sent: &[u8], encoding: Encoding) -> Result<NewRun, Refusal> {
    let limits = &context.limits;
    let bytes = unpack(sent, encoding, limits.upload_expanded_bytes)?;
    let most = Most {
        depth: DEPTH,
        values: limits.upload_values,
        text_bytes: TEXT_BYTES,
    };
    shape::check(&bytes, &most)
        .map_err(|what| Refusal::invalid(format!("the upload is not accepted: {what}")))?;
    let mut content_sha256 = [0; 32];
    content_sha256.copy_from_slice(digest::digest(&digest::SHA256, &bytes).as_ref());
    let mut upload: Upload = serde_json::from_slice(&bytes).map_err(|error| {
        let title = format!("the upload is not as the interface's description says: {error}");
        match error.classify() {
            serde_json::error::Category::Data => Refusal::invalid(title),
            _ => Refusal::malformed(title),
        }
    })?;
    drop(bytes);
    check::check(&upload, limits)?;
    let keeping = Keeping {
        experiments: &context.experiments,
        servers: &context.servers,
        network_key: &context.network_key,
    };
    clean::clean(&mut upload, &keeping)?;
    let document = compress(&upload)?;
    let platform = upload.manifest.kernel.split(' ').next().unwrap_or("");
    let platform = match platform {
        "" | crate::collector::scrub::LEFT_OUT => "unknown".to_owned(),
        name => name.to_owned(),
    };
    let summary = summary(context.id.clone(), upload)?;
    Ok(NewRun {
        summary,
        platform,
        prefix: context.prefix.clone(),
        secret_sha256: context.secret_sha256,
        content_sha256,
        document,
        expires_s: context.expires_s,
    })
}

fn compress(upload: &Upload) -> Result<Vec<u8>, Refusal> {
    let written = || -> std::io::Result<Vec<u8>> {
        let encoder = zstd::stream::write::Encoder::new(Vec::new(), LEVEL)?;
        // JSON is written a number and a comma at a time, each of which would be a call of zstd.
        let mut buffered = BufWriter::with_capacity(BUFFER, encoder);
        serde_json::to_writer(&mut buffered, upload)?;
        buffered.into_inner()?.finish()
    };
    written().map_err(|error| {
        tracing::error!(%error, "an upload could not be compressed");
        Refusal::internal()
    })
}

/// The upload in a stored document.
pub fn read_document(document: &[u8]) -> Result<Upload, Refusal> {
    let read = || -> std::io::Result<Upload> {
        let decoder = zstd::stream::read::Decoder::with_buffer(document)?;
        let mut json = Vec::new();
        decoder.take(MOST_DOCUMENT_BYTES).read_to_end(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    };
    read().map_err(|error| {
        tracing::error!(%error, "a stored document cannot be read");
        Refusal::internal()
    })
}

/// The run of an upload as analysis knows it.
pub fn folder_of(id: &str, upload: Upload) -> RunFolder {
    let Upload {
        format: _,
        manifest,
        messages,
        samples,
        links,
        events,
    } = upload;
    let packets = Vec::new();
    RunFolder::of(
        PathBuf::from(id),
        manifest,
        messages.0,
        samples.0,
        packets,
        links.0,
        events,
    )
}

fn summary(id: String, upload: Upload) -> Result<RunSummary, Refusal> {
    let run = folder_of(&id, upload);
    let metrics = metric::all(&run).into_iter();
    let metrics: BTreeMap<String, MetricValue> = metrics
        .filter_map(|(metric, value)| Some((metric.name.to_owned(), metric_value(value?)?)))
        .collect();
    let duration_us = run.end_us();
    let manifest = run.manifest;
    let Some(live) = manifest.live else {
        return Err(Refusal::internal());
    };
    Ok(RunSummary {
        id,
        started_at: manifest.started_at,
        // The store's clock says.
        stored_at: String::new(),
        mode: match live.mode {
            Mode::Stable => "stable".to_owned(),
            Mode::Mobile => "mobile".to_owned(),
        },
        family: match live.family {
            Family::Ipv4 => "ipv4".to_owned(),
            Family::Ipv6 => "ipv6".to_owned(),
        },
        transport: manifest.transport,
        policy: manifest.policy,
        pattern: manifest.scenario.traffic.name().to_owned(),
        status: manifest.status,
        ended: live.ended.map(word),
        networks: networks(&live),
        duration_us,
        walkabout_version: manifest.walkabout_version,
        publish: live.consent.publish,
        test: live.test,
        experiment: live.experiment,
        server: live.server,
        port: live.port,
        invalid: live.invalid,
        metrics,
    })
}

/// The kinds of the run's networks, in the order of its paths, each once: `wifi+cellular`.
fn networks(live: &LiveFacts) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for network in &live.networks {
        let kind = kind_word(network.kind);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join("+")
}

/// An enum's word as JSON has it.
fn word(value: impl serde::Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

/// `None` for what is no number after all.
fn metric_value(value: Value) -> Option<MetricValue> {
    match value {
        Value::Number(number) if !number.value.is_finite() => None,
        Value::Number(number) => Some(MetricValue::Number {
            value: number.value,
            censored: number.censored,
        }),
        Value::Word(word) => Some(MetricValue::Word(word)),
    }
}
