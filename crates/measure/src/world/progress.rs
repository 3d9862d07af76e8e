//! What becomes of several runs, told as it happens.

use model::manifest::Timing;

/// What happens.
#[derive(Debug)]
pub enum Progress {
    /// A run began.
    Started {
        /// Its place in the list.
        run: usize,
    },
    /// A run's clock.
    At {
        /// Its place in the list.
        run: usize,
        /// Seconds since its start.
        seconds: f64,
    },
    /// A run ended.
    Ended {
        /// Its place in the list.
        run: usize,
        /// How; the emulator's timing where there is an emulator.
        result: Result<Option<Timing>, Failed>,
    },
}

/// A run that failed.
#[derive(Clone, Debug)]
pub struct Failed {
    /// Why, and what to do.
    pub error: String,
    /// Whether this machine cannot do it at all.
    pub impossible: bool,
}
