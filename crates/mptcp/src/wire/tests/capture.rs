//! How are packets read from and written to a capture file (libpcap's, link type "raw IP")?

/// The file's header: little-endian, microseconds, link type 101.
const HEADER: [u32; 6] = [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 65_535, 101];

/// The packets of a capture.
pub fn read(capture: &[u8]) -> Vec<&[u8]> {
    let mut rest = capture
        .strip_prefix(file_header().as_slice())
        .expect("a raw capture");
    let mut packets = Vec::new();
    while let Some((header, after)) = rest.split_first_chunk::<16>() {
        let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        let (packet, after) = after.split_at(length as usize);
        packets.push(packet);
        rest = after;
    }
    packets
}

/// A capture of these packets, a millisecond apart.
pub fn write(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut capture = file_header();
    for (number, packet) in packets.iter().enumerate() {
        let length = packet.len() as u32;
        for field in [0, 1_000 * number as u32, length, length] {
            capture.extend(field.to_le_bytes());
        }
        capture.extend(packet);
    }
    capture
}

fn file_header() -> Vec<u8> {
    HEADER
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect()
}
