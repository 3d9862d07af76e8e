//! How a path's packets become a capture that Wireshark opens, as the client sees them.
//!
//! Packets become known when their fate is: an uplink packet after it was sent. While the run
//! lasts they are therefore written in the order in which they become known, and put in the
//! order of their times when it ends.

use super::{Fate, PacketObservation, RecordError, SNAP_LENGTH};
use model::{Direction, Name, Time};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes held in memory at most before they are written.
const BUFFER: usize = 64 * 1024;
/// `if_tsresol`: timestamps count 10^-9 s.
const NANOSECONDS: u8 = 9;
/// `epb_flags`, bits 0 and 1: the packet's direction as the client sees it.
const INBOUND: u32 = 0b01;
const OUTBOUND: u32 = 0b10;

/// Where a packet's block lies in the file.
#[derive(Clone, Copy)]
struct Block {
    time: Time,
    offset: u64,
    length: u32,
}

/// The capture of one path.
pub struct Capture {
    path: PathBuf,
    file: File,
    /// Wall-clock time of the run's time zero, since 1970.
    start: Duration,
    /// Encodes blocks into memory; emptied by `flush`.
    encoder: PcapNgWriter<Vec<u8>>,
    /// Bytes of the section and interface headers.
    header: u64,
    /// Bytes in the file and the encoder together.
    length: u64,
    blocks: Vec<Block>,
    /// One bit for each uplink packet that is in the capture already.
    sent: Vec<u64>,
}

impl Capture {
    /// Creates `NAME.pcapng` in `folder`.
    pub fn create(folder: &Path, name: &Name, start: Duration) -> Result<Capture, RecordError> {
        let path = folder.join(format!("{}.pcapng", name.as_str().replace('/', "_")));
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|e| RecordError::io(&path, e))?;
        let encoder = headers(name).map_err(|e| pcap_error(&path, e))?;
        let header = encoder.get_ref().len() as u64;
        let mut capture = Capture {
            path,
            file,
            start,
            encoder,
            header,
            length: header,
            blocks: Vec::new(),
            sent: Vec::new(),
        };
        capture.flush()?;
        Ok(capture)
    }

    /// Adds a packet, if the client saw it.
    pub fn push<H: Deref<Target = [u8]>>(
        &mut self,
        packet: &PacketObservation<H>,
    ) -> Result<(), RecordError> {
        let (time, flags, dropped) = match (packet.direction, packet.fate) {
            (Direction::Down, Fate::Delivered(at)) => (at, INBOUND, None),
            (Direction::Down, Fate::Dropped(..) | Fate::Inside) => return Ok(()),
            (Direction::Up, Fate::Dropped(_, reason)) => (packet.enqueued, OUTBOUND, Some(reason)),
            (Direction::Up, Fate::Delivered(_) | Fate::Inside) => (packet.enqueued, OUTBOUND, None),
        };
        if packet.direction == Direction::Up && self.was_sent(packet.id) {
            return Ok(());
        }
        let mut options = vec![EnhancedPacketOption::Flags(flags)];
        if let Some(reason) = dropped {
            options.push(EnhancedPacketOption::Comment(Cow::Owned(format!(
                "dropped: {reason}"
            ))));
        }
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: self.start + Duration::from_nanos(time.as_nanos()),
            original_len: packet.size,
            data: Cow::Borrowed(&packet.head),
            options,
        };
        let length = self
            .encoder
            .write_pcapng_block(block)
            .map_err(|e| pcap_error(&self.path, e))?;
        self.blocks.push(Block {
            time,
            offset: self.length,
            length: length as u32,
        });
        self.length += length as u64;
        if self.encoder.get_ref().len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// Whether the uplink packet `id` is there already (the link delivered it twice; the
    /// client sent it once); it is from now on.
    fn was_sent(&mut self, id: u64) -> bool {
        let (word, bit) = ((id / 64) as usize, 1 << (id % 64));
        if word >= self.sent.len() {
            self.sent.resize(word + 1, 0);
        }
        let was = self.sent[word] & bit != 0;
        self.sent[word] |= bit;
        was
    }

    /// Hands every packet to the operating system.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.file
            .write_all(self.encoder.get_ref())
            .map_err(|e| RecordError::io(&self.path, e))?;
        self.encoder.get_mut().clear();
        Ok(())
    }

    /// Puts the packets in the order of their times.
    pub fn finish(mut self) -> Result<(), RecordError> {
        self.flush()?;
        if self.blocks.is_sorted_by_key(|b| b.time) {
            return Ok(());
        }
        self.sort().map_err(|e| RecordError::io(&self.path, e))
    }

    fn sort(&mut self) -> io::Result<()> {
        self.blocks.sort_by_key(|b| b.time);
        let partial = self.path.with_extension("pcapng.partial");
        let mut sorted = BufWriter::with_capacity(BUFFER, File::create(&partial)?);
        let headers = Block {
            time: Time::ZERO,
            offset: 0,
            length: self.header as u32,
        };
        let mut bytes = Vec::new();
        for block in std::iter::once(&headers).chain(&self.blocks) {
            bytes.resize(block.length as usize, 0);
            self.file.read_exact_at(&mut bytes, block.offset)?;
            sorted.write_all(&bytes)?;
        }
        sorted.into_inner()?;
        fs::rename(&partial, &self.path)
    }
}

/// The section header and the interface description of a path's capture.
fn headers(name: &Name) -> Result<PcapNgWriter<Vec<u8>>, PcapError> {
    let section = SectionHeaderBlock {
        endianness: Endianness::Little,
        options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(
            concat!("walkabout ", env!("CARGO_PKG_VERSION")),
        ))],
        ..SectionHeaderBlock::default()
    };
    let interface = InterfaceDescriptionBlock {
        linktype: DataLink::RAW,
        snaplen: SNAP_LENGTH as u32,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(name.as_str().to_owned())),
            InterfaceDescriptionOption::IfDescription(Cow::Borrowed("as the client sees it")),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ],
    };
    let mut encoder = PcapNgWriter::with_section_header(Vec::new(), section)?;
    encoder.write_pcapng_block(interface)?;
    Ok(encoder)
}

fn pcap_error(file: &Path, error: PcapError) -> RecordError {
    match error {
        PcapError::IoError(source) => RecordError::io(file, source),
        other => RecordError::Write {
            file: file.to_owned(),
            source: other.into(),
        },
    }
}
