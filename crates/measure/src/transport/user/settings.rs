//! How is a stack configured under the names that a scenario gives?

use model::scenario::Multipath;
use model::{Name, Seed, spelling};
use mptcp::connection::{Config, Extensions};
use mptcp::subflow;
use mptcp::wire::mptcp::Subtypes;
use policy::congestion::list as controllers;
use policy::scheduler::list as schedulers;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The congestion controller where the scenario names none: Linux's (net.ipv4.tcp_congestion_control).
pub const DEFAULT_CONGESTION: &str = "cubic";
/// The packet scheduler where the scenario names none: it decides as Linux does.
pub const DEFAULT_SCHEDULER: &str = "linux-default";

/// What a path carries in one packet: Ethernet's, as in the emulated world.
const MTU: u16 = 1_500;

/// What either end needs to be set up.
pub struct Setup<'a> {
    /// Multipath TCP, or TCP.
    pub multipath: bool,
    /// The run's seed.
    pub seed: Seed,
    /// Where the server listens.
    pub server: SocketAddr,
    /// The client's paths: their names, and its address on each.
    pub paths: Vec<(Name, IpAddr)>,
    /// The congestion controller; [`DEFAULT_CONGESTION`] when absent.
    pub congestion: Option<&'a str>,
    /// The packet scheduler; [`DEFAULT_SCHEDULER`] when absent.
    pub scheduler: Option<&'a str>,
    /// Extensions of Multipath TCP.
    pub extensions: &'a Multipath,
    /// Whether anything could alter a packet on its way, so that TCP's checksums matter.
    pub checksums: bool,
}

/// Why an end could not be set up.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    /// Nothing to connect from.
    #[error("a client needs at least one path and one channel; give it both")]
    Empty,
    /// No such congestion controller.
    #[error(
        "the user-space stack has no congestion controller `{name}`: set `congestion` to one of \
         {}{}", known.join(", "), hint(name, known)
    )]
    Congestion {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// No such packet scheduler.
    #[error(
        "the user-space stack has no scheduler `{name}`: set `scheduler` to one of {}{}",
        known.join(", "), hint(name, known)
    )]
    Scheduler {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
}

fn hint(name: &str, known: &[&str]) -> String {
    match spelling::nearest(name, known.iter().copied()) {
        Some(near) => format!(" (did you mean `{near}`?)"),
        None => String::new(),
    }
}

/// The controller that is asked for, or the default.
fn controller(asked: Option<&str>) -> Result<&'static controllers::Entry, UserError> {
    let name = asked.unwrap_or(DEFAULT_CONGESTION);
    controllers::find(name).ok_or_else(|| UserError::Congestion {
        name: name.to_owned(),
        known: controllers::CONTROLLERS.iter().map(|e| e.name).collect(),
    })
}

/// The scheduler that is asked for, or the default.
fn scheduler(asked: Option<&str>) -> Result<&'static schedulers::Entry, UserError> {
    let name = asked.unwrap_or(DEFAULT_SCHEDULER);
    schedulers::find(name).ok_or_else(|| UserError::Scheduler {
        name: name.to_owned(),
        known: schedulers::SCHEDULERS.iter().map(|e| e.name).collect(),
    })
}

/// The extensions that the scenario asks for.
fn extensions(asked: &Multipath) -> Extensions {
    let Multipath {
        idle_flag,
        rto_option,
        rto_period,
        idle_floor,
        fast_join,
        experiment,
        subtypes,
    } = *asked;
    Extensions {
        idle_flag,
        rto_option,
        rto_period: rto_period.get(),
        idle_floor: idle_floor.get(),
        fast_join,
        subtypes: match subtypes {
            None => Subtypes::Experiment(experiment),
            Some(own) => Subtypes::Own {
                offer: own.offer,
                rto: own.rto,
                fast_join_out: own.fast_join_out,
                fast_join_in: own.fast_join_in,
            },
        },
    }
}

/// The stack's configuration: Linux's (the sources are beside the fields), but for what the
/// scenario names.
pub(super) fn config(setup: &Setup<'_>) -> Result<Config, UserError> {
    let headers = match setup.server {
        SocketAddr::V4(_) => 20 + 20,
        SocketAddr::V6(_) => 40 + 20,
    };
    Ok(Config {
        multipath: setup.multipath,
        checksum: false,
        send_buffer: 4 << 20,
        receive_buffer: 6 << 20,
        stale_loss_count: 4,
        close_timeout: Duration::from_secs(60),
        scheduler: scheduler(setup.scheduler)?,
        controller: controller(setup.congestion)?,
        extensions: extensions(setup.extensions),
        subflow: subflow::Config {
            mss: MTU - headers,
            checksums: setup.checksums,
            ..subflow::Config::default()
        },
    })
}
