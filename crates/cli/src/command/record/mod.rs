//! `walkabout record`: a run on real interfaces becomes a scenario.
