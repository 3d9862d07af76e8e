//! What is said between client, collector and dashboard: the types of the REST interface, version 1,
//! one file per resource. The OpenAPI description is made from these types.

mod compare;
mod export;
mod live;
mod metadata;
mod problem;
mod run;
mod token;
mod upload;
mod usage;

pub use compare::{CauseCount, CdfPoint, ComparedArm, Comparison, PairedRatio};
pub use export::ExportFormat;
pub use live::{LiveBatch, LiveEvent, LiveItem, RunningTest};
pub use metadata::{ConsentText, Experiment, ExperimentTraffic, Limits, Metadata, Server};
pub use problem::{Problem, ProblemKind};
pub use run::{Arm, Filter, MetricValue, RunPage, RunSummary};
pub use token::{TokenGranted, TokenRequest};
pub use upload::{FORMAT as UPLOAD_FORMAT, Stored, Upload, UploadState};
pub use usage::{Count, Usage};

/// Where version 1 of the interface is, below the collector's address.
pub const PREFIX: &str = "/api/v1";
