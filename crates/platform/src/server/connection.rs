//! What does a channel ask for first? Its hello decides between a session, a session that is there
//! already, and records.

use super::desk::{Desk, Join};
use super::gate::Permit;
use super::metrics::Family;
use super::reasons::Refusal;
use super::stream::Stream;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};
use traffic::hello::{self, Hello, Parsed, Request};

/// How long a client may take to take its records.
const RECORDS_LIMIT: Duration = Duration::from_secs(60);

/// Serves a channel to its end; its hello has to be there before `deadline`.
pub(super) async fn serve(
    desk: &Arc<Desk>,
    mut stream: Stream,
    prefix: &str,
    permit: Option<Permit>,
    deadline: Instant,
) -> Result<(), Refusal> {
    let hello = timeout_at(deadline, read(&mut stream))
        .await
        .map_err(|_| Refusal::SlowHello)??;
    let Hello {
        channel,
        request,
        token,
    } = hello;
    let join = |stream| Join {
        channel,
        stream,
        permit,
    };
    match (request, token) {
        (Request::Traffic(traffic), None) => {
            desk.ping(traffic, join(stream), prefix)?.run().await;
        }
        (Request::Traffic(traffic), Some(token)) => {
            let session = desk.traffic(token, traffic, join(stream), prefix).await?;
            if let Some(session) = session {
                session.run().await;
            }
        }
        (Request::Records, Some(token)) => {
            let (json, _on_its_way) = desk.records(&token).await?;
            desk.metrics().add(Family::RecordsTotal, "", 1);
            timeout(RECORDS_LIMIT, hand_out(&mut stream, &json))
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
                .map_err(Refusal::Broken)?;
        }
        (Request::Records, None) => return Err(Refusal::NoToken),
    }
    Ok(())
}

/// The hello, and not a byte more.
async fn read(stream: &mut Stream) -> Result<Hello, Refusal> {
    let mut bytes = Vec::new();
    loop {
        let missing = match hello::parse(&bytes)? {
            Parsed::Complete { hello, .. } => return Ok(hello),
            Parsed::Incomplete { missing } => missing,
        };
        let start = bytes.len();
        bytes.resize(start + missing, 0);
        let n = stream
            .read(&mut bytes[start..])
            .await
            .map_err(Refusal::Broken)?;
        bytes.truncate(start + n);
        if n == 0 {
            return Err(Refusal::Closed);
        }
    }
}

/// Length and JSON, and the end.
async fn hand_out(stream: &mut Stream, json: &[u8]) -> io::Result<()> {
    let length = u32::try_from(json.len()).map_err(io::Error::other)?;
    stream.write_all(&length.to_be_bytes()).await?;
    stream.write_all(json).await?;
    stream.shutdown().await?;
    // Closing at once could reset what is on its way: the client closes when it has all.
    let mut rest = [0; 64];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}
