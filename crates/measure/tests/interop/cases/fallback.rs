//! Is a connection plain TCP where one side, or something in between, knows nothing else?

use crate::kernel::Protocol;
use crate::middlebox::Strips;
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

fn stripped(setting: &Setting<'static>, strips: Strips, expected: &[FallbackReason]) -> Outcome {
    let mut stage = Stage::new(setting, &[CLEAN])?;
    stage.ours.strips = strips;
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
    stripped(setting, Strips::Syn, &[FallbackReason::NotOffered])
}

pub fn syn_ack(setting: &Setting<'static>) -> Outcome {
    // The server learns of it from the third ACK or the first data.
    let expected = match setting.role {
        Role::Client => FallbackReason::NotOffered,
        Role::Server => FallbackReason::HandshakeStripped,
    };
    stripped(setting, Strips::SynAck, &[expected])
}

pub fn data(setting: &Setting<'static>) -> Outcome {
    use FallbackReason::{HandshakeStripped, NoMapping, Peer};
    stripped(setting, Strips::Data, &[HandshakeStripped, NoMapping, Peer])
}

pub fn all_but_syn(setting: &Setting<'static>) -> Outcome {
    use FallbackReason::{HandshakeStripped, NoMapping, Peer};
    stripped(
        setting,
        Strips::AllButSyn,
        &[HandshakeStripped, NoMapping, Peer],
    )
}
