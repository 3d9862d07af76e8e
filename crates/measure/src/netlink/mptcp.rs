//! How Multipath TCP's path manager is spoken to.
