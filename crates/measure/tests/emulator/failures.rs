//! Is a host told of a failure, and of its end, as a real one would be?

use crate::ground::{client_udp, connect, scenario, start};
use crate::{On, Outcome};
use model::PathIndex;
use std::error::Error;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::thread;
use walkabout_measure::emulator::{Ground, path_changes};
use walkabout_measure::failure::PathChange;
use walkabout_measure::netlink::route::Routing;
use walkabout_measure::recording::Collected;

/// Carries a failure out and calls `failed` and `repaired` when the host is told of it.
fn fail(
    on: On,
    failure: &str,
    failed: impl FnOnce(&Ground, &mut Routing) -> Outcome,
    repaired: impl FnOnce(&Ground, &mut Routing) -> Outcome,
) -> Outcome {
    let (running, driver) = start(&scenario(on.family, Some(failure)), on.kind, None)?;
    let mut routing = running.ground.client.run(Routing::open)??;
    let (sender, mut receiver) = path_changes()?;
    let driver = thread::spawn({
        let (clock, stop) = (running.clock, running.stop.clone());
        move || driver.run(clock, &mut Collected::default(), &sender, &stop)
    });
    let mut next = || -> Result<PathChange, Box<dyn Error>> {
        let mut poll = [nix::poll::PollFd::new(
            receiver.as_fd(),
            nix::poll::PollFlags::POLLIN,
        )];
        nix::poll::poll(&mut poll, 10_000u16)?;
        match receiver.take()[..] {
            [change] => Ok(change),
            ref other => Err(format!("{other:?}").into()),
        }
    };
    let path = PathIndex(0);
    let before = routing.link("wifi")?;
    check!(before.up && before.carrier, "{before:?}");
    let change = next()?;
    check!(change == PathChange { path, up: false }, "{change:?}");
    failed(&running.ground, &mut routing)?;
    let change = next()?;
    check!(change == PathChange { path, up: true }, "{change:?}");
    let after = routing.link("wifi")?;
    check!(after.up && after.carrier, "{after:?}");
    repaired(&running.ground, &mut routing)?;
    connect(&running.ground, 0)?;
    driver.join().map_err(|_| "the driver panicked")??;
    running.finish()?;
    Ok(())
}

pub fn carrier_loss_is_seen(on: On) -> Outcome {
    let failed = |_: &Ground, routing: &mut Routing| {
        let link = routing.link("wifi")?;
        check!(link.up && !link.carrier, "{link:?}");
        let other = routing.link("cellular")?;
        check!(other.carrier, "{other:?}");
        Ok(())
    };
    fail(on, "carrier-loss", failed, |_, _| Ok(()))
}

pub fn an_interface_goes_down_and_comes_back(on: On) -> Outcome {
    let failed = |ground: &Ground, routing: &mut Routing| {
        let link = routing.link("wifi")?;
        check!(!link.up, "{link:?}");
        // The address is there, and does not leak to the other path.
        let socket = client_udp(ground, 0)?;
        let sent = socket.send_to(b"x", SocketAddr::new(ground.server_address, 9));
        let kind = sent.map_err(|e| e.kind());
        let unreachable = [ErrorKind::HostUnreachable, ErrorKind::NetworkUnreachable];
        check!(kind.is_err_and(|k| unreachable.contains(&k)), "{kind:?}");
        connect(ground, 1)?;
        Ok(())
    };
    fail(on, "interface-down", failed, |_, _| Ok(()))
}

pub fn an_address_is_withdrawn_and_comes_back(on: On) -> Outcome {
    let failed = |ground: &Ground, _: &mut Routing| {
        let bound = client_udp(ground, 0).map(|_| ()).map_err(|e| e.kind());
        check!(bound == Err(ErrorKind::AddrNotAvailable), "{bound:?}");
        Ok(())
    };
    fail(on, "address-withdrawn", failed, |_, _| Ok(()))
}
