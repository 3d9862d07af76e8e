//! Does anything that is kept name anybody? The client's addresses and its Wi-Fi's name are looked for in
//! the database, the logs and all that the collector hands out.

use crate::database;
use crate::deployment::{Deployment, URL};
use crate::ground::{CLIENT, CLIENT_IPV6};
use analysis::folder::RunFolder;
use model::columns::Columns;
use platform::api::{UPLOAD_FORMAT, Upload};
use platform::client::{Collector, CollectorError};
use platform::token::random_hex;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// No interface here has one: it comes in the texts of an upload, as a careless client would send it.
const SSID: &str = "ZaphodsNetz-5G";
/// And this the access point's address.
const BSSID: &str = "02:5a:61:70:68:6f";

/// Neither addresses nor names are kept, whatever a client sends.
pub fn nothing_that_names_anybody_is_kept(deployment: &mut Deployment) {
    upload_carelessly(deployment);
    let mut kept: Vec<(String, String)> = Vec::new();
    kept.push((
        "the database".into(),
        database::everything(&deployment.database),
    ));
    // The client's own folder is its own business.
    let client = deployment.home();
    files(&deployment.folder, &mut |file| {
        let is_clients = file.starts_with(&client)
            || file
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("client."));
        if !is_clients {
            let bytes = fs::read(file).unwrap_or_default();
            kept.push((
                file.display().to_string(),
                String::from_utf8_lossy(&bytes).into_owned(),
            ));
        }
    });
    let rest = deployment.rest();
    let runs = database::runs(&deployment.database);
    let mut pages: Vec<String> = ["runs.json", "runs.csv"]
        .map(|f| format!("/api/v1/export/{f}"))
        .into();
    pages.extend(
        [
            "/api/v1/runs",
            "/api/v1/usage",
            "/api/v1/compare",
            "/metrics",
        ]
        .map(String::from),
    );
    for id in runs.iter().filter_map(|run| run.text("id")) {
        let files = [
            "",
            "/report",
            "/messages.json",
            "/samples.csv",
            "/links.json",
            "/events.json",
        ];
        pages.extend(files.map(|file| format!("/api/v1/runs/{id}{file}")));
    }
    kept.extend(pages.into_iter().map(|page| {
        let text = rest.text(&page);
        (page, text)
    }));

    // Where something must be, the search finds it: the prefix that is kept, and a word of each run.
    let all: usize = kept.iter().map(|(_, text)| text.len()).sum();
    assert!(
        kept[0].1.contains("10.81.1.0/24"),
        "the search does not see the database's text"
    );
    assert!(
        kept.iter()
            .any(|(name, text)| name.ends_with(".log") && !text.is_empty())
    );
    let mut needles = vec![SSID.to_owned(), "zaphod".to_owned(), BSSID.to_owned()];
    needles.extend(CLIENT.map(|address| address.to_string()));
    needles.extend(CLIENT_IPV6.map(|address| address.to_string()));
    let mut found = Vec::new();
    for (place, text) in &kept {
        let lower = text.to_lowercase();
        for needle in &needles {
            if let Some(at) = lower.find(&needle.to_lowercase()) {
                let near: String = lower
                    .chars()
                    .skip(lower[..at].chars().count().saturating_sub(80))
                    .take(200)
                    .collect();
                found.push(format!("{needle} in {place}: {near}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    eprintln!("  looked through {} places, {} kB", kept.len(), all / 1_000);
}

/// Hands in a run whose texts hold what they should not.
fn upload_carelessly(deployment: &Deployment) {
    let folder = deployment
        .home()
        .join("walk")
        .join("mpquic-apple-interactive");
    let run = RunFolder::open(&folder).unwrap_or_else(|error| panic!("{error}"));
    let mut upload = Upload {
        format: UPLOAD_FORMAT.to_owned(),
        manifest: run.manifest,
        messages: Columns(run.messages),
        samples: Columns(run.samples),
        links: Columns(run.links),
        events: run.events,
    };
    let careless = format!("joined {SSID} ({BSSID}) as {} and {}", CLIENT[0], CLIENT[1]);
    let manifest = &mut upload.manifest;
    manifest.error = Some(careless.clone());
    manifest.skipped.push(careless.clone());
    manifest.kernel += &format!(" {careless}");
    manifest.scenario.summary.clone_from(&careless);
    manifest.stack.version.clone_from(&careless);
    manifest.sysctls.insert(careless.clone(), careless.clone());
    let live = manifest.live.as_mut().expect("a live run");
    live.traps.push(careless.clone());
    live.invalid = Some(careless.clone());
    for event in &mut upload.events {
        event.detail.clone_from(&careless);
        event.cause = Some(careless.clone());
    }
    let named = |upload: &Upload| {
        let mut named = upload.clone();
        named.manifest.live.as_mut().expect("a live run").experiment = SSID.to_owned();
        named.manifest.live.as_mut().expect("a live run").server = SSID.to_owned();
        named.manifest.scenario.name = SSID.to_owned();
        named
    };
    let hand_in = |upload: &Upload| {
        let json = serde_json::to_vec(upload).expect("an upload is JSON");
        let document = zstd::encode_all(&json[..], 3).expect("in memory");
        let (id, secret) = (random_hex::<16>(), random_hex::<32>());
        deployment.ground.client.run(|| {
            let collector = Collector::new(URL, Duration::from_secs(20))?;
            collector.upload(&id, &secret, &document).map(drop)
        })
    };
    // Names where lists are expected: refused is as good as cleaned.
    match hand_in(&named(&upload)).expect("it can be entered") {
        Ok(()) | Err(CollectorError::Problem(_)) => {}
        Err(error) => panic!("{error}"),
    }
    let accepted = hand_in(&upload).expect("it can be entered");
    accepted.unwrap_or_else(|error| panic!("texts are cleaned, not refused: {error}"));
}

/// Calls `visit` with every file below `folder`.
fn files(folder: &Path, visit: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, visit),
            false => visit(&path),
        }
    }
}
