//! Which version of the internet protocol carries an experiment?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The address family of every host and path of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// RFC 791.
    #[default]
    Ipv4,
    /// RFC 8200.
    Ipv6,
}

impl Family {
    /// Both.
    pub const ALL: [Family; 2] = [Family::Ipv4, Family::Ipv6];

    /// The family of an address.
    pub const fn of(address: IpAddr) -> Family {
        match address {
            IpAddr::V4(_) => Family::Ipv4,
            IpAddr::V6(_) => Family::Ipv6,
        }
    }

    /// Whether it is the one that goes without saying.
    pub fn is_default(&self) -> bool {
        *self == Family::default()
    }
}
