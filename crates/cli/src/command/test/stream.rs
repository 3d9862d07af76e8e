//! How does a program follow a test? One JSON object per line for each thing seen, and the results last.

use measure::world::live::LiveRecord;
use model::record::{Column, Record, RowSink};
use serde_json::{Map, Value, json};

/// The version of the lines.
pub const FORMAT: &str = "walkabout.live/1";

/// The line of what was seen.
pub fn line(record: &LiveRecord) -> Value {
    match record {
        LiveRecord::Message { run, message } => with("message", run, row(message)),
        LiveRecord::Sample { run, sample } => with("sample", run, row(sample)),
        LiveRecord::Event { run, event } => with("event", run, json!({"event": event})),
        LiveRecord::Waiting {
            run,
            time_us,
            waited_us,
        } => with(
            "waiting",
            run,
            json!({"time_us": time_us, "waited_us": waited_us}),
        ),
        LiveRecord::Signal {
            path,
            time_us,
            signal_dbm,
        } => json!({
            "format": FORMAT, "type": "signal",
            "path": path, "time_us": time_us, "signal_dbm": signal_dbm
        }),
    }
}

/// The line of anything else about a run or the test.
pub fn other(kind: &str, content: Value) -> Value {
    let mut line = json!({"format": FORMAT, "type": kind});
    merge(&mut line, content);
    line
}

fn with(kind: &str, run: &str, content: Value) -> Value {
    let mut line = json!({"format": FORMAT, "type": kind, "run": run});
    merge(&mut line, content);
    line
}

fn merge(line: &mut Value, content: Value) {
    if let (Value::Object(line), Value::Object(content)) = (line, content) {
        line.extend(content);
    }
}

/// A row of a table as an object with a key per column that has a value.
fn row<R: Record>(row: &R) -> Value {
    let mut object = Object {
        columns: R::COLUMNS.iter(),
        map: Map::new(),
    };
    row.put(&mut object);
    Value::Object(object.map)
}

struct Object {
    columns: std::slice::Iter<'static, Column>,
    map: Map<String, Value>,
}

impl Object {
    fn put(&mut self, value: Option<Value>) {
        if let (Some(column), Some(value)) = (self.columns.next(), value) {
            self.map.insert(column.name.to_owned(), value);
        }
    }
}

impl RowSink for Object {
    fn u64(&mut self, value: Option<u64>) {
        self.put(value.map(Value::from));
    }
    fn f64(&mut self, value: Option<f64>) {
        self.put(value.map(Value::from));
    }
    fn bool(&mut self, value: Option<bool>) {
        self.put(value.map(Value::from));
    }
    fn text(&mut self, value: Option<&str>) {
        self.put(value.map(Value::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{Event, EventKind, Message};
    use model::{Direction, Time};

    #[test]
    fn lines_name_their_version_and_kind() {
        let run = "quic".to_owned();
        let message = Message {
            channel: 1,
            id: 7,
            direction: Direction::Down,
            size_bytes: 2_000,
            answer_bytes: 9,
            sent_us: 100,
            acked_us: None,
            delay_us: None,
            path: Some("wifi".into()),
        };
        let event = Event::new(Time::from_millis(1), EventKind::Decision, "open");
        let path = "wifi".into();
        let records = [
            LiveRecord::Message {
                run: run.clone(),
                message,
            },
            LiveRecord::Event { run, event },
            LiveRecord::Signal {
                path,
                time_us: 5,
                signal_dbm: -61.5,
            },
        ];
        let lines: Vec<String> = records.iter().map(|r| line(r).to_string()).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        {"format":"walkabout.live/1","type":"message","run":"quic","channel":1,"id":7,"direction":"down","size_bytes":2000,"answer_bytes":9,"sent_us":100,"path":"wifi"}
        {"format":"walkabout.live/1","type":"event","run":"quic","event":{"time_us":1000,"kind":"decision","detail":"open"}}
        {"format":"walkabout.live/1","type":"signal","path":"wifi","time_us":5,"signal_dbm":-61.5}
        "#);
    }
}
