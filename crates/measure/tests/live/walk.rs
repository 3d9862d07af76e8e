//! A walk: Wi-Fi falls silent, then is lost.

use crate::ground::{Seen, carry_out, run, test};
use crate::hosts::{DESKTOP_BOTH, Hosts, inside, ip};
use crate::server::Server;
use analysis::folder::RunFolder;
use analysis::metric::{self, Value};
use model::live::{Ended, Mode};
use model::manifest::Status;
use model::record::EventKind;
use model::scenario::Traffic;
use std::time::{Duration, Instant};
use walkabout_measure::world::live::{LiveRecord, Until};

const RUNS: [&str; 2] = ["mptcp-apple-interactive", "mpquic-apple-interactive"];

#[test]
fn both_multipath_transports_survive_at_once() {
    inside("walk::both_multipath_transports_survive_at_once", || {
        let ground = Hosts::new(DESKTOP_BOTH);
        let server = Server::honest(&ground);
        let root = tempfile::tempdir().unwrap();
        let runs = ["mptcp", "mpquic"].map(|transport| {
            let mut run = run(transport, "apple-interactive", 28, root.path());
            run.facts.mode = Mode::Mobile;
            run
        });
        let until = Until::WifiLost("wifi".into());
        let test = test(runs.to_vec(), server.address, server.pin, until);
        let (mut silent_us, mut lost) = ([0; 2], None);
        let (ends, seen) = carry_out(&test, |wait, _| {
            wait(&|seen: &Seen| RUNS.iter().all(|run| seen.answered(run, 0) >= 10));
            ground.lose(0, true, true);
            wait(&|seen| RUNS.iter().all(|run| seen.uses_cellular(run)));
            let times = std::cell::Cell::new([0; 2]);
            wait(&|seen| {
                times.set(RUNS.map(|run| seen.time_us(run)));
                true
            });
            silent_us = times.get();
            // Over cellular.
            wait(&|seen| {
                let mut runs = RUNS.iter().zip(silent_us);
                runs.all(|(run, since)| seen.answered(run, since) >= 5)
            });
            ip("link set wifi down");
            lost = Some(Instant::now());
        });
        let ends = ends.unwrap();
        assert!(
            lost.unwrap().elapsed() < Duration::from_secs(12),
            "it went on"
        );
        for (end, label) in ends.iter().zip(RUNS) {
            assert_eq!(
                (end.ended, end.error.as_ref()),
                (Ended::WifiLost, None),
                "{label}"
            );
            assert_eq!(end.invalid, None);
            let run = RunFolder::open(&end.folder).unwrap();
            assert_eq!(run.manifest.status, Status::Complete);
            assert!(matches!(
                run.manifest.scenario.traffic,
                Traffic::Interactive(_)
            ));
            assert!(
                run.events.iter().any(|e| e.kind == EventKind::PathDown),
                "{label}"
            );
            assert!(
                run.events.iter().any(|e| e.kind == EventKind::Decision),
                "{label}"
            );
            let value = |name: &str| (metric::list::find(name).unwrap().of)(&run);
            let number = |name: &str| value(name).unwrap().number().unwrap().value;
            assert_eq!(
                value("cellular-cause"),
                Some(Value::Word("under-rto".to_owned())),
                "{label}"
            );
            assert!(number("cellular-bytes") > 10_000.0, "{label}");
            let share = number("cellular-share");
            assert!(share > 0.05 && share < 1.0, "{label}: {share}");
            // Silence, then cellular: nothing came over Wi-Fi any more. Without captures both moments are
            // known to 100 ms, within which QUIC's timer fires here; a busy machine takes its samples late.
            let received = number("handover-received");
            assert!(received < 0.3 && received > -5.0, "{label}: {received}");
            assert!(number("handover-sent") >= received, "{label}");
            // Multipath TCP's timer takes 200 ms at least (RFC 6298 and Linux's floor). QUIC's has no floor
            // but its granularity (RFC 9002, section 6.1.2): as a round trip takes some 0.2 ms here, it
            // fires as soon as another message might have been answered.
            let floor = if label.starts_with("mptcp") { 0.2 } else { 0.0 };
            let (delay, gap) = (number("delay-max"), number("gap-longest"));
            assert!(delay > floor && delay < 8.0, "{label}: {delay}");
            assert!((0.05..9.0).contains(&gap), "{label}: {gap}");
            let after = run.messages.iter().filter(|m| m.acked_us.is_none()).count();
            assert!(after <= 4, "{label}: {after} were never answered");
        }
        // Only Multipath TCP's silence lasts long enough to be told.
        let waits = seen.records.iter().filter_map(|record| match record {
            LiveRecord::Waiting { run, waited_us, .. } => Some((run.as_str(), *waited_us)),
            _ => None,
        });
        let waits: Vec<_> = waits.collect();
        assert!(waits.iter().any(|(run, _)| *run == RUNS[0]), "{waits:?}");
        assert!(waits.iter().all(|(_, waited_us)| *waited_us > 200_000));
    });
}
