//! How are a scenario and its runs described in words?

use super::{Parameter, PathDescription};
use crate::folder::RunFolder;
use model::scenario::{
    Bulk, Failure, FailureKind, Flow, Interactive, Iperf, Link, Path, Phase, Ping, QueueKind,
    Traffic,
};
use model::{Direction, Manifest, World};

/// What the runs (at least one) of one scenario have in common, or how they differ.
pub(super) fn parameters(runs: &[&RunFolder]) -> Vec<Parameter> {
    let scenario = &runs[0].manifest.scenario;
    let mut list = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            list.push(Parameter {
                name: name.to_owned(),
                value,
            });
        }
    };
    let each = |of: &dyn Fn(&RunFolder) -> Option<String>| distinct(runs.iter().map(|r| of(r)));
    add("seed", each(&|r| Some(r.manifest.seed.0.to_string())));
    add("duration", scenario.duration.to_string());
    add(
        "traffic",
        each(&|r| Some(traffic(&r.manifest.scenario.traffic))),
    );
    add("congestion control", congestion(runs));
    add("world", each(&|r| Some(r.manifest.world.clone())));
    add("timing", timing(runs));
    add("device", each(&|r| r.manifest.device.clone()));
    add("kernel", each(&|r| Some(r.manifest.kernel.clone())));
    add(
        "stacks",
        each(&|r| {
            let stack = &r.manifest.stack;
            Some(format!("{} {}", stack.name, stack.version))
        }),
    );
    add(
        "walkabout",
        each(&|r| Some(r.manifest.walkabout_version.clone())),
    );
    add("runs", runs.len().to_string());
    add("started", each(&|r| started(&r.manifest)));
    add(
        "not possible here",
        each(&|r| Some(r.manifest.skipped.join("; "))),
    );
    list
}

/// What distinguishes one run: its stack, its host, its folder.
pub(super) fn run_parameters(run: &RunFolder) -> Vec<Parameter> {
    let manifest = &run.manifest;
    let stack = &manifest.stack;
    let mut list = vec![
        ("stack", format!("{} {}", stack.name, stack.version)),
        ("congestion control", stack.congestion.clone()),
        ("path manager", stack.path_manager.clone()),
        ("scheduler", stack.scheduler.clone()),
        ("seed", manifest.seed.0.to_string()),
        (
            "packets protected by",
            stack.security.clone().unwrap_or_default(),
        ),
        ("started", started(manifest).unwrap_or_default()),
        ("timing", timing(&[run])),
    ];
    if let Some(scheduler) = &stack.server_scheduler {
        list.push(("scheduler of the server", scheduler.clone()));
    }
    if let Some(bytes) = manifest.peak_memory_bytes {
        list.push(("peak memory", format!("{:.0} MB", bytes as f64 / 1e6)));
    }
    let sysctls = manifest.sysctls.iter().map(|(k, v)| format!("{k} = {v}"));
    list.push(("sysctls", sysctls.collect::<Vec<_>>().join(", ")));
    list.retain(|(_, value)| !value.is_empty());
    list.into_iter()
        .map(|(name, value)| Parameter {
            name: name.to_owned(),
            value,
        })
        .collect()
}

/// The distinct values in their order; only the first and their number when there are many.
fn distinct(values: impl Iterator<Item = Option<String>>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for value in values.flatten() {
        if !value.is_empty() && !seen.contains(&value) {
            seen.push(value);
        }
    }
    match seen.len() {
        0..=6 => seen.join(", "),
        n => format!("{} and {} others", seen[0], n - 1),
    }
}

/// One name when all transports share it, else one per transport.
fn congestion(runs: &[&RunFolder]) -> String {
    let of = |run: &&RunFolder| run.manifest.stack.congestion.clone();
    if runs.iter().all(|run| of(run) == of(&runs[0])) {
        return of(&runs[0]);
    }
    distinct(
        runs.iter()
            .map(|run| Some(format!("{} {}", run.manifest.transport, of(run)))),
    )
}

fn timing(runs: &[&RunFolder]) -> String {
    let timings: Vec<_> = runs.iter().filter_map(|r| r.manifest.timing).collect();
    let Some(worst) = timings.iter().max_by_key(|t| t.lateness_p99_ns) else {
        return String::new();
    };
    let kept = timings.iter().filter(|t| t.kept).count();
    let verdict = match (kept, timings.len()) {
        (1, 1) => "kept".to_owned(),
        (0, 1) => "MISSED".to_owned(),
        (kept, all) if kept == all => format!("kept in all {all} runs"),
        (kept, all) => format!("MISSED in {} of {all} runs", all - kept),
    };
    let ms = |ns: u64| ns as f64 / 1e6;
    format!(
        "{verdict}: P99 lateness {}{:.3} ms, bound {:.3} ms",
        if timings.len() > 1 { "up to " } else { "" },
        ms(worst.lateness_p99_ns),
        ms(worst.bound_p99_ns)
    )
}

/// When a run started, where its time is the world's.
fn started(manifest: &Manifest) -> Option<String> {
    (manifest.world != World::Virtual.name()).then(|| manifest.started_at.clone())
}

fn traffic(traffic: &Traffic) -> String {
    match traffic {
        Traffic::Interactive(Interactive {
            chunk_size,
            period,
            ack_size,
        }) => format!("interactive: {chunk_size} every {period} each way, answers of {ack_size}"),
        Traffic::Ping(Ping { count, size }) => format!("ping: {count} requests for {size}"),
        Traffic::Bulk(Bulk { size }) => format!("bulk: one request for {size}"),
        Traffic::Iperf(Iperf {
            duration,
            direction,
            block_size,
        }) => {
            let who = match direction {
                Flow::Up => "up",
                Flow::Down => "down",
                Flow::Both => "both ways",
            };
            format!("iperf: as much as fits for {duration}, {who}, in blocks of {block_size}")
        }
    }
}

/// A path of a run in `world` in words.
pub(super) fn path(path: &Path, world: &str) -> PathDescription {
    if world == World::Live.name() {
        let real = || "a real network".to_owned();
        return PathDescription {
            name: path.name.clone(),
            kind: path.kind,
            up: real(),
            down: real(),
            over_time: String::new(),
        };
    }
    let mut over_time = Vec::new();
    if let Some(walk) = &path.walk {
        let far = walk.waypoints.iter().map(|w| w.distance_m);
        over_time.push(format!(
            "walk of {} waypoints, {:.0} to {:.0} m, path-loss exponent {}, shadowing {} dB",
            walk.waypoints.len(),
            far.clone().fold(f64::INFINITY, f64::min),
            far.fold(0.0, f64::max),
            walk.path_loss_exponent,
            walk.shadowing_db
        ));
    }
    match path.changes.len() {
        0 => {}
        1 => over_time.push(format!("1 change at {}", path.changes[0].at)),
        n => over_time.push(format!(
            "{n} changes from {} on",
            path.changes.iter().map(|c| c.at).min().unwrap_or_default()
        )),
    }
    PathDescription {
        name: path.name.clone(),
        kind: path.kind,
        up: link(&path.up),
        down: link(&path.down),
        over_time: over_time.join("; "),
    }
}

fn link(link: &Link) -> String {
    let percent = |p: f64| format!("{} %", (p * 1e4).round() / 1e2);
    let mut parts = Vec::new();
    parts.push(match (&link.trace, link.rate) {
        (Some(trace), _) => format!("trace {}", trace.display()),
        (None, Some(rate)) => rate.to_string(),
        (None, None) => "unlimited".to_owned(),
    });
    parts.push(link.delay.to_string());
    parts.extend(link.jitter.map(|j| format!("jitter {j}")));
    parts.extend(link.loss.map(|p| format!("loss {}", percent(p.get()))));
    parts.extend(
        link.burst
            .map(|b| format!("burst loss {}", percent(b.loss.get()))),
    );
    parts.extend(
        link.reorder
            .map(|r| format!("reorder {} by {}", percent(r.probability.get()), r.hold)),
    );
    parts.extend(
        link.duplicate
            .map(|p| format!("duplicate {}", percent(p.get()))),
    );
    let kind = match link.queue.kind {
        QueueKind::DropTail => "drop-tail",
        QueueKind::Codel => "CoDel",
    };
    parts.push(format!("{kind} {}", link.queue.limit));
    parts.join(" · ")
}

/// A failure in words.
pub(super) fn failure(failure: &Failure) -> String {
    let direction = match failure.direction {
        None => "",
        Some(Direction::Up) => " up",
        Some(Direction::Down) => " down",
    };
    let at = match failure.at {
        Phase::Fixed(at) => format!("at {at}"),
        Phase::Drawn { from, to } => format!("drawn from {from} to {to}"),
    };
    let lasting = match failure.duration {
        Some(duration) => format!("for {duration}"),
        None => "to the end".to_owned(),
    };
    format!(
        "{}: {}{direction} {at} {lasting}",
        failure.path,
        kind(failure.kind)
    )
}

/// The kind's name as a scenario writes it.
pub(super) fn kind(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::SilentLoss => "silent-loss",
        FailureKind::CarrierLoss => "carrier-loss",
        FailureKind::InterfaceDown => "interface-down",
        FailureKind::AddressWithdrawn => "address-withdrawn",
    }
}
