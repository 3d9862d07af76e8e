//! Is a connection plain TCP where one side, or something in between, knows nothing else?

use crate::kernel::Protocol;
use crate::middlebox::{Middlebox, Way};
use crate::stage::{BAD, CLEAN, Role, Setting, Stage, config};
use crate::{Outcome, check};
use mptcp::connection::{Event, FallbackReason};

const BYTES: u64 = 1_000_000;

fn deliver(stage: &mut Stage) -> Outcome {
    stage.exchange(BYTES)?;
    stage.finish()?;
    let reset = stage.ours.stack.counters().resets_sent;
    check!(reset == 0, "resets sent: {reset}");
    Ok(())
}

fn reason(stage: &Stage) -> Option<FallbackReason> {
    stage.ours.events().find_map(|event| match event {
        Event::Fallback(reason) => Some(*reason),
        _ => None,
    })
}

/// The kernel's socket asks for TCP.
pub fn plain_kernel(setting: &Setting<'static>) -> Outcome {
    let mut stage = Stage::new(setting, &[BAD])?;
    stage.connect(Protocol::Tcp)?;
    deliver(&mut stage)?;
    let reason = reason(&stage);
    check!(reason == Some(FallbackReason::NotOffered), "{reason:?}");
    Ok(())
}

/// Our stack does without Multipath TCP, whatever the kernel's socket asks for.
pub fn plain_ours(setting: &Setting<'static>) -> Outcome {
    for protocol in [Protocol::Tcp, Protocol::Mptcp] {
        let mut config = config(setting.family);
        config.multipath = false;
        let mut stage = Stage::with(setting, &[BAD], config)?;
        stage.connect(protocol)?;
        deliver(&mut stage)?;
        check!(
            stage.kernel.counter("MPCapableACKRX")? == 0,
            "{}",
            stage.state()
        );
    }
    Ok(())
}

fn stripped(
    setting: &Setting<'static>,
    middlebox: Middlebox,
    expected: &[FallbackReason],
) -> Outcome {
    let mut stage = Stage::new(setting, &[CLEAN])?;
    stage.ours.middlebox = middlebox;
    stage.connect(Protocol::Mptcp)?;
    deliver(&mut stage)?;
    let info = stage.ours.stack.info(stage.ours.id());
    check!(
        info.is_some_and(|info| !info.multipath),
        "{}",
        stage.state()
    );
    let reason = reason(&stage);
    check!(
        reason.is_some_and(|r| expected.contains(&r)),
        "{reason:?}, {expected:?} expected"
    );
    Ok(())
}

pub fn syn(setting: &Setting<'static>) -> Outcome {
    stripped(setting, Middlebox::StripsSyn, &[FallbackReason::NotOffered])
}

pub fn syn_ack(setting: &Setting<'static>) -> Outcome {
    // The server learns of it from the third ACK or the first data.
    let expected = match setting.role {
        Role::Client => FallbackReason::NotOffered,
        Role::Server => FallbackReason::HandshakeStripped,
    };
    stripped(setting, Middlebox::StripsSynAck, &[expected])
}

pub fn data(setting: &Setting<'static>) -> Outcome {
    use FallbackReason::{HandshakeStripped, NoMapping, Peer};
    stripped(
        setting,
        Middlebox::StripsData,
        &[HandshakeStripped, NoMapping, Peer],
    )
}

pub fn all_but_syn(setting: &Setting<'static>) -> Outcome {
    use FallbackReason::{HandshakeStripped, NoMapping, Peer};
    stripped(
        setting,
        Middlebox::StripsAllButSyn,
        &[HandshakeStripped, NoMapping, Peer],
    )
}

/// Payload that was changed on one of two paths is found by its checksum: the path is given up
/// (RFC 8684, section 3.7), and the stream is whole.
fn altered(setting: &Setting<'static>, way: Way) -> Result<Stage, crate::Failure> {
    let mut config = config(setting.family);
    config.checksum = true;
    let mut stage = Stage::with(setting, &[CLEAN, CLEAN], config)?;
    stage.kernel.set("net/mptcp/checksum_enabled", "1")?;
    stage.establish()?;
    stage.join(false)?;
    stage.ours.middlebox = Middlebox::Alters(way, stage.client(1));
    stage.exchange(BYTES)?;
    let (local, remote) = stage.pair(1);
    stage.until("the end of the path", |stage| {
        let subflow = stage.ours.subflow(local, remote);
        subflow.is_none_or(|subflow| !subflow.established || subflow.closing)
    })?;
    stage.finish()?;
    let info = stage.ours.stack.info(stage.ours.id());
    check!(info.is_some_and(|info| info.multipath), "{}", stage.state());
    Ok(stage)
}

/// A middlebox changes what we send, and the kernel finds it.
pub fn ours_altered(setting: &Setting<'static>) -> Outcome {
    let stage = altered(setting, Way::Out)?;
    check!(
        stage.kernel.counter("DataCsumErr")? > 0,
        "{}",
        stage.state()
    );
    check!(stage.kernel.counter("MPFailTx")? > 0, "{}", stage.state());
    Ok(())
}

/// A middlebox changes what the kernel sends, and we find it.
pub fn kernels_altered(setting: &Setting<'static>) -> Outcome {
    let stage = altered(setting, Way::In)?;
    let found = stage.ours.stack.counters().checksum_errors;
    check!(found > 0, "{}", stage.state());
    check!(stage.kernel.counter("MPFailRx")? > 0, "{}", stage.state());
    Ok(())
}
