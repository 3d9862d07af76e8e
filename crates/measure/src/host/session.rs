//! Which of the transport's channels is which channel of the pattern, at the server.

use traffic::Channels;
use traffic::hello::Hello;

/// A channel between its acceptance and the end of its hello.
struct Pending {
    raw: usize,
    buffer: Vec<u8>,
}

/// A channel whose hello was read.
#[derive(Default)]
struct Bound {
    raw: Option<usize>,
    /// Bytes that came behind the hello, not yet read by the half.
    rest: Vec<u8>,
}

/// The channels of one client.
#[derive(Default)]
pub struct Session {
    pending: Vec<Pending>,
    bound: Vec<Bound>,
}

impl Session {
    /// A channel the transport accepted.
    pub fn accept(&mut self, raw: usize) {
        self.pending.push(Pending {
            raw,
            buffer: Vec::new(),
        });
    }

    /// Reads hellos; returns those that are complete. The error says what was wrong with one.
    pub fn hellos(&mut self, transport: &mut dyn Channels) -> Result<Vec<Hello>, String> {
        let mut complete = Vec::new();
        let mut index = 0;
        while index < self.pending.len() {
            let pending = &mut self.pending[index];
            let mut chunk = [0; 2048];
            loop {
                let n = transport.read(pending.raw, &mut chunk);
                if n == 0 {
                    break;
                }
                pending.buffer.extend_from_slice(&chunk[..n]);
            }
            match Hello::parse(&pending.buffer).map_err(|e| e.to_string())? {
                None => index += 1,
                Some((hello, used)) => {
                    let Pending { raw, mut buffer } = self.pending.swap_remove(index);
                    let channel = usize::from(hello.channel);
                    if self.bound.len() <= channel {
                        self.bound.resize_with(channel + 1, Bound::default);
                    }
                    if self.bound[channel].raw.is_some() {
                        return Err(format!("the client opened channel {channel} twice"));
                    }
                    self.bound[channel] = Bound {
                        raw: Some(raw),
                        rest: buffer.split_off(used),
                    };
                    complete.push(hello);
                }
            }
        }
        Ok(complete)
    }

    /// The channels by the pattern's numbers.
    pub fn channels<'s>(&'s mut self, transport: &'s mut dyn Channels) -> SessionChannels<'s> {
        SessionChannels {
            bound: &mut self.bound,
            transport,
        }
    }
}

/// A view of the transport's channels under the pattern's numbers.
pub struct SessionChannels<'s> {
    bound: &'s mut [Bound],
    transport: &'s mut dyn Channels,
}

impl SessionChannels<'_> {
    fn raw(&self, channel: usize) -> Option<usize> {
        self.bound.get(channel)?.raw
    }
}

impl Channels for SessionChannels<'_> {
    fn write(&mut self, channel: usize, data: &[u8]) {
        if let Some(raw) = self.raw(channel) {
            self.transport.write(raw, data);
        }
    }

    fn queued(&self, channel: usize) -> usize {
        self.raw(channel)
            .map_or(0, |raw| self.transport.queued(raw))
    }

    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        let Some(bound) = self.bound.get_mut(channel) else {
            return 0;
        };
        if !bound.rest.is_empty() {
            let n = buffer.len().min(bound.rest.len());
            buffer[..n].copy_from_slice(&bound.rest[..n]);
            bound.rest.drain(..n);
            return n;
        }
        bound.raw.map_or(0, |raw| self.transport.read(raw, buffer))
    }

    fn is_open(&self, channel: usize) -> bool {
        self.raw(channel)
            .is_some_and(|raw| self.transport.is_open(raw))
    }
}
