//! Which random sequences once failed, and must not again?
