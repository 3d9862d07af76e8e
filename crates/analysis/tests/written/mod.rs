//! What a run folder looks like, written from rows that a test chose.

#![allow(dead_code)] // Each test file uses its own part.

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};
use model::manifest::{Stack, Status};
use model::record::{
    ColumnKind, Event, EventKind, LinkState, Message, Packet, Record, RowSink, Sample,
};
use model::scenario::{Failure, FailureKind, Interactive, Link, Path, Phase, Queue, Traffic};
use model::units::Span;
use model::{Direction, Manifest, Name, PathKind, Scenario, Seed, Side, Time, World};
use parquet::arrow::ArrowWriter;
use std::fs::{self, File};
use std::path::Path as FilePath;
use std::sync::Arc;
use walkabout_analysis::folder::RunFolder;
use walkabout_analysis::metric::{Value, list};

/// A run of 20 s over `wifi` and `cellular`, to which a test adds rows.
pub struct Run {
    pub manifest: Manifest,
    pub messages: Vec<Message>,
    pub samples: Vec<Sample>,
    pub packets: Vec<Packet>,
    pub links: Vec<LinkState>,
    pub events: Vec<Event>,
}

pub const MS: u64 = 1_000;

impl Run {
    pub fn new(transport: &str, policy: &str) -> Run {
        Run {
            manifest: manifest(transport, policy),
            messages: Vec::new(),
            samples: Vec::new(),
            packets: Vec::new(),
            links: Vec::new(),
            events: Vec::new(),
        }
    }

    /// A message sent at `sent` ms, answered at `acked` ms.
    pub fn message(mut self, direction: Direction, sent: u64, acked: Option<u64>) -> Run {
        let (sent_us, acked_us) = (sent * MS, acked.map(|ms| ms * MS));
        self.messages.push(Message {
            channel: 0,
            id: self.messages.len() as u64,
            direction,
            size_bytes: 2_000,
            answer_bytes: 9,
            sent_us,
            acked_us,
            delay_us: acked_us.map(|acked| acked - sent_us),
            path: None,
        });
        self
    }

    /// A packet that entered at `at` ms and left 10 ms later, or was dropped.
    pub fn packet(
        mut self,
        path: &str,
        direction: Direction,
        at: u64,
        payload: u64,
        dropped: Option<&str>,
    ) -> Run {
        let enqueued_ns = at * 1_000_000;
        self.packets.push(Packet {
            path: path.into(),
            direction,
            id: self.packets.len() as u64,
            size_bytes: payload + 52,
            payload_bytes: payload,
            enqueued_ns,
            delivered_ns: dropped.is_none().then_some(enqueued_ns + 10_000_000),
            dropped: dropped.map(Box::from),
            dsn: None,
            data_ack: None,
        });
        self
    }

    /// A client's sample of Wi-Fi at `at` ms, changed by `change`.
    pub fn sample(mut self, connection: u64, at: u64, change: impl FnOnce(&mut Sample)) -> Run {
        let mut sample = sample(connection, at);
        change(&mut sample);
        self.samples.push(sample);
        self
    }

    /// An event at the client at `at` ms.
    pub fn event(mut self, kind: EventKind, path: &str, at: u64) -> Run {
        self.events.push(Event {
            side: Some(Side::Client),
            path: Some(path.into()),
            connection: Some(0),
            ..Event::new(Time::from_millis(at), kind, "")
        });
        self
    }

    /// A failure of Wi-Fi from `at` ms, for `duration` ms.
    pub fn failure(mut self, at: u64, duration: Option<u64>) -> Run {
        self.manifest.scenario.failures.push(Failure {
            path: "wifi".into(),
            kind: FailureKind::SilentLoss,
            direction: None,
            at: Phase::Fixed(Span::from_millis(at)),
            duration: duration.map(Span::from_millis),
            loss: None,
        });
        self.manifest.failure_onsets_us.push(at * MS);
        self
    }

    /// The state of both links of Wi-Fi from `at` ms.
    pub fn wifi(mut self, at: u64, up: bool) -> Run {
        for direction in [Direction::Up, Direction::Down] {
            self.links.push(LinkState {
                time_us: at * MS,
                path: "wifi".into(),
                direction,
                rate_bps: Some(20_000_000),
                delay_us: 10_000,
                loss: 0.0,
                up,
                queue_bytes: 0,
                signal_dbm: None,
            });
        }
        self
    }

    /// Writes the folder as a recorder that finished does.
    pub fn write(&self, folder: &FilePath) {
        fs::create_dir_all(folder).unwrap();
        let manifest = serde_json::to_string_pretty(&self.manifest).unwrap();
        fs::write(folder.join("manifest.json"), manifest).unwrap();
        let lines = self
            .events
            .iter()
            .map(|e| serde_json::to_string(e).unwrap() + "\n");
        fs::write(folder.join("events.jsonl"), lines.collect::<String>()).unwrap();
        write_parquet(folder, &self.messages);
        write_parquet(folder, &self.samples);
        write_parquet(folder, &self.packets);
        write_parquet(folder, &self.links);
    }

    /// Writes the folder somewhere and reads it back.
    pub fn read(&self) -> RunFolder {
        let folder = tempfile::tempdir().unwrap();
        self.write(folder.path());
        RunFolder::open(folder.path()).unwrap()
    }

    /// The value of one metric.
    pub fn metric(&self, name: &str) -> Option<Value> {
        (list::find(name).expect("a metric of the list").of)(&self.read())
    }

    /// The value of a metric that is a number, and whether it is a lower bound.
    pub fn number(&self, name: &str) -> Option<(f64, bool)> {
        let number = self.metric(name)?.number().expect("a number");
        // To the microsecond: the rest is the sums of binary fractions.
        Some(((number.value * 1e6).round() / 1e6, number.censored))
    }

    /// The value of a metric that is a word.
    pub fn word(&self, name: &str) -> Option<String> {
        match self.metric(name)? {
            Value::Word(word) => Some(word),
            Value::Number(number) => panic!("{name} is {number:?}"),
        }
    }
}

/// A healthy Wi-Fi sample of the client.
pub fn sample(connection: u64, at: u64) -> Sample {
    Sample {
        time_us: at * MS,
        side: Side::Client,
        connection,
        path: Some("wifi".into()),
        state: "established".into(),
        srtt_us: Some(20_000),
        rttvar_us: Some(2_000),
        rto_us: Some(220_000),
        timeouts: Some(0),
        cwnd_bytes: Some(14_000),
        in_flight_bytes: Some(0),
        oldest_unacked_us: None,
        unsent_bytes: Some(0),
        sent_packets: Some(10),
        sent_bytes: Some(1_000),
        received_bytes: Some(1_000),
        lost_packets: Some(0),
        retransmitted_packets: Some(3),
        backup: Some(false),
        peer_backup: Some(false),
    }
}

fn link() -> Link {
    Link {
        rate: None,
        trace: None,
        delay: Span::from_millis(10),
        jitter: None,
        loss: None,
        burst: None,
        reorder: None,
        duplicate: None,
        queue: Queue::default(),
    }
}

fn path(name: &str, kind: PathKind) -> Path {
    Path {
        name: Name::from(name),
        kind,
        up: link(),
        down: link(),
        changes: Vec::new(),
        walk: None,
    }
}

pub fn manifest(transport: &str, policy: &str) -> Manifest {
    let texts = |texts: &[&str]| texts.iter().map(|&t| t.to_owned()).collect();
    let scenario = Scenario {
        name: "synthetic".into(),
        summary: "what a test wrote".into(),
        duration: Span::from_millis(20_000),
        transports: texts(&["tcp", "mptcp", "quic", "mpquic"]),
        policies: texts(&["single", "fullmesh", "backup"]),
        congestion: None,
        scheduler: None,
        multipath: model::scenario::Multipath::NONE,
        server_scheduler: None,
        oracle: None,
        family: model::Family::Ipv4,
        traffic: Traffic::Interactive(Interactive::default()),
        background: None,
        paths: vec![
            path("wifi", PathKind::Wifi),
            path("cellular", PathKind::Cellular),
        ],
        failures: Vec::new(),
    };
    Manifest {
        status: Status::Complete,
        started_at: "2026-01-31T12:00:00.5Z".into(),
        stack: Stack {
            name: "linux".into(),
            version: "6.18".into(),
            congestion: "cubic".into(),
            path_manager: "kernel".into(),
            scheduler: "default".into(),
            server_scheduler: None,
            security: None,
        },
        kernel: "Linux 6.18 x86_64".into(),
        device: Some("tun".into()),
        ..Manifest::new(World::Emulated, &scenario, transport, policy, Seed(1))
    }
}

/// One column's values.
enum Values {
    U64(Vec<Option<u64>>),
    F64(Vec<Option<f64>>),
    Bool(Vec<Option<bool>>),
    Text(Vec<Option<String>>),
}

struct Columns {
    values: Vec<Values>,
    next: usize,
}

macro_rules! push {
    ($self:ident, $kind:ident, $value:expr) => {{
        let Values::$kind(values) = &mut $self.values[$self.next] else {
            panic!("column {} is of another kind", $self.next);
        };
        values.push($value);
        $self.next += 1;
    }};
}

impl RowSink for Columns {
    fn u64(&mut self, value: Option<u64>) {
        push!(self, U64, value);
    }
    fn f64(&mut self, value: Option<f64>) {
        push!(self, F64, value);
    }
    fn bool(&mut self, value: Option<bool>) {
        push!(self, Bool, value);
    }
    fn text(&mut self, value: Option<&str>) {
        push!(self, Text, value.map(str::to_owned));
    }
}

/// The rows as one batch of columns.
pub fn batch<R: Record>(rows: &[R]) -> RecordBatch {
    let values = R::COLUMNS.iter().map(|column| match column.kind {
        ColumnKind::U64 => Values::U64(Vec::new()),
        ColumnKind::F64 => Values::F64(Vec::new()),
        ColumnKind::Bool => Values::Bool(Vec::new()),
        ColumnKind::Text => Values::Text(Vec::new()),
    });
    let mut columns = Columns {
        values: values.collect(),
        next: 0,
    };
    for row in rows {
        columns.next = 0;
        row.put(&mut columns);
    }
    let (mut fields, mut arrays) = (Vec::new(), Vec::<ArrayRef>::new());
    for (column, values) in R::COLUMNS.iter().zip(columns.values) {
        let (kind, array): (DataType, ArrayRef) = match values {
            Values::U64(values) => (DataType::UInt64, Arc::new(UInt64Array::from(values))),
            Values::F64(values) => (DataType::Float64, Arc::new(Float64Array::from(values))),
            Values::Bool(values) => (DataType::Boolean, Arc::new(BooleanArray::from(values))),
            Values::Text(values) => (DataType::Utf8, Arc::new(StringArray::from(values))),
        };
        fields.push(Field::new(column.name, kind, column.optional));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn write_parquet<R: Record>(folder: &FilePath, rows: &[R]) {
    let batch = batch(rows);
    let file = File::create(folder.join(format!("{}.parquet", R::TABLE))).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// A table as a run that goes on writes it: each of `batches` in turn, and no end.
pub fn write_stream<R: Record>(folder: &FilePath, batches: &[&[R]]) {
    let file = File::create(folder.join(format!("{}.arrows", R::TABLE))).unwrap();
    let schema = batch::<R>(&[]).schema();
    let mut writer = StreamWriter::try_new(file, &schema).unwrap();
    for rows in batches {
        writer.write(&batch(rows)).unwrap();
    }
    writer.flush().unwrap();
}
