//! What stands between our stack and the kernel's: two hosts, emulated links, one loop.

use crate::capture::Capture;
use crate::kernel::{Kernel, Protocol};
use crate::ours::Ours;
use crate::stream::{Sink, Source};
use crate::{Failure, Outcome};
use model::{Family, Name, PathKind, Scenario, Seed};
use mptcp::connection::{Config, Event};
use mptcp::stack::Stack;
use mptcp::subflow;
use nix::poll::{PollFd, PollFlags};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use walkabout_measure::Clock;
use walkabout_measure::addresses;
use walkabout_measure::emulator::{
    DeviceKind, Emulator, EmulatorError, Ground, NetNs, Settings, StopFlag,
};
use walkabout_measure::netlink::route::Routing;
use walkabout_measure::transport::raw::Interface;

/// Which of the two hosts has our stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Client,
    Server,
}

/// What a case runs in.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'s> {
    pub role: Role,
    pub family: Family,
    pub capture: &'s Path,
}

/// What a link does to packets, in each direction.
pub const CLEAN: &str = r#"{ rate = "200 Mbit/s", delay = "2 ms" }"#;
/// One per cent lost, and some out of order and twice.
pub const BAD: &str = r#"{ rate = "200 Mbit/s", delay = "2 ms", loss = "1 %", duplicate = "1 %", reorder = { probability = "2 %", hold = "1 ms" } }"#;

/// Nothing here takes longer unless it is broken.
const PATIENCE: Duration = Duration::from_secs(20);
/// Seeds of the bytes each side sends.
const OUR_BYTES: u64 = 1;
const KERNEL_BYTES: u64 = 2;

/// Both hosts with a connection between them.
pub struct Stage {
    pub setting: Setting<'static>,
    pub ours: Ours,
    pub kernel: Kernel,
    stop: StopFlag,
    emulator: Option<thread::JoinHandle<Result<model::manifest::Timing, EmulatorError>>>,
    _ground: Ground,
}

fn scenario(family: Family, links: &[&str]) -> Result<Scenario, Failure> {
    let family = match family {
        Family::Ipv4 => "ipv4",
        Family::Ipv6 => "ipv6",
    };
    let mut text = format!(
        "name = \"interop\"\nsummary = \"ours and the kernel\"\nduration = \"60 min\"\n\
         family = \"{family}\"\ntransports = [\"mptcp\"]\npolicies = [\"fullmesh\"]\n\
         [traffic.bulk]\n"
    );
    for (path, link) in links.iter().enumerate() {
        let kind = ["wifi", "cellular"][path.min(1)];
        text += &format!(
            "[[path]]\nname = \"path{path}\"\nkind = \"{kind}\"\nup = {link}\ndown = {link}\n"
        );
    }
    Ok(Scenario::parse(&text, "interop.toml")?)
}

/// How our stack is set up where a case says nothing else: as Linux is.
pub fn config(family: Family) -> Config {
    Config {
        multipath: true,
        checksum: false,
        send_buffer: 4 << 20,
        receive_buffer: 6 << 20,
        stale_loss_count: 4,
        close_timeout: Duration::from_secs(60),
        scheduler: policy::scheduler::list::find("linux-default").expect("it is listed"),
        controller: policy::congestion::list::find("cubic").expect("it is listed"),
        extensions: Default::default(),
        subflow: subflow::Config {
            // Ethernet's 1,500 bytes less the headers of IP and TCP.
            mss: match family {
                Family::Ipv4 => 1_460,
                Family::Ipv6 => 1_440,
            },
            ..subflow::Config::default()
        },
    }
}

impl Stage {
    /// Both hosts with a path for each of `links`, and no connection yet.
    pub fn new(setting: &Setting<'static>, links: &[&str]) -> Result<Stage, Failure> {
        Stage::with(setting, links, config(setting.family))
    }

    /// As [`Stage::new`], with another configuration of our stack.
    pub fn with(
        setting: &Setting<'static>,
        links: &[&str],
        config: Config,
    ) -> Result<Stage, Failure> {
        let scenario = scenario(setting.family, links)?;
        let paths: Vec<(Name, PathKind)> = scenario
            .paths
            .iter()
            .map(|path| (path.name.clone(), path.kind))
            .collect();
        // So that both kinds are met: the best one that opens, and the one that always does.
        let kind = match setting.family {
            Family::Ipv4 => None,
            Family::Ipv6 => Some(DeviceKind::PacketSocket),
        };
        // In a namespace of its own: a case may have several stages, one after the other.
        let ground = NetNs::create()?.run(|| Ground::make(&paths, setting.family, kind));
        let mut ground = ground??;
        let devices = ground.take_devices();
        let clock = Clock::start();
        let stop = StopFlag::new()?;
        let emulator = Emulator::new(
            &scenario,
            Seed(1),
            &BTreeMap::new(),
            devices,
            clock,
            None,
            Settings::default(),
        )?;
        let emulator = thread::spawn({
            let stop = stop.clone();
            move || emulator.run(&stop)
        });
        let (our_host, kernel_host) = match setting.role {
            Role::Client => (&ground.client, &ground.server),
            Role::Server => (&ground.server, &ground.client),
        };
        let interfaces = our_host.run(|| match setting.role {
            Role::Client => {
                let paths = ground.local_paths.iter();
                let taken = paths.map(|path| {
                    let interface = Interface::take(path.interface, setting.family)?;
                    Ok((interface, vec![path.address]))
                });
                taken.collect::<Result<Vec<_>, Failure>>()
            }
            Role::Server => {
                let address = ground.server_address;
                Ok(vec![(Interface::take_by_address(address)?, vec![address])])
            }
        })??;
        let stack = Stack::new(config, Seed(1), "interop");
        let our_streams = (Source::new(OUR_BYTES), Sink::new(KERNEL_BYTES));
        let capture = Capture::begin(setting.capture);
        let ours = Ours::new(stack, interfaces, clock, capture, our_streams);
        let kernel_streams = (Source::new(KERNEL_BYTES), Sink::new(OUR_BYTES));
        let kernel = Kernel::new(kernel_host.clone(), kernel_streams)?;
        Ok(Stage {
            setting: *setting,
            ours,
            kernel,
            stop,
            emulator: Some(emulator),
            _ground: ground,
        })
    }

    /// The client's address on a path.
    pub fn client(&self, path: usize) -> IpAddr {
        addresses::client(self.setting.family, path)
    }

    /// The server's address.
    pub fn server(&self) -> IpAddr {
        addresses::server(self.setting.family)
    }

    /// Where the server listens.
    pub fn listener(&self) -> SocketAddr {
        SocketAddr::new(self.server(), addresses::PORT)
    }

    /// A second address of the server, which nobody has until [`Stage::give`].
    pub fn second(&self) -> IpAddr {
        match self.server() {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                IpAddr::from([a, b, c, 9])
            }
            IpAddr::V6(address) => {
                let mut segments = address.segments();
                segments[7] = 9;
                IpAddr::from(segments)
            }
        }
    }

    /// Gives the kernel's server a second address.
    pub fn give_kernel_second(&self) -> Outcome {
        let (first, second) = (self.server(), self.second());
        self.kernel.namespace.run(|| {
            let mut routing = Routing::open()?;
            let index = routing.interface_of(first)?;
            let length = if second.is_ipv4() { 32 } else { 128 };
            routing.add_address(index, second, length)?;
            routing.wait_for_address(second)
        })??;
        Ok(())
    }

    /// Our end's and the kernel's address on a path, as our subflow there has them.
    pub fn pair(&self, path: usize) -> (IpAddr, IpAddr) {
        match self.setting.role {
            Role::Client => (self.client(path), self.server()),
            Role::Server => (self.server(), self.client(path)),
        }
    }

    /// Makes the connection on the first path; the kernel's socket asks for `protocol`.
    pub fn connect(&mut self, protocol: Protocol) -> Outcome {
        let listener = self.listener();
        match self.setting.role {
            Role::Client => {
                // On all its addresses, those of signal endpoints among them.
                let any: IpAddr = match self.setting.family {
                    Family::Ipv4 => Ipv4Addr::UNSPECIFIED.into(),
                    Family::Ipv6 => Ipv6Addr::UNSPECIFIED.into(),
                };
                self.kernel
                    .listen(SocketAddr::new(any, listener.port()), protocol)?;
                let local = SocketAddr::new(self.client(0), 0);
                let now = self.ours.now();
                self.ours.connection = Some(self.ours.stack.connect(now, local, listener));
            }
            Role::Server => {
                self.ours.stack.listen(listener);
                self.kernel.connect(self.client(0), listener, protocol)?;
            }
        }
        self.until("the connection", |stage| {
            let Some(connection) = stage.ours.connection else {
                return false;
            };
            let info = stage.ours.stack.info(connection);
            info.is_some_and(|info| info.connected) && stage.kernel.is_connected()
        })
    }

    /// As [`Stage::connect`], and data in both directions, after which either side may add
    /// subflows and addresses (RFC 8684, section 3.1: fully established).
    pub fn establish(&mut self) -> Outcome {
        self.connect(Protocol::Mptcp)?;
        self.exchange(1_000)
    }

    /// Lets the client open a subflow on the second path, and waits for it at both ends.
    pub fn join(&mut self, backup: bool) -> Outcome {
        match self.setting.role {
            Role::Client => self.open(self.client(1), self.server(), backup)?,
            Role::Server => {
                use walkabout_measure::netlink::mptcp::flag;
                let flags = flag::SUBFLOW | if backup { flag::BACKUP } else { 0 };
                self.kernel.add_endpoint(2, self.client(1), None, flags)?;
            }
        }
        self.until_joined(1)
    }

    /// Opens a subflow of ours.
    pub fn open(&mut self, local: IpAddr, remote: IpAddr, backup: bool) -> Outcome {
        let (now, id) = (self.ours.now(), self.ours.id());
        let local = SocketAddr::new(local, 0);
        let remote = SocketAddr::new(remote, addresses::PORT);
        self.ours
            .stack
            .open_subflow(now, id, local, remote, backup)?;
        Ok(())
    }

    /// Waits until the subflow on `path` can carry data at our end.
    pub fn until_joined(&mut self, path: usize) -> Outcome {
        let (local, remote) = self.pair(path);
        self.until_subflow(local, remote)
    }

    /// Waits until the subflow between these addresses can carry data at our end.
    pub fn until_subflow(&mut self, local: IpAddr, remote: IpAddr) -> Outcome {
        self.until("the subflow", |stage| {
            let subflow = stage.ours.subflow(local, remote);
            subflow.is_some_and(|subflow| subflow.established)
        })
    }

    /// Lets both ends send `bytes`, and waits until all of it arrived.
    pub fn exchange(&mut self, bytes: u64) -> Outcome {
        self.ours.source.send(bytes);
        self.kernel.source.send(bytes);
        self.until_delivered()
    }

    /// Waits until everything both ends sent arrived.
    pub fn until_delivered(&mut self) -> Outcome {
        let patience = PATIENCE + Duration::from_micros(self.ours.source.total());
        self.within(patience, "the delivery", |stage| {
            stage.ours.sink.received == stage.kernel.source.total()
                && stage.kernel.sink.received == stage.ours.source.total()
        })
    }

    /// Ends both streams and waits until both ends know.
    pub fn finish(&mut self) -> Outcome {
        self.ours.source.closes = true;
        self.kernel.source.closes = true;
        self.until_closed()
    }

    /// Waits until both streams ended and our connection is over.
    pub fn until_closed(&mut self) -> Outcome {
        self.until("the end", |stage| {
            stage.ours.sink.ended && stage.kernel.sink.ended && stage.ours.saw(&Event::Closed)
        })
    }

    /// Runs both hosts until `done`.
    pub fn until(&mut self, what: &str, done: impl FnMut(&mut Stage) -> bool) -> Outcome {
        self.within(PATIENCE, what, done)
    }

    fn within(
        &mut self,
        patience: Duration,
        what: &str,
        mut done: impl FnMut(&mut Stage) -> bool,
    ) -> Outcome {
        let begin = Instant::now();
        loop {
            let turned = self.ours.turn().and_then(|()| self.kernel.turn());
            if let Err(error) = turned {
                return Err(format!("{error}, waiting for {what}\n{}", self.state()).into());
            }
            if done(self) {
                return Ok(());
            }
            if begin.elapsed() > patience {
                let words = format!("{what} did not come in {patience:?}\n{}", self.state());
                return Err(words.into());
            }
            self.sleep()?;
        }
    }

    /// Until a packet comes, the kernel has something, or a timer of ours is due.
    fn sleep(&self) -> Outcome {
        /// Conditions of cases are looked at this often at least.
        const LONGEST: Duration = Duration::from_millis(5);
        let ours = self.ours.fds().map(|fd| (fd, libc::POLLIN));
        let wanted: Vec<_> = ours.chain(self.kernel.fds()).collect();
        let mut fds: Vec<_> = wanted
            .iter()
            .map(|(fd, events)| {
                // SAFETY: both hosts keep their descriptors while this waits.
                let fd = unsafe { BorrowedFd::borrow_raw(*fd) };
                PollFd::new(fd, PollFlags::from_bits_truncate(*events))
            })
            .collect();
        let left = self
            .ours
            .stack
            .poll_at()
            .map_or(LONGEST, |at| at.since(self.ours.now()).min(LONGEST));
        let timeout = nix::sys::time::TimeSpec::from_duration(left);
        match nix::poll::ppoll(&mut fds, Some(timeout), None) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub fn state(&self) -> String {
        format!("{}\n{}", self.ours.state(), self.kernel.state())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = self.ours.capture.write() {
            eprintln!("{}: {error}", self.setting.capture.display());
        }
        self.stop.stop();
        if let Some(emulator) = self.emulator.take() {
            let ended = emulator.join();
            assert!(
                matches!(ended, Ok(Ok(_))) || thread::panicking(),
                "the emulator failed: {ended:?}"
            );
        }
    }
}
