//! What must hold of any bytes that a peer sends?
//!
//! Each function is a fuzz target; a test of the crate that it is about runs it with the seeds.

use walkabout_mptcp::wire::{OPTION_SPACE, Options, Segment};

/// Reads an IP packet, and once more with its checksums put right; what is a segment is written
/// and read again, and must be the same.
pub fn segment(bytes: &[u8]) {
    segment_comes_back(bytes);
    let mut packet = bytes.to_vec();
    if put_checksums_right(&mut packet).is_some() {
        segment_comes_back(&packet);
    }
}

fn segment_comes_back(bytes: &[u8]) {
    let Ok(segment) = Segment::parse(bytes) else {
        return;
    };
    assert!(segment.payload.len() <= bytes.len());
    // What came without padding may not fit with it.
    if segment.options.len() > OPTION_SPACE {
        return;
    }
    let headers = 40 + 20 + OPTION_SPACE;
    if headers + segment.payload.len() > 65_535 {
        return;
    }
    let mut packet = vec![0xaa; headers + segment.payload.len()];
    let length = segment.emit(&mut packet);
    assert_eq!(Segment::parse(&packet[..length]), Ok(segment));
}

/// Reads options, of a segment with the flags that the first byte says; what is read is written
/// and read again, and must be the same.
pub fn options(bytes: &[u8]) {
    let Some((flags, bytes)) = bytes.split_first() else {
        return;
    };
    let (syn, ack) = (flags & 1 != 0, flags & 2 != 0);
    let options = Options::parse(&bytes[..bytes.len().min(OPTION_SPACE)], syn, ack);
    for option in &options.mptcp {
        assert!(option.len() <= OPTION_SPACE);
    }
    if options.len() <= OPTION_SPACE {
        let mut emitted = [0xaa; OPTION_SPACE];
        let length = options.emit(&mut emitted);
        assert_eq!(length, options.len());
        assert_eq!(Options::parse(&emitted[..length], syn, ack), options);
    }
}

/// Without this, a fuzzer would hardly get beyond the checksums.
fn put_checksums_right(packet: &mut [u8]) -> Option<()> {
    let (addresses, segment) = match packet.first()? >> 4 {
        4 => {
            let header = usize::from(packet[0] & 0x0f) * 4;
            let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
            packet.get(20..header)?;
            packet[10..12].fill(0);
            let checksum = !sum(0, &packet[..header]);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            (12..20, header..total)
        }
        6 => {
            let length = usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]));
            (8..40, 40..40 + length)
        }
        _ => return None,
    };
    let length = packet.get(segment.clone())?.len() as u16;
    let at = segment.start + 16;
    packet.get_mut(at..at + 2)?.fill(0);
    let pseudo_header = sum(sum(length, &[0, 6]), packet.get(addresses)?);
    let checksum = !sum(pseudo_header, packet.get(segment)?);
    packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

/// The sum of RFC 1071, section 1.
fn sum(sum: u16, bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    words.fold(sum, |sum, word| {
        let (sum, carry) = sum.overflowing_add(word);
        sum + u16::from(carry)
    })
}
