//! What is in an option of a subtype that RFC 8684 leaves to experiments or to the future?

use arrayvec::ArrayVec;
use bytes::BufMut;

/// The most that follows the first three bytes of an option: a header holds 40 bytes of options.
pub(super) const LONGEST: usize = super::super::OPTION_SPACE - 3;

/// An option of a subtype from 9 to 15 as it is on the wire; what it says depends on what its
/// sender and receiver agreed on ([`super::Subtypes`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Private {
    /// The subtype, 9 to 15.
    pub subtype: u8,
    /// The four bits beside it.
    pub low: u8,
    /// What follows.
    pub body: ArrayVec<u8, LONGEST>,
}

impl Private {
    /// The subtypes without a meaning of their own (RFC 8684, section 7.2).
    pub(super) const SUBTYPES: std::ops::RangeInclusive<u8> = 9..=15;

    pub(super) fn parse(subtype: u8, low: u8, rest: &[u8]) -> Option<Private> {
        Some(Private {
            subtype,
            low,
            body: ArrayVec::try_from(rest).ok()?,
        })
    }

    pub(super) fn emit(&self, mut out: &mut [u8]) {
        out.put_u8(self.subtype << 4 | self.low & 0x0f);
        out.put_slice(&self.body);
    }
}
