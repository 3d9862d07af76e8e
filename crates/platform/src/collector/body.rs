//! How is a body read from someone who may be slow, or send too much? With a bound on its bytes, a
//! deadline, and a least rate.

use super::refusal::Refusal;
use axum::body::Body;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_stream::StreamExt;

/// How fast a body has to come.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// When it has to be there.
    pub within: Duration,
    /// Bytes a second it has to make on average after [`GRACE`].
    pub bytes_per_second: u64,
}

/// How long a body may be slow for.
const GRACE: Duration = Duration::from_secs(10);

/// Seconds after which a body that came too slowly may be sent again.
const RETRY_S: u32 = 60;

/// The bytes of `body`, at most `most`.
pub async fn read(body: Body, most: u64, speed: Speed) -> Result<Vec<u8>, Refusal> {
    let begin = Instant::now();
    let end = begin + speed.within;
    let mut stream = body.into_data_stream();
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let earned = bytes.len() as f64 / speed.bytes_per_second.max(1) as f64;
        let patience = GRACE + Duration::from_secs_f64(earned);
        let until = end.min(begin + patience);
        let chunk = match timeout_at(until, stream.next()).await {
            Err(_) => {
                let had = bytes.len();
                let title = format!(
                    "the body came too slowly ({had} bytes in {} s): try again over a better network",
                    begin.elapsed().as_secs()
                );
                return Err(Refusal::unavailable(title, RETRY_S));
            }
            Ok(None) => return Ok(bytes),
            Ok(Some(Err(_))) => return Err(Refusal::malformed("the body ended early")),
            Ok(Some(Ok(chunk))) => chunk,
        };
        if bytes.len() as u64 + chunk.len() as u64 > most {
            return Err(Refusal::too_large(format!(
                "the body has more than the {most} bytes that are accepted"
            )));
        }
        bytes.extend_from_slice(&chunk);
    }
}

/// How fast a small body has to come.
const SMALL: Speed = Speed {
    within: Duration::from_secs(20),
    bytes_per_second: 1_024,
};

/// A small JSON body.
pub async fn json<T: DeserializeOwned>(body: Body, most: u64) -> Result<T, Refusal> {
    let bytes = read(body, most, SMALL).await?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let title = format!("the body is not as the interface's description says: {error}");
        match error.classify() {
            serde_json::error::Category::Data => Refusal::invalid(title),
            _ => Refusal::malformed(title),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::io;

    const SPEED: Speed = Speed {
        within: Duration::from_secs(60),
        bytes_per_second: 1_000,
    };

    /// A body of `pieces` of 1,000 bytes, one every `period`.
    fn body(pieces: usize, period: Duration) -> Body {
        let piece = || Ok::<_, io::Error>(Bytes::from_static(&[b' '; 1_000]));
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        tokio::spawn(async move {
            for _ in 0..pieces {
                tokio::time::sleep(period).await;
                if sender.send(piece()).await.is_err() {
                    break;
                }
            }
        });
        Body::from_stream(tokio_stream::wrappers::ReceiverStream::new(receiver))
    }

    async fn took(body: Body) -> (Result<usize, Refusal>, u64) {
        let begin = Instant::now();
        let read = read(body, 1 << 20, SPEED).await.map(|bytes| bytes.len());
        (read, begin.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn slow_bodies_are_cut_and_steady_ones_are_not() {
        let silent = Body::from_stream(tokio_stream::pending::<Result<Bytes, io::Error>>());
        let (read, seconds) = took(silent).await;
        assert!(read.is_err() && seconds == 10, "after the grace: {seconds}");
        // Half the rate lasts twice as long as the grace.
        let (read, seconds) = took(body(100, Duration::from_secs(2))).await;
        assert!(read.is_err() && (18..=22).contains(&seconds), "{seconds}");
        let (read, _) = took(body(50, Duration::from_millis(900))).await;
        assert_eq!(read.ok(), Some(50_000));
        // Fast enough, and still not there in time.
        let (read, seconds) = took(body(1_000, Duration::from_millis(500))).await;
        assert!(read.is_err() && seconds == 60, "{seconds}");
    }

    #[tokio::test]
    async fn a_body_ends_at_its_bound() {
        let bytes = |n: usize| Body::from(vec![b' '; n]);
        assert_eq!(
            read(bytes(100), 100, SPEED).await.ok().map(|b| b.len()),
            Some(100)
        );
        assert!(read(bytes(101), 100, SPEED).await.is_err());
    }
}
