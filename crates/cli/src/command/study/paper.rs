//! Which paper's numbers is a study held against: the file that it names, checked against what the
//! study has.

use crate::command::run::input::mistake;
use crate::failure::Failure;
use model::reproduction::{Document as Paper, Subjects};
use model::study::{Document, Plan, builtin};
use std::fs;
use std::path::Path;

/// The file that the study in `document` names: built in for a study that is, else in the study's
/// `folder`.
///
/// # Errors
/// When it cannot be read, is none, or names what the study does not have.
pub fn read(
    document: &Document,
    given: &str,
    folder: &Path,
    plan: &Plan,
    metrics: &[&str],
) -> Result<Option<Paper>, Failure> {
    let study = document.study();
    let Some(name) = &study.paper else {
        return Ok(None);
    };
    let own = builtin::find(given).and_then(|_| builtin::paper(name));
    let (text, source) = match own {
        Some(text) => (text.to_owned(), format!("{name} (built in)")),
        None => {
            let file = folder.join(name);
            let text = fs::read_to_string(&file).map_err(|e| {
                let why = format!("{}: {e}", file.display());
                mistake(document.no_paper(&why))
            })?;
            (text, file.display().to_string())
        }
    };
    let paper = Paper::parse(&text, &source).map_err(mistake)?;
    let arms = match study.arms.is_empty() {
        true => plan.arms.iter().map(|arm| arm.label.as_str()).collect(),
        // Those of other worlds too: a criterion may be asked for there alone.
        false => study.arms.iter().map(|arm| arm.name.as_str()).collect(),
    };
    let scenarios = plan.cases.iter().map(|case| case.scenario.name.as_str());
    let parameters = study.parameters.iter().map(|p| {
        let values = p.values.iter().map(|value| value.as_str());
        (p.name.as_str(), values.collect())
    });
    let subjects = Subjects {
        arms,
        scenarios: scenarios.collect(),
        parameters: parameters.collect(),
        metrics: metrics.to_vec(),
    };
    paper.check_against(&subjects).map_err(mistake)?;
    Ok(Some(paper))
}
