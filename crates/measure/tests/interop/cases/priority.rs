//! Is a subflow used as its priority says, and is the priority changed from either side?

use crate::stage::{CLEAN, Role, Setting, Stage, config};
use crate::{Failure, Outcome, check};
use mptcp::connection::{Config, Event};
use walkabout_measure::netlink::mptcp::{LocalAddress, flag};

/// Data enough that a scheduler that may use both paths uses both.
const BYTES: u64 = 2_000_000;
/// What a path that is not used may carry all the same.
const NOTHING: u64 = BYTES / 20;

/// Two paths, of which neither end takes one for stale, in whose place a backup is used: a machine
/// that stands still for seconds would be enough for that.
fn stage(setting: &Setting<'static>) -> Result<Stage, Failure> {
    let config = Config {
        stale_loss_count: 0,
        ..config(setting.family)
    };
    let stage = Stage::with(setting, &[CLEAN, CLEAN], config)?;
    stage.kernel.set("net/mptcp/stale_loss_cnt", "0")?;
    Ok(stage)
}

/// The second path is backup from its MP_JOIN on.
pub fn backup(setting: &Setting<'static>) -> Outcome {
    let mut stage = stage(setting)?;
    stage.establish()?;
    stage.join(true)?;
    let (local, remote) = stage.pair(1);
    let subflow = stage.ours.subflow(local, remote);
    let seen = match setting.role {
        Role::Client => subflow.is_some_and(|s| s.backup),
        Role::Server => subflow.is_some_and(|s| s.peer_backup),
    };
    check!(seen, "{}", stage.state());
    stage.exchange(BYTES)?;
    let carried = stage.ours.carried[&stage.client(1)];
    check!(carried.sent < NOTHING, "{carried:?}");
    check!(carried.received < NOTHING, "{carried:?}");
    stage.finish()?;
    stage.expect_clean()
}

/// We make the second path backup and the kernel heeds it, and regular again.
pub fn ours(setting: &Setting<'static>) -> Outcome {
    let mut stage = stage(setting)?;
    stage.establish()?;
    stage.join(false)?;
    for (changes, backup) in [(1, true), (2, false)] {
        let (local, remote) = stage.pair(1);
        let subflow = stage.ours.subflow(local, remote).ok_or("no subflow")?.id;
        let (now, id) = (stage.ours.now(), stage.ours.id());
        stage.ours.stack.set_backup(now, id, subflow, backup)?;
        stage.until("MP_PRIO", |stage| {
            stage.kernel.counter("MPPrioRx").is_ok_and(|n| n == changes)
        })?;
        expect_use(&mut stage, !backup)?;
    }
    stage.finish()?;
    stage.expect_clean()
}

/// The kernel makes the second path backup and we heed it, and regular again.
pub fn kernels(setting: &Setting<'static>) -> Outcome {
    let mut stage = stage(setting)?;
    // The flags of an endpoint are what the kernel changes.
    let (endpoint, id, kind) = match setting.role {
        Role::Client => (stage.server(), 1, flag::SIGNAL),
        Role::Server => (stage.client(1), 2, flag::SUBFLOW),
    };
    stage.establish()?;
    match setting.role {
        Role::Client => {
            stage.give_kernel_second()?;
            let second = stage.second();
            stage.kernel.add_endpoint(id, second, None, kind)?;
            stage.until("ADD_ADDR", |stage| {
                let announced = |e: &Event| matches!(e, Event::AddressAnnounced { .. });
                stage.ours.events().any(announced)
            })?;
            let client = stage.client(1);
            stage.open(client, second, false)?;
            stage.until_subflow(client, second)?;
        }
        Role::Server => stage.join(false)?,
    }
    // The kernel changes nothing of a subflow that is not fully established.
    stage.exchange(BYTES)?;
    let ip = match setting.role {
        Role::Client => stage.second(),
        Role::Server => endpoint,
    };
    for backup in [true, false] {
        let flags = kind | if backup { flag::BACKUP } else { 0 };
        stage.kernel.control.change_endpoint(&LocalAddress {
            id,
            ip,
            port: None,
            flags,
            interface: 0,
        })?;
        let (local, remote) = match setting.role {
            Role::Client => (stage.client(1), stage.second()),
            Role::Server => stage.pair(1),
        };
        stage.until("MP_PRIO", |stage| {
            let subflow = stage.ours.subflow(local, remote);
            subflow.is_some_and(|s| s.peer_backup == backup)
        })?;
        expect_use(&mut stage, !backup)?;
    }
    stage.finish()?;
    stage.expect_clean()
}

/// Both ends use the second path, or neither does.
fn expect_use(stage: &mut Stage, used: bool) -> Outcome {
    let client = stage.client(1);
    let before = stage.ours.carried.get(&client).copied().unwrap_or_default();
    stage.exchange(BYTES)?;
    let after = stage.ours.carried[&client];
    let (sent, received) = (after.sent - before.sent, after.received - before.received);
    check!(
        (sent > NOTHING) == used,
        "sent {sent} on a path that is used: {used}"
    );
    check!(
        (received > NOTHING) == used,
        "received {received} on a path that is used: {used}"
    );
    Ok(())
}
