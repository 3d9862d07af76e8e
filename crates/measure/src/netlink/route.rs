//! Which links, addresses, routes and rules a network namespace has.
