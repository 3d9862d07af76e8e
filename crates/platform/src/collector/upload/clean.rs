//! What is kept of an upload? Numbers as they are; times of day to the minute; places to a tenth of a
//! degree; names of networks as codes that nobody else can compute; texts in known words only.
//!
//! Every struct is taken apart by its fields, so that a new one cannot be forgotten.

use super::paths::Paths;
use crate::api::Upload;
use crate::collector::refusal::Refusal;
use crate::collector::scrub;
use crate::privacy::keyed_hash;
use jiff::Timestamp;
use model::Manifest;
use model::live::{CoarseLocation, Consent, LiveFacts, Network};
use model::manifest::Stack;
use model::record::Event;
use model::scenario::{self, Scenario};
use std::collections::BTreeMap;

/// What an experiment or server is called that the collector does not list (any more).
pub const UNLISTED: &str = "unlisted";

/// What the collector brings to it.
pub struct Keeping<'k> {
    /// The names of its experiments.
    pub experiments: &'k [String],
    /// The ids of its test servers.
    pub servers: &'k [String],
    /// What codes of networks are hashed with.
    pub network_key: &'k [u8; 32],
}

/// Scrubs `upload` in place.
pub fn clean(upload: &mut Upload, keeping: &Keeping<'_>) -> Result<(), Refusal> {
    let paths = Paths::of(&upload.manifest.scenario)?;
    let Upload {
        format: _,
        manifest,
        messages,
        samples,
        links,
        events,
    } = upload;
    paths.rename(&mut messages.0, "messages")?;
    // `state` is one of four words: checked before.
    paths.rename(&mut samples.0, "samples")?;
    paths.rename(&mut links.0, "links")?;
    paths.rename(events, "events")?;
    events.iter_mut().for_each(clean_event);
    clean_manifest(manifest, &paths, keeping)
}

fn clean_event(event: &mut Event) {
    let Event {
        time_us: _,
        kind: _,
        side: _,
        path: _,
        connection: _,
        cause,
        detail,
    } = event;
    scrub_text(detail);
    cause.iter_mut().for_each(scrub_text);
}

fn scrub_text(text: &mut String) {
    *text = scrub::text(text);
}

/// `text` if it is one of known words, else what stands for nothing in particular.
fn plain_or(text: &mut String, other: &str) {
    if !scrub::is_plain_name(text) {
        *text = other.to_owned();
    }
}

fn clean_manifest(
    manifest: &mut Manifest,
    paths: &Paths,
    keeping: &Keeping<'_>,
) -> Result<(), Refusal> {
    let Manifest {
        format_version: _,
        walkabout_version,
        status: _,
        error,
        started_at,
        world: _,
        // Transport and policy are in the lists: checked before.
        transport: _,
        policy: _,
        seed: _,
        repetition: _,
        scenario,
        failure_onsets_us: _,
        stack,
        kernel,
        sysctls,
        device,
        skipped,
        timing: _,
        peak_memory_bytes: _,
        live,
    } = manifest;
    *walkabout_version = version(walkabout_version);
    error.iter_mut().for_each(scrub_text);
    cut_to_minute(started_at);
    clean_scenario(scenario, paths, keeping)?;
    let Stack {
        name,
        version: stack_version,
        congestion,
        path_manager,
        scheduler,
        server_scheduler,
        security,
    } = stack;
    for text in [name, congestion, path_manager, scheduler] {
        scrub_text(text);
    }
    let optional = security.iter_mut().chain(server_scheduler);
    optional.for_each(scrub_text);
    *stack_version = scrub::kernel(stack_version);
    *kernel = scrub::kernel(kernel);
    *sysctls = clean_sysctls(sysctls);
    device.iter_mut().for_each(scrub_text);
    skipped.iter_mut().for_each(scrub_text);
    match live {
        Some(live) => clean_live(live, paths, keeping),
        None => Ok(()),
    }
}

/// Settings whose names are made of known words; their values are numbers and words.
fn clean_sysctls(sysctls: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let kept = sysctls.iter().filter(|(key, _)| scrub::text(key) == **key);
    kept.map(|(key, value)| (key.clone(), scrub::text(value)))
        .collect()
}

fn clean_scenario(
    scenario: &mut Scenario,
    paths: &Paths,
    keeping: &Keeping<'_>,
) -> Result<(), Refusal> {
    let Scenario {
        name,
        summary,
        duration: _,
        transports,
        policies,
        congestion,
        scheduler,
        // Flags and numbers.
        multipath: _,
        server_scheduler,
        oracle: _,
        family: _,
        traffic: _,
        background: _,
        paths: described,
        failures,
    } = scenario;
    if !keeping.experiments.contains(name) {
        plain_or(name, UNLISTED);
    }
    let listed: Vec<&str> = keeping.servers.iter().map(String::as_str).collect();
    *summary = scrub::text_with(summary, &listed);
    for name in transports.iter_mut().chain(policies) {
        plain_or(name, UNLISTED);
    }
    let optional = congestion.iter_mut().chain(scheduler);
    for name in optional.chain(server_scheduler) {
        plain_or(name, UNLISTED);
    }
    for path in described {
        path.name = known(paths, &path.name)?;
        for link in [&mut path.up, &mut path.down] {
            let scenario::Link {
                rate: _,
                trace,
                delay: _,
                jitter: _,
                loss: _,
                burst: _,
                reorder: _,
                duplicate: _,
                queue: _,
            } = link;
            // The name of a file of the client's.
            *trace = None;
        }
    }
    for failure in failures {
        failure.path = known(paths, &failure.path)?;
    }
    Ok(())
}

fn known(paths: &Paths, name: &model::Name) -> Result<model::Name, Refusal> {
    let missing = || Refusal::invalid("manifest: it names a path that the scenario has not");
    paths.get(name).ok_or_else(missing)
}

fn clean_live(live: &mut LiveFacts, paths: &Paths, keeping: &Keeping<'_>) -> Result<(), Refusal> {
    let LiveFacts {
        // Hexadecimal digits, and lists: checked before.
        test: _,
        experiment,
        mode: _,
        position: _,
        server,
        family: _,
        port: _,
        consent,
        networks,
        reachability: _,
        traps,
        invalid,
        ended: _,
        server_clock: _,
        location,
        measured_energy: _,
    } = live;
    if !keeping.experiments.contains(experiment) {
        plain_or(experiment, UNLISTED);
    }
    if !keeping.servers.contains(server) {
        UNLISTED.clone_into(server);
    }
    let Consent {
        version,
        agreed_at,
        publish: _,
    } = consent;
    version.make_ascii_lowercase();
    cut_to_minute(agreed_at);
    for network in networks {
        let Network {
            path,
            kind: _,
            network_hash,
            signal_dbm: _,
            families: _,
        } = network;
        *path = known(paths, path)?;
        for hash in network_hash.iter_mut() {
            *hash = keyed_hash(keeping.network_key, hash);
        }
    }
    traps.iter_mut().for_each(scrub_text);
    invalid.iter_mut().for_each(scrub_text);
    for CoarseLocation {
        latitude_deg,
        longitude_deg,
    } in location.iter_mut()
    {
        *latitude_deg = tenth(*latitude_deg);
        *longitude_deg = tenth(*longitude_deg);
    }
    Ok(())
}

/// To a tenth: about 10 km.
fn tenth(degrees: f64) -> f64 {
    (degrees * 10.0).round() / 10.0
}

/// `2026-11-21T10:31:00Z`; the caller has checked that it is a time.
fn cut_to_minute(time: &mut String) {
    let minute = time
        .parse::<Timestamp>()
        .map(|t| t.as_second().div_euclid(60) * 60);
    let cut = minute.ok().and_then(|s| Timestamp::from_second(s).ok());
    *time = cut.map_or_else(String::new, |t| t.to_string());
}

/// `0.1.0`, `0.2.0-rc.1`: numbers and known words.
fn version(text: &str) -> String {
    match text.len() <= 32 && scrub::text(text) == text {
        true => text.to_owned(),
        false => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_to_the_minute() {
        let cases = [
            ("2026-11-21T10:31:59.999Z", "2026-11-21T10:31:00Z"),
            ("2026-11-21T12:31:07+02:00", "2026-11-21T10:31:00Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:59:00Z"),
        ];
        for (time, cut) in cases {
            let mut text = time.to_owned();
            cut_to_minute(&mut text);
            assert_eq!(text, cut);
        }
    }

    #[test]
    fn versions_and_places() {
        assert_eq!(version("0.1.0"), "0.1.0");
        assert_eq!(version("0.2.0-rc1"), "0.2.0-rc1");
        assert_eq!(version("0.1.0-zaphod"), "unknown");
        assert_eq!((tenth(50.66853), tenth(-4.61949)), (50.7, -4.6));
    }
}
