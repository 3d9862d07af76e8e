//! How are sequence numbers compared that wrap around?

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A TCP sequence number (RFC 9293, section 3.4): compared modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// How far it is from `earlier` to this one; meaningful when not [`Seq::is_before`] it.
    pub const fn since(self, earlier: Seq) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Whether it comes before `other`.
    pub const fn is_before(self, other: Seq) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Whether it comes after `other`.
    pub const fn is_after(self, other: Seq) -> bool {
        other.is_before(self)
    }

    /// The later of both.
    pub const fn max(self, other: Seq) -> Seq {
        if self.is_before(other) { other } else { self }
    }
}

impl Add<u32> for Seq {
    type Output = Seq;
    fn add(self, n: u32) -> Seq {
        Seq(self.0.wrapping_add(n))
    }
}

impl Sub<u32> for Seq {
    type Output = Seq;
    fn sub(self, n: u32) -> Seq {
        Seq(self.0.wrapping_sub(n))
    }
}

impl AddAssign<u32> for Seq {
    fn add_assign(&mut self, n: u32) {
        *self = *self + n;
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
