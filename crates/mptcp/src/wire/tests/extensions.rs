//! Are the extensions laid out as docs/mptcp.md says, and is what is not refused?

use super::forms::{SYN, SYN_ACK, each_extension};
use crate::wire::key::fast_join_hmac;
use crate::wire::mptcp::*;
use proptest::prelude::*;

const OWN: Subtypes = Subtypes::Own {
    offer: 9,
    rto: 10,
    fast_join_out: 11,
    fast_join_in: 14,
};

fn bytes(subtypes: Subtypes, extension: &Extension) -> Vec<u8> {
    let option = MptcpOption::Private(subtypes.write(extension));
    let mut bytes = vec![0; option.len()];
    assert_eq!(option.emit(&mut bytes), bytes.len());
    bytes
}

fn read(subtypes: Subtypes, bytes: &[u8], (syn, ack): (bool, bool)) -> Result<Extension, NotRead> {
    match MptcpOption::parse(bytes, syn, ack) {
        Some(MptcpOption::Private(private)) => subtypes.read(&private, syn, ack),
        _ => Err(NotRead::Foreign),
    }
}

#[test]
fn each_form_byte_by_byte() {
    let offer = |answer| Extension::Offer {
        answer,
        features: Features(5),
    };
    let rto = Extension::RtoAnswer(std::time::Duration::from_millis(200));
    let join = |form| {
        Extension::FastJoin(FastJoin::Syn {
            form,
            backup: true,
            address_id: 3,
            token: 0x1112_1314,
            number: 0x2122_2324_2526_2728,
            hmac: 0x3132_3334_3536_3738,
            checksum: None,
        })
    };
    let fields = [
        3, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x31, 0x32,
        0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
    ];
    let with = |head: &[u8]| [head, &fields].concat();
    let experiment = Subtypes::Experiment(0x4d4d);
    assert_eq!(
        bytes(experiment, &offer(false)),
        [30, 6, 0xf0, 0x4d, 0x4d, 5]
    );
    assert_eq!(
        bytes(experiment, &offer(true)),
        [30, 6, 0xf1, 0x4d, 0x4d, 5]
    );
    assert_eq!(bytes(OWN, &offer(true)), [30, 4, 0x91, 5]);
    assert_eq!(
        bytes(experiment, &Extension::RtoRequest),
        [30, 5, 0xf2, 0x4d, 0x4d]
    );
    assert_eq!(
        bytes(experiment, &rto),
        [30, 9, 0xf3, 0x4d, 0x4d, 0, 3, 0x0d, 0x40]
    );
    assert_eq!(bytes(OWN, &rto), [30, 7, 0xa1, 0, 3, 0x0d, 0x40]);
    let (out, inward) = (join(FastJoinForm::Out), join(FastJoinForm::In));
    assert_eq!(bytes(experiment, &out), with(&[30, 26, 0xf5, 0x4d, 0x4d]));
    assert_eq!(
        bytes(experiment, &inward),
        with(&[30, 26, 0xf7, 0x4d, 0x4d])
    );
    assert_eq!(bytes(OWN, &out), with(&[30, 24, 0xb1]));
    assert_eq!(bytes(OWN, &inward), with(&[30, 24, 0xe1]));
}

#[test]
fn each_form_comes_back_and_is_none_of_another_experiment() {
    for subtypes in [Subtypes::default(), OWN] {
        for (flags, extension, _) in each_extension() {
            let flags = (flags.syn, flags.ack);
            let bytes = bytes(subtypes, &extension);
            assert_eq!(read(subtypes, &bytes, flags), Ok(extension));
            let other = match subtypes {
                OWN => Subtypes::default(),
                _ => Subtypes::Experiment(1),
            };
            assert_eq!(read(other, &bytes, flags), Err(NotRead::Foreign));
        }
    }
}

/// The paper's HMAC is over both keys, the sender's first, and the number; ours has the token before
/// it. Worked out with Python's hmac module.
#[test]
fn the_hmac_of_a_fast_join() {
    let own = 0x0123_4567_89ab_cdef;
    let peer = 0xfedc_ba98_7654_3210;
    let hmac = fast_join_hmac(own, peer, 0x1112_1314, 0x2122_2324_2526_2728);
    assert_eq!(hmac, HMAC, "{hmac:#x}");
    assert_ne!(
        hmac,
        fast_join_hmac(peer, own, 0x1112_1314, 0x2122_2324_2526_2728)
    );
}

const HMAC: u64 = 0x8460_0825_2aeb_e0cc;

proptest! {
    /// A fast join that was cut short or has too much is told from one of another experiment.
    #[test]
    fn a_join_of_another_length_is_malformed(
        length in 5..40_usize,
        low in prop::sample::select(vec![4_u8, 5, 6, 7]),
        answer in any::<bool>(),
    ) {
        let mut bytes = vec![0xaa; length];
        bytes[..5].copy_from_slice(&[30, length as u8, 0xf0 | low, 0x4d, 0x4d]);
        let flags = if answer { SYN_ACK } else { SYN };
        let read = read(Subtypes::default(), &bytes, (flags.syn, flags.ack));
        let right = if answer { &[14][..] } else { &[26, 28] };
        match read {
            Ok(_) => prop_assert!(right.contains(&length)),
            Err(error) => {
                prop_assert_eq!(error, NotRead::MalformedJoin);
                prop_assert!(!right.contains(&length));
            }
        }
    }

    /// What is read is written again as it was, but for bits that are reserved.
    #[test]
    fn any_bytes_are_read_or_not(
        subtype in 9..=15_u8,
        low in 0..16_u8,
        mut value in prop::collection::vec(any::<u8>(), 0..=37),
        ours in any::<bool>(),
        syn in any::<bool>(),
        ack in any::<bool>(),
    ) {
        if ours && value.len() >= 2 {
            value[..2].copy_from_slice(b"MM");
        }
        let private = Private { subtype, low, body: value.into_iter().collect() };
        for subtypes in [Subtypes::default(), OWN] {
            if let Ok(extension) = subtypes.read(&private, syn, ack) {
                let written = subtypes.write(&extension);
                prop_assert_eq!(&written.body, &private.body);
                prop_assert_eq!(subtypes.read(&written, syn, ack), Ok(extension));
            }
        }
    }
}
