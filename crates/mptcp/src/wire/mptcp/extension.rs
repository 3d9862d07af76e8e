//! How are MultiMob's additions to Multipath TCP laid out (De Coninck and Bonaventure, MultiMob,
//! sections III-B and III-C)?
//!
//! The paper names the fields and not the bytes; these are ours, in docs/mptcp.md byte by byte.

use super::private::Private;
use arrayvec::ArrayVec;
use bytes::{Buf, BufMut};
use std::time::Duration;

/// The subtype that RFC 8684 reserves for experiments (section 7.2).
const EXPERIMENTAL: u8 = 15;

/// Which extensions a host has: a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Features(pub u8);

impl Features {
    /// The flag MP_IDLE of a data sequence signal.
    pub const IDLE_FLAG: Features = Features(0x01);
    /// The request for the retransmission timeout.
    pub const RTO: Features = Features(0x02);
    /// FAST_JOIN_OUT and FAST_JOIN_IN.
    pub const FAST_JOIN: Features = Features(0x04);

    /// Those of both.
    pub fn and(self, other: Features) -> Features {
        Features(self.0 & other.0)
    }

    /// Those of either.
    pub fn or(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    /// Whether all of `other` are among them.
    pub fn has(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Which of the two joins with a SYN that counts at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FastJoinForm {
    /// FAST_JOIN_OUT: the SYN carries data, and the option its data sequence number.
    Out,
    /// FAST_JOIN_IN: the option carries a Data ACK, and the SYN nothing.
    In,
}

/// FAST_JOIN_OUT or FAST_JOIN_IN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FastJoin {
    /// In the SYN.
    Syn {
        /// Which of the two.
        form: FastJoinForm,
        /// Whether the subflow begins as a backup, as MP_JOIN's flag B.
        backup: bool,
        /// The source address's identifier.
        address_id: u8,
        /// The receiver's token.
        token: u32,
        /// The data sequence number of the SYN's first byte, or the Data ACK; all 64 bits.
        number: u64,
        /// See [`super::super::key::fast_join_hmac`].
        hmac: u64,
        /// The checksum of the SYN's data as that of a mapping from subflow sequence number 1 on,
        /// where checksums are in use and there is data.
        checksum: Option<u16>,
    },
    /// In the SYN/ACK.
    SynAck {
        /// As in the SYN.
        form: FastJoinForm,
        /// Whether the subflow begins as a backup.
        backup: bool,
        /// The source address's identifier.
        address_id: u8,
        /// See [`super::super::key::fast_join_hmac`].
        hmac: u64,
    },
}

/// An option of MultiMob's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extension {
    /// The client says which extensions it has, and the server which of them it has as well.
    Offer {
        /// Whether it answers one.
        answer: bool,
        /// The extensions.
        features: Features,
    },
    /// The client asks for the server's retransmission timeout on this subflow.
    RtoRequest,
    /// The server's retransmission timeout on this subflow, in whole microseconds.
    RtoAnswer(Duration),
    /// Opens a subflow.
    FastJoin(FastJoin),
}

/// Under which subtypes the extensions go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subtypes {
    /// All under the experimental one, with this identifier of the experiment.
    Experiment(u16),
    /// Each under one of its own, from 9 to 14.
    Own {
        /// The offer and its answer.
        offer: u8,
        /// The request for the retransmission timeout and its answer.
        rto: u8,
        /// FAST_JOIN_OUT.
        fast_join_out: u8,
        /// FAST_JOIN_IN.
        fast_join_in: u8,
    },
}

impl Default for Subtypes {
    fn default() -> Self {
        Subtypes::Experiment(u16::from_be_bytes(*b"MM"))
    }
}

/// Why an option is none of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotRead {
    /// It is of another subtype or experiment.
    Foreign,
    /// It is too short or too long, or in a segment where it has no place.
    Malformed,
    /// The same, of a FAST_JOIN in a SYN.
    MalformedJoin,
}

/// What an option is about, by its subtype or by three of the bits beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum About {
    Offer,
    Rto,
    Join(FastJoinForm),
}

impl About {
    const ALL: [About; 4] = [
        About::Offer,
        About::Rto,
        About::Join(FastJoinForm::Out),
        About::Join(FastJoinForm::In),
    ];

    /// Its number where all share a subtype.
    fn code(self) -> u8 {
        match self {
            About::Offer => 0,
            About::Rto => 1,
            About::Join(FastJoinForm::Out) => 2,
            About::Join(FastJoinForm::In) => 3,
        }
    }
}

impl Subtypes {
    /// The subtype of an option, and the bits beside it but for the last.
    fn place(self, about: About) -> (u8, u8) {
        match (self, about) {
            (Subtypes::Experiment(_), about) => (EXPERIMENTAL, about.code() << 1),
            (Subtypes::Own { offer, .. }, About::Offer) => (offer, 0),
            (Subtypes::Own { rto, .. }, About::Rto) => (rto, 0),
            (Subtypes::Own { fast_join_out, .. }, About::Join(FastJoinForm::Out)) => {
                (fast_join_out, 0)
            }
            (Subtypes::Own { fast_join_in, .. }, About::Join(FastJoinForm::In)) => {
                (fast_join_in, 0)
            }
        }
    }

    /// Reads an option of a segment with these flags.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn read(self, option: &Private, syn: bool, ack: bool) -> Result<Extension, NotRead> {
        let mut body = option.body.as_slice();
        let mut bits = 0;
        if let Subtypes::Experiment(id) = self {
            if option.subtype != EXPERIMENTAL || body.try_get_u16() != Ok(id) {
                return Err(NotRead::Foreign);
            }
            bits = option.low & 0x0e;
        }
        let place = (option.subtype, bits);
        let about = About::ALL.into_iter().find(|a| self.place(*a) == place);
        let flag = option.low & 1 != 0;
        match about.ok_or(NotRead::Foreign)? {
            About::Offer if !syn && body.len() == 1 => Ok(Extension::Offer {
                answer: flag,
                features: Features(body[0]),
            }),
            About::Rto if !syn && !flag && body.is_empty() => Ok(Extension::RtoRequest),
            About::Rto if !syn && flag && body.len() == 4 => {
                let rto = Duration::from_micros(body.get_u32().into());
                Ok(Extension::RtoAnswer(rto))
            }
            About::Join(form) if syn => read_join(form, flag, ack, body)
                .map(Extension::FastJoin)
                .ok_or(NotRead::MalformedJoin),
            _ => Err(NotRead::Malformed),
        }
    }

    /// The option that says this; [`Subtypes::read`] gives it back.
    pub fn write(self, extension: &Extension) -> Private {
        let mut body = [0; super::private::LONGEST];
        let mut out = body.as_mut_slice();
        if let Subtypes::Experiment(id) = self {
            out.put_u16(id);
        }
        let (about, flag) = match *extension {
            Extension::Offer { answer, features } => {
                out.put_u8(features.0);
                (About::Offer, answer)
            }
            Extension::RtoRequest => (About::Rto, false),
            Extension::RtoAnswer(rto) => {
                out.put_u32(u32::try_from(rto.as_micros()).unwrap_or(u32::MAX));
                (About::Rto, true)
            }
            Extension::FastJoin(FastJoin::Syn {
                form,
                backup,
                address_id,
                token,
                number,
                hmac,
                checksum,
            }) => {
                out.put_u8(address_id);
                out.put_u32(token);
                out.put_u64(number);
                out.put_u64(hmac);
                if let Some(checksum) = checksum {
                    out.put_u16(checksum);
                }
                (About::Join(form), backup)
            }
            Extension::FastJoin(FastJoin::SynAck {
                form,
                backup,
                address_id,
                hmac,
            }) => {
                out.put_u8(address_id);
                out.put_u64(hmac);
                (About::Join(form), backup)
            }
        };
        let left = out.len();
        let length = body.len() - left;
        let (subtype, low) = self.place(about);
        Private {
            subtype,
            low: low | u8::from(flag),
            body: body[..length].iter().copied().collect::<ArrayVec<_, _>>(),
        }
    }
}

fn read_join(form: FastJoinForm, backup: bool, ack: bool, mut body: &[u8]) -> Option<FastJoin> {
    match (ack, body.len()) {
        (false, 21 | 23) => Some(FastJoin::Syn {
            form,
            backup,
            address_id: body.get_u8(),
            token: body.get_u32(),
            number: body.get_u64(),
            hmac: body.get_u64(),
            checksum: body.try_get_u16().ok(),
        }),
        (true, 9) => Some(FastJoin::SynAck {
            form,
            backup,
            address_id: body.get_u8(),
            hmac: body.get_u64(),
        }),
        _ => None,
    }
}
