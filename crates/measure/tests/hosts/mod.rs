//! Where do tests on real packets run? Two hosts: a client with two links, `wifi` and `cell`, and a
//! server with one address behind both, each a network namespace that is gone with the test.

pub mod echo;

use model::Family;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::channel;

/// Set in the process that runs a test's body.
const INSIDE: &str = "WALKABOUT_TEST_INSIDE";
/// The client's interfaces.
pub const NAMES: [&str; 2] = ["wifi", "cell"];
/// The last byte of the client's addresses, unless a test gives it others.
pub const USUAL: u8 = 2;
/// An address that nobody has: what is sent there vanishes without a word.
const NOBODY: &str = "lladdr 02:00:00:00:00:99 nud permanent";

/// How the hosts are set up.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The versions of the internet protocol that both speak.
    pub families: &'static [Family],
    /// Whether the client has a routing table per address, and rules; else it is set up as a desktop is:
    /// a default route per interface, the Wi-Fi's preferred.
    pub rules: bool,
}

/// A desktop.
pub const DESKTOP: Layout = Layout {
    families: &[Family::Ipv4],
    rules: false,
};
/// A desktop with IPv6 alone.
pub const DESKTOP_IPV6: Layout = Layout {
    families: &[Family::Ipv6],
    rules: false,
};
/// A desktop with both.
pub const DESKTOP_BOTH: Layout = Layout {
    families: &[Family::Ipv4, Family::Ipv6],
    rules: false,
};
/// A host whose owner has made rules for two interfaces.
pub const RULES: Layout = Layout {
    families: &[Family::Ipv4],
    rules: true,
};

/// Runs `body` in this test's own process, in new user and network namespaces.
pub fn inside(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let mut command = test_again(test);
    let output = in_namespaces(&mut command).output();
    let output = output.expect("user and network namespaces");
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    writeln!(std::io::stdout().lock(), "{text}{error}").unwrap();
    assert!(output.status.success(), "{test} failed, see above");
    assert!(text.contains("1 passed"), "{test} is not this test's name");
}

/// For a benchmark: runs the rest of this program in new user and network namespaces.
pub fn enter() {
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(std::env::args().skip(1));
    let status = in_namespaces(&mut command).status();
    let status = status.expect("user and network namespaces");
    std::process::exit(status.code().unwrap_or(1));
}

/// This program, for one test.
pub fn test_again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command
}

fn in_namespaces(command: &mut Command) -> &mut Command {
    let (uid, gid) = (nix::unistd::getuid(), nix::unistd::getgid());
    let enter = move || {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
    };
    // SAFETY: the closure only makes system calls; the child has one thread and execs next.
    unsafe { command.env(INSIDE, "1").pre_exec(enter) }
}

/// `ip` with these arguments; what it says.
pub fn ip(arguments: &str) -> String {
    let output = Command::new("ip")
        .args(arguments.split_whitespace())
        .output()
        .expect("these tests need the `ip` command (package iproute2)");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A setting of this thread's network namespace.
pub fn sysctl(name: &str) -> String {
    let path = Path::new("/proc/sys").join(name.replace('.', "/"));
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

/// The address that ends in `last` on the link `n`.
pub fn address(family: Family, n: usize, last: u8) -> IpAddr {
    let net = n as u8 + 1;
    match family {
        Family::Ipv4 => Ipv4Addr::new(10, 77, net, last).into(),
        Family::Ipv6 => Ipv6Addr::new(0xfd77, net.into(), 0, 0, 0, 0, 0, last.into()).into(),
    }
}

/// The server's address, behind both links.
pub fn server(family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::new(10, 77, 0, 1).into(),
        Family::Ipv6 => Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1).into(),
    }
}

/// Of `ip`: the family, the prefix's length on a link and alone, and what follows an address.
fn words(family: Family) -> (&'static str, u8, u8, &'static str) {
    match family {
        Family::Ipv4 => ("-4", 24, 32, ""),
        // Usable at once, without asking who else has it.
        Family::Ipv6 => ("-6", 64, 128, "nodad"),
    }
}

/// The client (this thread's namespace) and the server.
pub struct Hosts {
    /// The server's namespace.
    pub server: Arc<File>,
    layout: Layout,
}

impl Hosts {
    /// New ones. Several may follow each other in one process.
    pub fn new(layout: Layout) -> Hosts {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        for (n, name) in NAMES.iter().enumerate() {
            ip(&format!("link add {name} type veth peer name s{n}"));
        }
        // The server's sockets in a table of their own, as on a machine of its own, not in the one that a list
        // of the client's sockets walks through. Since Linux 6.1; before they share it.
        let _ = std::fs::write("/proc/sys/net/ipv4/tcp_child_ehash_entries", "4096");
        let hosts = Hosts {
            server: Arc::new(server_namespace()),
            layout,
        };
        hosts.at_server(|| {
            ip("link set lo up");
            for family in layout.families {
                let (version, long, whole, nodad) = words(*family);
                let own = server(*family);
                ip(&format!("{version} addr add {own}/{whole} dev lo {nodad}"));
                for n in 0..NAMES.len() {
                    let own = address(*family, n, 1);
                    ip(&format!("{version} addr add {own}/{long} dev s{n} {nodad}"));
                }
            }
            for n in 0..NAMES.len() {
                ip(&format!("link set s{n} up"));
            }
        });
        ip("link set lo up");
        if !layout.rules {
            std::fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "2").unwrap();
        }
        for (n, name) in NAMES.iter().enumerate() {
            ip(&format!("link set {name} up"));
            for family in layout.families.iter().filter(|_| layout.rules) {
                let (version, ..) = words(*family);
                let (own, table) = (address(*family, n, USUAL), 100 + n);
                ip(&format!("{version} rule add from {own} lookup {table}"));
                let none = format!("unreachable default table {table} metric 9999");
                ip(&format!("{version} route add {none}"));
            }
            hosts.give_address(n, USUAL);
        }
        hosts
    }

    /// Gives the client's interface `n` addresses with this last byte, and their routes.
    pub fn give_address(&self, n: usize, last: u8) {
        for family in self.layout.families {
            let (version, long, _, nodad) = words(*family);
            let (own, name) = (address(*family, n, last), NAMES[n]);
            let whole = format!("{own}/{long} dev {name} {nodad}");
            ip(&format!("{version} addr replace {whole}"));
            let route = format!("default via {} dev {name}", address(*family, n, 1));
            let metric = 100 * (n + 1);
            ip(&format!("{version} route replace {route} metric {metric}"));
            if self.layout.rules {
                let table = 100 + n;
                ip(&format!("{version} route replace {route} table {table}"));
            }
        }
    }

    /// Takes them away; the kernel takes the routes of IPv4.
    pub fn take_address(&self, n: usize, last: u8) {
        for family in self.layout.families {
            let (version, long, ..) = words(*family);
            let own = address(*family, n, last);
            ip(&format!("{version} addr del {own}/{long} dev {}", NAMES[n]));
        }
    }

    /// Runs something in the server's namespace.
    pub fn at_server<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let there = scope.spawn(|| {
                setns(self.server.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
                run()
            });
            there.join().unwrap()
        })
    }

    /// Loses every packet of a path in these directions without a word: the neighbours' addresses are
    /// wrong, so the other end ignores what arrives.
    pub fn lose(&self, n: usize, up: bool, down: bool) {
        for family in self.layout.families {
            let own = |last| address(*family, n, last);
            if up {
                ip(&format!(
                    "neigh replace {} {NOBODY} dev {}",
                    own(1),
                    NAMES[n]
                ));
            }
            if down {
                self.at_server(|| ip(&format!("neigh replace {} {NOBODY} dev s{n}", own(USUAL))));
            }
        }
    }

    /// The path works again.
    pub fn find_again(&self, n: usize) {
        // Forgotten, and not merely changed: the next packet asks for the neighbour.
        let forget = |whom: IpAddr, device: &str| {
            let _ = Command::new("ip")
                .args(["neigh", "del", &whom.to_string(), "dev", device])
                .output();
        };
        for family in self.layout.families {
            forget(address(*family, n, 1), NAMES[n]);
            self.at_server(|| forget(address(*family, n, USUAL), &format!("s{n}")));
        }
    }
}

/// A namespace to which the links' other ends have been moved.
fn server_namespace() -> File {
    // A thread that stays in it lets `ip` name it by its id.
    let (ready, wait) = channel();
    let (done, stay) = channel::<()>();
    let holder = std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        let own = File::open("/proc/thread-self/ns/net").unwrap();
        ready.send((own, nix::unistd::gettid())).unwrap();
        let _ = stay.recv();
    });
    let (namespace, id) = wait.recv().unwrap();
    for n in 0..NAMES.len() {
        ip(&format!("link set s{n} netns {id}"));
    }
    drop(done);
    holder.join().unwrap();
    namespace
}
