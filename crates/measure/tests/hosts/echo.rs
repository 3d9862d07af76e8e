//! What do applications do that know nothing of path managers? One echoes what comes; others send now and
//! then, and count what comes back.

use super::{Hosts, ip};
use nix::sys::socket::{Backlog, SockaddrStorage, bind, listen, setsockopt, sockopt};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const IPPROTO_MPTCP: i32 = 262;
/// Nothing takes longer unless it is broken.
const LIMIT: Duration = Duration::from_secs(150);

/// A Multipath TCP socket of the address's family.
fn socket(of: &SocketAddr) -> OwnedFd {
    let family = if of.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(family, kind, IPPROTO_MPTCP) };
    assert!(fd >= 0, "no MPTCP: {}", io::Error::last_os_error());
    // SAFETY: nobody else has the descriptor.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Echoes what comes on every connection to this address of the server, until the process ends.
pub fn serve(hosts: &Hosts, at: SocketAddr) {
    let listener = hosts.at_server(|| {
        ip("mptcp limits set subflows 8 add_addr_accepted 8");
        let socket = socket(&at);
        setsockopt(&socket, sockopt::ReuseAddr, &true).unwrap();
        bind(socket.as_raw_fd(), &SockaddrStorage::from(at)).unwrap();
        listen(&socket, Backlog::new(1_024).unwrap()).unwrap();
        TcpListener::from(socket)
    });
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(got @ 1..) = stream.read(&mut buffer) {
                    if stream.write_all(&buffer[..got]).is_err() {
                        break;
                    }
                }
            });
        }
    });
}

/// A connection as any application makes it.
pub fn connect(to: SocketAddr) -> TcpStream {
    let socket = socket(&to);
    let done = nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(to));
    done.unwrap_or_else(|error| panic!("cannot connect to {to}: {error}"));
    TcpStream::from(socket)
}

/// An application that sends 200 bytes every 20 ms and counts what comes back.
pub struct App {
    stream: TcpStream,
    answered: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl App {
    /// One that has connected.
    pub fn start(to: SocketAddr) -> App {
        let mut stream = connect(to);
        let answered = Arc::new(AtomicUsize::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let (count, mut from) = (answered.clone(), stream.try_clone().unwrap());
        let whole = stream.try_clone().unwrap();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 200];
            while from.read_exact(&mut buffer).is_ok() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        let stopped = stop.clone();
        let writer = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) && stream.write_all(&[7; 200]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        App {
            stream: whole,
            answered,
            stop,
            threads: vec![reader, writer],
        }
    }

    /// Waits until `more` further messages were answered.
    pub fn goes_on(&self, more: usize) {
        let wanted = self.answered.load(Ordering::Relaxed) + more;
        let deadline = Instant::now() + LIMIT;
        while self.answered.load(Ordering::Relaxed) < wanted {
            assert!(Instant::now() < deadline, "the connection does not go on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Who waits for a connection that does not go on is woken as well.
        let _ = self.stream.shutdown(Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
