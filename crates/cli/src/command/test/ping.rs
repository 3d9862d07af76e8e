//! Which server is the nearest? Five requests for ten bytes over TCP, and the median of their delays
//! (MultipathTester, section II-A).

use super::exchange::exchange;
use super::paths::TestPath;
use crate::failure::Failure;
use measure::transport::LocalPath;
use model::Family;
use model::scenario::Ping;
use platform::api::Server;
use serde::Serialize;
use std::net::SocketAddr;

/// How many servers are asked at once: few enough not to disturb each other.
const AT_ONCE: usize = 8;

/// What came of asking one server over one version of the internet protocol.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pinged {
    /// The server's id.
    pub server: String,
    /// Over which version.
    pub family: Family,
    /// Its address and port.
    pub address: SocketAddr,
    /// How many of the requests were answered.
    pub answered: usize,
    /// How many there were.
    pub asked: usize,
    /// The median delay; absent unless every request was answered.
    pub median_us: Option<u64>,
    /// Why not, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Which servers, over what.
pub struct Wanted<'a> {
    /// Only this server.
    pub server: Option<&'a str>,
    /// Only this version of the internet protocol.
    pub family: Option<Family>,
    /// This port, where it is not the default one.
    pub port: Option<u16>,
}

impl Wanted<'_> {
    /// What is asked: each server over each family that it and a path have.
    ///
    /// # Errors
    /// When no server is wanted.
    fn targets(&self, servers: &[Server], paths: &[TestPath]) -> Result<Vec<Target>, Failure> {
        let mut left: Vec<&Server> = servers.iter().collect();
        if let Some(id) = self.server {
            left.retain(|server| server.id == id);
            if left.is_empty() {
                let ids: Vec<&str> = servers.iter().map(|s| s.id.as_str()).collect();
                return Err(Failure::usage(format!(
                    "no server is called `{id}`; there are {}",
                    ids.join(", ")
                )));
            }
        }
        if let Some(port) = self.port {
            let ports = left.iter().flat_map(|s| s.ports.clone());
            let ports: std::collections::BTreeSet<u16> = ports.collect();
            left.retain(|server| server.ports.contains(&port));
            if left.is_empty() {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                return Err(Failure::usage(format!(
                    "no server listens at port {port}; they do at {}",
                    ports.join(", ")
                )));
            }
        }
        let mut targets = Vec::new();
        for server in left {
            let Some(port) = self.port.or(server.ports.first().copied()) else {
                continue;
            };
            for family in Family::ALL {
                let address = server.addresses.iter().find(|a| Family::of(**a) == family);
                let from = paths.iter().find(|p| p.families().contains(&family));
                let from = from.and_then(|path| path.local(family));
                let (Some(address), Some(from)) = (address, from) else {
                    continue;
                };
                if self.family.is_none_or(|wanted| wanted == family) {
                    targets.push(Target {
                        server: server.id.clone(),
                        address: SocketAddr::new(*address, port),
                        from,
                    });
                }
            }
        }
        match targets.is_empty() {
            false => Ok(targets),
            true => Err(Failure::failed(
                "no server has an address of a version of the internet protocol that a path has; leave \
                 --family out, or see `ip address`",
            )),
        }
    }
}

struct Target {
    server: String,
    address: SocketAddr,
    from: LocalPath,
}

/// Asks every wanted server over every family, from the first path that has it; in the order of the
/// servers.
///
/// # Errors
/// When there is nothing to ask.
pub fn ask(
    servers: &[Server],
    paths: &[TestPath],
    wanted: &Wanted<'_>,
) -> Result<Vec<Pinged>, Failure> {
    let targets = wanted.targets(servers, paths)?;
    let mut all = Vec::new();
    for some in targets.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let asked: Vec<_> = some.iter().map(|t| scope.spawn(|| t.ask())).collect();
            for pinged in asked {
                all.extend(pinged.join().ok());
            }
        });
    }
    Ok(all)
}

/// The nearest that answered every request; one whose family more of the paths have goes before one that
/// is nearer.
///
/// # Errors
/// When none did.
pub fn nearest<'p>(pinged: &'p [Pinged], paths: &[TestPath]) -> Result<&'p Pinged, Failure> {
    let without = |family| {
        let lacks = |p: &&TestPath| !p.families().contains(&family);
        paths.iter().filter(lacks).count()
    };
    let answered = pinged.iter().filter_map(|p| Some((p.median_us?, p)));
    let nearest = answered.min_by_key(|(median, p)| (without(p.family), *median));
    nearest.map(|(_, pinged)| pinged).ok_or_else(|| {
        let each = pinged.iter().map(|p| {
            let family = words(p.family);
            let why = p.error.as_deref().unwrap_or("no answer");
            format!(
                "{} over {family}: {}/{} answered, {why}",
                p.server, p.answered, p.asked
            )
        });
        Failure::failed(format!(
            "no server answers ({}); try again, or in another network",
            each.collect::<Vec<_>>().join("; ")
        ))
    })
}

/// A family's name for people.
pub fn words(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    }
}

impl Target {
    fn ask(&self) -> Pinged {
        let ping = Ping::default();
        let mut log = Vec::new();
        let error = exchange(self.address, &self.from, &ping, &mut log).err();
        let asked = ping.count as usize;
        let mut delays: Vec<u64> = log.iter().filter_map(|m| m.delay_us).collect();
        delays.sort_unstable();
        let complete = delays.len() == asked;
        Pinged {
            server: self.server.clone(),
            family: Family::of(self.address.ip()),
            address: self.address,
            answered: delays.len(),
            asked,
            median_us: complete.then(|| delays[asked / 2]),
            error: error.filter(|_| !complete).map(|e| e.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::paths::tests::interface;
    use super::*;
    use measure::world::live::InterfaceKind;
    use model::PathKind;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use traffic::hello::{Parsed, parse};

    fn local_path() -> TestPath {
        TestPath {
            name: "wire".into(),
            kind: PathKind::Ethernet,
            interface: interface("veth0", InterfaceKind::Ethernet, &["127.0.0.1"]),
        }
    }

    /// A server that answers this many requests and then closes.
    fn server(answers: usize) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut bytes = Vec::new();
            let mut buffer = [0; 1024];
            let mut answered = 0;
            while answered < answers {
                let read = stream.read(&mut buffer).expect("a request");
                bytes.extend_from_slice(&buffer[..read]);
                if let Ok(Parsed::Complete { length, hello }) = parse(&bytes)
                    && answered == 0
                {
                    assert_eq!(hello.token, None);
                    bytes.drain(..length);
                }
                while bytes.len() >= traffic::frame::HEADER && bytes[0] == 3 && answered < answers {
                    bytes.drain(..traffic::frame::HEADER);
                    let number = answered as u64;
                    let object = traffic::frame::header(traffic::frame::Kind::Object, number);
                    stream.write_all(&object).expect("the client reads");
                    stream.write_all(&[0]).expect("the client reads");
                    answered += 1;
                }
            }
        });
        Server {
            id: format!("answers-{answers}"),
            place: "here".into(),
            addresses: vec!["127.0.0.1".parse().expect("an address")],
            ports: vec![port],
            certificate_sha256: "0".repeat(64),
        }
    }

    #[test]
    fn a_server_counts_when_it_answers_every_request() {
        let paths = [local_path()];
        let servers = [server(4), server(5)];
        let wanted = |server| Wanted {
            server,
            family: None,
            port: None,
        };
        let pinged = ask(&servers, &paths, &wanted(None)).expect("two");
        assert_eq!((pinged[0].answered, pinged[0].median_us), (4, None));
        assert!(pinged[0].error.is_some());
        assert_eq!((pinged[1].answered, pinged[1].error.as_ref()), (5, None));
        let chosen = nearest(&pinged, &paths).expect("one");
        assert_eq!(chosen.server, "answers-5");
        let error = nearest(&pinged[..1], &paths).expect_err("none");
        assert!(
            error.message.contains("answers-4 over IPv4: 4/5 answered"),
            "{error:?}"
        );
        let unknown = ask(&servers, &paths, &wanted(Some("far"))).expect_err("no such");
        assert!(unknown.message.contains("there are answers-4, answers-5"));
    }

    #[test]
    fn the_family_that_all_paths_have_goes_before_the_nearer_one() {
        let pinged = |family, median_us| Pinged {
            server: "s".into(),
            family,
            address: "[::1]:443".parse().expect("an address"),
            answered: 5,
            asked: 5,
            median_us: Some(median_us),
            error: None,
        };
        let both = [pinged(Family::Ipv6, 10), pinged(Family::Ipv4, 20)];
        let paths = [
            interface("wlan0", InterfaceKind::Wifi, &["192.0.2.1", "2001:db8::1"]),
            interface("wwan0", InterfaceKind::Cellular, &["192.0.2.2"]),
        ];
        let paths = super::super::paths::choose(&[], &paths).expect("two");
        assert_eq!(nearest(&both, &paths).expect("one").family, Family::Ipv4);
        assert_eq!(
            nearest(&both, &paths[..1]).expect("one").family,
            Family::Ipv6
        );
    }
}
