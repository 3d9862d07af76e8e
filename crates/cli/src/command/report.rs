//! `walkabout report`: tables and report of run folders, drawn from what they hold.

use super::study::results;
use crate::failure::Failure;
use analysis::energy::{Radios, list};
use analysis::folder::{self, RunFolder};
use analysis::report::{self as html, ReportData};
use analysis::study::Study;
use analysis::table::{Part, Table};
use comfy_table::{CellAlignment, TableComponent, presets};
use model::spelling;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Draw the report of run folders again, without running anything.
#[derive(clap::Args)]
pub struct Report {
    /// Run folders, folders of run folders, or one study's folder.
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// The report's file; `report.html` in the first folder by default.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The power model of cellular paths (`walkabout list energy-models`), `lte` by default; for runs, not
    /// for a study.
    #[arg(long, value_name = "MODEL")]
    energy_model: Option<String>,
}

impl Report {
    /// Writes the report and prints the table.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        let radios = radios(self.energy_model.as_deref().unwrap_or("lte"))?;
        if let [folder] = &self.folders[..]
            && results::is_study(folder)
        {
            if self.energy_model.is_some() {
                let what =
                    "a study keeps the energies it computed: --energy-model is for run folders";
                return Err(Failure::usage(what));
            }
            let study = Study::open(folder).map_err(Failure::failed)?;
            let written = results::write(&study, folder, self.out.as_deref())?;
            match json {
                true => println!("{:#}", written.to_json(folder)?),
                false => written.print(folder),
            }
            return Ok(());
        }
        for folder in &self.folders {
            no_unfinished_study(folder)?;
            if results::is_study(folder) {
                return Err(Failure::usage(format!(
                    "{} is a study: its report is drawn by itself, without other folders",
                    folder.display()
                )));
            }
        }
        let written = write_with(&self.folders, self.out.as_deref(), json, radios)?;
        if json {
            println!("{:#}", written.to_json(&self.folders[0]));
        } else {
            written.print(&self.folders[0]);
        }
        Ok(())
    }
}

/// Fails when `folder` holds a study that was not finished.
pub fn no_unfinished_study(folder: &Path) -> Result<(), Failure> {
    match folder.join("journal.jsonl").is_file() && !results::is_study(folder) {
        true => Err(Failure::usage(format!(
            "{} holds a study that is not finished; go on with `walkabout study STUDY --out {}`",
            folder.display(),
            folder.display()
        ))),
        false => Ok(()),
    }
}

/// A table and where the report is.
pub struct Written {
    table: Table,
    report: PathBuf,
}

impl Written {
    /// The machine's view of it.
    pub fn to_json(&self, folder: &Path) -> serde_json::Value {
        json!({"folder": folder, "report": self.report, "table": self.table})
    }

    /// The reader's view of it: the table on standard output, the places on standard error.
    pub fn print(&self, folder: &Path) {
        let text = self.table.text();
        print_parts(&text.parts);
        for (number, note) in (1..).zip(&text.notes) {
            println!("[{number}] {note}");
        }
        eprintln!("runs    {}", folder.display());
        eprintln!("report  {}", self.report.display());
    }
}

/// Prints the parts of a table.
pub fn print_parts(parts: &[Part]) {
    for part in parts {
        let mut table = comfy_table::Table::new();
        table
            .load_preset(presets::UTF8_HORIZONTAL_ONLY)
            .remove_style(TableComponent::HorizontalLines)
            .remove_style(TableComponent::MiddleIntersections)
            .set_header(&part.head)
            .add_rows(&part.rows);
        for (column, is_number) in part.is_number.iter().enumerate() {
            if let Some(column) = table.column_mut(column).filter(|_| *is_number) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        println!("{table}");
    }
}

/// The models of a run's radios, where that of cellular paths is called `name`.
fn radios(name: &str) -> Result<Radios, Failure> {
    let Some(cellular) = list::find(name) else {
        let names: Vec<&str> = list::MODELS.iter().map(|model| model.name).collect();
        let near = match spelling::nearest(name, names.iter().copied()) {
            Some(near) => format!(" (did you mean `{near}`?)"),
            None => String::new(),
        };
        return Err(Failure::usage(format!(
            "no energy model is called `{name}`; there are {}{near}",
            names.join(", ")
        )));
    };
    Ok(Radios {
        cellular,
        ..Radios::default()
    })
}

/// Reads the runs in `folders` and writes `report.html` and `table.json`.
pub fn write(folders: &[PathBuf], out: Option<&Path>, json: bool) -> Result<Written, Failure> {
    write_with(folders, out, json, Radios::default())
}

fn write_with(
    folders: &[PathBuf],
    out: Option<&Path>,
    json: bool,
    radios: Radios,
) -> Result<Written, Failure> {
    let found = folder::find(folders).map_err(Failure::failed)?;
    if found.is_empty() {
        return Err(Failure::usage(format!(
            "no run folder (one with a manifest.json) in {}",
            folders
                .iter()
                .map(|f| f.display().to_string())
                .collect::<Vec<_>>()
                .join(", ")
        )));
    }
    let mut runs = Vec::new();
    for path in &found {
        match RunFolder::open(path) {
            Ok(run) => runs.push(RunFolder { radios, ..run }),
            // One broken folder does not hide the others.
            Err(error) if found.len() > 1 => {
                if !json {
                    eprintln!("walkabout: {error}; left out of the report");
                }
            }
            Err(error) => return Err(Failure::failed(error)),
        }
    }
    if runs.is_empty() {
        return Err(Failure::failed("none of the run folders can be read"));
    }
    let table = Table::of(&runs);
    let report = match out {
        Some(file) => file.to_owned(),
        None => folders[0].join("report.html"),
    };
    let page = html::render(&ReportData::of(&runs)).map_err(Failure::failed)?;
    let unwritable = |file: &Path, error| {
        Failure::failed(format!("{}: cannot be written: {error}", file.display()))
    };
    fs::write(&report, page).map_err(|e| unwritable(&report, e))?;
    let data = report.with_file_name("table.json");
    let text = serde_json::to_string_pretty(&table).map_err(Failure::failed)?;
    fs::write(&data, text + "\n").map_err(|e| unwritable(&data, e))?;
    Ok(Written { table, report })
}
