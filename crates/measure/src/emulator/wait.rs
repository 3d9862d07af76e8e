//! How the emulator sleeps until a packet comes, an event is due, or the run is over.

use super::device::Device;
use super::forward::{EmulatorError, failed};
use super::stop::StopFlag;
use crate::clock::Clock;
use model::Time;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::clock_gettime;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// What the emulator waits with.
pub(super) struct Wait {
    epoll: Epoll,
    timer: TimerFd,
    clock: Clock,
    /// The monotonic clock when the run's clock was zero.
    zero: Duration,
    /// For when the timer is set.
    armed: Option<Time>,
    /// Which devices may have a packet.
    pub(super) ready: Vec<bool>,
}

/// The timer among the numbers of the descriptors; devices have their index.
const TIMER: u64 = u64::MAX;
/// The stop flag.
const STOP: u64 = u64::MAX - 1;

impl Wait {
    pub(super) fn new(
        devices: &[Device],
        stop: &StopFlag,
        clock: Clock,
    ) -> Result<Wait, EmulatorError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed("make an epoll"))?;
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).map_err(failed("make a timer"))?;
        let watch = |fd: BorrowedFd<'_>, number| {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, number);
            epoll.add(fd, event).map_err(failed("watch a descriptor"))
        };
        watch(timer.as_fd(), TIMER)?;
        watch(stop.as_fd(), STOP)?;
        for (number, device) in devices.iter().enumerate() {
            watch(device.as_fd(), number as u64)?;
        }
        // The greatest of some differences is the one read with the least in between.
        let read = || {
            let now = clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?;
            let since_start = Duration::from_nanos(clock.now().as_nanos());
            Ok::<_, nix::Error>(Duration::from(now).saturating_sub(since_start))
        };
        let mut zero = Duration::ZERO;
        for _ in 0..16 {
            zero = zero.max(read().map_err(failed("read the clock"))?);
        }
        Ok(Wait {
            epoll,
            timer,
            clock,
            zero,
            armed: None,
            ready: vec![false; devices.len()],
        })
    }

    pub(super) fn any_ready(&self) -> bool {
        self.ready.contains(&true)
    }

    /// Waits for a packet, for `until` or for the stop flag (then `true`); only looks when
    /// there is no `until`. The last `spin` before `until` passes without sleep.
    pub(super) fn wait(
        &mut self,
        until: Option<Time>,
        spin: Duration,
        devices: &[Device],
    ) -> Result<bool, EmulatorError> {
        loop {
            let left = until.map_or(Duration::ZERO, |until| until.since(self.clock.now()));
            let timeout = match until {
                Some(until) if left > spin => {
                    self.arm(until, spin)?;
                    EpollTimeout::NONE
                }
                _ => EpollTimeout::ZERO,
            };
            let mut events = [EpollEvent::empty(); 16];
            let count = match self.epoll.wait(&mut events, timeout) {
                Err(nix::Error::EINTR) => 0,
                other => other.map_err(failed("wait"))?,
            };
            for event in &events[..count] {
                match event.data() {
                    STOP => return Ok(true),
                    TIMER => {
                        // Reading it makes it not ready; it stays so until it is set again.
                        let _ = self.timer.wait();
                        self.armed = None;
                    }
                    device => {
                        let device = device as usize;
                        self.ready[device] = true;
                        if event.events().contains(EpollFlags::EPOLLERR) {
                            let cleared = devices[device].clear_error();
                            cleared.map_err(failed("read a device's error"))?;
                        }
                    }
                }
            }
            let over = until.is_none_or(|until| until <= self.clock.now());
            if over || self.any_ready() {
                return Ok(false);
            }
        }
    }

    fn arm(&mut self, until: Time, spin: Duration) -> Result<(), EmulatorError> {
        if self.armed == Some(until) {
            return Ok(());
        }
        let at = self.zero + Duration::from_nanos(until.as_nanos()).saturating_sub(spin);
        let at = Expiration::OneShot(TimeSpec::from_duration(at));
        let set = self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME);
        set.map_err(failed("set the timer"))?;
        self.armed = Some(until);
        Ok(())
    }
}
