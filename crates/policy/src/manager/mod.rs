//! One file per path manager.
