//! Can a test be carried out on this host at all?

use super::{Interface, LiveError, Test, Until};
use crate::transport::list::{self, Entry, Implementation};
use model::World;

/// A run's transport and path manager.
pub type Entries = (&'static Entry, &'static policy::list::Entry);

/// The entries of the test's runs, in their order.
pub fn entries(test: &Test) -> Result<Vec<Entries>, LiveError> {
    let impossible = |words: String| Err(LiveError::Impossible(words));
    if test.runs.is_empty() {
        return impossible("the test has no run: name at least one transport".to_owned());
    }
    let mut entries = Vec::new();
    for run in &test.runs {
        let Some(transport) = list::find(&run.transport) else {
            return impossible(format!("no transport is called `{}`", run.transport));
        };
        let Some(policy) = policy::list::find(&run.policy) else {
            return impossible(format!("no policy is called `{}`", run.policy));
        };
        if transport.implementation(World::Live) == Implementation::Walkabout {
            return impossible(format!(
                "`{}` takes its interfaces away from the host, so it is not for real ones: use the \
                 kernel's, or another world",
                run.transport
            ));
        }
        entries.push((transport, policy));
    }
    let of_kernel = entries
        .iter()
        .filter(|(transport, _)| is_kernel_mptcp(transport));
    let mut managed = of_kernel.map(|(_, policy)| policy);
    if let Some(first) = managed.next()
        && let Some(other) = managed.find(|policy| policy.kernel != first.kernel)
    {
        return impossible(format!(
            "mptcp under `{}` and under `{}` cannot run at once: the kernel has one path manager for \
             all connections of a host; run them one after the other",
            first.name, other.name
        ));
    }
    Ok(entries)
}

/// Whether the kernel's own path manager gets endpoints of ours.
pub fn manages_endpoints(entries: &[Entries]) -> bool {
    let managed =
        |(transport, policy): &Entries| is_kernel_mptcp(transport) && policy.kernel.is_some();
    entries.iter().any(managed)
}

fn is_kernel_mptcp(transport: &Entry) -> bool {
    transport.multipath && transport.implementation(World::Live) == Implementation::Kernel
}

/// Whether every path of the test works, on a host with these interfaces.
pub fn check_paths(test: &Test, interfaces: &[Interface]) -> Result<(), LiveError> {
    let impossible = |words: String| Err(LiveError::Impossible(words));
    if test.paths.is_empty() {
        return impossible("the test has no path: name at least one interface".to_owned());
    }
    for (number, path) in test.paths.iter().enumerate() {
        let name = &path.name;
        let same = |other: &crate::transport::LocalPath| {
            other.name == *name || other.address == path.address
        };
        if test.paths[..number].iter().any(same) {
            return impossible(format!(
                "two paths have the name `{name}` or the address {}",
                path.address
            ));
        }
        if path.address.is_ipv4() != test.server.is_ipv4() {
            return impossible(format!(
                "the path `{name}` starts at {}, and the server is at {}: they are of different \
                 versions of the internet protocol",
                path.address,
                test.server.ip()
            ));
        }
        let interface = interfaces.iter().find(|i| i.index == path.interface);
        if !interface.is_some_and(|interface| interface.carries(path.address)) {
            return impossible(format!(
                "the path `{name}` does not work now: its interface is down, or has not the address {} \
                 any more",
                path.address
            ));
        }
    }
    if let Until::WifiLost(name) = &test.until
        && test.paths.iter().all(|p| p.name != *name)
    {
        return impossible(format!(
            "the test is to end with `{name}`, which is none of its paths"
        ));
    }
    Ok(())
}
