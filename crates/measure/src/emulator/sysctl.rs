//! Which settings of a namespace's network stack bear on an experiment, and what they are.

use super::namespace::{NamespaceError, NetNs};
use model::Family;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What is changed in the namespaces, and why.
const PREPARED: &[(&str, &str)] = &[
    // A packet may come in where an answer would not go out, while a path fails.
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    // A connection learns nothing from the ones before it.
    ("net/ipv4/tcp_no_metrics_save", "1"),
];

/// What is changed as well where the experiment's packets are IPv4.
const PREPARED_IPV4: &[(&str, &str)] = &[
    // No router solicitations or duplicate address detection among the experiment's packets.
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
];

/// What is changed as well where they are IPv6: the host has the addresses it is given, at once,
/// says nothing of its own accord, and keeps them when an interface goes down, as with IPv4.
const PREPARED_IPV6: &[(&str, &str)] = &[
    ("net/ipv6/conf/all/disable_ipv6", "0"),
    ("net/ipv6/conf/default/disable_ipv6", "0"),
    ("net/ipv6/conf/all/keep_addr_on_down", "1"),
    ("net/ipv6/conf/default/keep_addr_on_down", "1"),
    ("net/ipv6/conf/all/accept_ra", "0"),
    ("net/ipv6/conf/default/accept_ra", "0"),
    ("net/ipv6/conf/default/accept_dad", "0"),
    ("net/ipv6/conf/default/dad_transmits", "0"),
    ("net/ipv6/conf/default/router_solicitations", "0"),
    // IN6_ADDR_GEN_MODE_NONE: no link-local address.
    ("net/ipv6/conf/default/addr_gen_mode", "1"),
];

/// What is recorded; a directory stands for all files in it.
const RECORDED: &[&str] = &[
    "net/core/rmem_max",
    "net/core/wmem_max",
    "net/core/default_qdisc",
    "net/ipv4/conf/all/rp_filter",
    "net/ipv4/tcp_available_congestion_control",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_early_retrans",
    "net/ipv4/tcp_ecn",
    "net/ipv4/tcp_fastopen",
    "net/ipv4/tcp_frto",
    "net/ipv4/tcp_moderate_rcvbuf",
    "net/ipv4/tcp_no_metrics_save",
    "net/ipv4/tcp_notsent_lowat",
    "net/ipv4/tcp_recovery",
    "net/ipv4/tcp_retries2",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_sack",
    "net/ipv4/tcp_slow_start_after_idle",
    "net/ipv4/tcp_syn_retries",
    "net/ipv4/tcp_timestamps",
    "net/ipv4/tcp_window_scaling",
    "net/ipv4/tcp_wmem",
    "net/mptcp",
];

/// Prepares the calling thread's network namespace for packets of `family`. A setting that may not be changed is left
/// as it is: [`recorded`] says how it was.
pub(super) fn prepare(family: Family) {
    let more = match family {
        Family::Ipv4 => PREPARED_IPV4,
        Family::Ipv6 => PREPARED_IPV6,
    };
    for (name, value) in PREPARED.iter().chain(more) {
        let _ = fs::write(Path::new("/proc/sys").join(name), value);
    }
}

/// The settings that bear on an experiment, in `namespace`, by their dotted names. What this
/// kernel does not have is absent.
pub fn recorded(namespace: &NetNs) -> Result<BTreeMap<String, String>, NamespaceError> {
    namespace.run(here)
}

/// The same in the calling thread's network namespace; needs no privilege.
pub fn here() -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for name in RECORDED {
        let path = Path::new("/proc/sys").join(name);
        match fs::read_dir(&path) {
            Ok(files) => {
                for file in files.flatten() {
                    record(&file.path(), &mut settings);
                }
            }
            Err(_) => record(&path, &mut settings),
        }
    }
    settings
}

fn record(path: &Path, settings: &mut BTreeMap<String, String>) {
    if let (Ok(name), Ok(text)) = (path.strip_prefix("/proc/sys"), fs::read_to_string(path)) {
        let name = name.to_string_lossy().replace('/', ".");
        let value: Vec<&str> = text.split_whitespace().collect();
        settings.insert(name, value.join(" "));
    }
}
