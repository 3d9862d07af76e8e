//! How fast is the store? Explorer pages, comparisons and counts over many runs, and uploads, as JSON.
//!
//! `cargo bench -p walkabout-platform --bench store -- [RUNS] [sqlite|postgres]`: 1,000,000 runs, both.
//! PostgreSQL is an empty database at `WALKABOUT_TEST_POSTGRES`, or a server of the bench's own.

#[path = "../tests/postgres/mod.rs"]
mod postgres;
#[path = "../tests/store/sample.rs"]
mod sample;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use rand::RngExt;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use std::fmt::Write;
use std::time::{Duration, Instant};
use walkabout_platform::api::{Filter, MetricValue};
use walkabout_platform::store::{NewRun, Put, Store};

/// Runs of a test.
const TEST: u64 = 8;

/// Runs of a statement.
const ROWS: u64 = 500;

/// The runs were stored over so many days.
const DAYS: i64 = 180;

/// Uploads, and how many at once.
const UPLOADS: usize = 4_000;
const AT_ONCE: usize = 16;
const UPLOAD_BYTES: usize = 100_000;

fn main() {
    // cargo adds `--bench`.
    let arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let (mut runs, mut only) = (1_000_000, None);
    for argument in arguments {
        match argument.parse() {
            Ok(count) => runs = count,
            Err(_) => only = Some(argument),
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let wanted = |kind| only.as_deref().is_none_or(|only| only == kind);
    let mut results = serde_json::Map::new();
    if wanted("sqlite") {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("walkabout.db").display());
        results.insert("sqlite".into(), runtime.block_on(bench(&url, runs)));
    }
    if wanted("postgres") {
        let given = std::env::var("WALKABOUT_TEST_POSTGRES").ok();
        let own = given.is_none().then(postgres::Postgres::start);
        let url = own.as_ref().map(postgres::Postgres::new_database);
        let url = url.or(given).expect("one of both");
        results.insert("postgres".into(), runtime.block_on(bench(&url, runs)));
    }
    let results = json!({"runs": runs, "upload_bytes": UPLOAD_BYTES, "results": results});
    println!("{results:#}");
}

async fn bench(url: &str, runs: u64) -> Value {
    Store::open(url).await.expect("it opens").close().await;
    let begun = Instant::now();
    generate(url, runs).await;
    let generated_s = begun.elapsed().as_secs_f64();
    eprintln!("{runs} runs made in {generated_s:.0} s");

    let (before, cpu_before) = (resident_bytes(), cpu());
    let begun = Instant::now();
    let store = Store::open(url).await.expect("it opens");
    let total = store.usage().await.expect("it answers").runs;
    assert_eq!(total, runs);
    let index = json!({
        "read_s": begun.elapsed().as_secs_f64(),
        "read_cpu_s": (cpu() - cpu_before).as_secs_f64(),
        "bytes_per_run": resident_bytes().saturating_sub(before) as f64 / runs as f64,
    });
    eprintln!("index {index}");

    let mut list = serde_json::Map::new();
    let mut compare = serde_json::Map::new();
    for (name, filter) in filters(&store).await {
        let of = measured(100, async || {
            drop(store.list(&filter).await.expect("a page"))
        });
        list.insert(name.into(), of.await);
        let of = measured(30, async || {
            drop(store.compare(&filter).await.expect("it compares"))
        });
        compare.insert(name.into(), of.await);
        eprintln!("{name}: list {}, compare {}", list[name], compare[name]);
    }
    let usage = measured(50, async || drop(store.usage().await.expect("it counts"))).await;
    eprintln!("usage {usage}");
    let alone = uploads(&store, false).await;
    eprintln!("put {alone}");
    let beside = uploads(&store, true).await;
    eprintln!("put beside queries {beside}");
    store.close().await;
    json!({
        "generated_s": generated_s,
        "index": index,
        "list": list,
        "compare": compare,
        "usage": usage,
        "put": alone,
        "put_with_spend_and_queries": beside,
    })
}

/// Filters that match all, much, little and nothing.
async fn filters(store: &Store) -> Vec<(&'static str, Filter)> {
    let none = Filter::default;
    let some = |text: &str| Some(text.to_owned());
    let newest = store.list(&none()).await.expect("a page").runs;
    let test = newest.first().expect("there are runs").test.clone();
    let now = jiff::Timestamp::now();
    let ago = |days: i64| Some((now - jiff::SignedDuration::from_hours(24 * days)).to_string());
    vec![
        ("all", none()),
        (
            "half",
            Filter {
                mode: some("mobile"),
                ..none()
            },
        ),
        (
            "few",
            Filter {
                server: some("farther"),
                transport: some("mpquic"),
                policy: some("fullmesh"),
                family: some("ipv6"),
                publish: Some(false),
                delay_max_s: Some(5.0),
                ..none()
            },
        ),
        (
            "an old month",
            Filter {
                from: ago(DAYS - 10),
                to: ago(DAYS - 40),
                ..none()
            },
        ),
        (
            "a test",
            Filter {
                test: Some(test),
                ..none()
            },
        ),
        (
            "nothing",
            Filter {
                server: some("nowhere"),
                ..none()
            },
        ),
        (
            "the last page",
            Filter {
                after: some("200"),
                invalid: Some(true),
                limit: Some(200),
                ..none()
            },
        ),
    ]
}

/// How long `what` takes, and of that on the processor in the mean.
async fn measured(times: usize, what: impl AsyncFn()) -> Value {
    let mut took = Vec::new();
    let cpu_before = cpu();
    for _ in 0..times {
        let begun = Instant::now();
        what().await;
        took.push(begun.elapsed());
    }
    let mut result = quantiles(took);
    result["cpu_ms"] = json!((cpu() - cpu_before).as_secs_f64() * 1_000.0 / times as f64);
    result
}

/// What this process has taken of the processors: what a measured time is when nobody else wants them.
fn cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process may know");
    let of = |time: TimeVal| {
        let us = time.num_microseconds();
        Duration::from_micros(us.unsigned_abs())
    };
    of(usage.user_time()) + of(usage.system_time())
}

fn quantiles(mut took: Vec<Duration>) -> Value {
    took.sort();
    let at = |share: f64| {
        let place = ((took.len() as f64 * share).ceil() as usize).clamp(1, took.len());
        took[place - 1].as_secs_f64() * 1_000.0
    };
    json!({"median_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1.0)})
}

/// Uploads at once, each with its quota where `beside` says so, with pages and comparisons beside them.
async fn uploads(store: &Store, beside: bool) -> Value {
    let random = &mut sample::random(u64::from(beside) + 7);
    let mut document = vec![0; UPLOAD_BYTES];
    random.fill(&mut document[..]);
    let now_s = jiff::Timestamp::now().as_second().unsigned_abs();
    let mut waiting: Vec<NewRun> = Vec::new();
    for i in 0..UPLOADS {
        let mut run = sample::run(random, &format!("{:032x}", i / TEST as usize));
        run.expires_s = now_s + 1_000_000;
        waiting.push(run);
    }
    let waiting = std::sync::Arc::new(std::sync::Mutex::new(waiting));
    let document = std::sync::Arc::new(document);
    let (begun, cpu_before) = (Instant::now(), cpu());
    let tasks: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (store, waiting) = (store.clone(), waiting.clone());
            let document = document.clone();
            tokio::spawn(async move {
                let mut took = Vec::new();
                loop {
                    let Some(mut run) = waiting.lock().expect("no panic").pop() else {
                        return took;
                    };
                    run.document = (*document).clone();
                    let begun = Instant::now();
                    if beside {
                        let hour = Duration::from_secs(3_600);
                        let spent = store.spend("192.0.2.0/24", 1, 1 << 40, hour, now_s).await;
                        assert_eq!(spent, Ok(true));
                    }
                    assert_eq!(store.put(&run).await, Ok(Put::Stored));
                    took.push(begun.elapsed());
                }
            })
        })
        .collect();
    let queries = beside.then(|| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut took = Vec::new();
            loop {
                let begun = Instant::now();
                store.list(&Filter::default()).await.expect("a page");
                took.push(begun.elapsed());
                if took.len() % 10 == 0 {
                    store
                        .compare(&Filter::default())
                        .await
                        .expect("it compares");
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
                if std::sync::Arc::strong_count(&document) == 1 {
                    return took;
                }
            }
        })
    });
    let mut took = Vec::new();
    for task in tasks {
        took.extend(task.await.expect("no panic"));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let mut result = quantiles(took);
    result["per_second"] = json!(UPLOADS as f64 / seconds);
    result["cpu_s_per_second"] = json!((cpu() - cpu_before).as_secs_f64() / seconds);
    if let Some(queries) = queries {
        result["pages_beside"] = quantiles(queries.await.expect("no panic"));
    }
    result
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok())
        .unwrap_or(0)
        * 1_024
}

/// Writes `runs` into the database as they would be there after a long time.
async fn generate(url: &str, runs: u64) {
    let now_us = jiff::Timestamp::now().as_microsecond();
    let since_us = now_us - DAYS * 86_400_000_000;
    let bytes = match url.starts_with("sqlite") {
        true => ["X'", "'"],
        false => ["'\\x", "'"],
    };
    let mut random = sample::random(1);
    let statements = (0..runs.div_ceil(ROWS)).map(move |i| {
        let numbers = i * ROWS + 1..=runs.min((i + 1) * ROWS);
        let mut rows = String::from(INSERT);
        let mut documents = String::from("INSERT INTO documents (number, document) VALUES ");
        for number in numbers.clone() {
            let test = format!("{:032x}", number / TEST);
            let run = sample::run(&mut random, &test);
            let share = number as f64 / runs as f64;
            let stored_us = since_us + ((now_us - since_us) as f64 * share) as i64;
            let end = if number == *numbers.end() { ";" } else { "," };
            row(&mut rows, number, stored_us, &run, bytes);
            rows.push_str(end);
            let _ = write!(documents, "({number}, {}00{}){end}", bytes[0], bytes[1]);
        }
        rows + &documents
    });
    let last = format!("UPDATE counters SET value = {runs} WHERE name = 'runs'");
    if url.starts_with("sqlite") {
        let options: sqlx::sqlite::SqliteConnectOptions = url.parse().expect("a URL");
        let mut connection = options.connect().await.expect("it opens");
        // Nothing is lost that could not be made again.
        let fast = "PRAGMA synchronous = OFF; PRAGMA cache_size = -500000; BEGIN";
        connection.execute(fast).await.expect("it begins");
        for statement in statements.chain([last, "COMMIT".into()]) {
            let statement = sqlx::raw_sql(AssertSqlSafe(statement));
            connection.execute(statement).await.expect("it is inserted");
        }
        let vacuum = "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA optimize";
        connection.execute(vacuum).await.expect("written back");
        connection.close().await.expect("it closes");
    } else {
        let options: sqlx::postgres::PgConnectOptions = url.parse().expect("a URL");
        let mut connection = options.connect().await.expect("it opens");
        connection.execute("BEGIN").await.expect("it begins");
        for statement in statements.chain([last, "COMMIT".into()]) {
            let statement = sqlx::raw_sql(AssertSqlSafe(statement));
            connection.execute(statement).await.expect("it is inserted");
        }
        connection.execute("ANALYZE").await.expect("it is analysed");
        connection.close().await.expect("it closes");
    }
}

const INSERT: &str = "INSERT INTO runs (number, id, test, started_at, stored_us, expires_s, experiment, \
     mode, server, transport, policy, pattern, family, port, status, invalid, counts, ended, networks, \
     duration_us, walkabout_version, platform, prefix, publish, delay_max_s, delay_max_censored, \
     delay_max_up_s, delay_max_up_censored, delay_max_down_s, delay_max_down_censored, \
     handover_sent_s, handover_sent_censored, cellular_cause, metrics, secret_sha256, \
     content_sha256) VALUES ";

/// Appends the row of `run`, whose words need no quoting.
fn row(sql: &mut String, number: u64, stored_us: i64, run: &NewRun, bytes: [&str; 2]) {
    let summary = &run.summary;
    let invalid = summary.invalid.is_some();
    let status = format!("{:?}", summary.status).to_lowercase();
    let counts = u8::from(!invalid && status == "complete");
    let invalid = match invalid {
        true => "'the interfaces changed'",
        false => "NULL",
    };
    let metric = |name: &str| match summary.metrics.get(name) {
        Some(MetricValue::Number { value, censored }) => {
            format!("{value}, {}", u8::from(*censored))
        }
        _ => "NULL, 0".into(),
    };
    let cause = match summary.metrics.get("cellular-cause") {
        Some(MetricValue::Word(cause)) => format!("'{cause}'"),
        _ => "NULL".into(),
    };
    let hash = format!("{}{:064x}{}", bytes[0], number, bytes[1]);
    let _ = write!(
        sql,
        "({number}, '{}', '{}', '{}', {stored_us}, {}, '{}', '{}', '{}', '{}', '{}', '{}', '{}', {}, \
         '{status}', {invalid}, {counts}, 'done', '{}', {}, '0.1.0', '{}', '{}', {}, {}, {}, {}, {}, \
         {cause}, '{}', {hash}, {hash})",
        summary.id,
        summary.test,
        summary.started_at,
        stored_us / 1_000_000 + 365 * 86_400,
        summary.experiment,
        summary.mode,
        summary.server,
        summary.transport,
        summary.policy,
        summary.pattern,
        summary.family,
        summary.port,
        summary.networks,
        summary.duration_us,
        run.platform,
        run.prefix,
        u8::from(summary.publish),
        metric("delay-max"),
        metric("delay-max-up"),
        metric("delay-max-down"),
        metric("handover-sent"),
        serde_json::to_string(&summary.metrics).expect("metrics are JSON"),
    );
}
