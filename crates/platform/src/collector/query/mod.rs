//! What people ask for: lists, single runs, their tables and reports, exports, comparisons, usage.

mod compare;
mod export;
mod filter;
mod report;
mod runs;
mod table;
mod usage;

pub use compare::{__path_compare, compare};
pub use export::{__path_export, export};
pub use report::{__path_report, report};
pub use runs::{__path_delete, __path_get, __path_list, delete, get, list};
pub use table::{__path_table, table};
pub use usage::{__path_usage, usage};
