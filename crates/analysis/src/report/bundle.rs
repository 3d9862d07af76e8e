//! How does the data get into the page? As JSON in a placeholder of the embedded bundle.

use super::ReportData;
use rust_embed::RustEmbed;
use serde::Serialize;

/// The page, as `cargo xtask web` built it; empty when it was not built.
#[derive(RustEmbed)]
#[folder = "../../web/dist/report"]
#[allow_missing = true]
struct Bundle;

/// Where the data goes, exactly as `web/index.html` has it.
const PLACEHOLDER: &str = r#"<script type="application/json" id="walkabout-data">null</script>"#;

/// A report that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The program was built without the page.
    #[error(
        "the report's page is not part of this program: run `cargo xtask web`, then build again"
    )]
    MissingBundle,
    /// The page has no place for the data.
    #[error(
        "the report's page has no `walkabout-data` placeholder: it was built from another version; run `cargo xtask web`, then build again"
    )]
    NoPlaceholder,
    /// The data does not become JSON.
    #[error("the report's data does not become JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The report as one HTML file that works without a network.
///
/// # Errors
/// When the program was built without the page, or with one of another version.
pub fn render(data: &ReportData) -> Result<String, ReportError> {
    render_into(&embedded()?, data)
}

/// The report of a study as one HTML file that works without a network; `data` is a
/// `walkabout.study-report/1`. It is the same page: the data's `format` tells it what to show.
///
/// # Errors
/// When the program was built without the page, or with one of another version.
pub fn render_study(data: &impl Serialize) -> Result<String, ReportError> {
    render_into(&embedded()?, data)
}

/// The embedded page.
fn embedded() -> Result<String, ReportError> {
    let page = Bundle::get("index.html").ok_or(ReportError::MissingBundle)?;
    Ok(String::from_utf8_lossy(&page.data).into_owned())
}

/// Puts the data into `page` instead of the embedded one.
///
/// # Errors
/// When `page` has no placeholder for the data.
pub fn render_into(page: &str, data: &impl Serialize) -> Result<String, ReportError> {
    let (before, after) = page
        .split_once(PLACEHOLDER)
        .ok_or(ReportError::NoPlaceholder)?;
    let (open, close) = PLACEHOLDER
        .split_once("null")
        .ok_or(ReportError::NoPlaceholder)?;
    // Neither `</script>` nor `<!--` may appear in a script element (HTML, 4.12.1.3), and `<`
    // appears only inside of JSON's strings.
    let json = serde_json::to_string(data)?.replace('<', "\\u003c");
    let mut html = String::with_capacity(page.len() + json.len());
    for part in [before, open, &json, close, after] {
        html.push_str(part);
    }
    Ok(html)
}
