//! When does an interface change? Netlink wakes a thread, which lists them again and compares.

use super::wifi::Nl80211;
use super::{Interface, InterfaceChange, Source, change};
use crate::emulator::StopFlag;
use crate::netlink::Socket;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Links, addresses and routes: `RTNLGRP_LINK`, `RTNLGRP_IPV4_IFADDR`, `RTNLGRP_IPV4_ROUTE`,
/// `RTNLGRP_IPV6_IFADDR` and `RTNLGRP_IPV6_ROUTE` (linux/rtnetlink.h).
const GROUPS: [u32; 5] = [1, 5, 7, 9, 11];

/// Watches the interfaces from a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct Monitor {
    stop: StopFlag,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Starts to watch the calling thread's network namespace.
    pub fn start() -> io::Result<(Monitor, Receiver<InterfaceChange>)> {
        let (monitor, changes, _) = Monitor::start_from()?;
        Ok((monitor, changes))
    }

    /// The same, with the state that the first change is a change of.
    pub(in crate::world::live) fn start_from()
    -> io::Result<(Monitor, Receiver<InterfaceChange>, Vec<Interface>)> {
        let mut bell = Socket::open(netlink_sys::protocols::NETLINK_ROUTE)?;
        // Before the first list, so that nothing is missed in between.
        GROUPS
            .iter()
            .try_for_each(|group| bell.join_group(*group))?;
        let mut bells = vec![bell];
        bells.extend(Nl80211::watch());
        let mut source = Source::open()?;
        let known = source.list()?;
        let stop = StopFlag::new()?;
        let (sender, receiver) = channel();
        let watch = Watch {
            bells,
            source,
            known: known.clone(),
            stop: stop.clone(),
            sender,
        };
        let thread = std::thread::Builder::new()
            .name("interfaces".into())
            .spawn(move || watch.run())?;
        let monitor = Monitor {
            stop,
            thread: Some(thread),
        };
        Ok((monitor, receiver, known))
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the thread.
            let _ = thread.join();
        }
    }
}

struct Watch {
    /// What tells that something changed.
    bells: Vec<Socket>,
    source: Source,
    known: Vec<Interface>,
    stop: StopFlag,
    sender: Sender<InterfaceChange>,
}

impl Watch {
    fn run(mut self) {
        while self.wait() {
            for bell in &mut self.bells {
                // What was lost (ENOBUFS) is made good by the list.
                let _ = bell.recv_events(true);
            }
            let Ok(now) = self.source.list() else {
                continue;
            };
            for change in change::between(&self.known, &now) {
                if self.sender.send(change).is_err() {
                    return;
                }
            }
            self.known = now;
        }
    }

    /// Waits until something changed; `false` when it is time to stop.
    fn wait(&self) -> bool {
        let mut polled = vec![PollFd::new(self.stop.as_fd(), PollFlags::POLLIN)];
        for bell in &self.bells {
            // SAFETY: the socket lives as long as `self`, which is borrowed here.
            let fd = unsafe { BorrowedFd::borrow_raw(bell.as_raw_fd()) };
            polled.push(PollFd::new(fd, PollFlags::POLLIN));
        }
        loop {
            match nix::poll::poll(&mut polled, PollTimeout::NONE) {
                Err(nix::errno::Errno::EINTR) => {}
                Err(_) => return false,
                Ok(_) => return polled[0].any() != Some(true),
            }
        }
    }
}
