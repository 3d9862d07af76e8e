//! Which packets passed, for Wireshark and for whoever looks for a fault?

use crate::Failure;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A capture of what our stack sent and received, as the network saw it.
pub struct Capture {
    writer: PcapWriter<BufWriter<File>>,
    pub path: PathBuf,
}

impl Capture {
    pub fn create(path: &Path) -> Result<Capture, Failure> {
        let header = PcapHeader {
            datalink: DataLink::RAW,
            ..PcapHeader::default()
        };
        let file = BufWriter::new(File::create(path)?);
        Ok(Capture {
            writer: PcapWriter::with_header(file, header)?,
            path: path.to_owned(),
        })
    }

    pub fn push(&mut self, at: Duration, packet: &[u8]) -> Result<(), Failure> {
        let length = packet.len() as u32;
        self.writer.write_packet(&PcapPacket::new(at, length, packet))?;
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), Failure> {
        self.writer.flush()?;
        Ok(())
    }
}
