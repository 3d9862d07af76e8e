//! What does a client change on a host that others use as well, and how is it put back?

use super::sysctl;
use crate::netlink::mptcp::{Control, Limits, LocalAddress};

/// Namespace-wide settings of Multipath TCP that a client sets.
const SETTINGS: [&str; 3] = [
    "net.mptcp.enabled",
    "net.mptcp.path_manager",
    "net.mptcp.pm_type",
];

/// The host's Multipath TCP settings, put back when this is dropped, as far as that is allowed.
pub struct KeptSettings {
    sysctls: Vec<(&'static str, String)>,
    endpoints: Option<(Vec<LocalAddress>, Limits)>,
}

impl KeptSettings {
    /// Of the calling thread's network namespace; with the endpoints of the kernel's path manager
    /// where those will be changed.
    pub fn keep(endpoints: bool) -> KeptSettings {
        let endpoints = endpoints.then(|| {
            let mut control = Control::open().ok()?;
            Some((control.endpoints().ok()?, control.limits().ok()?))
        });
        KeptSettings {
            sysctls: SETTINGS
                .into_iter()
                .filter_map(|name| Some((name, sysctl::read(name)?)))
                .collect(),
            endpoints: endpoints.flatten(),
        }
    }
}

impl Drop for KeptSettings {
    fn drop(&mut self) {
        // What may not be written was not changed either.
        for (name, value) in &self.sysctls {
            let _ = sysctl::set(name, value);
        }
        if let Some((endpoints, limits)) = &self.endpoints
            && let Ok(mut control) = Control::open()
            && control.flush_endpoints().is_ok()
        {
            for endpoint in endpoints {
                let _ = control.add_endpoint(endpoint);
            }
            let _ = control.set_limits(*limits);
        }
    }
}
