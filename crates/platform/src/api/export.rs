//! In which formats can results be taken away?

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The ending of `GET /api/v1/export/runs.{format}` and `GET /api/v1/runs/{id}/{table}.{format}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExportFormat {
    /// Apache Parquet, zstd.
    Parquet,
    /// RFC 4180, with a header line; cells that a spreadsheet would take for a formula are quoted with `'`.
    Csv,
    /// One JSON object per line.
    Json,
}
