//! The cases, by what they are about.

mod dissection;
mod ending;
mod fallback;
mod interface;
mod priority;
mod subflows;
mod transfer;

use crate::Outcome;
use crate::stage::{Role, Setting};

/// One case, in each of its roles and both families.
pub struct Case {
    pub name: &'static str,
    /// The roles of our stack.
    pub roles: &'static [Role],
    pub run: fn(&Setting<'static>) -> Outcome,
}

/// Where there is only one host with a stack of ours.
const ONE: &[Role] = &[Role::Client];
const BOTH: &[Role] = &[Role::Client, Role::Server];

const fn case(name: &'static str, run: fn(&Setting<'static>) -> Outcome) -> Case {
    Case {
        name,
        roles: BOTH,
        run,
    }
}

pub const CASES: &[Case] = &[
    Case {
        roles: ONE,
        ..case("the host keeps silent", interface::silence)
    },
    Case {
        roles: ONE,
        ..case("an interface comes back", interface::comes_back)
    },
    case("bulk on one path", transfer::one_path),
    case("bulk on two paths", transfer::two_paths),
    case("bulk with checksums", transfer::with_checksums),
    case("bulk with extensions", transfer::with_extensions),
    case("a backup carries nothing", priority::backup),
    case("we change the priority", priority::ours),
    case("the kernel changes the priority", priority::kernels),
    case(
        "the server announces an address",
        subflows::server_announces,
    ),
    case("the client announces a port", subflows::client_announces),
    case("we withdraw an address", subflows::we_withdraw),
    case(
        "the kernel withdraws an address",
        subflows::kernel_withdraws,
    ),
    case("we close the first subflow", subflows::first_closed),
    // The kernel's client opens no subflow when it has none.
    Case {
        roles: ONE,
        ..case("no subflow is left for a while", subflows::none_left)
    },
    case("we finish first", ending::ours_first),
    case("the kernel finishes first", ending::kernel_first),
    case("both finish at once", ending::both),
    case("we abort", ending::we_abort),
    case("the kernel aborts", ending::kernel_aborts),
    case("the kernel speaks plain tcp", fallback::plain_kernel),
    case("we speak plain tcp", fallback::plain_ours),
    case("a middlebox strips the syn", fallback::syn),
    case("a middlebox strips the syn ack", fallback::syn_ack),
    case("a middlebox strips data", fallback::data),
    case("a middlebox strips all but syns", fallback::all_but_syn),
    case("what we send is altered", fallback::ours_altered),
    case(
        "what the kernel sends is altered",
        fallback::kernels_altered,
    ),
    case("tshark agrees", dissection::agrees),
];
