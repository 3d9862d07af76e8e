//! What does a user agree to?

use crate::api::ConsentText;
use crate::token::hex;
use ring::digest;
use std::path::Path;

/// The text when the operator has none of their own; `{days}` is the retention period, `{name}` the
/// collector's.
const DEFAULT: &str = include_str!("consent.txt");

/// A text that is longer is not read by anyone.
const LONGEST: usize = 32 * 1024;

/// The text of the operator's file, or the default one.
pub fn read(
    file: Option<&Path>,
    name: &str,
    retention_days: u32,
) -> Result<ConsentText, super::CollectorError> {
    let template = match file {
        None => DEFAULT.to_owned(),
        Some(file) => {
            let wrong = |what: String| super::CollectorError::File {
                file: file.to_owned(),
                what,
            };
            let text = std::fs::read_to_string(file)
                .map_err(|e| wrong(format!("the text to agree to cannot be read: {e}")))?;
            if text.trim().is_empty() || text.len() > LONGEST {
                let length = text.len();
                return Err(wrong(format!(
                    "the text to agree to has {length} bytes; write 1 to {LONGEST}"
                )));
            }
            text
        }
    };
    let text = template
        .replace("{days}", &retention_days.to_string())
        .replace("{name}", name.trim());
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    Ok(ConsentText {
        version: hex(&digest.as_ref()[..8]),
        text,
        retention_days,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_changes_with_the_text_and_with_what_it_promises() {
        let year = read(None, "ours", 365).expect("the default text");
        let month = read(None, "ours", 30).expect("the default text");
        assert!(year.text.contains("365 days") && month.text.contains("30 days"));
        assert!(year.text.contains("ours") && !year.text.contains('{'));
        assert_ne!(year.version, month.version);
        assert_eq!(year.version.len(), 16);
        let missing = read(Some(Path::new("no/such/file")), "ours", 1);
        assert!(
            missing
                .expect_err("missing")
                .to_string()
                .contains("no/such/file")
        );
    }
}
