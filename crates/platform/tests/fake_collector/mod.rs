//! A collector that stores runs in memory, and answers as a test tells it.

#![allow(dead_code, reason = "each test uses its own part")]

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is answered to a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A problem of this status and kind.
    Problem(u16, &'static str),
    /// This status and body, whatever it is.
    Plain(u16, String),
    /// Nothing: the connection closes.
    Close,
    /// Nothing, for longer than any client waits.
    Silence,
    /// The head of an answer and half its body.
    Half,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// `PUT /api/v1/...`
    pub line: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

#[derive(Default)]
struct State {
    next: VecDeque<Answer>,
    requests: Vec<Request>,
    /// The secret of each run, by its id.
    stored: BTreeMap<String, String>,
}

/// The collector; its threads end with the test.
pub struct Fake {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Fake {
    pub fn start() -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                // A client that is killed in the middle of a request is no concern of the next.
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        Fake { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn answer_next(&self, answer: Answer) {
        self.state.lock().expect("whole").next.push_back(answer);
    }

    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().expect("whole").requests.clone()
    }

    /// The secret of each stored run, by its id.
    pub fn stored(&self) -> BTreeMap<String, String> {
        self.state.lock().expect("whole").stored.clone()
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let request = read(&mut reader)?;
        let mut state = state.lock().expect("whole");
        state.requests.push(request.clone());
        let (status, body) = match state.next.pop_front() {
            Some(Answer::Close) => return None,
            Some(Answer::Silence) => {
                drop(state);
                // Until the client closes.
                let _ = reader.read(&mut [0]);
                return None;
            }
            Some(Answer::Half) => {
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"id\":";
                reader.get_mut().write_all(head.as_bytes()).ok()?;
                return None;
            }
            Some(Answer::Problem(status, kind)) => {
                let problem = serde_json::json!({
                    "type": kind, "title": format!("title of {status}"), "status": status
                });
                (status, problem.to_string())
            }
            Some(Answer::Plain(status, body)) => (status, body),
            None => usual(&request, &mut state),
        };
        drop(state);
        let length = body.len();
        let head = format!("HTTP/1.1 {status} Whatever\r\nContent-Length: {length}\r\n\r\n");
        reader.get_mut().write_all(head.as_bytes()).ok()?;
        reader.get_mut().write_all(body.as_bytes()).ok()?;
    }
}

/// What a collector does that is well.
fn usual(request: &Request, state: &mut State) -> (u16, String) {
    let Some(id) = request.line.strip_prefix("PUT /api/v1/runs/") else {
        return (204, String::new());
    };
    let secret = request.header("walkabout-secret").expect("a secret");
    let earlier = state.stored.insert(id.to_owned(), secret.to_owned());
    assert!(earlier.is_none_or(|earlier| earlier == secret));
    let stored = serde_json::json!({"id": id, "state": "stored"});
    (200, stored.to_string())
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let stream = reader.get_ref();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .ok()?;
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok().filter(|n| *n > 0)?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        line,
        headers,
        body,
    })
}
