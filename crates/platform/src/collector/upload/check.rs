//! Is an upload a run? Checked against its own manifest before anything of it is kept.

use super::is_id;
use crate::api::{UPLOAD_FORMAT, Upload};
use crate::collector::Limits;
use crate::collector::refusal::Refusal;
use crate::token::unhex;
use jiff::Timestamp;
use measure::transport::list::TRANSPORTS;
use model::live::{LiveFacts, MeasuredEnergy, Network, Reachability};
use model::record::{Event, FORMAT_VERSION, LinkState, Message, Record, Sample};
use model::{Manifest, World};

/// Microseconds of a day: no run is longer.
const DAY_US: u64 = 86_400_000_000;
/// What a row's time may be past the run's planned duration: answers that came while it ended, and the
/// server's clock.
const SLACK_US: u64 = 120_000_000;
/// The longest sentence: an error, a cause.
const SENTENCE: usize = 2_000;
/// The most sentences of one kind.
const SENTENCES: usize = 64;
/// Events of a run.
const MOST_EVENTS: usize = 50_000;
/// Bytes of one message, 1 TB: a download of that size would outlast the day.
const MOST_BYTES: u64 = 1 << 40;

type Checked = Result<(), Refusal>;

fn require(right: bool, what: impl FnOnce() -> String) -> Checked {
    if right {
        Ok(())
    } else {
        Err(Refusal::invalid(what()))
    }
}

/// Checks everything that the types do not.
pub fn check(upload: &Upload, limits: &Limits) -> Checked {
    let Upload {
        format,
        manifest,
        messages,
        samples,
        links,
        events,
    } = upload;
    require(format == UPLOAD_FORMAT, || {
        format!("format: this collector reads {UPLOAD_FORMAT}")
    })?;
    check_manifest(manifest)?;
    rows::<Message>(messages.0.len(), limits)?;
    rows::<Sample>(samples.0.len(), limits)?;
    rows::<LinkState>(links.0.len(), limits)?;
    require(events.len() <= MOST_EVENTS, || {
        format!("events: a run has at most {MOST_EVENTS}")
    })?;
    let planned = u64::try_from(manifest.scenario.duration.get().as_micros()).unwrap_or(u64::MAX);
    let end = planned.saturating_add(SLACK_US);
    let mut each = messages.0.iter().enumerate();
    each.try_for_each(|(row, message)| check_message(row, message, end))?;
    for (row, sample) in samples.0.iter().enumerate() {
        within::<Sample>(row, "time_us", sample.time_us, end)?;
        let state = sample.state.as_str();
        let known = matches!(state, "connecting" | "established" | "closing" | "closed");
        require(known, || {
            format!("samples: row {row}: state: connecting, established, closing or closed")
        })?;
    }
    for (row, link) in links.0.iter().enumerate() {
        within::<LinkState>(row, "time_us", link.time_us, end)?;
        require((0.0..=1.0).contains(&link.loss), || {
            format!("links: row {row}: loss: a probability is 0 to 1")
        })?;
        signal(link.signal_dbm, || format!("links: row {row}: signal_dbm"))?;
    }
    for (row, event) in events.iter().enumerate() {
        check_event(row, event, end)?;
    }
    Ok(())
}

fn rows<R: Record>(rows: usize, limits: &Limits) -> Checked {
    let most = limits.upload_rows;
    require(rows as u64 <= most, || {
        format!(
            "{}: {rows} rows, more than the {most} that are accepted",
            R::TABLE
        )
    })
}

fn within<R: Record>(row: usize, column: &str, time_us: u64, end_us: u64) -> Checked {
    require(time_us <= end_us, || {
        format!(
            "{}: row {row}: {column}: {time_us} is beyond the run's duration",
            R::TABLE
        )
    })
}

fn check_message(row: usize, message: &Message, end_us: u64) -> Checked {
    let Message {
        channel,
        id: _,
        direction: _,
        size_bytes,
        answer_bytes,
        sent_us,
        acked_us,
        delay_us,
        path: _,
    } = message;
    let at = |what: &str| format!("messages: row {row}: {what}");
    require(*channel < 64, || at("channel: a pattern has fewer than 64"))?;
    let small = (*size_bytes).max(*answer_bytes) <= MOST_BYTES;
    require(small, || {
        at(&format!(
            "a message or answer has at most {MOST_BYTES} bytes"
        ))
    })?;
    within::<Message>(row, "sent_us", *sent_us, end_us)?;
    within::<Message>(row, "acked_us", acked_us.unwrap_or(0), end_us)?;
    within::<Message>(row, "delay_us", delay_us.unwrap_or(0), end_us)?;
    require(acked_us.is_some() == delay_us.is_some(), || {
        at("acked_us and delay_us: both or none")
    })?;
    require(acked_us.is_none_or(|acked| acked >= *sent_us), || {
        at("acked_us: it was answered before it was sent")
    })
}

fn check_event(row: usize, event: &Event, end_us: u64) -> Checked {
    let at = |what: &str| format!("events: event {row}: {what}");
    require(event.time_us <= end_us, || {
        at("time_us is beyond the run's duration")
    })?;
    let short = event
        .detail
        .len()
        .max(event.cause.as_ref().map_or(0, String::len))
        <= SENTENCE;
    require(short, || {
        at(&format!("detail and cause have at most {SENTENCE} bytes"))
    })
}

fn signal(signal_dbm: Option<f64>, key: impl Fn() -> String) -> Checked {
    require(
        signal_dbm.is_none_or(|s| (-200.0..=50.0).contains(&s)),
        || format!("{}: a signal is -200 to 50 dBm", key()),
    )
}

fn sentences(texts: &[String], key: &str) -> Checked {
    let short = texts.len() <= SENTENCES && texts.iter().all(|t| t.len() <= SENTENCE);
    require(short, || {
        format!("{key}: at most {SENTENCES} sentences of {SENTENCE} bytes")
    })
}

fn check_manifest(manifest: &Manifest) -> Checked {
    let version = manifest.format_version;
    require((1..=FORMAT_VERSION).contains(&version), || {
        format!("manifest.format_version: {version}; this collector reads 1 to {FORMAT_VERSION}")
    })?;
    require(manifest.world == World::Live.name(), || {
        "manifest.world: only runs of the world `live` are collected".to_owned()
    })?;
    let transport = manifest.transport.as_str();
    require(TRANSPORTS.iter().any(|t| t.name == transport), || {
        "manifest.transport: this collector knows no such transport".to_owned()
    })?;
    require(policy::list::find(&manifest.policy).is_some(), || {
        "manifest.policy: this collector knows no such policy".to_owned()
    })?;
    require(manifest.started_at.parse::<Timestamp>().is_ok(), || {
        "manifest.started_at: no time as in RFC 3339".to_owned()
    })?;
    let duration = manifest.scenario.duration.get().as_micros();
    require((1..=u128::from(DAY_US)).contains(&duration), || {
        "manifest.scenario.duration: a run lasts up to a day".to_owned()
    })?;
    let scenario = &manifest.scenario;
    let few = scenario.failures.len() <= 64
        && scenario.transports.len() <= 64
        && scenario.policies.len() <= 64
        && scenario
            .paths
            .iter()
            .all(|path| path.changes.len() <= 10_000)
        && manifest.sysctls.len() <= 64;
    require(few, || {
        "manifest: too many failures, transports, policies, changes or sysctls".to_owned()
    })?;
    require(
        manifest.failure_onsets_us.len() == scenario.failures.len(),
        || "manifest.failure_onsets_us: one for each failure of the scenario".to_owned(),
    )?;
    sentences(&manifest.skipped, "manifest.skipped")?;
    match &manifest.live {
        None => Err(Refusal::invalid("manifest.live: a live run has this part")),
        Some(live) => check_live(live),
    }
}

fn check_live(live: &LiveFacts) -> Checked {
    let LiveFacts {
        test,
        experiment: _,
        mode: _,
        position,
        server: _,
        family: _,
        port,
        consent,
        networks,
        reachability,
        traps,
        invalid,
        ended: _,
        server_clock: _,
        location,
        measured_energy,
    } = live;
    require(is_id(test), || {
        "manifest.live.test: 32 hexadecimal digits, lower case".to_owned()
    })?;
    require(*position < 10_000 && *port > 0, || {
        "manifest.live: position below 10000 and port above 0".to_owned()
    })?;
    require(unhex::<8>(&consent.version).is_some(), || {
        "manifest.live.consent.version: 16 hexadecimal digits, as in the metadata".to_owned()
    })?;
    require(consent.agreed_at.parse::<Timestamp>().is_ok(), || {
        "manifest.live.consent.agreed_at: no time as in RFC 3339".to_owned()
    })?;
    require(
        networks.len() <= 8 && reachability.len() <= SENTENCES,
        || {
            format!(
                "manifest.live: at most 8 networks and {SENTENCES} attempts to reach the server"
            )
        },
    )?;
    networks.iter().enumerate().try_for_each(check_network)?;
    for (i, Reachability { transport, .. }) in reachability.iter().enumerate() {
        require(TRANSPORTS.iter().any(|t| t.name == transport), || {
            format!("manifest.live.reachability[{i}].transport: there is no such transport")
        })?;
    }
    sentences(traps, "manifest.live.traps")?;
    sentences(invalid.as_slice(), "manifest.live.invalid")?;
    let joules =
        |energy: &MeasuredEnergy| energy.measured_j.is_finite() && energy.measured_j >= 0.0;
    require(
        measured_energy.len() <= 8 && measured_energy.iter().all(joules),
        || "manifest.live.measured_energy: at most 8, each zero or more".to_owned(),
    )?;
    let on_earth = location.as_ref().is_none_or(|l| {
        (-90.0..=90.0).contains(&l.latitude_deg) && (-180.0..=180.0).contains(&l.longitude_deg)
    });
    require(on_earth, || {
        "manifest.live.location: not on earth".to_owned()
    })
}

fn check_network((i, network): (usize, &Network)) -> Checked {
    let hash = network.network_hash.as_deref();
    require(hash.is_none_or(|hash| unhex::<8>(hash).is_some()), || {
        format!("manifest.live.networks[{i}].network_hash: 16 hexadecimal digits, never a name")
    })?;
    signal(network.signal_dbm, || {
        format!("manifest.live.networks[{i}].signal_dbm")
    })?;
    require(network.families.len() <= 2, || {
        format!("manifest.live.networks[{i}].families: each once")
    })
}
