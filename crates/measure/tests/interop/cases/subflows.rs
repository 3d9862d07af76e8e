//! Do addresses and subflows come and go as either side says?

use crate::stage::{CLEAN, Role, Setting, Stage};
use crate::{Outcome, check};
use model::Family;
use mptcp::connection::Event;
use std::net::SocketAddr;
use walkabout_measure::addresses::PORT;
use walkabout_measure::netlink::mptcp::flag;

const BYTES: u64 = 300_000;

/// The server has a second address and says so; the client opens a subflow to it.
pub fn server_announces(setting: &Setting<'static>) -> Outcome {
    let mut stage = Stage::new(setting, &[CLEAN, CLEAN])?;
    let second = stage.second();
    match setting.role {
        Role::Client => {
            stage.give_kernel_second()?;
            stage.kernel.add_endpoint(1, second, None, flag::SIGNAL)?;
            stage.establish()?;
            let expected = SocketAddr::new(second, PORT);
            stage.until("ADD_ADDR", |stage| {
                let announced = |e: &Event| {
                    matches!(e, Event::AddressAnnounced { address, .. } if *address == expected)
                };
                stage.ours.events().any(announced)
            })?;
            let client = stage.client(1);
            stage.open(client, second, false)?;
            stage.until_subflow(client, second)?;
            stage.until("the echo", |stage| {
                stage.kernel.counter("EchoAdd").is_ok_and(|n| n >= 1)
            })?;
        }
        Role::Server => {
            let server = stage.server();
            stage.ours.add_address(server, second);
            stage.ours.stack.listen(SocketAddr::new(second, PORT));
            stage.establish()?;
            let (now, id) = (stage.ours.now(), stage.ours.id());
            let address = SocketAddr::new(second, 0);
            stage.ours.stack.announce(now, id, address)?;
            stage.until("the kernel's join", |stage| {
                let to = |s: &mptcp::connection::SubflowInfo| {
                    s.tuple.local.ip() == second && s.established
                };
                stage.ours.subflows().iter().any(to)
            })?;
            // More than once when the echo takes its time.
            check!(stage.kernel.counter("AddAddr")? >= 1, "{}", stage.state());
        }
    }
    stage.exchange(BYTES)?;
    stage.finish()?;
    stage.expect_clean()
}

/// The client says where else it listens; the server opens a subflow to it.
pub fn client_announces(setting: &Setting<'static>) -> Outcome {
    const OTHER_PORT: u16 = 4_430;
    let mut stage = Stage::new(setting, &[CLEAN, CLEAN])?;
    let client = stage.client(1);
    match setting.role {
        // The kernel's server opens no subflows.
        Role::Client => {
            stage.establish()?;
            let (now, id) = (stage.ours.now(), stage.ours.id());
            stage
                .ours
                .stack
                .announce(now, id, SocketAddr::new(client, 0))?;
            stage.until("the address at the kernel", |stage| {
                stage.kernel.counter("AddAddr").is_ok_and(|n| n >= 1)
            })?;
        }
        Role::Server => {
            // An ADD_ADDR with an IPv6 address and a port takes 30 bytes, and the timestamps 12:
            // the kernel would leave it out.
            if setting.family == Family::Ipv6 {
                stage.kernel.set("net/ipv4/tcp_timestamps", "0")?;
            }
            let flags = flag::SIGNAL;
            stage
                .kernel
                .add_endpoint(2, client, Some(OTHER_PORT), flags)?;
            stage.establish()?;
            let expected = SocketAddr::new(client, OTHER_PORT);
            stage.until("ADD_ADDR", |stage| {
                let announced = |e: &Event| {
                    matches!(e, Event::AddressAnnounced { address, .. } if *address == expected)
                };
                stage.ours.events().any(announced)
            })?;
            let (now, id) = (stage.ours.now(), stage.ours.id());
            let local = SocketAddr::new(stage.server(), 0);
            stage
                .ours
                .stack
                .open_subflow(now, id, local, expected, false)?;
            let server = stage.server();
            stage.until_subflow(server, client)?;
            check!(
                stage.kernel.counter("MPJoinPortAckRx")? == 1,
                "{}",
                stage.state()
            );
        }
    }
    stage.exchange(BYTES)?;
    stage.finish()?;
    stage.expect_clean()
}

/// We withdraw the address of a path (ours as client) or of the server's second address.
pub fn we_withdraw(setting: &Setting<'static>) -> Outcome {
    let mut stage = Stage::new(setting, &[CLEAN, CLEAN])?;
    let (second, server) = (stage.second(), stage.server());
    let (withdrawn, before) = match setting.role {
        Role::Client => {
            stage.establish()?;
            stage.join(false)?;
            (stage.client(1), 1)
        }
        Role::Server => {
            stage.ours.add_address(server, second);
            stage.ours.stack.listen(SocketAddr::new(second, PORT));
            stage.establish()?;
            let (now, id) = (stage.ours.now(), stage.ours.id());
            stage
                .ours
                .stack
                .announce(now, id, SocketAddr::new(second, 0))?;
            (second, 1)
        }
    };
    stage.until("two subflows", |stage| {
        stage
            .ours
            .subflows()
            .iter()
            .filter(|s| s.established)
            .count()
            == before + 1
    })?;
    stage.exchange(BYTES)?;
    let (now, id) = (stage.ours.now(), stage.ours.id());
    stage.ours.stack.withdraw(now, id, withdrawn)?;
    stage.until("REMOVE_ADDR at the kernel", |stage| {
        stage.kernel.counter("RmAddr").is_ok_and(|n| n >= 1)
            && stage
                .ours
                .subflows()
                .iter()
                .all(|s| s.tuple.local.ip() != withdrawn)
    })?;
    stage.exchange(BYTES)?;
    stage.finish()?;
    stage.expect_clean()
}

/// The kernel withdraws the address of a path (as client) or its second one (as server).
pub fn kernel_withdraws(setting: &Setting<'static>) -> Outcome {
    let mut stage = Stage::new(setting, &[CLEAN, CLEAN])?;
    let (id, withdrawn) = match setting.role {
        Role::Client => {
            let (client, second) = (stage.client(1), stage.second());
            stage.give_kernel_second()?;
            stage.kernel.add_endpoint(1, second, None, flag::SIGNAL)?;
            stage.establish()?;
            stage.until("ADD_ADDR", |stage| {
                let announced = |e: &Event| matches!(e, Event::AddressAnnounced { .. });
                stage.ours.events().any(announced)
            })?;
            stage.open(client, second, false)?;
            stage.until_subflow(client, second)?;
            (1, second)
        }
        Role::Server => {
            stage.establish()?;
            stage.join(false)?;
            (2, stage.client(1))
        }
    };
    stage.exchange(BYTES)?;
    stage.kernel.control.remove_endpoint(id)?;
    stage.until("REMOVE_ADDR", |stage| {
        let withdrawn_event = |e: &Event| matches!(e, Event::AddressWithdrawn(_));
        stage.ours.events().any(withdrawn_event)
            && stage
                .ours
                .subflows()
                .iter()
                .all(|s| s.tuple.remote.ip() != withdrawn)
    })?;
    stage.exchange(BYTES)?;
    stage.finish()?;
    stage.expect_clean()
}

/// The first subflow goes, with a FIN or a reset, and the second one carries on.
pub fn first_closed(setting: &Setting<'static>) -> Outcome {
    for reset in [false, true] {
        let mut stage = Stage::new(setting, &[CLEAN, CLEAN])?;
        stage.establish()?;
        stage.join(false)?;
        stage.exchange(BYTES)?;
        let (local, remote) = stage.pair(0);
        let first = stage.ours.subflow(local, remote).ok_or("no subflow")?.id;
        let (now, id) = (stage.ours.now(), stage.ours.id());
        stage.ours.source.send(BYTES);
        stage.kernel.source.send(BYTES);
        stage.ours.stack.close_subflow(now, id, first, reset)?;
        stage.until_delivered()?;
        stage.until("the first subflow's end", |stage| {
            stage
                .ours
                .subflow(local, remote)
                .is_none_or(|s| !s.established || s.closing)
        })?;
        stage.exchange(BYTES)?;
        stage.finish()?;
        stage.expect_clean()?;
    }
    Ok(())
}

/// Break before make: the connection has no subflow for a while, and goes on with a new one.
pub fn none_left(setting: &Setting<'static>) -> Outcome {
    let mut stage = Stage::new(setting, &[CLEAN, CLEAN])?;
    stage.establish()?;
    let (local, remote) = stage.pair(0);
    let first = stage.ours.subflow(local, remote).ok_or("no subflow")?.id;
    let (now, id) = (stage.ours.now(), stage.ours.id());
    stage.ours.stack.close_subflow(now, id, first, true)?;
    stage.until("the end of the only subflow", |stage| {
        stage.ours.subflows().iter().all(|s| !s.established)
            && stage.kernel.counter("MPRstRx").is_ok_and(|n| n == 1)
    })?;
    stage.ours.source.send(BYTES);
    stage.kernel.source.send(BYTES);
    stage.open(stage.client(1), stage.server(), false)?;
    stage.until_joined(1)?;
    stage.until_delivered()?;
    stage.finish()?;
    stage.expect_clean()
}
