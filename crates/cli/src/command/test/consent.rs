//! What does the user agree to before anything is measured? The collector's text: shown, asked for once
//! per version, and again when it changes.

use super::places;
use crate::failure::Failure;
use model::live::Consent;
use platform::api::ConsentText;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::Path;

/// What agrees, typed or after `--consent`.
const WORD: &str = "agree";

/// What was agreed to, by the collector's address.
#[derive(Default, Serialize, Deserialize)]
struct Remembered {
    collectors: BTreeMap<String, Agreed>,
}

#[derive(Serialize, Deserialize)]
struct Agreed {
    version: String,
    agreed_at: String,
}

/// Who is asked, and how.
pub struct Asking<'a> {
    /// The collector's address.
    pub collector: &'a str,
    /// The text.
    pub text: &'a ConsentText,
    /// What `--consent` says.
    pub given: Option<&'a str>,
    /// Whether the result may be published.
    pub publish: bool,
    /// Where answers are remembered.
    pub file: &'a Path,
    /// Whether someone is there to be asked.
    pub someone: bool,
}

impl Asking<'_> {
    /// The consent: remembered, given on the command line, or asked for on `input`; what is agreed to
    /// is shown on `output`.
    ///
    /// # Errors
    /// When it is declined, when nobody is there to be asked, and when another version was agreed to
    /// than there is now.
    pub fn ask(
        &self,
        input: &mut impl BufRead,
        output: &mut impl Write,
    ) -> Result<Consent, Failure> {
        let ConsentText {
            version,
            text,
            retention_days,
        } = self.text;
        let mut remembered = self.remembered()?;
        let shown = |output: &mut dyn Write| -> io::Result<()> {
            writeln!(output, "{}\n", text.trim_end())?;
            writeln!(output, "Results are kept for {retention_days} days.")?;
            let publish = match self.publish {
                true => "may be published (--publish)",
                false => "are not published (--publish would allow it)",
            };
            writeln!(output, "Results of this test {publish}.")?;
            writeln!(output, "This is version {version} of the text.")
        };
        let failed =
            |error: io::Error| Failure::failed(format!("the text cannot be shown: {error}"));
        let earlier = remembered.collectors.get(self.collector);
        match (self.given, earlier) {
            (Some(given), _) if given == WORD || given == version => {
                shown(output).map_err(failed)?;
                writeln!(output, "Agreed to by --consent {given}.\n").map_err(failed)?;
            }
            (Some(given), _) => {
                return Err(Failure::usage(format!(
                    "--consent {given}: the text of {} is version {version} now; read it (walkabout test \
                     without --consent shows it), then give --consent {version}",
                    self.collector
                )));
            }
            (None, Some(earlier)) if earlier.version == *version => {
                writeln!(
                    output,
                    "You agreed to version {version} of the collector's text on {}.",
                    earlier.agreed_at.split('T').next().unwrap_or_default()
                )
                .map_err(failed)?;
                return Ok(Consent {
                    version: version.clone(),
                    agreed_at: earlier.agreed_at.clone(),
                    publish: self.publish,
                });
            }
            (None, earlier) => {
                shown(output).map_err(failed)?;
                if !self.someone {
                    return Err(Failure::usage(format!(
                        "nobody is here to agree to the text above (standard input is no terminal): give \
                         --consent {version} when you do"
                    )));
                }
                if earlier.is_some() {
                    writeln!(output, "It has changed since you agreed to it.").map_err(failed)?;
                }
                write!(
                    output,
                    "\nType `{WORD}` to agree, anything else to decline: "
                )
                .and_then(|()| output.flush())
                .map_err(failed)?;
                let mut answer = String::new();
                input.read_line(&mut answer).map_err(failed)?;
                if answer.trim().trim_matches('`').to_lowercase() != WORD {
                    return Err(Failure::failed(
                        "declined: nothing was measured, and nothing more is sent to anyone",
                    ));
                }
            }
        }
        let agreed_at = jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        let agreed = Agreed {
            version: version.clone(),
            agreed_at: agreed_at.clone(),
        };
        remembered
            .collectors
            .insert(self.collector.to_owned(), agreed);
        let json = serde_json::to_vec_pretty(&remembered).map_err(Failure::failed)?;
        places::save(self.file, &json)?;
        Ok(Consent {
            version: version.clone(),
            agreed_at,
            publish: self.publish,
        })
    }

    /// What was agreed to before; nothing when what is remembered can't be read, as asking again does no
    /// harm.
    fn remembered(&self) -> Result<Remembered, Failure> {
        match std::fs::read(self.file) {
            Ok(json) => Ok(serde_json::from_slice(&json).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Remembered::default()),
            Err(error) => Err(Failure::failed(format!("{}: {error}", self.file.display()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(version: &str) -> ConsentText {
        ConsentText {
            version: version.into(),
            text: "We measure.\n".into(),
            retention_days: 30,
        }
    }

    /// Asks with what is typed; returns the consent or the error, and what was shown.
    fn ask(
        folder: &Path,
        version: &str,
        given: Option<&str>,
        typed: Option<&str>,
    ) -> (Result<Consent, Failure>, String) {
        let asking = Asking {
            collector: "http://c",
            text: &text(version),
            given,
            publish: false,
            file: &folder.join("consent.json"),
            someone: typed.is_some(),
        };
        let mut output = Vec::new();
        let answer = asking.ask(&mut typed.unwrap_or_default().as_bytes(), &mut output);
        (answer, String::from_utf8(output).expect("UTF-8"))
    }

    #[test]
    fn it_is_asked_once_per_version() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let (declined, shown) = ask(folder, "1", None, Some("no\n"));
        assert!(
            declined
                .expect_err("declined")
                .message
                .starts_with("declined")
        );
        assert!(
            shown.contains("We measure.") && shown.contains("kept for 30 days"),
            "{shown}"
        );
        // Declining is not remembered, and the end of the input declines as well.
        assert!(ask(folder, "1", None, Some("")).0.is_err());
        let (agreed, _) = ask(folder, "1", None, Some("Agree\n"));
        let agreed = agreed.expect("agreed");
        assert_eq!(agreed.version, "1");
        let (again, shown) = ask(folder, "1", None, None);
        assert_eq!(again.expect("remembered"), agreed);
        assert!(!shown.contains("We measure."), "{shown}");
        let (changed, shown) = ask(folder, "2", None, Some("\n"));
        assert!(
            changed.is_err() && shown.contains("has changed since"),
            "{shown}"
        );
    }

    #[test]
    fn scripts_name_the_version_and_are_shown_the_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let (nobody, shown) = ask(folder, "7", None, None);
        let nobody = nobody.expect_err("nobody to ask");
        assert_eq!(nobody.exit_code, crate::failure::USAGE);
        assert!(nobody.message.contains("--consent 7") && shown.contains("We measure."));
        let (other, _) = ask(folder, "7", Some("6"), None);
        assert!(
            other
                .expect_err("another")
                .message
                .contains("is version 7 now")
        );
        for given in ["7", "agree"] {
            let (agreed, shown) = ask(folder, "7", Some(given), None);
            assert_eq!(agreed.expect("agreed").version, "7");
            assert!(
                shown.contains("We measure.") && shown.contains("Agreed to by"),
                "{shown}"
            );
        }
    }
}
