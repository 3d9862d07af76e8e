//! `request`: how long does a request take that comes every period?
//!
//! The client sends a request every period, whether or not the one before was answered; the server answers
//! each, once complete, with a response (MultiMob, section IV f: requests of 512 B to 16 KiB). The delay
//! runs from handing the request's first byte to the transport to receiving the response's last byte.
//!
//! Channel 0 carries both. It never ends by itself.

use super::answerer::Answerer;
use super::periodic::{Schedule, Sender};
use crate::{Channels, Half};
use model::record::Message;
use model::scenario::{Background, Request};
use model::{Direction, Time};

/// Its part of a scenario.
pub const EXAMPLE: &str = r#"[traffic.request]
request_size = "750 B"
response_size = "750 B"
period = "400 ms"
"#;

const CHANNEL: usize = 0;

/// The client's half.
pub fn client(parameters: &Request) -> impl Half + use<> {
    let Request {
        request_size,
        response_size,
        period,
    } = *parameters;
    let schedule = Schedule {
        size: request_size,
        answer_size: response_size,
        period,
    };
    Client(Sender::new(CHANNEL, Direction::Up, schedule))
}

/// The server's half.
pub fn server(parameters: &Request) -> impl Half + use<> {
    let Request {
        request_size,
        response_size,
        ..
    } = *parameters;
    Server(Answerer::new(CHANNEL, request_size, response_size))
}

/// The requests of a background.
pub(super) fn of(background: &Background) -> Request {
    let Background {
        request_size,
        response_size,
        period,
    } = *background;
    Request {
        request_size,
        response_size,
        period,
    }
}

struct Client(Sender);

impl Half for Client {
    fn poll(&mut self, now: Time, channels: &mut dyn Channels, log: &mut Vec<Message>) {
        self.0.poll(now, channels, log);
    }

    fn poll_at(&self) -> Option<Time> {
        self.0.poll_at()
    }

    fn is_done(&self) -> bool {
        false
    }

    fn finish(&mut self) {
        self.0.finish();
    }

    fn unanswered(&self) -> Vec<Message> {
        self.0.unanswered()
    }

    fn error(&self) -> Option<String> {
        self.0.inbox().fault()
    }
}

pub(super) struct Server(pub Answerer);

impl Half for Server {
    fn poll(&mut self, _: Time, channels: &mut dyn Channels, _: &mut Vec<Message>) {
        self.0.poll(channels);
    }

    fn poll_at(&self) -> Option<Time> {
        None
    }

    fn is_done(&self) -> bool {
        false
    }

    fn unanswered(&self) -> Vec<Message> {
        Vec::new()
    }

    fn error(&self) -> Option<String> {
        self.0.inbox().corruption()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::pipe::Pipe;
    use model::units::ByteSize;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn pipe(size: u64) -> Pipe {
        let parameters = Request {
            request_size: ByteSize::from_bytes(size),
            ..Request::default()
        };
        let (client, server) = (client(&parameters), server(&parameters));
        Pipe::new(1, Box::new(client), Box::new(server)).delay(7 * MS, 13 * MS)
    }

    #[test]
    fn each_request_is_answered_a_round_trip_later_whatever_its_size() {
        for size in [512, 1_420, 4_096, 16_384] {
            let mut pipe = pipe(size).pieces(&[1_000, 3]);
            pipe.run(Time::from_millis(2_001));
            let sent: Vec<u64> = pipe.client_log.iter().map(|m| m.sent_us).collect();
            assert_eq!(sent, [0, 400_000, 800_000, 1_200_000, 1_600_000]);
            for m in &pipe.client_log {
                assert_eq!((m.size_bytes, m.answer_bytes), (size, 750));
                assert_eq!((m.channel, m.direction), (0, Direction::Up));
                assert_eq!(m.delay_us, Some(20_000));
            }
            assert_eq!(
                (pipe.client.unanswered().len(), pipe.server_log.len()),
                (1, 0)
            );
            assert_eq!((pipe.client.error(), pipe.server.error()), (None, None));
        }
    }

    #[test]
    fn requests_go_on_while_answers_are_missing_and_stop_at_the_finish() {
        let mut pipe = pipe(512).stall(Time::from_millis(300), Time::from_millis(1_300));
        pipe.run(Time::from_millis(1_201));
        assert_eq!(
            (pipe.client_log.len(), pipe.client.unanswered().len()),
            (1, 3)
        );
        pipe.client.finish();
        pipe.run(Time::from_millis(3_000));
        let delays: Vec<u64> = pipe.client_log.iter().filter_map(|m| m.delay_us).collect();
        assert_eq!(delays, [20_000, 920_000, 520_000, 120_000]);
        assert_eq!(pipe.client.poll_at(), None);
    }
}
