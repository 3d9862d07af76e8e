//! Does the store keep what it acknowledges, find it again, and count it right, in both databases?

#[path = "../postgres/mod.rs"]
mod postgres;

mod any_sequence;
mod brute_force;
mod faults;
mod find;
mod killed;
mod live;
mod place;
mod put;
mod sample;
mod several;
