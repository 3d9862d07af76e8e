//! Does a connection end as either side wants, in every order?

use crate::stage::{BAD, CLEAN, Setting, Stage};
use crate::{Outcome, check};
use mptcp::connection::{Event, Failure};

const BYTES: u64 = 300_000;

fn connected(setting: &Setting<'static>, link: &str) -> Result<Stage, crate::Failure> {
    let mut stage = Stage::new(setting, &[link, link])?;
    stage.establish()?;
    stage.join(false)?;
    Ok(stage)
}

/// We end our stream; the kernel goes on for a while.
pub fn ours_first(setting: &Setting<'static>) -> Outcome {
    let mut stage = connected(setting, BAD)?;
    stage.ours.source.closes = true;
    stage.exchange(BYTES)?;
    stage.until("the end of our stream at the kernel", |stage| {
        stage.kernel.sink.ended
    })?;
    check!(!stage.ours.sink.ended, "{}", stage.state());
    stage.kernel.source.send(BYTES);
    stage.until_delivered()?;
    check!(!stage.ours.sink.ended, "{}", stage.state());
    stage.kernel.source.closes = true;
    stage.until_closed()?;
    stage.expect_clean()
}

/// The kernel ends its stream; we go on for a while.
pub fn kernel_first(setting: &Setting<'static>) -> Outcome {
    let mut stage = connected(setting, BAD)?;
    stage.kernel.source.closes = true;
    stage.exchange(BYTES)?;
    stage.until("the end of the kernel's stream", |stage| {
        stage.ours.sink.ended
    })?;
    check!(stage.ours.saw(&Event::PeerFinished), "{}", stage.state());
    check!(!stage.kernel.sink.ended, "{}", stage.state());
    stage.ours.source.send(BYTES);
    stage.until_delivered()?;
    check!(!stage.kernel.sink.ended, "{}", stage.state());
    stage.ours.source.closes = true;
    stage.until_closed()?;
    stage.expect_clean()
}

/// Both end their streams with the last of their data.
pub fn both(setting: &Setting<'static>) -> Outcome {
    let mut stage = connected(setting, BAD)?;
    stage.ours.source.closes = true;
    stage.kernel.source.closes = true;
    stage.exchange(BYTES)?;
    stage.until_closed()?;
    stage.expect_clean()
}

/// We abort: MP_FASTCLOSE.
pub fn we_abort(setting: &Setting<'static>) -> Outcome {
    let mut stage = connected(setting, CLEAN)?;
    stage.exchange(BYTES)?;
    let (now, id) = (stage.ours.now(), stage.ours.id());
    stage.ours.stack.abort(now, id);
    stage.until("the reset at the kernel", |stage| {
        stage.kernel.error.is_some()
    })?;
    let error = stage.kernel.error.as_ref().map(std::io::Error::kind);
    check!(
        error == Some(std::io::ErrorKind::ConnectionReset),
        "{}",
        stage.state()
    );
    check!(
        stage.kernel.counter("MPFastcloseRx")? >= 1,
        "{}",
        stage.state()
    );
    let failed = Event::Failed(Failure::Aborted);
    check!(stage.ours.saw(&failed), "{}", stage.state());
    stage.expect_clean()
}

/// The kernel aborts: MP_FASTCLOSE.
pub fn kernel_aborts(setting: &Setting<'static>) -> Outcome {
    let mut stage = connected(setting, CLEAN)?;
    stage.exchange(BYTES)?;
    stage.kernel.abort()?;
    stage.until("the reset at our end", |stage| {
        stage.ours.saw(&Event::Failed(Failure::Reset))
    })?;
    check!(
        stage.kernel.counter("MPFastcloseTx")? >= 1,
        "{}",
        stage.state()
    );
    check!(
        stage.ours.stack.counters().fast_closes == 1,
        "{}",
        stage.state()
    );
    stage.expect_clean()
}
