//! `bulk`: how long does a large download take?
//!
//! The client asks once for an object of `size` bytes (MultipathTester: 10 MB). The message is
//! the request, so its direction is up and its delay is the completion time, from the request's
//! first byte to the object's last. The server keeps less than 1 MiB waiting in user space.
//! A download that the run's end cuts off is one unanswered message.

use super::fetch;
use crate::Half;
use model::scenario::Bulk;

/// Its part of a scenario.
pub const EXAMPLE: &str = r#"[traffic.bulk]
size = "10 MB"
"#;

/// The client's half.
pub fn client(parameters: &Bulk) -> impl Half + use<> {
    let Bulk { size } = *parameters;
    fetch::Client::new(1, size)
}

/// The server's half.
pub fn server(parameters: &Bulk) -> impl Half + use<> {
    let Bulk { size } = *parameters;
    fetch::Server::new(1, size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::fetch::MAX_QUEUED;
    use crate::pattern::pipe::Pipe;
    use model::Time;
    use model::units::ByteSize;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn pipe(size: u64) -> Pipe {
        let size = ByteSize::from_bytes(size);
        let (client, server) = (client(&Bulk { size }), server(&Bulk { size }));
        Pipe::new(1, Box::new(client), Box::new(server)).delay(7 * MS, 13 * MS)
    }

    #[test]
    fn ten_megabytes_take_their_time_at_the_links_rate_with_little_in_memory() {
        let mut pipe = pipe(10_000_000).rate(10_000).pieces(&[1_448, 65_536, 3]);
        pipe.run(Time::from_millis(5_000));
        assert!(pipe.client.is_done() && pipe.server.is_done());
        let m = &pipe.client_log[0];
        assert_eq!((m.size_bytes, m.answer_bytes), (9, 10_000_000));
        // 20 ms round trip, and 10 MB at 10 kB per ms, of which the first leave at once.
        assert_eq!((m.sent_us, m.delay_us), (0, Some(20_000 + 999_000)));
        assert!(pipe.most_queued < MAX_QUEUED, "{}", pipe.most_queued);
        assert!(pipe.most_queued > MAX_QUEUED / 2, "{}", pipe.most_queued);
    }

    #[test]
    fn sizes_around_the_pieces_arrive_exactly() {
        for size in [9, 10, 65_535, 65_536, 65_537, 65_540, 131_072] {
            let mut pipe = pipe(size).pieces(&[1_000]);
            pipe.run(Time::from_millis(100));
            assert_eq!(pipe.client_log[0].answer_bytes, size);
            assert_eq!(pipe.client_log[0].delay_us, Some(20_000));
            assert_eq!((pipe.client.error(), pipe.client.is_done()), (None, true));
        }
    }

    #[test]
    fn a_stall_is_one_unanswered_request() {
        let mut pipe = pipe(10_000_000)
            .rate(10_000)
            .stall(Time::from_millis(500), Time::MAX);
        pipe.run(Time::from_millis(5_000));
        assert_eq!(pipe.client_log.len(), 0);
        assert_eq!(pipe.client.unanswered().len(), 1);
        assert!(!pipe.client.is_done());
    }
}
