//! Which parameters of the traffic can no application work with?

use super::{Fault, KeyPath, fault, require};
use crate::scenario::traffic::{Background, Traffic};
use crate::units::{ByteSize, Span};

/// A message carries its number and kind: 9 bytes (MultipathTester's ack).
const SMALLEST_MESSAGE: u64 = 9;

pub(super) fn check(traffic: &Traffic) -> Result<(), Fault> {
    let key = KeyPath::top("traffic").key(traffic.name());
    let message = |name, size| message(&key, name, size);
    let time = |name, value: Span, wrong| require(value > Span::ZERO, &key.key(name), wrong);
    match traffic {
        Traffic::Interactive(t) => {
            message("chunk_size", t.chunk_size)?;
            message("ack_size", t.ack_size)?;
            let wrong = "no time between two chunks; give a time such as `100 ms`";
            time("period", t.period, wrong)
        }
        Traffic::Ping(t) => {
            let count = key.key("count");
            require(t.count > 0, &count, "at least 1 request was expected")?;
            something(&key, "size", t.size)
        }
        Traffic::Bulk(t) => something(&key, "size", t.size),
        Traffic::Iperf(t) => {
            let wrong = "no time to send; give a time such as `7 s`";
            time("duration", t.duration, wrong)?;
            let size = t.block_size;
            require(
                size.bytes() >= SMALLEST_MESSAGE,
                &key.key("block_size"),
                format!(
                    "`{size}` is too small: a block's number and kind take {SMALLEST_MESSAGE} B"
                ),
            )
        }
        Traffic::Bursts(t) => {
            message("burst_size", t.burst_size)?;
            message("response_size", t.response_size)?;
            something(&key, "write_min", t.write_min)?;
            require(
                t.write_max >= t.write_min,
                &key.key("write_max"),
                format!(
                    "`{}` is less than `write_min`, which is `{}`",
                    t.write_max, t.write_min
                ),
            )?;
            let wrong = "no time between two bursts; give a time such as `333 ms`";
            time("interval", t.interval, wrong)?;
            let count = key.key("count");
            require(t.count > 0, &count, "at least 1 burst was expected")?;
            let wrong = "no time between two series; give a time such as `5 s`";
            time("pause", t.pause, wrong)
        }
        Traffic::Request(t) => {
            message("request_size", t.request_size)?;
            message("response_size", t.response_size)?;
            time("period", t.period, NO_PERIOD)
        }
        Traffic::Radio(t) => {
            message("block_size", t.block_size)?;
            require(
                t.bitrate.bits_per_second() > 0,
                &key.key("bitrate"),
                "nothing to hear; give a rate such as `128 kbit/s`",
            )
        }
        Traffic::WithBackground(_) => fault(
            &KeyPath::top("traffic"),
            "a background is written as [background], beside the pattern's own table",
        ),
    }
}

pub(super) fn background(background: &Background) -> Result<(), Fault> {
    let Background {
        request_size,
        response_size,
        period,
    } = *background;
    let key = KeyPath::top("background");
    message(&key, "request_size", request_size)?;
    message(&key, "response_size", response_size)?;
    require(period > Span::ZERO, &key.key("period"), NO_PERIOD)
}

const NO_PERIOD: &str = "no time between two requests; give a time such as `100 ms`";

fn message(key: &KeyPath, name: &str, size: ByteSize) -> Result<(), Fault> {
    require(
        size.bytes() >= SMALLEST_MESSAGE,
        &key.key(name),
        format!("`{size}` is too small: a message's number and kind take {SMALLEST_MESSAGE} B"),
    )
}

fn something(key: &KeyPath, name: &str, size: ByteSize) -> Result<(), Fault> {
    let key = key.key(name);
    require(size.bytes() > 0, &key, "at least `1 B` was expected")
}
