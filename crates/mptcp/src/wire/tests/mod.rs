//! Does what is emitted come back when it is parsed, and nothing else?

mod arbitrary;
mod capture;
mod extensions;
mod forms;
mod linux;
mod malformed;
mod tshark;
mod vectors;

use super::*;
use proptest::prelude::*;

/// Room for the longest packet.
const LONGEST: usize = 40 + 65_535;

proptest! {
    #[test]
    fn segments_come_back(
        header in arbitrary::header(),
        payload in prop::collection::vec(any::<u8>(), 0..100),
        behind in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let segment = Segment { payload: &payload, ..header };
        let mut packet = vec![0xaa; LONGEST];
        let length = segment.emit(&mut packet);
        packet.truncate(length);
        prop_assert_eq!(Segment::parse(&packet), Ok(segment.clone()));
        // What follows the IP packet is none of it.
        packet.extend(behind);
        prop_assert_eq!(Segment::parse(&packet), Ok(segment));
    }

    #[test]
    fn options_come_back(
        (syn, ack, options) in any::<(bool, bool)>().prop_flat_map(|(syn, ack)| {
            (Just(syn), Just(ack), arbitrary::options(syn, ack))
        }),
    ) {
        let mut bytes = [0xaa; OPTION_SPACE];
        let length = options.emit(&mut bytes);
        prop_assert!(length <= OPTION_SPACE && length % 4 == 0);
        prop_assert_eq!(length, options.len());
        prop_assert_eq!(Options::parse(&bytes[..length], syn, ack), options);
    }

    #[test]
    fn multipath_options_come_back(
        (syn, ack, option) in any::<(bool, bool)>().prop_flat_map(|(syn, ack)| {
            (Just(syn), Just(ack), arbitrary::mptcp_option(syn, ack))
        }),
    ) {
        let mut bytes = [0xaa; OPTION_SPACE];
        let length = option.emit(&mut bytes);
        prop_assert_eq!(length, option.len());
        prop_assert_eq!(MptcpOption::parse(&bytes[..length], syn, ack), Some(option));
    }
}
