//! `interactive`: how long do small periodic messages take in each direction?
//!
//! Client and server each send a chunk every period; the peer's application answers each chunk,
//! once complete, with a short acknowledgement (MultipathTester, section II-A). The sender's
//! delay runs from handing the chunk's first byte to the transport to receiving the last byte
//! of its acknowledgement.
//!
//! Channel 0 carries the upload's chunks up and their acknowledgements down; channel 1 carries
//! the download's chunks down and their acknowledgements up. The upload starts when the client
//! half starts, the download when the hello of channel 1 is there. It never ends by itself.

use super::answerer::Answerer;
use super::periodic::{Schedule, Sender};
use crate::{Channels, Half};
use model::record::Message;
use model::scenario::Interactive;
use model::{Direction, Side, Time};

/// Its part of a scenario.
pub const EXAMPLE: &str = r#"[traffic.interactive]
chunk_size = "2 kB"
period = "100 ms"
ack_size = "9 B"
"#;

/// The channel of the upload's chunks.
const UPLOAD: usize = 0;
/// The channel of the download's chunks.
const DOWNLOAD: usize = 1;

/// The client's half.
pub fn client(parameters: &Interactive) -> impl Half + use<> {
    Both {
        side: Side::Client,
        sender: sender(UPLOAD, Direction::Up, parameters),
        answerer: answerer(DOWNLOAD, parameters),
    }
}

/// The server's half.
pub fn server(parameters: &Interactive) -> impl Half + use<> {
    Both {
        side: Side::Server,
        sender: sender(DOWNLOAD, Direction::Down, parameters),
        answerer: answerer(UPLOAD, parameters),
    }
}

fn sender(channel: usize, direction: Direction, parameters: &Interactive) -> Sender {
    let Interactive {
        chunk_size,
        period,
        ack_size,
    } = *parameters;
    let schedule = Schedule {
        size: chunk_size,
        answer_size: ack_size,
        period,
    };
    Sender::new(channel, direction, schedule)
}

fn answerer(channel: usize, parameters: &Interactive) -> Answerer {
    let Interactive {
        chunk_size,
        ack_size,
        ..
    } = *parameters;
    Answerer::new(channel, chunk_size, ack_size)
}

/// Either end: it sends on one channel and answers on the other.
struct Both {
    side: Side,
    sender: Sender,
    answerer: Answerer,
}

impl Half for Both {
    fn poll(&mut self, now: Time, channels: &mut dyn Channels, log: &mut Vec<Message>) {
        self.answerer.poll(channels);
        self.sender.poll(now, channels, log);
    }

    fn poll_at(&self) -> Option<Time> {
        self.sender.poll_at()
    }

    fn is_done(&self) -> bool {
        false
    }

    fn finish(&mut self) {
        self.sender.finish();
    }

    fn unanswered(&self) -> Vec<Message> {
        self.sender.unanswered()
    }

    fn error(&self) -> Option<String> {
        let inboxes = [self.sender.inbox(), self.answerer.inbox()];
        match self.side {
            Side::Client => inboxes.iter().find_map(|i| i.fault()),
            Side::Server => inboxes.iter().find_map(|i| i.corruption()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Kind;
    use crate::pattern::pipe::Pipe;
    use model::units::{ByteSize, Span};
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn pipe(parameters: &Interactive) -> Pipe {
        let (client, server) = (client(parameters), server(parameters));
        Pipe::new(2, Box::new(client), Box::new(server)).delay(7 * MS, 13 * MS)
    }

    #[test]
    fn every_delay_is_the_round_trip_in_both_directions_wherever_reads_are_cut() {
        for ack in [9, 750] {
            let parameters = Interactive {
                ack_size: ByteSize::from_bytes(ack),
                ..Interactive::default()
            };
            let mut pipe = pipe(&parameters).pieces(&[1, 1999, 7, 2003, 64]);
            pipe.run(Time::from_millis(1_001));
            for (log, channel, direction, start) in [
                (&pipe.client_log, 0, Direction::Up, 0),
                (&pipe.server_log, 1, Direction::Down, 0),
            ] {
                // 11 chunks are sent by 1.0 s; the last one's answer is still on the way.
                let ids: Vec<u64> = log.iter().map(|m| m.id).collect();
                assert_eq!(ids, (0..10).collect::<Vec<_>>());
                for m in log {
                    assert_eq!((m.channel, m.direction), (channel, direction));
                    assert_eq!((m.size_bytes, m.answer_bytes), (2_000, ack));
                    assert_eq!(m.sent_us, start + m.id * 100_000);
                    assert_eq!((m.delay_us, &m.path), (Some(20_000), &None));
                    assert_eq!(m.acked_us, Some(m.sent_us + 20_000));
                }
            }
            assert_eq!(pipe.client.unanswered().len(), 1);
            assert_eq!(pipe.client.error(), None);
            assert!(!pipe.client.is_done());
        }
    }

    #[test]
    fn the_download_starts_when_its_channel_is_there() {
        let mut pipe = pipe(&Interactive::default()).server_channel_opens(1, 250 * MS);
        pipe.run(Time::from_millis(400));
        let sent: Vec<u64> = pipe.server_log.iter().map(|m| m.sent_us).collect();
        assert_eq!(sent, [250_000, 350_000]);
        assert_eq!(pipe.client_log[0].sent_us, 0);
    }

    #[test]
    fn after_the_finish_nothing_new_is_sent_and_answers_still_count() {
        let mut pipe = pipe(&Interactive::default());
        pipe.run(Time::from_millis(1_001));
        pipe.client.finish();
        pipe.server.finish();
        assert_eq!(pipe.client.poll_at(), None);
        pipe.run(Time::from_millis(2_000));
        for (half, log) in [
            (&pipe.client, &pipe.client_log),
            (&pipe.server, &pipe.server_log),
        ] {
            assert_eq!(half.unanswered(), []);
            assert_eq!(log.len(), 11);
        }
    }

    #[test]
    fn a_stall_to_the_end_leaves_messages_unanswered() {
        let mut pipe = pipe(&Interactive::default()).stall(Time::from_millis(450), Time::MAX);
        pipe.run(Time::from_millis(1_001));
        assert_eq!(pipe.client_log.len(), 5);
        let lost = pipe.client.unanswered();
        assert_eq!(lost.len(), 6);
        for (m, id) in lost.iter().zip(5..) {
            assert_eq!((m.id, m.sent_us), (id, id * 100_000));
            assert_eq!((m.acked_us, m.delay_us), (None, None));
        }
        assert_eq!(pipe.server.unanswered().len(), 6);
    }

    #[test]
    fn a_stall_that_ends_is_a_long_delay() {
        let mut pipe =
            pipe(&Interactive::default()).stall(Time::from_millis(450), Time::from_millis(950));
        pipe.run(Time::from_millis(1_101));
        let delays: Vec<u64> = pipe.client_log.iter().filter_map(|m| m.delay_us).collect();
        // Sent at 500 ... 900 ms, taken by the network at 950 ms.
        let stalled = [470_000, 370_000, 270_000, 170_000, 70_000];
        assert_eq!(delays[..5], [20_000; 5]);
        assert_eq!(delays[5..10], stalled);
        assert_eq!(delays[10..], [20_000]);
    }

    #[test]
    fn a_late_wake_up_sends_what_it_missed_and_keeps_the_period() {
        let mut pipe = pipe(&Interactive::default());
        pipe.poll_client(Time::from_millis(3));
        assert_eq!(pipe.client.poll_at(), Some(Time::from_millis(103)));
        pipe.poll_client(Time::from_millis(350));
        assert_eq!(pipe.client.poll_at(), Some(Time::from_millis(403)));
        let sent: Vec<u64> = pipe.client.unanswered().iter().map(|m| m.sent_us).collect();
        assert_eq!(sent, [3_000, 350_000, 350_000, 350_000]);
    }

    #[test]
    fn a_corrupt_channel_is_left_alone_and_named_while_the_other_goes_on() {
        let mut pipe = pipe(&Interactive::default());
        pipe.run(Time::from_millis(150));
        pipe.inject_to_client(0, &[99; 9]);
        pipe.run(Time::from_millis(1_001));
        let error = pipe.client.error().expect("an error");
        assert!(
            error.starts_with("channel 0: frame 2 of the channel has kind 99"),
            "{error}"
        );
        assert_eq!(pipe.client.unanswered().len(), 0);
        assert_eq!(pipe.client.poll_at(), None);
        assert_eq!(pipe.server_log.len(), 10);
    }

    #[test]
    fn an_acknowledgement_out_of_nowhere_is_an_error() {
        let mut pipe = pipe(&Interactive::default());
        pipe.run(Time::from_millis(50));
        pipe.inject_to_client(0, &crate::frame::header(Kind::Ack, 1));
        pipe.run(Time::from_millis(60));
        let error = pipe.client.error().expect("an error");
        assert_eq!(
            error,
            "channel 0: chunk 1 was acknowledged before it was sent"
        );
    }

    #[test]
    fn a_closed_channel_is_an_error_at_the_client_only() {
        let mut pipe = pipe(&Interactive::default());
        pipe.run(Time::from_millis(250));
        pipe.close(0);
        pipe.run(Time::from_millis(500));
        let error = pipe.client.error().expect("an error");
        assert!(
            error.starts_with("channel 0 closed after 3 complete"),
            "{error}"
        );
        assert_eq!(pipe.server.error(), None);
        assert_eq!(pipe.client_log.len(), 3);
    }

    #[test]
    fn a_period_of_zero_does_not_hang() {
        let mut pipe = pipe(&Interactive {
            period: Span::ZERO,
            ..Interactive::default()
        });
        pipe.poll_client(Time::from_millis(10));
        assert_eq!(pipe.client.poll_at(), Some(Time::from_millis(11)));
    }
}
