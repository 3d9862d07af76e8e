//! Does a connection behave as the RFCs and Linux say?

mod bulk;

mod rig;
