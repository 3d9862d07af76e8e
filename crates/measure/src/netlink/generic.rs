//! How generic netlink families are found and spoken to.
