//! Which packets passed, for Wireshark and for whoever looks for a fault?

use crate::Failure;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// pcap's magic number for times in nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
/// Version 2.4.
const VERSION: u32 = 2 | 4 << 16;
/// `LINKTYPE_RAW`: packets begin with their IP header.
const RAW: u32 = 101;

/// A capture of what our stack sent and received, as the network saw it (the format pcap, in the
/// machine's byte order).
pub struct Capture(BufWriter<File>);

impl Capture {
    pub fn create(path: &Path) -> Result<Capture, Failure> {
        let mut file = BufWriter::new(File::create(path)?);
        let snap_length = 1 << 16;
        for word in [MAGIC, VERSION, 0, 0, snap_length, RAW] {
            file.write_all(&word.to_ne_bytes())?;
        }
        Ok(Capture(file))
    }

    pub fn push(&mut self, at: Duration, packet: &[u8]) -> Result<(), Failure> {
        let length = packet.len() as u32;
        for word in [at.as_secs() as u32, at.subsec_nanos(), length, length] {
            self.0.write_all(&word.to_ne_bytes())?;
        }
        Ok(self.0.write_all(packet)?)
    }

    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.0.flush()?)
    }
}
