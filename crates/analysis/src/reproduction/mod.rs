//! Is a paper's result reproduced by a study? Its numbers beside the study's, and a verdict on each
//! criterion, with the figures it rests on. The paper's side is `model::reproduction`.

mod criterion;
mod figure;
mod known;
mod select;
mod text;

pub use figure::{DrawnCurve, DrawnFigure, PaperPoint, Point};
pub use known::LEAST_RUNS;

use crate::metric::list;
use crate::study::Study;
use model::reproduction::{Document, Reproduction};
use select::Runs;
use serde::Serialize;

/// What a study says of a paper's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduced {
    /// What it is called: `M1`.
    pub id: String,
    /// One line that says what is shown.
    pub title: String,
    /// The paper and the place in it.
    pub source: String,
    /// What the paper says.
    pub claim: String,
    /// What is to be known of the set-up and of what was seen.
    pub notes: Vec<String>,
    /// The world in which the runs took place.
    pub world: String,
    /// Whether it is reproduced.
    pub verdict: Verdict,
    /// What was asked, and what was found.
    pub criteria: Vec<Judged>,
    /// The paper's numbers and the study's.
    pub figures: Vec<DrawnFigure>,
}

/// Whether a result is reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every criterion is met.
    Reproduced,
    /// A criterion is missed.
    NotReproduced,
    /// No criterion is missed, but not all can be told.
    NotDecidable,
}

impl Verdict {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::NotReproduced => "not reproduced",
            Verdict::NotDecidable => "not decidable",
        }
    }

    /// That of several findings; nothing that could be told is no reproduction.
    fn of(findings: impl Iterator<Item = Finding>) -> Verdict {
        let findings: Vec<Finding> = findings.collect();
        if findings.contains(&Finding::Missed) {
            Verdict::NotReproduced
        } else if findings.is_empty() || findings.contains(&Finding::Open) {
            Verdict::NotDecidable
        } else {
            Verdict::Reproduced
        }
    }
}

/// Whether a criterion is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// It is.
    Met,
    /// It is not.
    Missed,
    /// Runs are missing, failed, or give only a bound that leaves it open.
    Open,
}

impl Finding {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Finding::Met => "met",
            Finding::Missed => "missed",
            Finding::Open => "open",
        }
    }
}

/// A criterion, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// The criterion in a sentence.
    pub says: String,
    /// Whether it is met.
    pub finding: Finding,
    /// What was asked for, in figures.
    pub expected: String,
    /// What was found, in figures, or why it can't be told.
    pub found: String,
}

/// What `study` says of the paper it names; `None` when it names none.
pub fn of(study: &Study) -> Option<Reproduced> {
    let text = study.head.paper.as_deref()?;
    // A study that was read or carried out has a text that is valid.
    let document = Document::parse(text, "paper").ok()?;
    Some(judge(study, document.reproduction()))
}

/// Holds `study` against `paper`. The same study gives the same verdict.
pub fn judge(study: &Study, paper: &Reproduction) -> Reproduced {
    let runs = Runs::of(study);
    let world = study.head.world.as_str();
    let asked = paper.criteria.iter().filter(|criterion| {
        let only = criterion.world;
        only.is_none_or(|only| only.name() == world)
    });
    let criteria: Vec<Judged> = asked
        .map(|one| criterion::judge(one, paper, &runs))
        .collect();
    let figures = paper.figures.iter();
    let figures = figures.filter_map(|one| {
        let metric = list::find(&one.metric)?;
        Some(figure::draw(one, metric, &runs))
    });
    let figures = figures.collect();
    let Reproduction {
        id,
        title,
        source,
        claim,
        notes,
        figures: _,
        criteria: _,
    } = paper.clone();
    Reproduced {
        id,
        title,
        source,
        claim,
        notes,
        world: world.to_owned(),
        verdict: Verdict::of(criteria.iter().map(|judged| judged.finding)),
        criteria,
        figures,
    }
}
