//! Which power model is whose? One for each kind of path that a radio carries.

use super::model::{Model, lte::LTE, wifi::WIFI};
use ::model::PathKind;

/// The models that a run's energies are computed with.
#[derive(Clone, Copy, Debug)]
pub struct Radios {
    /// Of paths over Wi-Fi.
    pub wifi: &'static Model,
    /// Of cellular paths.
    pub cellular: &'static Model,
}

impl Default for Radios {
    fn default() -> Radios {
        Radios {
            wifi: &WIFI,
            cellular: &LTE,
        }
    }
}

impl Radios {
    /// The model of a path of this kind; `None` for cables.
    pub fn of(&self, kind: PathKind) -> Option<&'static Model> {
        match kind {
            PathKind::Wifi => Some(self.wifi),
            PathKind::Cellular => Some(self.cellular),
            PathKind::Ethernet => None,
        }
    }
}
