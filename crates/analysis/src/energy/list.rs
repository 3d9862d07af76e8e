//! The list of power models.

use super::Model;
use super::model::lte::LTE;
use super::model::umts::UMTS;
use super::model::wifi::WIFI;

/// Every model, sorted by name.
pub const MODELS: &[&Model] = &[&UMTS, &LTE, &WIFI];

/// The model called `name`.
pub fn find(name: &str) -> Option<&'static Model> {
    MODELS.iter().copied().find(|model| model.name == name)
}
