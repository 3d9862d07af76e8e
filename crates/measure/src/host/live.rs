//! How a host runs in real time: a loop that sleeps until a descriptor is ready or a moment
//! comes, then takes a turn.

use super::{Client, HostError, SAMPLE_PERIOD, Server, Turn};
use crate::Clock;
use crate::emulator::{PathChangeReceiver, StopFlag};
use crate::recording::Sink;
use crate::transport::SocketEndpoint;
use model::Time;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What both loops share.
pub struct Live<'h, S> {
    /// The run's clock.
    pub clock: Clock,
    /// Where records go.
    pub log: S,
    /// Ends the run early, and is raised when the application is done.
    pub stop: &'h StopFlag,
    /// Set by the server, for the client, when every message was answered and the time is over.
    pub server_settled: &'h AtomicBool,
}

impl<S: Sink> Live<'_, S> {
    /// Runs the client until its application is done, the end has come or `stop` is raised.
    pub fn client(
        mut self,
        mut client: Client,
        mut endpoint: Box<dyn SocketEndpoint>,
        mut changes: PathChangeReceiver,
    ) -> Result<(), HostError> {
        let result = self.drive_client(&mut client, &mut *endpoint, &mut changes);
        client.end(self.clock.now(), &mut *endpoint, &mut self.log);
        self.stop.stop();
        result
    }

    fn drive_client(
        &mut self,
        client: &mut Client,
        endpoint: &mut dyn SocketEndpoint,
        changes: &mut PathChangeReceiver,
    ) -> Result<(), HostError> {
        let mut fds = Vec::new();
        let mut next_look = Time::ZERO;
        while !self.stop.is_stopped() {
            let now = self.clock.now();
            let settled = self.server_settled.load(Ordering::Relaxed);
            let news = changes.take();
            let turn = client.turn(now, endpoint, &news, settled, &mut self.log)?;
            let Turn::Until(until) = turn else { break };
            if now >= next_look {
                next_look = now + SAMPLE_PERIOD;
                if let Some(since) = client.oldest_unanswered() {
                    self.log.unanswered(now, since);
                }
            }
            fds.clear();
            fds.push((changes.as_raw_fd(), false));
            self.sleep("client", endpoint, fds.as_mut(), until)?;
        }
        Ok(())
    }

    /// Runs the server until `stop` is raised.
    pub fn server(
        mut self,
        mut server: Server,
        mut endpoint: Box<dyn SocketEndpoint>,
    ) -> Result<(), HostError> {
        let result = self.drive_server(&mut server, &mut *endpoint);
        server.end(self.clock.now(), &mut *endpoint, &mut self.log);
        self.stop.stop();
        result
    }

    fn drive_server(
        &mut self,
        server: &mut Server,
        endpoint: &mut dyn SocketEndpoint,
    ) -> Result<(), HostError> {
        let mut fds = Vec::new();
        while !self.stop.is_stopped() {
            let until = server.turn(self.clock.now(), endpoint, &mut self.log)?;
            self.server_settled
                .store(server.is_settled(), Ordering::Relaxed);
            fds.clear();
            self.sleep("server", endpoint, &mut fds, until)?;
        }
        Ok(())
    }

    fn sleep(
        &self,
        side: &'static str,
        endpoint: &dyn SocketEndpoint,
        fds: &mut Vec<(RawFd, bool)>,
        until: Time,
    ) -> Result<(), HostError> {
        fds.push((self.stop.as_raw_fd(), false));
        endpoint.wait_for(fds);
        wait(&self.clock, fds, until).map_err(|source| HostError::Transport { side, source })
    }
}

/// Waits until one of `fds` is ready (`true`: writable as well) or `until` has come.
fn wait(clock: &Clock, fds: &[(RawFd, bool)], until: Time) -> io::Result<()> {
    let mut polled: Vec<PollFd<'_>> = fds
        .iter()
        .map(|&(fd, writable)| {
            // SAFETY: the endpoint that named the descriptor is not touched while we wait.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            let mut flags = PollFlags::POLLIN;
            flags.set(PollFlags::POLLOUT, writable);
            PollFd::new(fd, flags)
        })
        .collect();
    let timeout = TimeSpec::from_duration(until.since(clock.now()));
    match ppoll(&mut polled, Some(timeout), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
