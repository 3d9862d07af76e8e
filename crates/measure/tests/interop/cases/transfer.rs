//! Does everything arrive as it was, both ways at once, over bad links?

use crate::kernel::Protocol;
use crate::stage::{BAD, Role, Setting, Stage, config};
use crate::{Outcome, check};
use mptcp::connection::{Event, Extensions};
use mptcp::wire::mptcp::Features;

/// How much goes each way: 100 MB where `WALKABOUT_INTEROP_FULL` is set, which takes minutes.
fn size() -> u64 {
    match std::env::var_os("WALKABOUT_INTEROP_FULL") {
        Some(_) => 100_000_000,
        None => 4_000_000,
    }
}

pub fn one_path(setting: &Setting<'static>) -> Outcome {
    let mut stage = Stage::new(setting, &[BAD])?;
    stage.connect(Protocol::Mptcp)?;
    stage.exchange(size())?;
    stage.finish()?;
    stage.expect_clean()
}

pub fn two_paths(setting: &Setting<'static>) -> Outcome {
    let mut stage = Stage::new(setting, &[BAD, BAD])?;
    stage.establish()?;
    stage.join(false)?;
    stage.exchange(size())?;
    stage.finish()?;
    for path in 0..2 {
        let carried = stage.ours.carried[&stage.client(path)];
        check!(carried.sent > size() / 20, "path {path}: {carried:?}");
        check!(carried.received > size() / 20, "path {path}: {carried:?}");
    }
    check!(stage.ours.stack.counters().joins == 1, "{}", stage.state());
    stage.expect_clean()
}

pub fn with_checksums(setting: &Setting<'static>) -> Outcome {
    let mut config = config(setting.family);
    config.checksum = true;
    let mut stage = Stage::with(setting, &[BAD, BAD], config)?;
    stage.kernel.set("net/mptcp/checksum_enabled", "1")?;
    stage.establish()?;
    stage.join(false)?;
    stage.exchange(1_000_000)?;
    stage.finish()?;
    stage.expect_clean()
}

/// The kernel knows none of the extensions: the offer goes unanswered, and nothing else changes.
pub fn with_extensions(setting: &Setting<'static>) -> Outcome {
    let mut config = config(setting.family);
    config.extensions = Extensions {
        idle_flag: true,
        rto_option: true,
        fast_join: true,
        ..Extensions::default()
    };
    let mut stage = Stage::with(setting, &[BAD, BAD], config)?;
    stage.establish()?;
    stage.join(false)?;
    stage.exchange(1_000_000)?;
    if setting.role == Role::Client {
        stage.until("the end of the offer", |stage| {
            stage.ours.saw(&Event::Extensions(Features::default()))
        })?;
    }
    stage.finish()?;
    let counters = stage.ours.stack.counters();
    check!(counters.joins == 1, "{}", stage.state());
    check!(counters.fast_joins_sent == 0, "{}", stage.state());
    stage.expect_clean()
}
