//! How does a packet that was changed get checksums that are right?

/// Computes the checksums of a packet anew; `None` when it is too short to have them. Without
/// this, a fuzzer would hardly get beyond them.
pub fn put_right(packet: &mut [u8]) -> Option<()> {
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
