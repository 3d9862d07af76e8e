//! What a run said when it panicked, as the words of a failed run.

use measure::world::virtual_time::words_of;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Once;

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on a panic within [`caught`] prints nothing.
pub fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CAUGHT.get() {
                PLACE.set(info.location().map(place));
            } else {
                before(info);
            }
        }));
    });
}

/// What `work` gives, or the words of its panic.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    CAUGHT.set(true);
    // What a run leaves in disorder is its own and is dropped with it.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CAUGHT.set(false);
    result.map_err(|payload| {
        let words = words_of(&*payload);
        match PLACE.take() {
            Some(place) => format!("panicked at {place}: {words}"),
            None => format!("panicked: {words}"),
        }
    })
}

/// File and line, from the crate's folder on: what is above it is the machine's.
fn place(location: &Location<'_>) -> String {
    let parts: Vec<&str> = location.file().split('/').collect();
    let source = parts.iter().rposition(|part| *part == "src");
    let from = source.map_or(0, |source| source.saturating_sub(1));
    format!("{}:{}", parts[from..].join("/"), location.line())
}
