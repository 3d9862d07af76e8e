//! How is the collector asked? Over HTTP, from the client's host.

use measure::emulator::NetNs;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The collector's interface.
#[derive(Clone)]
pub struct Rest {
    from: NetNs,
    url: String,
}

/// An event of a running test, and when it came.
#[derive(Debug)]
pub struct Seen {
    /// When it came.
    pub at: Instant,
    /// A `LiveItem`.
    pub item: Value,
}

fn agent(timeout: Option<Duration>) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(timeout);
    config.build().new_agent()
}

impl Rest {
    /// That at `url`, asked from the host `from`.
    pub fn at(from: &NetNs, url: &str) -> Rest {
        Rest {
            from: from.clone(),
            url: url.to_owned(),
        }
    }

    /// `GET`: the status and the body.
    pub fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let url = format!("{}{path}", self.url);
        let got = self.from.run(|| {
            let mut answer = agent(Some(Duration::from_secs(20))).get(&url).call()?;
            let mut body = Vec::new();
            answer.body_mut().as_reader().read_to_end(&mut body)?;
            Ok::<_, ureq::Error>((answer.status().as_u16(), body))
        });
        let got = got.expect("it can be entered");
        got.unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    /// `GET`: the text of what is there.
    pub fn text(&self, path: &str) -> String {
        let (status, body) = self.get(path);
        let body = String::from_utf8_lossy(&body).into_owned();
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// `GET`: the document that is there.
    pub fn json(&self, path: &str) -> Value {
        let body = self.text(path);
        serde_json::from_str(&body).unwrap_or_else(|e| panic!("{path}: {e}: {body}"))
    }

    /// `GET`: the rows of a table, one object a line, without the cells that have no value.
    pub fn rows(&self, path: &str) -> Vec<Value> {
        let body = self.text(path);
        let row = |line: &str| {
            let row = serde_json::from_str(line);
            without_nulls(row.unwrap_or_else(|e| panic!("{path}: {e}: {line}")))
        };
        body.lines().map(row).collect()
    }

    /// Waits until a test runs, and follows it to its end; the channel closes then.
    pub fn watch(&self) -> Receiver<Seen> {
        let (sender, seen) = channel();
        let (from, url) = (self.from.clone(), self.url.clone());
        std::thread::spawn(move || {
            from.enter().expect("it can be entered");
            let begin = Instant::now();
            let test = loop {
                assert!(
                    begin.elapsed() < crate::processes::PATIENCE,
                    "no test is seen to run"
                );
                let running = agent(Some(Duration::from_secs(5))).get(format!("{url}/api/v1/live"));
                let running = running
                    .call()
                    .and_then(|mut answer| answer.body_mut().read_to_string());
                let running: Value =
                    serde_json::from_str(&running.unwrap_or_default()).unwrap_or_default();
                if let Some(test) = running[0]["test"].as_str() {
                    break test.to_owned();
                }
                std::thread::sleep(Duration::from_millis(50));
            };
            let events = agent(None).get(format!("{url}/api/v1/live/{test}/events"));
            let events = events.call().expect("the events of a running test");
            let lines = BufReader::new(events.into_body().into_reader()).lines();
            for line in lines.map_while(Result::ok) {
                // The stream's other lines (ids, comments) are not of interest here.
                let Some(data) = line.strip_prefix("data:") else {
                    continue;
                };
                let at = Instant::now();
                let item = serde_json::from_str(data).unwrap_or_else(|e| panic!("{e}: {data}"));
                if sender.send(Seen { at, item }).is_err() {
                    return;
                }
            }
        });
        seen
    }
}

/// A row without the cells that have no value.
pub fn without_nulls(row: Value) -> Value {
    match row {
        Value::Object(row) => row
            .into_iter()
            .filter(|(_, cell)| !cell.is_null())
            .collect(),
        other => other,
    }
}
