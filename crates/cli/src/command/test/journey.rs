//! What happens in a test, from the consent to the last upload?

use super::abandoned::UnderWay;
use super::clock;
use super::consent::Asking;
use super::outcome::{Done, Outcome};
use super::paths::{self, TestPath};
use super::places::Places;
use super::plan::{self, Planned};
use super::push::{About, Push};
use super::reach::Reach;
use super::setting::Setting;
use super::show::{Begins, Show, Style};
use super::tokens::Tokens;
use super::{TIMEOUT, Test, upload};
use crate::command::run::input;
use crate::failure::Failure;
use crate::interrupt;
use jiff::{SignedDuration, Timestamp};
use measure::world::live::{self, LiveRun, RunEnd, Until};
use model::live::{Consent, Ended, LiveFacts, Mode};
use model::{PathKind, Seed};
use platform::api::{Experiment, Metadata, TokenRequest};
use platform::client::{Collector, Queue};
use platform::token::random_hex;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;

/// Carries out a test and prints what came of it.
pub fn run(test: &Test, places: &Places, style: Style) -> Result<(), Failure> {
    let url = test.collector.as_deref().unwrap_or_default();
    let collector = Collector::new(url, TIMEOUT).map_err(Failure::usage)?;
    let metadata = collector.metadata().map_err(Failure::failed)?;
    if metadata.servers.is_empty() {
        return Err(Failure::failed(format!(
            "the collector {} lists no test server: start one with `walkabout serve` and name it under \
             [[server]] in the collector's configuration",
            collector.url()
        )));
    }
    let clock = clock_difference(&metadata)?;
    let asked = test.experiment.as_deref().unwrap_or(&test.mode);
    let experiment = plan::experiment(&metadata.experiments, asked)?;
    let seed = Seed(test.seed.unwrap_or_else(draw));
    let runs = plan::runs(experiment, &metadata.limits, seed)?;
    let interfaces = live::interfaces()
        .map_err(|e| Failure::impossible(format!("the interfaces cannot be listed: {e}")))?;
    let paths = paths::choose(&test.paths, &interfaces)?;
    paths::suit(experiment.mode, &paths)?;
    let out = test.out.clone().unwrap_or_else(|| {
        let stamp = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        PathBuf::from("runs").join(format!("{}-{stamp}", experiment.name))
    });
    input::claim(&out)?;

    let consent = Asking {
        collector: collector.url(),
        text: &metadata.consent,
        given: test.consent.as_deref(),
        publish: test.publish,
        file: &places.consent(),
        someone: std::io::stdin().is_terminal(),
    };
    let consent = consent.ask(&mut std::io::stdin().lock(), &mut std::io::stderr());
    let consent = consent.inspect_err(|_| {
        // Nothing was measured: the folder that was claimed is empty.
        let _ = std::fs::remove_dir(&out);
    })?;
    // Until here Ctrl-C ends the program at once.
    let stop = interrupt::flag();
    let stopped = || match stop.load(Ordering::Relaxed) {
        true => Err(Failure::failed("stopped before anything was measured")),
        false => Ok(()),
    };
    if clock.abs() > clock::OFF {
        let off = clock::off(clock);
        eprintln!(
            "! this machine's clock is {off} the collector's: nothing is lost by it, but results carry this \
             machine's times; set its clock, or have it set (NTP)"
        );
    }

    let setting = Setting::find(test, &metadata, &paths)?;
    if style == Style::People {
        setting.lines().iter().for_each(|line| eprintln!("{line}"));
        eprintln!("{} run(s), seed {}", runs.len(), seed.0);
    }
    stopped()?;
    let id = random_hex::<16>();
    let (bytes, seconds) = plan::needs(&runs, &metadata.limits);
    let request = TokenRequest {
        server: setting.server.id.clone(),
        test: id.clone(),
        consent_version: consent.version.clone(),
        bytes,
        seconds,
        count: 0,
    };
    let tokens = Tokens::fetch(&collector, request, runs.len(), clock)?;
    let push = match test.no_upload {
        true => None,
        false => {
            let about = About {
                test: id.clone(),
                experiment: experiment.name.clone(),
                server: setting.server.id.clone(),
                token: tokens.any.clone(),
                paths: paths::public_names(&paths),
            };
            Some(Push::start(collector.url(), about).map_err(Failure::failed)?)
        }
    };
    let heading = format!(
        "{}, server {} over {}:{}",
        experiment.name,
        setting.server.id,
        super::ping::words(setting.family()),
        setting.address.port()
    );
    let queue = match test.no_upload {
        true => None,
        false => Some(places.queue()?),
    };
    let facts = Facts {
        places,
        queue: queue.as_ref().map(|queue| (queue, &collector)),
        id,
        experiment,
        consent,
        device_key: places.device_key()?,
        paths: &paths,
        setting: &setting,
        location: test.location,
        clock,
    };
    let mut show = Show::start(style, heading, push);
    let done = match experiment.mode {
        Mode::Stable => one_after_the_other(&facts, &runs, tokens, &out, &mut show),
        Mode::Mobile => all_at_once(&facts, &runs, tokens, &out, &mut show),
    };
    let (board, push) = show.finish();
    let done = done?;
    let ended: Vec<Ended> = done.iter().map(|done| done.end.ended).collect();
    let wifi = paths.iter().find(|path| path.kind == PathKind::Wifi);
    let wifi = wifi.map(|path| path.name.as_str());
    let wifi = wifi.filter(|_| experiment.mode == Mode::Mobile);
    let outcome = Outcome {
        test: &facts.id,
        experiment,
        seed,
        setting: &setting,
        planned: runs.len(),
        done,
        reach: wifi.and_then(|wifi| Reach::of(&board, wifi, &ended)),
        out: &out,
    };
    let result = outcome.conclude(queue.as_ref(), &collector, style);
    if let Some(push) = push {
        push.finish();
    }
    result
}

/// What the runs of a test have in common.
struct Facts<'t> {
    places: &'t Places,
    /// Where a run goes as soon as it is over.
    queue: Option<(&'t Queue, &'t Collector)>,
    id: String,
    experiment: &'t Experiment,
    consent: Consent,
    device_key: [u8; 32],
    paths: &'t [TestPath],
    setting: &'t Setting<'t>,
    location: Option<model::live::CoarseLocation>,
    /// What is added to the collector's times to have this machine's.
    clock: SignedDuration,
}

impl Facts<'_> {
    fn run(&self, planned: &Planned, position: usize, token: String, out: &Path) -> LiveRun {
        let setting = self.setting;
        let networks = self.paths.iter().map(|path| path.network(&self.device_key));
        LiveRun {
            transport: planned.transport.clone(),
            policy: planned.policy.clone(),
            traffic: planned.traffic.clone(),
            duration: planned.duration(),
            token,
            folder: out.join(&planned.name),
            facts: LiveFacts {
                test: self.id.clone(),
                experiment: self.experiment.name.clone(),
                mode: self.experiment.mode,
                position: position as u32,
                server: setting.server.id.clone(),
                family: setting.family(),
                port: setting.address.port(),
                consent: self.consent.clone(),
                networks: networks.collect(),
                reachability: setting.reachability.clone(),
                traps: setting.traps.clone(),
                invalid: None,
                ended: None,
                server_clock: None,
                location: self.location,
                measured_energy: Vec::new(),
            },
        }
    }

    fn test(&self, runs: Vec<LiveRun>, until: Until) -> live::Test {
        live::Test {
            runs,
            server: self.setting.address,
            certificate_sha256: self.setting.certificate,
            paths: self.setting.local.clone(),
            until,
        }
    }

    /// Brings together what was planned and how it ended, and queues it.
    fn concluded(
        &self,
        planned: &[Planned],
        ends: Vec<RunEnd>,
        mut notes: Vec<UnderWay>,
        show: &mut Show,
    ) -> Vec<Done> {
        let mut done = Vec::new();
        for mut end in ends {
            if let Some(refused) = &end.refused {
                let server = &self.setting.server.id;
                end.error = Some(clock::refused(
                    refused,
                    server,
                    Timestamp::now(),
                    self.clock,
                ));
            }
            let name = end.folder.file_name().map(|name| name.to_string_lossy());
            let Some(planned) = planned.iter().find(|p| Some(&*p.name) == name.as_deref()) else {
                continue;
            };
            let why = super::outcome::ended_word(end.ended);
            let (invalid, error) = (end.invalid.as_deref(), end.error.as_deref());
            show.end(&planned.name, why, invalid, error);
            let is_recorded = end.folder.join("manifest.json").is_file();
            let note = notes.iter().position(|note| note.folder == end.folder);
            let note = note.map(|at| notes.swap_remove(at));
            let queued = match (self.queue, note) {
                (Some((queue, collector)), Some(note)) if is_recorded => {
                    let kept = upload::keep(queue, collector.url(), &note.id, &end.folder);
                    let id = kept.map(|()| note.id.clone());
                    if id.is_ok() {
                        note.over();
                    }
                    Some(id)
                }
                (_, note) => {
                    note.into_iter().for_each(UnderWay::over);
                    None
                }
            };
            if let Some(Err(why)) = &queued {
                show.line(&format!("{}: not uploaded: {why}", planned.name));
            }
            done.push(Done {
                name: planned.name.clone(),
                end,
                queued,
            });
        }
        done
    }

    /// Notes of these runs, where they are to be uploaded.
    fn note(&self, runs: &[LiveRun]) -> Result<Vec<UnderWay>, Failure> {
        let Some((_, collector)) = self.queue else {
            return Ok(Vec::new());
        };
        let begin = |run: &LiveRun| UnderWay::begin(self.places, collector.url(), &run.folder);
        runs.iter().map(begin).collect()
    }

    fn begin(&self, show: &mut Show, planned: &Planned) {
        let local = &self.setting.local;
        let paths: Vec<String> = local.iter().map(|path| path.name.to_string()).collect();
        show.begin(&Begins {
            label: &planned.label,
            name: &planned.name,
            transport: &planned.transport,
            policy: &planned.policy,
            pattern: planned.traffic.name(),
            paths: &paths,
        });
    }
}

/// Stable mode. What ends one run because the place is another now ends the test.
fn one_after_the_other(
    facts: &Facts<'_>,
    runs: &[Planned],
    mut tokens: Tokens<'_>,
    out: &Path,
    show: &mut Show,
) -> Result<Vec<Done>, Failure> {
    let stop = interrupt::flag();
    let mut done: Vec<Done> = Vec::new();
    for (position, planned) in runs.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let token = match tokens.take() {
            Ok(token) => token,
            // What is measured already counts.
            Err(failure) if !done.is_empty() => {
                show.line(&failure.message);
                break;
            }
            Err(failure) => return Err(failure),
        };
        let run = facts.run(planned, position, token, out);
        let test = facts.test(vec![run], Until::InterfacesChange);
        let notes = facts.note(&test.runs)?;
        facts.begin(show, planned);
        let ends = match carry_out(&test, show) {
            Ok(ends) => ends,
            Err(failure) if !done.is_empty() => {
                show.end(&planned.name, "failed", None, Some(&failure.message));
                break;
            }
            Err(failure) => return Err(failure),
        };
        done.extend(facts.concluded(std::slice::from_ref(planned), ends, notes, show));
        let Some(last) = done.last().map(|done| &done.end) else {
            continue;
        };
        // A server that refuses one token for its time refuses the next.
        let is_refused = last.refused.is_some();
        if is_refused || matches!(last.ended, Ended::InterfacesChanged | Ended::Stopped) {
            break;
        }
    }
    Ok(done)
}

/// Mobile mode.
fn all_at_once(
    facts: &Facts<'_>,
    runs: &[Planned],
    mut tokens: Tokens<'_>,
    out: &Path,
    show: &mut Show,
) -> Result<Vec<Done>, Failure> {
    let mut live = Vec::new();
    for (position, planned) in runs.iter().enumerate() {
        live.push(facts.run(planned, position, tokens.take()?, out));
    }
    let wifi = facts.paths.iter().find(|path| path.kind == PathKind::Wifi);
    let until = wifi.map_or(Until::Time, |wifi| Until::WifiLost(wifi.name.clone()));
    let test = facts.test(live, until);
    let notes = facts.note(&test.runs)?;
    for planned in runs {
        facts.begin(show, planned);
    }
    let ends = carry_out(&test, show)?;
    Ok(facts.concluded(runs, ends, notes, show))
}

/// Carries out `test` in a thread of its own while what is seen is shown.
fn carry_out(test: &live::Test, show: &mut Show) -> Result<Vec<RunEnd>, Failure> {
    let stop = interrupt::flag();
    let (sender, records) = channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || test.carry_out(stop, &sender));
        show.follow(&records);
        match worker.join() {
            Ok(ends) => ends.map_err(Failure::failed),
            Err(_) => Err(Failure::failed(
                "the test broke off: this is a bug in walkabout",
            )),
        }
    })
}

/// What is added to the collector's times to have this machine's.
fn clock_difference(metadata: &Metadata) -> Result<SignedDuration, Failure> {
    let theirs: Timestamp = metadata.now.parse().map_err(|e| {
        Failure::failed(format!(
            "the collector's metadata is wrong: its time is none: {e}"
        ))
    })?;
    Ok(theirs.duration_until(Timestamp::now()))
}

/// A seed that nobody chose. Fewer than 2^53, which every reader of JSON keeps.
fn draw() -> u64 {
    let bytes = platform::token::unhex::<6>(&random_hex::<6>()).unwrap_or_default();
    bytes
        .iter()
        .fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}
