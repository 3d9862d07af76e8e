//! From a run folder to metrics, tables and the report. Meets the live crates in the record
//! schemas of `model`, nowhere else.

pub mod agreement;
pub mod energy;
pub mod folder;
pub mod metric;
pub mod report;
pub mod reproduction;
pub mod statistics;
pub mod study;
pub mod table;
