//! Does a study say what its runs say, and no more?

mod comparing;
mod keeping;
mod reporting;
mod synthetic;
