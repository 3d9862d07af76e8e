//! Is a token good for one session, whatever happens to the server? Also when it was killed in the middle of
//! the session and has come back.

use crate::deployment::{Deployment, URL};
use crate::processes::PATIENCE;
use model::scenario::{Interactive, Traffic};
use platform::api::TokenRequest;
use platform::client::Collector;
use platform::token::random_hex;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use traffic::hello::{Hello, Request, emit};

/// Says `request` by the right of `token`.
fn say(server: SocketAddr, token: &str, channel: usize, request: Request) -> TcpStream {
    let mut stream = TcpStream::connect(server).expect("the server is there");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    let token = Some(token.to_owned());
    let hello = Hello {
        channel,
        request,
        token,
    };
    stream.write_all(&emit(&hello)).expect("said");
    stream
}

/// Begins a session.
fn begin(server: SocketAddr, token: &str) -> TcpStream {
    let traffic = Traffic::Interactive(Interactive::default());
    say(server, token, 0, Request::Traffic(traffic))
}

/// Whether the server knows a session of this token.
fn has_session(server: SocketAddr, token: &str) -> bool {
    let mut stream = say(server, token, 0, Request::Records);
    stream.read_exact(&mut [0; 4]).is_ok()
}

fn await_session(server: SocketAddr, token: &str) {
    let begin = Instant::now();
    while !has_session(server, token) {
        assert!(begin.elapsed() < PATIENCE, "no session");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A session, a kill, and the same token again.
pub fn a_token_is_used_once_whatever_happens(deployment: &mut Deployment) {
    let client = deployment.ground.client.clone();
    let server = SocketAddr::new(deployment.ground.sites[0].address, 443);
    let here = |work: &mut (dyn FnMut() + Send)| client.run(work).expect("it can be entered");
    let mut tokens = Vec::new();
    here(&mut || {
        let collector = Collector::new(URL, PATIENCE).expect("an address");
        let version = collector.metadata().expect("metadata").consent.version;
        let request = TokenRequest {
            server: "near".into(),
            test: random_hex::<16>(),
            consent_version: version,
            bytes: 1 << 20,
            seconds: 60,
            count: 2,
        };
        tokens = collector.tokens(&request).expect("granted").tokens;
    });
    let (used, fresh) = (&tokens[0], &tokens[1]);
    let mut session = None;
    here(&mut || {
        session = Some(begin(server, used));
        await_session(server, used);
    });
    deployment.kill_server(0);
    deployment.start_server(0);
    here(&mut || {
        let mut again = begin(server, used);
        let mut byte = [0];
        let end = again.read(&mut byte);
        assert!(!matches!(end, Ok(1..)), "the session began anew: {end:?}");
        assert!(!has_session(server, used), "the token was taken twice");
        let _session = begin(server, fresh);
        await_session(server, fresh);
    });
}
