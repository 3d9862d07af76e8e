//! `ping`: how long does a small request take?
//!
//! The client asks for a small object `count` times, each time when the one before is there
//! (MultipathTester: 5 requests for 10 bytes, and the median delay). A message is a request, so
//! its direction is up and its delay runs from the request's first byte to the object's last.
//! It ends with the last object.

use super::fetch;
use crate::Half;
use model::scenario::Ping;

/// Its part of a scenario.
pub const EXAMPLE: &str = r#"[traffic.ping]
count = 5
size = "10 B"
"#;

/// The client's half.
pub fn client(parameters: &Ping) -> impl Half + use<> {
    let Ping { count, size } = *parameters;
    fetch::Client::new(count, size)
}

/// The server's half.
pub fn server(parameters: &Ping) -> impl Half + use<> {
    let Ping { count, size } = *parameters;
    fetch::Server::new(count, size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Kind, header};
    use crate::pattern::pipe::Pipe;
    use model::{Direction, Time};
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn pipe() -> Pipe {
        let parameters = Ping::default();
        let (client, server) = (client(&parameters), server(&parameters));
        Pipe::new(1, Box::new(client), Box::new(server)).delay(7 * MS, 13 * MS)
    }

    #[test]
    fn requests_follow_each_other_at_round_trips() {
        let mut pipe = pipe().pieces(&[3]);
        pipe.run(Time::from_millis(1_000));
        assert!(pipe.client.is_done() && pipe.server.is_done());
        assert_eq!(
            pipe.now,
            Time::from_millis(100),
            "nothing happens after the end"
        );
        for (m, id) in pipe.client_log.iter().zip(0..) {
            assert_eq!((m.id, m.direction, m.channel), (id, Direction::Up, 0));
            assert_eq!((m.size_bytes, m.answer_bytes), (9, 10));
            assert_eq!((m.sent_us, m.delay_us), (id * 20_000, Some(20_000)));
        }
        assert_eq!((pipe.client_log.len(), pipe.server_log.len()), (5, 0));
        assert_eq!((pipe.client.error(), pipe.server.error()), (None, None));
    }

    #[test]
    fn a_stall_leaves_one_request_unanswered() {
        let mut pipe = pipe().stall(Time::from_millis(30), Time::MAX);
        pipe.run(Time::from_millis(1_000));
        assert_eq!(pipe.client_log.len(), 2);
        let rest = pipe.client.unanswered();
        assert_eq!((rest.len(), rest[0].id, rest[0].sent_us), (1, 2, 40_000));
        assert_eq!(rest[0].delay_us, None);
        assert!(!pipe.client.is_done());
    }

    #[test]
    fn closing_is_an_error_before_the_end_and_none_after_it() {
        let mut pipe = pipe();
        pipe.run(Time::from_millis(30));
        pipe.close(0);
        pipe.run(Time::from_millis(50));
        let error = pipe.client.error().expect("an error");
        assert!(
            error.starts_with("channel 0 closed after 1 complete"),
            "{error}"
        );

        let mut pipe = self::pipe();
        pipe.run(Time::from_millis(200));
        pipe.close(0);
        pipe.run(Time::from_millis(300));
        assert_eq!((pipe.client.is_done(), pipe.client.error()), (true, None));
    }

    #[test]
    fn more_requests_than_announced_are_refused() {
        let mut pipe = pipe();
        pipe.run(Time::from_millis(200));
        pipe.inject_to_server(0, &header(Kind::Request, 5));
        pipe.run(Time::from_millis(300));
        let error = pipe.server.error().expect("an error");
        assert_eq!(error, "channel 0: 6 requests, but the hello announced 5");
    }
}
