//! What must hold of any bytes that a peer sends?
//!
//! Each function is a fuzz target; a test of the crate that it is about runs it with the seeds.

mod checksums;
mod stack;

pub use stack::stack;

use walkabout_mptcp::wire::mptcp::{MptcpOption, Subtypes};
use walkabout_mptcp::wire::{OPTION_SPACE, Options, Segment};

/// Reads an IP packet, and once more with its checksums put right; what is a segment is written
/// and read again, and must be the same.
pub fn segment(bytes: &[u8]) {
    segment_comes_back(bytes);
    let mut packet = bytes.to_vec();
    if checksums::put_right(&mut packet).is_some() {
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

/// Reads one option of Multipath TCP's extensions, of a segment with the flags that the first byte
/// says (1 SYN, 2 ACK, 4: each extension under a subtype of its own); what is read says the same
/// when it is written and read again.
pub fn extensions(bytes: &[u8]) {
    let Some((flags, bytes)) = bytes.split_first() else {
        return;
    };
    let (syn, ack) = (flags & 1 != 0, flags & 2 != 0);
    let subtypes = match flags & 4 != 0 {
        false => Subtypes::default(),
        true => Subtypes::Own {
            offer: 9,
            rto: 10,
            fast_join_out: 11,
            fast_join_in: 12,
        },
    };
    let Some(MptcpOption::Private(option)) = MptcpOption::parse(bytes, syn, ack) else {
        return;
    };
    let Ok(extension) = subtypes.read(&option, syn, ack) else {
        return;
    };
    let written = subtypes.write(&extension);
    assert_eq!(written.body, option.body);
    let mut emitted = [0xaa; OPTION_SPACE];
    let written = MptcpOption::Private(written);
    let length = written.emit(&mut emitted);
    assert_eq!(length, bytes.len());
    assert_eq!(
        MptcpOption::parse(&emitted[..length], syn, ack),
        Some(written.clone())
    );
    let MptcpOption::Private(written) = written else {
        return;
    };
    assert_eq!(subtypes.read(&written, syn, ack), Ok(extension));
}
