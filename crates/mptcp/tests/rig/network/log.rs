//! What passed between the hosts, one line a packet?

use std::fmt::Write;
use std::net::SocketAddr;

use model::Time;
use walkabout_mptcp::wire::key::initial_dsn;
use walkabout_mptcp::wire::mptcp::{Join, Number};
use walkabout_mptcp::wire::{Flags, MptcpOption, Segment, Seq};

/// A packet that was sent.
pub struct Entry {
    /// When it was sent.
    pub sent: Time,
    /// When it arrived, or why not.
    pub outcome: Result<Time, &'static str>,
    /// The host it came from.
    pub host: usize,
    /// The name of the lane.
    pub lane: String,
    /// The packet as it was sent.
    pub packet: Vec<u8>,
}

impl Entry {
    /// The segment.
    pub fn segment(&self) -> Segment<'_> {
        Segment::parse(&self.packet).expect("a stack sends valid segments")
    }
}

/// The packets of a run.
#[derive(Default)]
pub struct Log {
    /// In the order in which they were sent.
    pub entries: Vec<Entry>,
}

/// What absolute numbers are relative to.
#[derive(Default)]
struct Origins {
    /// The initial sequence number of each direction of a subflow.
    subflows: Vec<(SocketAddr, SocketAddr, Seq)>,
    /// The initial data sequence numbers of each host's keys.
    connections: Vec<(usize, u64)>,
}

impl Origins {
    fn learn(&mut self, host: usize, segment: &Segment<'_>) {
        let (from, to) = (segment.source, segment.destination);
        if segment.flags.syn {
            self.subflows.retain(|s| (s.0, s.1) != (from, to));
            self.subflows.push((from, to, segment.seq));
        }
        for option in &segment.options.mptcp {
            if let MptcpOption::Capable(capable) = option
                && let Some(key) = capable.sender_key
                && !self.connections.contains(&(host, initial_dsn(key)))
            {
                self.connections.push((host, initial_dsn(key)));
            }
        }
    }

    fn seq(&self, from: SocketAddr, to: SocketAddr, seq: Seq) -> i64 {
        let origin = self.subflows.iter().find(|s| (s.0, s.1) == (from, to));
        origin.map_or(i64::from(seq.0), |s| {
            i64::from(seq.0.wrapping_sub(s.2.0) as i32)
        })
    }

    /// Relative to the nearest of the host's keys.
    fn dsn(&self, ours: impl Fn(usize) -> bool, number: Number) -> i64 {
        let origins = self.connections.iter().filter(|c| ours(c.0));
        let relative = origins.map(|c| match number {
            Number::Wide(n) => n.wrapping_sub(c.1) as i64,
            Number::Narrow(n) => i64::from(n.wrapping_sub(c.1 as u32) as i32),
        });
        let nearest = relative.min_by_key(|r| r.unsigned_abs());
        nearest.unwrap_or(match number {
            Number::Wide(n) => n as i64,
            Number::Narrow(n) => i64::from(n),
        })
    }
}

impl Log {
    /// One line a packet.
    pub fn render(&self) -> String {
        self.render_where(|_| true)
    }

    /// One line for each packet that `wanted` picks.
    pub fn render_where(&self, wanted: impl Fn(&Entry) -> bool) -> String {
        let mut origins = Origins::default();
        let mut text = String::new();
        for entry in &self.entries {
            let segment = match Segment::parse(&entry.packet) {
                Ok(segment) => segment,
                Err(error) => {
                    let _ = writeln!(text, "{:>10.3} {:<10} {error}", ms(entry.sent), entry.lane);
                    continue;
                }
            };
            origins.learn(entry.host, &segment);
            if wanted(entry) {
                line(&mut text, entry, &segment, &origins);
            }
        }
        text
    }
}

fn ms(at: Time) -> f64 {
    at.as_secs_f64() * 1e3
}

fn flags(flags: Flags) -> String {
    let all = [
        (flags.syn, 'S'),
        (flags.fin, 'F'),
        (flags.rst, 'R'),
        (flags.psh, 'P'),
        (flags.ack, '.'),
        (flags.ece, 'E'),
        (flags.cwr, 'C'),
    ];
    all.iter().filter(|f| f.0).map(|f| f.1).collect()
}

fn line(text: &mut String, entry: &Entry, segment: &Segment<'_>, origins: &Origins) {
    let (from, to) = (segment.source, segment.destination);
    let outcome = match entry.outcome {
        Ok(at) => format!("{:>10.3}", ms(at)),
        Err(reason) => format!("{reason:>10}"),
    };
    let _ = write!(
        text,
        "{:>10.3} {outcome} {:<9} {:<4} seq {} len {}",
        ms(entry.sent),
        entry.lane,
        flags(segment.flags),
        origins.seq(from, to, segment.seq),
        segment.payload.len(),
    );
    if segment.flags.ack {
        let _ = write!(text, " ack {}", origins.seq(to, from, segment.ack));
    }
    let _ = write!(text, " win {}", segment.window);
    for (begin, end) in &segment.options.sack {
        let (begin, end) = (origins.seq(to, from, *begin), origins.seq(to, from, *end));
        let _ = write!(text, " sack {begin}-{end}");
    }
    if let Some(mss) = segment.options.mss {
        let _ = write!(text, " mss {mss}");
    }
    for option in &segment.options.mptcp {
        text.push_str(", ");
        describe(text, entry.host, option, origins);
    }
    text.push('\n');
}

fn describe(text: &mut String, host: usize, option: &MptcpOption, origins: &Origins) {
    let _ = match option {
        MptcpOption::Capable(capable) => write!(
            text,
            "MP_CAPABLE v{}{}{}{}",
            capable.version,
            if capable.checksum { " checksum" } else { "" },
            if capable.sender_key.is_some() {
                " sender's key"
            } else {
                ""
            },
            if capable.receiver_key.is_some() {
                " receiver's key"
            } else {
                ""
            },
        ),
        MptcpOption::Join(join) => match join {
            Join::Syn {
                backup, address_id, ..
            } => {
                write!(text, "MP_JOIN address {address_id} backup {backup}")
            }
            Join::SynAck {
                backup, address_id, ..
            } => {
                write!(text, "MP_JOIN answer address {address_id} backup {backup}")
            }
            Join::Ack { .. } => write!(text, "MP_JOIN HMAC"),
        },
        MptcpOption::Dss(dss) => {
            let _ = write!(text, "DSS");
            if let Some(mapping) = dss.mapping {
                let dsn = origins.dsn(|h| h == host, mapping.dsn);
                let _ = write!(
                    text,
                    " dsn {dsn} subflow {} length {}",
                    mapping.subflow_seq, mapping.length
                );
                if mapping.checksum.is_some() {
                    let _ = write!(text, " checksum");
                }
            }
            if let Some(ack) = dss.data_ack {
                let _ = write!(text, " data-ack {}", origins.dsn(|h| h != host, ack));
            }
            if dss.idle {
                let _ = write!(text, " MP_IDLE");
            }
            if dss.data_fin {
                let _ = write!(text, " DATA_FIN");
            }
            Ok(())
        }
        MptcpOption::AddAddr(add) => write!(
            text,
            "ADD_ADDR {} {}{}",
            add.id,
            add.address,
            if add.hmac.is_none() { " echo" } else { "" }
        ),
        MptcpOption::RemoveAddr(ids) => write!(text, "REMOVE_ADDR {ids:?}"),
        MptcpOption::Prio { backup } => write!(text, "MP_PRIO backup {backup}"),
        MptcpOption::Fail { dsn } => {
            // Of the peer's data; its own in an answer.
            let dsn = origins.dsn(|_| true, Number::Wide(*dsn));
            write!(text, "MP_FAIL {dsn}")
        }
        MptcpOption::FastClose { .. } => write!(text, "MP_FASTCLOSE"),
        MptcpOption::Private(private) => {
            // Under the subtypes of the defaults.
            let subtypes = walkabout_mptcp::wire::mptcp::Subtypes::default();
            let read = [(false, true), (true, false), (true, true)]
                .into_iter()
                .find_map(|(syn, ack)| subtypes.read(private, syn, ack).ok());
            match read {
                Some(extension) => write!(text, "{extension:?}"),
                None => write!(text, "{private:?}"),
            }
        }
        MptcpOption::Reset { transient, reason } => {
            write!(text, "MP_TCPRST reason {reason} transient {transient}")
        }
    };
}
