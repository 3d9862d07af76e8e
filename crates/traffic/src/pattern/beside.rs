//! How does a background go on beside a pattern? As a half of its own, on the channel behind the pattern's.
//!
//! The main traffic decides when all is over. The messages of both are logged, told apart by the channel.

use crate::{Channels, Half};
use model::Time;
use model::record::Message;

/// Both parts of one end.
pub(super) struct Beside {
    main: Box<dyn Half>,
    background: Box<dyn Half>,
    /// The background's channel: how many channels the main traffic has.
    channel: usize,
    log: Vec<Message>,
}

impl Beside {
    /// `background`, which uses one channel, beside `main`, which uses `channels`.
    pub fn new(main: Box<dyn Half>, channels: usize, background: Box<dyn Half>) -> Beside {
        Beside {
            main,
            background,
            channel: channels,
            log: Vec::new(),
        }
    }

    /// A message of the background under its channel's number here.
    fn renumbered(&self, message: Message) -> Message {
        Message {
            channel: message.channel + self.channel as u64,
            ..message
        }
    }
}

impl Half for Beside {
    fn poll(&mut self, now: Time, channels: &mut dyn Channels, log: &mut Vec<Message>) {
        self.main.poll(now, channels, log);
        let by = self.channel;
        let mut shifted = Shifted { channels, by };
        let mut own = std::mem::take(&mut self.log);
        self.background.poll(now, &mut shifted, &mut own);
        log.extend(own.drain(..).map(|message| self.renumbered(message)));
        self.log = own;
    }

    fn poll_at(&self) -> Option<Time> {
        let both = self.main.poll_at().into_iter();
        both.chain(self.background.poll_at()).min()
    }

    fn is_done(&self) -> bool {
        self.main.is_done()
    }

    fn finish(&mut self) {
        self.main.finish();
        self.background.finish();
    }

    fn unanswered(&self) -> Vec<Message> {
        let mut messages = self.main.unanswered();
        let background = self.background.unanswered().into_iter();
        messages.extend(background.map(|message| self.renumbered(message)));
        messages
    }

    fn error(&self) -> Option<String> {
        let background = || Some(format!("background: {}", self.background.error()?));
        self.main.error().or_else(background)
    }
}

/// Channels that begin at another number.
struct Shifted<'c> {
    channels: &'c mut dyn Channels,
    by: usize,
}

impl Channels for Shifted<'_> {
    fn write(&mut self, channel: usize, data: &[u8]) {
        self.channels.write(channel + self.by, data);
    }
    fn queued(&self, channel: usize) -> usize {
        self.channels.queued(channel + self.by)
    }
    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        self.channels.read(channel + self.by, buffer)
    }
    fn is_open(&self, channel: usize) -> bool {
        self.channels.is_open(channel + self.by)
    }
}

#[cfg(test)]
mod tests {
    use crate::pattern::pipe::Pipe;
    use crate::pattern::{client, server};
    use model::scenario::{Background, Bursts, Interactive, Ping, Traffic, WithBackground};
    use model::{Direction, Seed, Time};
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn pipe(main: Traffic) -> Pipe {
        let background = Background::default();
        let both = Traffic::WithBackground(Box::new(WithBackground { main, background }));
        Pipe::new(both.channels(), client(&both, Seed(1)), server(&both)).delay(7 * MS, 13 * MS)
    }

    #[test]
    fn both_go_on_side_by_side_and_are_told_apart_by_their_channel() {
        let mut pipe = pipe(Traffic::Interactive(Interactive::default()));
        pipe.run(Time::from_millis(1_001));
        let count = |channel, direction| {
            let logs = pipe.client_log.iter().chain(&pipe.server_log);
            let of = logs.filter(|m| (m.channel, m.direction) == (channel, direction));
            of.inspect(|m| assert_eq!(m.delay_us, Some(20_000))).count()
        };
        assert_eq!(count(0, Direction::Up), 10);
        assert_eq!(count(1, Direction::Down), 10);
        assert_eq!(count(2, Direction::Up), 10);
        let open: Vec<u64> = pipe.client.unanswered().iter().map(|m| m.channel).collect();
        assert_eq!(open, [0, 2]);
        let background = pipe.client_log.iter().filter(|m| m.channel == 2);
        let bytes: u64 = background.map(|m| m.size_bytes + m.answer_bytes).sum();
        assert_eq!(bytes, 12_000, "12 KB/s");
    }

    #[test]
    fn the_main_traffic_ends_it_and_its_writes_are_what_they_are_alone() {
        let mut both = pipe(Traffic::Ping(Ping::default()));
        both.run(Time::from_millis(500));
        assert!(both.client.is_done() && both.server.is_done());

        let bursts = Traffic::Bursts(Bursts::default());
        let mut alone =
            Pipe::new(1, client(&bursts, Seed(1)), server(&bursts)).delay(7 * MS, 13 * MS);
        let mut both = pipe(bursts);
        alone.run(Time::from_millis(10_000));
        both.run(Time::from_millis(10_000));
        both.client_log.retain(|m| m.channel == 0);
        assert_eq!(both.client_log, alone.client_log);
    }

    #[test]
    fn a_fault_of_the_background_says_whose_it_is() {
        let mut pipe = pipe(Traffic::Ping(Ping::default()));
        pipe.run(Time::from_millis(50));
        pipe.inject_to_client(1, &[99; 9]);
        pipe.run(Time::from_millis(60));
        let error = pipe.client.error().expect("an error");
        assert!(
            error.starts_with("background: channel 0: frame 1"),
            "{error}"
        );
        pipe.client.finish();
        assert_eq!(pipe.client.poll_at(), None);
    }
}
