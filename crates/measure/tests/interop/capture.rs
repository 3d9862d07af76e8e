//! Which packets passed, for Wireshark and for whoever looks for a fault?

use crate::Outcome;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// pcap's magic number for times in nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
/// Version 2.4.
const VERSION: u32 = 2 | 4 << 16;
/// `LINKTYPE_RAW`: packets begin with their IP header.
const RAW: u32 = 101;

/// A capture of what our stack sent and received, as the network saw it (the format pcap, in the
/// machine's byte order). In memory until it is complete: a disk that is busy would stop the host.
pub struct Capture {
    path: &'static Path,
    bytes: Vec<u8>,
}

impl Capture {
    pub fn begin(path: &'static Path) -> Capture {
        let snap_length = 1 << 16;
        let header = [MAGIC, VERSION, 0, 0, snap_length, RAW];
        Capture {
            path,
            bytes: header.iter().flat_map(|word| word.to_ne_bytes()).collect(),
        }
    }

    pub fn push(&mut self, at: Duration, packet: &[u8]) {
        let length = packet.len() as u32;
        for word in [at.as_secs() as u32, at.subsec_nanos(), length, length] {
            self.bytes.extend(word.to_ne_bytes());
        }
        self.bytes.extend_from_slice(packet);
    }

    pub fn write(&self) -> Outcome {
        Ok(fs::write(self.path, &self.bytes)?)
    }
}
