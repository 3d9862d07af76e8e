//! What does a service tell of itself while it runs? Lines on standard error, as text or as JSON.

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// The programs' own modules. Those of libraries name their peers' addresses in full.
const OWN: [&str; 2] = ["walkabout", "walkabout_platform"];

/// How much is told.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Level {
    /// What went wrong.
    Error,
    /// And what is odd.
    Warn,
    /// And each session, and who was turned away.
    Info,
    /// And connections that are turned away in numbers.
    Debug,
}

/// Begins to log.
pub fn start(json: bool, level: Level) {
    let level = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    let own = Targets::new().with_targets(OWN.map(|target| (target, level)));
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let lines = match json {
        true => lines.json().flatten_event(true).boxed(),
        false => {
            use std::io::IsTerminal;
            let colours = std::io::stderr().is_terminal();
            lines.with_ansi(colours).compact().boxed()
        }
    };
    // Only one of them per process; a second one changes nothing.
    let _ = tracing_subscriber::registry()
        .with(lines.with_filter(own))
        .try_init();
}
