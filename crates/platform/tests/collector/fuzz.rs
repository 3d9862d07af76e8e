//! Whatever is asked, in or out of line with the interface's own description, is answered: with a success
//! that is described, or with a problem; never with a fault of the collector's.

use super::rig::{Answer, Rig, SECRET, TEST, from, id};
use super::sample;
use axum::body::Body;
use axum::http::Method;
use proptest::test_runner::Config;
use rand::{Rng, RngExt, SeedableRng};
use serde_json::{Map, Value, json};
use std::time::Duration;
use walkabout_platform::collector::openapi;

/// Requests per operation; `PROPTEST_CASES` multiplies them as it does for properties.
fn requests() -> u32 {
    Config::default().cases.max(8)
}

/// Makes values of a schema, and others.
struct Maker<'d> {
    rng: Box<dyn Rng>,
    document: &'d Value,
}

impl Maker<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.rng.random_range(0..n.max(1))
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn text(&mut self) -> String {
        let texts = [
            "",
            "a",
            "mptcp",
            "near",
            "<script>alert(1)</script>",
            "' OR 1=1 --",
            "../../etc/passwd",
            "\u{0}",
            "🏠",
            "2026-11-21T10:00:00Z",
            "NaN",
            "-1",
            "18446744073709551616",
            "%00",
            "true",
            "\u{202e}x",
            "a&b=c",
        ];
        match self.below(8) {
            0 => TEST.to_owned(),
            1 => "x".repeat(self.below(5_000)),
            2 => (0..self.below(20))
                .map(|_| self.rng.random::<char>())
                .collect(),
            _ => texts[self.below(texts.len())].to_owned(),
        }
    }

    /// Anything at all.
    fn anything(&mut self, depth: u32) -> Value {
        match self.below(if depth > 3 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => json!(self.chance(2)),
            2 => json!(self.rng.random::<u64>()),
            3 => json!(-(self.below(1_000) as i64)),
            4 => json!(self.rng.random::<f64>() * 1e300),
            5 => json!(self.text()),
            6 => (0..self.below(4))
                .map(|_| self.anything(depth + 1))
                .collect(),
            _ => {
                let entries = (0..self.below(4)).map(|_| (self.text(), self.anything(depth + 1)));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// A value of `schema`; now and then, deep inside, one that is not.
    fn value(&mut self, schema: &Value, wrong_one_in: usize, depth: u32) -> Value {
        if self.chance(wrong_one_in) || depth > 12 {
            return self.anything(depth);
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference.trim_start_matches('#').to_owned();
            let schema = self.document.pointer(&pointer).expect("a schema").clone();
            return self.value(&schema, wrong_one_in, depth + 1);
        }
        if let Some(values) = schema["enum"].as_array() {
            return values[self.below(values.len())].clone();
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(schemas) = schema[key].as_array() {
                let schema = schemas[self.below(schemas.len())].clone();
                return self.value(&schema, wrong_one_in, depth + 1);
            }
        }
        if let Some(pattern) = schema["pattern"].as_str() {
            return json!(self.matching(pattern));
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[self.below(kinds.len())].clone(),
            kind => kind.clone(),
        };
        match kind.as_str() {
            Some("null") => Value::Null,
            Some("boolean") => json!(self.chance(2)),
            Some("integer") => match self.below(3) {
                0 => json!(self.below(100)),
                1 => json!(self.below(1 << 40)),
                _ => json!(1),
            },
            Some("number") => json!(self.below(1_000) as f64 / 10.0),
            Some("string") => match schema["example"].as_str() {
                Some(example) if !self.chance(4) => json!(example),
                _ => json!(self.text()),
            },
            Some("array") => (0..self.below(4))
                .map(|_| self.value(&schema["items"], wrong_one_in, depth + 1))
                .collect(),
            Some("object") if schema["properties"].is_object() => {
                let required: Vec<Value> =
                    schema["required"].as_array().cloned().unwrap_or_default();
                let properties = schema["properties"]
                    .as_object()
                    .expect("properties")
                    .clone();
                let mut object = Map::new();
                for (name, schema) in properties {
                    if required.contains(&json!(name)) || self.chance(2) {
                        object.insert(name, self.value(&schema, wrong_one_in, depth + 1));
                    }
                }
                Value::Object(object)
            }
            _ => self.anything(depth),
        }
    }

    /// One of the few patterns that the description has.
    fn matching(&mut self, pattern: &str) -> String {
        match pattern {
            "^[0-9a-f]{32}$" => [TEST.to_owned(), id(1), id(77)][self.below(3)].clone(),
            "^[0-9a-fA-F]{64}$" => SECRET.to_owned(),
            "^(zstd|identity)$" => ["zstd", "identity"][self.below(2)].to_owned(),
            "^runs\\.(parquet|csv|json)$" => {
                format!("runs.{}", ["parquet", "csv", "json"][self.below(3)])
            }
            "^(messages|samples|links|events)\\.(parquet|csv|json)$" => {
                let table = ["messages", "samples", "links", "events"][self.below(4)];
                format!("{table}.{}", ["parquet", "csv", "json"][self.below(3)])
            }
            other => panic!("a pattern that the test does not know: {other}"),
        }
    }
}

fn escaped(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let byte = |b: u8| match plain(b) {
        true => char::from(b).to_string(),
        false => format!("%{b:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// A request as `operation` describes it, or nearly.
fn request(
    maker: &mut Maker<'_>,
    path: &str,
    method: &str,
    operation: &Value,
) -> axum::http::Request<Body> {
    let wrong_one_in = [6, 40, usize::MAX][maker.below(3)];
    let (mut path, mut query, mut headers) = (path.to_owned(), Vec::new(), Vec::new());
    for parameter in operation["parameters"]
        .as_array()
        .cloned()
        .unwrap_or_default()
    {
        let name = parameter["name"].as_str().expect("a name");
        let needed = parameter["required"].as_bool() == Some(true);
        if !needed && maker.chance(2) || maker.chance(50) && parameter["in"] != "path" {
            continue;
        }
        let value = plain(&maker.value(&parameter["schema"], wrong_one_in, 0));
        match parameter["in"].as_str() {
            Some("path") => path = path.replace(&format!("{{{name}}}"), &escaped(&value)),
            Some("query") => query.push(format!("{name}={}", escaped(&value))),
            Some("header") => headers.push((name.to_owned(), value)),
            other => panic!("a parameter in {other:?}"),
        }
    }
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let mut body = Vec::new();
    if let Some(content) = operation["requestBody"]["content"].as_object() {
        let schema = &content.values().next().expect("a media type")["schema"];
        body = maker
            .value(schema, wrong_one_in, 0)
            .to_string()
            .into_bytes();
        if maker.chance(10) {
            body.truncate(maker.below(body.len()));
        }
        if maker.chance(20) && !body.is_empty() {
            let at = maker.below(body.len());
            body[at] = maker.rng.random();
        }
    }
    let method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
    // Many prefixes: what is looked for here is not their quotas.
    let peer = format!("198.51.{}.1:1", maker.below(250));
    let mut request = from(&peer, method, &path);
    for (name, value) in headers {
        if let Ok(value) = axum::http::HeaderValue::from_str(&value) {
            request = request.header(name, value);
        }
    }
    request.body(Body::from(body)).expect("a request")
}

fn check(answer: &Answer, what: &str, operation: &Value) {
    let status = answer.status.as_u16();
    assert!(status < 500 || status == 503, "{what}: {answer:?}");
    if status < 300 {
        let described = operation["responses"][status.to_string()].is_object();
        assert!(described, "{what}: {status} is not described");
        return;
    }
    let problem = answer.problem();
    assert!(problem.title.len() < 5_000, "{what}");
}

#[tokio::test]
async fn every_operation_withstands_whatever_its_description_suggests() {
    let rig = Rig::with_limits(|limits| {
        limits.requests_per_second = 1_000_000;
        limits.uploads_per_hour = 1_000_000;
    })
    .await;
    rig.put(&id(1), &sample::json()).await.expect(201);
    let document = serde_json::to_value(openapi()).expect("JSON");
    let mut maker = Maker {
        rng: Box::new(rand_pcg::Pcg64Mcg::seed_from_u64(seed())),
        document: &document,
    };
    let (mut served, mut refused) = (0, 0);
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            for n in 0..requests() {
                let request = request(&mut maker, path, method, operation);
                let what = format!("{n}. {} {}", request.method(), request.uri());
                let answer = tokio::time::timeout(Duration::from_secs(30), rig.send(request));
                let answer = answer.await.unwrap_or_else(|_| panic!("{what} hangs"));
                check(&answer, &what, operation);
                match answer.status.is_success() {
                    true => served += 1,
                    false => refused += 1,
                }
            }
        }
    }
    assert!(
        served > 20 && refused > 20,
        "{served} served, {refused} refused"
    );
}

#[tokio::test]
async fn uploads_changed_anywhere_are_taken_or_refused() {
    let rig = Rig::with_limits(|limits| {
        limits.requests_per_second = 1_000_000;
        limits.uploads_per_hour = 1_000_000;
    })
    .await;
    let document = serde_json::to_value(openapi()).expect("JSON");
    let mut maker = Maker {
        rng: Box::new(rand_pcg::Pcg64Mcg::seed_from_u64(seed())),
        document: &document,
    };
    let sample = sample::json();
    let (mut stored, mut refused) = (0, 0);
    for n in 0..u64::from(requests() * 4) {
        let mut upload = sample.clone();
        for _ in 0..=maker.below(3) {
            let new = maker.anything(0);
            change(&mut maker, &mut upload, new);
        }
        let answer = rig.put(&id(n + 1), &upload).await;
        if answer.status == 201 {
            stored += 1;
            // What was taken can be shown.
            for below in [
                "",
                "/report",
                "/messages.csv",
                "/events.json",
                "/samples.parquet",
            ] {
                rig.get(&format!("/api/v1/runs/{}{below}", id(n + 1)))
                    .await
                    .expect(200);
            }
        } else {
            assert_eq!(answer.status.as_u16() / 100, 4, "{answer:?}");
            answer.problem();
            refused += 1;
        }
    }
    assert!(
        stored > 3 && refused > 20,
        "{stored} stored, {refused} refused"
    );
    for path in [
        "/api/v1/runs",
        "/api/v1/compare",
        "/api/v1/usage",
        "/api/v1/export/runs.csv",
    ] {
        rig.get(path).await.expect(200);
    }
}

/// Replaces a value somewhere in `value`.
fn change(maker: &mut Maker<'_>, value: &mut Value, new: Value) {
    let stop = maker.chance(5);
    match value {
        Value::Array(values) if !stop && !values.is_empty() => {
            let at = maker.below(values.len());
            change(maker, &mut values[at], new);
        }
        Value::Object(values) if !stop && !values.is_empty() => {
            let at = maker.below(values.len());
            let (_, inner) = values.iter_mut().nth(at).expect("within");
            change(maker, inner, new);
        }
        value => *value = new,
    }
}

/// The seed of this run: the same each time, or `COLLECTOR_FUZZ_SEED`.
fn seed() -> u64 {
    let seed = std::env::var("COLLECTOR_FUZZ_SEED").ok();
    seed.map_or(5, |seed| {
        seed.parse().expect("COLLECTOR_FUZZ_SEED is a number")
    })
}
