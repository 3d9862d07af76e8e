//! How much energy did a path's radio take? By a power model, fed with the packets that were recorded.
//!
//! The models are those of Huang et al., *A Close Examination of Performance and Power Characteristics of
//! 4G LTE Networks* (MobiSys 2012): a radio is idle, is promoted by a packet, and returns to idle through
//! tails of falling power. What it takes follows from when packets went by, not from how large they were.
//!
//! Energy is that of the radio alone, within the run: from its start until the application ends. A radio is
//! on all the time ("considering that the cellular interface is always powered on", MultiMob, section
//! IV c), so what it takes while idle is in the energy and in the mean power; what is above that is told
//! apart. A tail that the end of the run cuts off is not counted beyond it.

mod activity;
pub mod list;
mod machine;
mod model;
pub mod playout;
mod radios;

pub use activity::{Activity, activity};
pub use machine::{Energy, Interval, Trace};
pub use model::{Model, Phase, Power, State};
pub use radios::Radios;

use crate::folder::RunFolder;
use ::model::scenario::Path;

/// What the radio of `path` did in `run`; `None` where no radio carries it, or nothing tells what it carried.
pub fn of(run: &RunFolder, path: &Path) -> Option<Trace> {
    let model = run.radios.of(path.kind)?;
    let Activity { moments_ns, .. } = activity(run, &path.name)?;
    let end_ns = run.end_us().saturating_mul(1_000);
    Some(Trace::of(model, &moments_ns, end_ns))
}
