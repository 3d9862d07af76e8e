//! How generic netlink families are found and spoken to.

use super::Socket;
use std::io;

/// Length of `struct nlmsghdr`.
const NLMSG_HEADER: usize = 16;
/// Length of `struct genlmsghdr`.
const GENL_HEADER: usize = 4;
/// Length of `struct nlattr`.
const ATTRIBUTE_HEADER: usize = 4;
/// `NLA_F_NESTED`: the attribute holds attributes.
const NLA_F_NESTED: u16 = 1 << 15;
/// `NLA_TYPE_MASK`: without the nested and byte-order flags.
const NLA_TYPE_MASK: u16 = 0x3fff;
/// `NLM_F_DUMP`.
pub const DUMP: u16 = 0x300;

/// `GENL_ID_CTRL`: the family that knows the other families (linux/genetlink.h).
const CONTROL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CTRL_ATTR_MCAST_GROUPS: u16 = 7;
const CTRL_ATTR_MCAST_GRP_NAME: u16 = 1;
const CTRL_ATTR_MCAST_GRP_ID: u16 = 2;

/// A netlink message being written: header, fixed part, attributes.
#[derive(Clone, Debug)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// A message of type `kind` whose fixed part after the netlink header is `fixed`.
    pub fn new(kind: u16, flags: u16, fixed: &[u8]) -> Writer {
        let mut bytes = vec![0; NLMSG_HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend(fixed);
        Writer { bytes }
    }

    /// A generic netlink message: `command` of `family`.
    pub fn generic(family: u16, flags: u16, command: u8, version: u8) -> Writer {
        Writer::new(family, flags, &[command, version, 0, 0])
    }

    /// Appends an attribute.
    pub fn attribute(mut self, kind: u16, value: &[u8]) -> Writer {
        let length = (ATTRIBUTE_HEADER + value.len()) as u16;
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// Appends an attribute that holds what `fill` appends.
    pub fn nested(mut self, kind: u16, fill: impl FnOnce(Writer) -> Writer) -> Writer {
        let start = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend((kind | NLA_F_NESTED).to_ne_bytes());
        let mut filled = fill(self);
        let length = (filled.bytes.len() - start) as u16;
        filled.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        filled
    }

    /// The message; [`Socket::request`] fills in its length and sequence number.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// The attributes in a stretch of bytes: kind and value, in order. Stops at the first one whose
/// length does not fit.
#[derive(Clone, Debug)]
pub struct Attributes<'b>(&'b [u8]);

impl<'b> Attributes<'b> {
    /// The attributes in `bytes`.
    pub fn new(bytes: &'b [u8]) -> Attributes<'b> {
        Attributes(bytes)
    }

    /// The attributes of a netlink message after its header and `fixed` bytes.
    pub fn of_message(message: &'b [u8], fixed: usize) -> Attributes<'b> {
        Attributes(message.get(NLMSG_HEADER + fixed..).unwrap_or_default())
    }

    /// The value of the first attribute of this kind.
    pub fn get(&self, kind: u16) -> Option<&'b [u8]> {
        self.clone().find(|(k, _)| *k == kind).map(|(_, v)| v)
    }

    /// The attributes inside the first attribute of this kind.
    pub fn nested(&self, kind: u16) -> Option<Attributes<'b>> {
        self.get(kind).map(Attributes)
    }

    /// The first attribute of this kind as a byte.
    pub fn u8(&self, kind: u16) -> Option<u8> {
        self.get(kind)?.first().copied()
    }

    /// The first attribute of this kind as 16 bits in the machine's byte order.
    pub fn u16(&self, kind: u16) -> Option<u16> {
        Some(u16::from_ne_bytes(self.array(kind)?))
    }

    /// The first attribute of this kind as 32 bits in the machine's byte order.
    pub fn u32(&self, kind: u16) -> Option<u32> {
        Some(u32::from_ne_bytes(self.array(kind)?))
    }

    /// The first bytes of the first attribute of this kind; `None` when it has fewer.
    pub fn array<const N: usize>(&self, kind: u16) -> Option<[u8; N]> {
        self.get(kind)?.get(..N)?.try_into().ok()
    }
}

impl<'b> Iterator for Attributes<'b> {
    type Item = (u16, &'b [u8]);

    fn next(&mut self) -> Option<(u16, &'b [u8])> {
        let header = self.0.get(..ATTRIBUTE_HEADER)?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]) & NLA_TYPE_MASK;
        let value = self.0.get(ATTRIBUTE_HEADER..length)?;
        self.0 = &self.0[length.next_multiple_of(4).min(self.0.len())..];
        Some((kind, value))
    }
}

/// The command of a generic netlink message and its attributes; `None` when it is too short.
pub fn parse(message: &[u8]) -> Option<(u8, Attributes<'_>)> {
    let command = *message.get(NLMSG_HEADER)?;
    Some((command, Attributes::of_message(message, GENL_HEADER)))
}

/// The message type of a netlink message; `None` when it is too short.
pub fn kind(message: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?))
}

/// A generic netlink family of the running kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The message type of its messages.
    pub id: u16,
    /// Its multicast groups by name.
    pub groups: Vec<(String, u32)>,
}

impl Family {
    /// Asks the kernel for the family called `name`. `ENOENT`: this kernel does not have it.
    pub fn resolve(socket: &mut Socket, name: &str) -> io::Result<Family> {
        let text = [name.as_bytes(), b"\0"].concat();
        let request = Writer::generic(CONTROL, 0, CTRL_CMD_GETFAMILY, 1)
            .attribute(CTRL_ATTR_FAMILY_NAME, &text)
            .finish();
        let answers = socket.request(&request)?;
        answers
            .iter()
            .find_map(|a| Family::parse(a))
            .ok_or_else(|| {
                let text = format!("the kernel's answer about the netlink family {name} has no id");
                io::Error::new(io::ErrorKind::InvalidData, text)
            })
    }

    fn parse(message: &[u8]) -> Option<Family> {
        let (_, attributes) = parse(message)?;
        let groups = attributes.nested(CTRL_ATTR_MCAST_GROUPS);
        let groups = groups.into_iter().flatten().filter_map(|(_, group)| {
            let group = Attributes::new(group);
            let name = group.get(CTRL_ATTR_MCAST_GRP_NAME)?;
            let name = name.split(|b| *b == 0).next()?;
            let name = String::from_utf8_lossy(name).into_owned();
            Some((name, group.u32(CTRL_ATTR_MCAST_GRP_ID)?))
        });
        Some(Family {
            id: attributes.u16(CTRL_ATTR_FAMILY_ID)?,
            groups: groups.collect(),
        })
    }

    /// The number of the multicast group called `name`.
    pub fn group(&self, name: &str) -> Option<u32> {
        let group = self.groups.iter().find(|(n, _)| n == name);
        group.map(|(_, number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let message = Writer::generic(0x1c, DUMP, 7, 1)
            .attribute(3, &[9])
            .nested(5, |w| {
                w.attribute(1, &4u16.to_ne_bytes())
                    .nested(2, |w| w.attribute(6, &77u32.to_ne_bytes()))
            })
            .attribute(8, b"last")
            .finish();
        assert_eq!(message.len() % 4, 0);
        assert_eq!(kind(&message), Some(0x1c));
        let (command, attributes) = parse(&message).unwrap();
        assert_eq!(command, 7);
        assert_eq!(
            attributes.clone().map(|(k, _)| k).collect::<Vec<_>>(),
            [3, 5, 8]
        );
        assert_eq!(attributes.u8(3), Some(9));
        let inner = attributes.nested(5).unwrap();
        assert_eq!(inner.u16(1), Some(4));
        assert_eq!(inner.nested(2).unwrap().u32(6), Some(77));
        assert_eq!(attributes.get(8), Some(&b"last"[..]));
        assert_eq!(attributes.get(9), None);
        assert_eq!(attributes.u32(3), None, "too short for 32 bits");
    }

    #[test]
    fn every_cut_of_a_message_is_read_without_a_panic() {
        let message = Writer::generic(0x1c, 0, 7, 1)
            .nested(5, |w| w.attribute(1, &[1, 2, 3]))
            .attribute(8, b"last")
            .finish();
        for end in 0..message.len() {
            let Some((_, attributes)) = parse(&message[..end]) else {
                continue;
            };
            let inner: usize = attributes.flat_map(|(_, v)| Attributes::new(v)).count();
            assert!(inner <= 2);
        }
    }

    #[test]
    fn lengths_that_lie_end_the_list() {
        let zero = [0u8, 0, 1, 0, 4, 0, 2, 0];
        assert_eq!(Attributes::new(&zero).count(), 0);
        let long = [200u8, 0, 1, 0, 4, 0, 2, 0];
        assert_eq!(Attributes::new(&long).count(), 0);
        let odd_end = [5u8, 0, 1, 0, 42];
        assert_eq!(Attributes::new(&odd_end).u8(1), Some(42));
    }

    #[test]
    fn the_control_family_finds_itself() {
        let mut socket = Socket::open(netlink_sys::protocols::NETLINK_GENERIC).unwrap();
        let family = Family::resolve(&mut socket, "nlctrl").unwrap();
        assert_eq!(family.id, CONTROL);
        assert!(family.group("notify").is_some());
        let error = Family::resolve(&mut socket, "no_such_family").unwrap_err();
        assert_eq!(super::super::socket::errno(&error), Some(libc::ENOENT));
    }
}
