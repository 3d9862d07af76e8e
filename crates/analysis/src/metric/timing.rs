//! Did the emulator keep its time?

use super::Value;
use crate::folder::RunFolder;

/// `None` in a world without an emulator, and for a run that was cut short.
pub fn kept(run: &RunFolder) -> Option<Value> {
    let timing = run.manifest.timing?;
    Some(Value::exact(f64::from(u8::from(timing.kept))))
}
