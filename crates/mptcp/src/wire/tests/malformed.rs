//! Is what is no segment refused, and what is no option ignored?

use super::arbitrary;
use super::forms::{self, Form};
use crate::wire::*;
use proptest::prelude::*;

/// A segment with an MSS and data.
fn form(v6: bool) -> Form {
    let options = Options {
        mss: Some(1_460),
        ..Options::default()
    };
    Form {
        v6,
        port: 1,
        from_server: false,
        flags: forms::SYN,
        options,
        payload: b"data",
    }
}

/// An IPv4 packet with a header checksum that is right.
fn with_v4_checksum(mut packet: Vec<u8>) -> Vec<u8> {
    packet[10..12].fill(0);
    let header = usize::from(packet[0] & 0x0f) * 4;
    let checksum = checksum::checksum(&packet[..header]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

#[test]
fn options_of_ipv4_are_skipped() {
    let plain = form(false).packet();
    let mut packet = plain.clone();
    packet.splice(20..20, [1, 1, 1, 0]);
    packet[0] = 0x46;
    packet[3] += 4;
    assert_eq!(
        Segment::parse(&with_v4_checksum(packet)),
        Segment::parse(&plain)
    );
}

#[test]
fn fragments_of_ipv4_are_refused() {
    for (at, bits) in [(6, 0x20), (6, 0x01), (7, 0x01)] {
        let mut packet = form(false).packet();
        packet[at] |= bits;
        assert_eq!(
            Segment::parse(&with_v4_checksum(packet)),
            Err(ParseError::NotTcp)
        );
    }
}

#[test]
fn lengths_of_ipv4_that_contradict_are_refused() {
    let mut packet = form(false).packet();
    packet[0] = 0x44;
    let refused = Segment::parse(&packet);
    assert_eq!(refused, Err(ParseError::Malformed("header length")));
    let mut packet = form(false).packet();
    packet[3] = 19;
    let refused = Segment::parse(&packet);
    assert_eq!(refused, Err(ParseError::Malformed("total length")));
}

/// The packet with extension headers, the first of this kind.
fn with_extensions(kind: u8, extensions: &[u8]) -> Vec<u8> {
    let mut packet = form(true).packet();
    packet.splice(40..40, extensions.iter().copied());
    packet[6] = kind;
    packet[5] += extensions.len() as u8;
    packet
}

#[test]
fn extension_headers_of_ipv6_are_skipped() {
    let plain = form(true).packet();
    let hop_by_hop = [60, 0, 1, 4, 0, 0, 0, 0];
    let mut long = [0; 24];
    long[..2].copy_from_slice(&[6, 2]);
    let packet = with_extensions(0, &[hop_by_hop.as_slice(), &long].concat());
    assert_eq!(Segment::parse(&packet), Segment::parse(&plain));
    let routing_at_its_end = [6, 0, 4, 0, 0, 0, 0, 0];
    let packet = with_extensions(43, &routing_at_its_end);
    assert_eq!(Segment::parse(&packet), Segment::parse(&plain));
}

#[test]
fn other_extension_headers_are_refused() {
    let header = [6, 0, 4, 1, 0, 0, 0, 0];
    // On its way, fragment, encrypted, authenticated, nothing, UDP.
    for kind in [43, 44, 50, 51, 59, 17] {
        let refused = Segment::parse(&with_extensions(kind, &header)).map(|_| kind);
        assert_eq!(refused, Err(ParseError::NotTcp));
    }
    let beyond = [6, 255, 1, 4, 0, 0, 0, 0];
    let refused = Segment::parse(&with_extensions(0, &beyond)).map(|_| ());
    assert_eq!(refused, Err(ParseError::Truncated));
}

#[test]
fn neither_version_is_refused() {
    for version in (0..16).filter(|version| ![4, 6].contains(version)) {
        let mut packet = form(true).packet();
        packet[0] = version << 4;
        assert_eq!(Segment::parse(&packet), Err(ParseError::NotTcp));
    }
}

#[test]
fn a_data_offset_that_contradicts_is_refused() {
    for v6 in [false, true] {
        let at = if v6 { 40 } else { 20 } + 12;
        for (offset, refused) in [
            (4, ParseError::Malformed("data offset")),
            (8, ParseError::Truncated),
        ] {
            let mut packet = form(v6).packet();
            packet[at] = offset << 4;
            assert_eq!(Segment::parse(&packet), Err(refused));
        }
    }
}

#[test]
fn options_of_no_form_are_ignored() {
    let parse = |bytes: &[u8]| Options::parse(bytes, true, false);
    let mss = Options {
        mss: Some(1_460),
        ..Options::default()
    };
    // Lengths that are not the kind's, and kinds that are unknown, do not hide what follows.
    for ignored in [
        &[2, 3, 5][..],
        &[3, 4, 1, 1],
        &[4, 3, 1],
        &[5, 2],
        &[5, 6, 0, 0, 0, 0],
        &[8, 4, 0, 0],
        &[254, 4, 0xf9, 0x89],
        &[30, 2],
        &[30, 3, 0x60],
        &[2, 4, 0, 0],
        &[1, 1, 1],
    ] {
        let bytes = [ignored, &[2, 4, 0x05, 0xb4]].concat();
        assert_eq!(parse(&bytes), mss, "{ignored:?}");
    }
    // Illegal lengths and the list's end do.
    for end in [&[0][..], &[7, 0], &[7, 1], &[7, 40], &[7]] {
        let bytes = [end, &[2, 4, 0x05, 0xb4]].concat();
        assert_eq!(parse(&bytes), Options::default(), "{end:?}");
        let bytes = [&[2, 4, 0x05, 0xb4], end].concat();
        assert_eq!(parse(&bytes), mss, "{end:?}");
    }
}

#[test]
fn a_window_scale_is_at_most_14() {
    // RFC 7323, section 2.3.
    let scale = Options::parse(&[3, 3, 15], true, false).window_scale;
    assert_eq!(scale, Some(14));
    let mut bytes = [0; 4];
    Options {
        window_scale: Some(255),
        ..Options::default()
    }
    .emit(&mut bytes);
    assert_eq!(bytes, [1, 3, 3, 14]);
}

#[test]
fn more_multipath_options_than_there_is_room_for_are_left_out() {
    let prio = [30, 3, 0x51].repeat(13);
    let options = Options::parse(&prio, false, true);
    assert_eq!(options.mptcp.len(), options.mptcp.capacity());
}

#[test]
fn multipath_options_of_no_form_are_ignored() {
    let parse = |bytes: &[u8], syn, ack| MptcpOption::parse(bytes, syn, ack);
    // RFC 6824's MP_PRIO had an address identifier.
    let prio = Some(MptcpOption::Prio { backup: true });
    assert_eq!(parse(&[30, 4, 0x51, 9], false, true), prio);
    assert_eq!(parse(&[30, 5, 0x51, 9, 9], false, true), None);
    // Flag B of MP_CAPABLE (RFC 8684, section 3.1).
    assert!(parse(&[30, 4, 0x01, 0x81], true, false).is_some());
    assert_eq!(parse(&[30, 4, 0x01, 0xc1], true, false), None);
    // A SYN's MP_CAPABLE in a SYN/ACK, as a peer or middlebox gives it that mirrors options.
    assert_eq!(parse(&[30, 4, 0x01, 0x81], true, true), None);
    // REMOVE_ADDR of nothing, and of more than is kept.
    assert_eq!(parse(&[30, 3, 0x40], false, true), None);
    let mut many = vec![1; 20];
    many[..3].copy_from_slice(&[30, 20, 0x40]);
    assert_eq!(parse(&many, false, true), None);
    // A DSS that is not as long as its flags say.
    assert_eq!(parse(&[30, 8, 0x20, 0x03, 0, 0, 0, 1], false, true), None);
    // Another length than there is.
    assert_eq!(parse(&[30, 4, 0x51], false, true), None);
    assert_eq!(parse(&[30], false, true), None);
    assert_eq!(parse(&[], false, true), None);
}

#[test]
fn every_form_cut_short_is_ignored_or_another_form() {
    for form in forms::all() {
        for option in &form.options.mptcp {
            let mut bytes = [0; OPTION_SPACE];
            let length = option.emit(&mut bytes);
            for cut in 0..length {
                let mut bytes = bytes[..cut].to_vec();
                if let Some(length) = bytes.get_mut(1) {
                    *length = cut as u8;
                }
                let read = MptcpOption::parse(&bytes, form.flags.syn, form.flags.ack);
                assert!(
                    read.is_none_or(|read| read.len() == cut),
                    "{option:?} cut to {cut}"
                );
            }
        }
    }
}

#[test]
fn a_packet_cut_short_is_refused() {
    for form in forms::all() {
        let packet = form.packet();
        for length in 0..packet.len() {
            let refused = Segment::parse(&packet[..length]).map(|_| length);
            assert_eq!(refused, Err(ParseError::Truncated));
        }
    }
}

#[test]
#[should_panic(expected = "the TCP options fit into a header")]
fn options_that_do_not_fit_are_the_callers_mistake() {
    let sack = (0..4).map(|n| (Seq(n), Seq(n))).collect();
    let options = Options {
        sack,
        sack_permitted: true,
        mss: Some(1),
        ..Options::default()
    };
    options.emit(&mut [0; 100]);
}

proptest! {
    #[test]
    fn a_corrupted_byte_is_refused(
        header in arbitrary::header(),
        payload in prop::collection::vec(any::<u8>(), 0..50),
        at in any::<prop::sample::Index>(),
        flipped in 1..=255u8,
    ) {
        let segment = Segment { payload: &payload, ..header };
        let mut packet = vec![0; 200];
        let length = segment.emit(&mut packet);
        packet.truncate(length);
        // IPv6 protects no more of its header than the addresses.
        let protected = if segment.source.is_ipv4() { 0 } else { 8 };
        let at = protected + at.index(length - protected);
        packet[at] ^= flipped;
        prop_assert!(Segment::parse(&packet).is_err());
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Segment::parse(&bytes);
    }

    #[test]
    fn any_options_are_read(
        bytes in prop::collection::vec(any::<u8>(), 0..=OPTION_SPACE),
        syn in any::<bool>(),
        ack in any::<bool>(),
    ) {
        let options = Options::parse(&bytes, syn, ack);
        let read = options.len();
        if read <= OPTION_SPACE {
            let mut emitted = [0; OPTION_SPACE];
            prop_assert_eq!(options.emit(&mut emitted), read);
            prop_assert_eq!(Options::parse(&emitted[..read], syn, ack), options);
        }
    }

    /// As long as it says, of a subtype there is.
    #[test]
    fn any_multipath_option_is_read(
        subtype in 0..=15u8,
        low in 0..16u8,
        value in prop::collection::vec(any::<u8>(), 0..=OPTION_SPACE - 3),
        syn in any::<bool>(),
        ack in any::<bool>(),
    ) {
        let mut bytes = vec![30, 3 + value.len() as u8, subtype << 4 | low];
        bytes.extend(value);
        if let Some(option) = MptcpOption::parse(&bytes, syn, ack) {
            let mut emitted = [0; OPTION_SPACE];
            let length = option.emit(&mut emitted);
            prop_assert_eq!(MptcpOption::parse(&emitted[..length], syn, ack), Some(option));
        }
    }
}
