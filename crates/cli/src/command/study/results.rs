//! What a study came to: its page, and what is printed. The same whether it was run just now or
//! is drawn again from its folder.

use crate::command::report::print_parts;
use crate::failure::Failure;
use analysis::report;
use analysis::reproduction::Reproduced;
use analysis::study::{Study, StudyReport};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// A study's results and where their page is.
pub struct Written {
    report: StudyReport,
    page: PathBuf,
}

/// Compares the arms and writes the page: `out`, or `report.html` in the study's folder.
pub fn write(study: &Study, folder: &Path, out: Option<&Path>) -> Result<Written, Failure> {
    let report = StudyReport::of(study);
    let page = match out {
        Some(file) => file.to_owned(),
        None => folder.join("report.html"),
    };
    let html = report::render_study(&report).map_err(Failure::failed)?;
    fs::write(&page, html)
        .map_err(|e| Failure::failed(format!("{}: cannot be written: {e}", page.display())))?;
    Ok(Written { report, page })
}

/// Whether `folder` is a study's.
pub fn is_study(folder: &Path) -> bool {
    folder.join("study.json").is_file()
}

impl Written {
    /// What the study is held against, where it names a paper.
    pub fn reproduction(&self) -> Option<&Reproduced> {
        self.report.reproduction.as_ref()
    }

    /// The machine's view: everything but the single runs, which `runs.parquet` has.
    pub fn to_json(&self, folder: &Path) -> Result<serde_json::Value, Failure> {
        let mut value = serde_json::to_value(&self.report).map_err(Failure::failed)?;
        if let Some(report) = value.as_object_mut() {
            report.remove("runs");
        }
        Ok(json!({"folder": folder, "report": self.page, "study": value}))
    }

    /// The reader's view: the table and the conclusions on standard output, the places on
    /// standard error.
    pub fn print(&self, folder: &Path) {
        let text = self.report.text();
        print_parts(&text.parts);
        for note in &text.notes {
            println!("{note}");
        }
        if let Some(reproduction) = self.reproduction() {
            let text = reproduction.text();
            print_parts(&text.parts);
            for note in &text.notes {
                println!("{note}");
            }
        }
        eprintln!("study   {}", folder.display());
        eprintln!("report  {}", self.page.display());
    }
}
