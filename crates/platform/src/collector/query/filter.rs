//! Is a filter one that the store can be asked with?

use crate::api::Filter;
use crate::collector::refusal::Refusal;
use jiff::Timestamp;

/// Bytes of a name to filter by.
const NAME: usize = 64;
/// Bytes of a cursor.
const CURSOR: usize = 256;
/// Runs of a page.
const PAGE: u32 = 200;

/// Checks `filter`.
pub fn check(filter: &Filter) -> Result<(), Refusal> {
    let Filter {
        test,
        experiment,
        mode,
        server,
        transport,
        policy,
        pattern,
        family,
        from,
        to,
        invalid: _,
        delay_max_s,
        publish: _,
        limit,
        after,
    } = filter;
    let names = [
        ("test", test),
        ("experiment", experiment),
        ("mode", mode),
        ("server", server),
        ("transport", transport),
        ("policy", policy),
        ("pattern", pattern),
        ("family", family),
    ];
    for (key, name) in names {
        let plain = |name: &String| name.len() <= NAME && !name.contains('\0');
        if !name.as_ref().is_none_or(plain) {
            let title = format!("{key}: a name has at most {NAME} bytes, none of them zero");
            return Err(Refusal::malformed(title));
        }
    }
    for (key, time) in [("from", from), ("to", to)] {
        if time
            .as_ref()
            .is_some_and(|t| t.parse::<Timestamp>().is_err())
        {
            let title = format!("{key}: a time such as 2026-11-21T10:00:00Z was expected");
            return Err(Refusal::malformed(title));
        }
    }
    if delay_max_s.is_some_and(|s| !s.is_finite() || s < 0.0) {
        return Err(Refusal::malformed(
            "delay_max_s: seconds, zero or more, were expected",
        ));
    }
    if limit.is_some_and(|limit| !(1..=PAGE).contains(&limit)) {
        return Err(Refusal::malformed(format!("limit: 1 to {PAGE} runs")));
    }
    if after
        .as_ref()
        .is_some_and(|after| after.len() > CURSOR || after.contains('\0'))
    {
        return Err(Refusal::malformed(
            "after: `next` of the page before was expected",
        ));
    }
    Ok(())
}
