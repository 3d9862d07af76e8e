//! What a server does not put up with: too many, too slow, too silent, too much at once.

use super::client::{By, Client, connect, hello, is_turned_away, quic_client, say};
use super::rig::{Ground, await_that};
use measure::transport::Endpoint;
use model::scenario::{Interactive, Ping, Traffic};
use model::units::{ByteSize, Span};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};
use traffic::Channels;
use walkabout_platform::server::Limits;

fn ping() -> Traffic {
    Traffic::Ping(Ping::default())
}

/// A connection from another network: the loopback network has many.
fn connect_from(local: [u8; 4], server: SocketAddr) -> TcpStream {
    use nix::sys::socket::{SockaddrStorage, bind, connect};
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    assert!(fd >= 0);
    // SAFETY: a fresh descriptor.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let local = SockaddrStorage::from(SocketAddr::from((local, 0)));
    bind(fd.as_raw_fd(), &local).expect("bound");
    connect(fd.as_raw_fd(), &SockaddrStorage::from(server)).expect("connected");
    let stream = TcpStream::from(fd);
    stream
        .set_read_timeout(Some(super::rig::PATIENCE))
        .expect("set");
    stream
}

#[test]
fn one_network_that_takes_all_it_may_leaves_room_for_others() {
    let ground = Ground::new();
    let server = ground.serve(Limits {
        connections_per_prefix: 20,
        ..Limits::default()
    });
    let flood: Vec<TcpStream> = (0..50)
        .map(|_| connect_from([127, 9, 9, 9], server.address()))
        .collect();
    server.await_metric("walkabout_server_refused_total{reason=\"prefix\"}", 30);
    assert_eq!(
        server.metric("walkabout_server_connections{transport=\"tcp\"}"),
        20
    );
    for by in By::ALL {
        let mut client = Client::new(by, server.address(), server.pin(), &ping(), None);
        client.until("served beside the flood", |c| c.is_done());
        client.close();
    }
    drop(flood);
    server.await_metric("walkabout_server_connections{transport=\"tcp\"}", 0);
    let mut again = connect_from([127, 9, 9, 9], server.address());
    let said = traffic::hello::emit(&hello(&ping(), None));
    again.write_all(&said).expect("said");
    server.await_metric("walkabout_server_pings_total{transport=\"tcp\"}", 2);
    // Somebody who never ends his ping does not keep the server from ending.
    server.stop();
    drop(again);
}

#[test]
fn no_more_connections_and_sessions_than_allowed() {
    let ground = Ground::new();
    let server = ground.serve(Limits {
        connections: 3,
        sessions: 1,
        ..Limits::default()
    });
    let interactive = Traffic::Interactive(Interactive::default());
    let address = server.address();
    let mut first = Client::new(
        By::Tcp,
        address,
        server.pin(),
        &interactive,
        Some(&ground.token()),
    );
    first.until("served", |c| !c.log.is_empty());
    let second = say(address, &hello(&interactive, Some(&ground.token())));
    assert!(is_turned_away(second));
    server.await_metric("walkabout_server_refused_total{reason=\"sessions\"}", 1);
    server.await_metric("walkabout_server_connections{transport=\"tcp\"}", 2);
    let _third = connect(By::Tcp, address).expect("connected");
    server.await_metric("walkabout_server_connections{transport=\"tcp\"}", 3);
    assert!(is_turned_away(
        connect(By::Tcp, address).expect("accepted by the kernel")
    ));
    server.await_metric("walkabout_server_refused_total{reason=\"connections\"}", 1);
    first.close();
    server.stop();
}

#[test]
fn whoever_does_not_say_hello_in_time_is_cut_a_byte_at_a_time_as_well() {
    let ground = Ground::new();
    let server = ground.serve(Limits {
        hello_seconds: 1,
        ..Limits::default()
    });
    let start = Instant::now();
    let silent = connect(By::Mptcp, server.address()).expect("connected");
    let mut slow = connect(By::Tcp, server.address()).expect("connected");
    let trickle = std::thread::spawn(move || {
        let said = traffic::hello::emit(&hello(&ping(), None));
        for byte in &said {
            if slow.write_all(&[*byte]).is_err() {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(100));
        }
        slow
    });
    assert!(is_turned_away(silent));
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert!(is_turned_away(trickle.join().expect("no panic")));
    server.await_metric("walkabout_server_refused_total{reason=\"slow-hello\"}", 2);

    // A QUIC connection on which nothing is ever said.
    let clock = measure::Clock::start();
    let mut idle = quic_client(By::Quic, server.address(), server.pin(), 1, clock);
    await_that("connected and cut", || {
        let now = clock.now();
        idle.poll(now).expect("a handshake");
        idle.is_connected() && !idle.is_open(0)
    });
    server.await_metric("walkabout_server_refused_total{reason=\"slow-hello\"}", 3);
    server.stop();
}

#[test]
fn a_silent_session_is_cut() {
    let ground = Ground::new();
    let server = ground.serve(Limits {
        silence_seconds: 1,
        ..Limits::default()
    });
    let stream = say(server.address(), &hello(&ping(), Some(&ground.token())));
    assert!(is_turned_away(stream));
    server.await_metric("walkabout_server_cut_total{reason=\"silence\"}", 1);
    server.stop();
}

#[test]
fn a_client_that_takes_nothing_is_cut_before_it_fills_the_memory() {
    let ground = Ground::new();
    let server = ground.serve(Limits {
        queued_bytes: 1 << 20,
        ..Limits::default()
    });
    // A megabyte each ten milliseconds towards a client that never reads.
    let greedy = Traffic::Interactive(Interactive {
        chunk_size: ByteSize::from_bytes(1 << 20),
        period: Span::from_millis(10),
        ack_size: ByteSize::from_bytes(9),
    });
    let token = ground.token();
    let mut hello = hello(&greedy, Some(&token));
    hello.channel = 1;
    let stream = say(server.address(), &hello);
    await_that("cut", || {
        server.metric("walkabout_server_cut_total{reason=\"slow\"}") == 1
    });
    server.await_metric("walkabout_server_connections{transport=\"tcp\"}", 0);
    let kept = super::client::records(server.address(), &token).expect("records");
    let reason = kept.cut.expect("cut");
    assert!(
        reason.contains("more than 1048576 bytes waited"),
        "{reason}"
    );
    drop(stream);
    server.stop();
}

#[test]
fn rubbish_within_a_pattern_ends_its_session_only() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    let mut stream = say(server.address(), &hello(&ping(), Some(&ground.token())));
    stream.write_all(&[0xff; 64]).expect("said");
    assert!(is_turned_away(stream));
    server.await_metric("walkabout_server_cut_total{reason=\"pattern\"}", 1);
    let mut client = Client::new(By::Tcp, server.address(), server.pin(), &ping(), None);
    client.until("served", |c| c.is_done());
    client.close();
    server.stop();
}

/// The clients a small server holds at once, on two cores shared with them.
#[test]
fn a_thousand_idle_connections_and_two_hundred_interactive_clients() {
    const IDLE: usize = 1_000;
    const ACTIVE: usize = 200;
    let ground = Ground::new();
    let server = ground.serve(Limits {
        connections_per_prefix: 2 * (IDLE + 2 * ACTIVE),
        hello_seconds: 3_600,
        ..Limits::default()
    });
    assert_eq!(server.ready.missing, Vec::<String>::new());
    let address = server.address();
    let idle: Vec<TcpStream> = (0..IDLE)
        .map(|_| connect(By::Tcp, address).expect("connected"))
        .collect();
    let connections = "walkabout_server_connections{transport=\"tcp\"}";
    server.await_metric(connections, IDLE as u64);
    let interactive = Traffic::Interactive(Interactive::default());
    let mut active: Vec<Client> = (0..ACTIVE)
        .map(|_| {
            Client::new(
                By::Tcp,
                address,
                server.pin(),
                &interactive,
                Some(&ground.token()),
            )
        })
        .collect();
    await_that("each has twenty answers", || {
        active.iter_mut().for_each(Client::turn);
        active.iter().all(|c| c.log.len() >= 20)
    });
    assert_eq!(server.metric(connections), (IDLE + 2 * ACTIVE) as u64);
    assert_eq!(
        server.metric("walkabout_server_sessions{transport=\"tcp\"}"),
        ACTIVE as u64
    );
    let mut delays: Vec<u64> = active
        .iter()
        .flat_map(|c| c.log.iter().filter_map(|m| m.delay_us))
        .collect();
    delays.sort_unstable();
    println!(
        "{} messages: median {} us, p99 {} us",
        delays.len(),
        delays[delays.len() / 2],
        delays[delays.len() * 99 / 100]
    );
    active.into_iter().for_each(|c| drop(c.close()));
    drop(idle);
    server.await_metric(connections, 0);
    server.stop();
}
