//! Does a connection behave as the RFCs and Linux say?

mod bulk;
mod close;
mod hostile;
mod open;
mod receiver;
mod recovery;
mod rig;
mod rto;
mod script;
