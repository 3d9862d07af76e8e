//! How are rows handed out as files? As a sheet of columns that Parquet, CSV and JSON lines are written
//! from, piece by piece.

mod csv;
mod json;
mod parquet;
mod runs;

pub use runs::runs;

use crate::api::ExportFormat;
use model::columns::Values;
use model::record::{Event, Record};
use std::io::{self, Write};

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub values: Values,
    /// Whether a value may be missing.
    pub optional: bool,
}

/// Some rows, by column; all columns have the same length.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet(pub Vec<Column>);

impl Sheet {
    /// The rows of a table.
    pub fn of<R: Record>(rows: &[R]) -> Sheet {
        let columns = R::COLUMNS.iter().zip(Values::of(rows));
        let columns = columns.map(|(column, values)| Column {
            name: column.name.to_owned(),
            values,
            optional: column.optional,
        });
        Sheet(columns.collect())
    }

    /// What happened in a run.
    pub fn events(events: &[Event]) -> Sheet {
        let word = |value: serde_json::Value| value.as_str().map(str::to_owned);
        let kind = |e: &Event| word(serde_json::json!(e.kind));
        let text = |name: &str, optional: bool, of: &dyn Fn(&Event) -> Option<String>| Column {
            name: name.to_owned(),
            values: Values::Text(events.iter().map(of).collect()),
            optional,
        };
        let number = |name: &str, optional: bool, of: &dyn Fn(&Event) -> Option<u64>| Column {
            name: name.to_owned(),
            values: Values::U64(events.iter().map(of).collect()),
            optional,
        };
        Sheet(vec![
            number("time_us", false, &|e| Some(e.time_us)),
            text("kind", false, &kind),
            text("side", true, &|e| word(serde_json::json!(e.side))),
            text("path", true, &|e| e.path.as_ref().map(ToString::to_string)),
            number("connection", true, &|e| e.connection),
            text("cause", true, &|e| e.cause.clone()),
            text("detail", false, &|e| Some(e.detail.clone())),
        ])
    }

    fn rows(&self) -> usize {
        self.0.first().map_or(0, |column| column.values.len())
    }
}

/// A file that is being written.
pub enum Writer<W: Write + Send> {
    Parquet(Box<parquet::Writer<W>>),
    Csv(csv::Writer<W>),
    Json(json::Writer<W>),
}

impl<W: Write + Send> Writer<W> {
    pub fn new(format: ExportFormat, out: W) -> Writer<W> {
        match format {
            ExportFormat::Parquet => Writer::Parquet(Box::new(parquet::Writer::new(out))),
            ExportFormat::Csv => Writer::Csv(csv::Writer::new(out)),
            ExportFormat::Json => Writer::Json(json::Writer::new(out)),
        }
    }

    /// Appends the rows of `sheet`, whose columns are those of the sheet before.
    pub fn write(&mut self, sheet: &Sheet) -> io::Result<()> {
        match self {
            Writer::Parquet(w) => w.write(sheet),
            Writer::Csv(w) => w.write(sheet),
            Writer::Json(w) => w.write(sheet),
        }
    }

    /// Ends the file.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Writer::Parquet(w) => w.finish(),
            Writer::Csv(_) | Writer::Json(_) => Ok(()),
        }
    }
}

/// The media type of a format.
pub fn media_type(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Parquet => "application/vnd.apache.parquet",
        ExportFormat::Csv => "text/csv; charset=utf-8; header=present",
        ExportFormat::Json => "application/x-ndjson",
    }
}

/// `messages.csv` as `messages` and its format.
pub fn file_name(name: &str) -> Option<(&str, ExportFormat)> {
    let (table, ending) = name.split_once('.')?;
    let format = match ending {
        "parquet" => ExportFormat::Parquet,
        "csv" => ExportFormat::Csv,
        "json" => ExportFormat::Json,
        _ => return None,
    };
    Some((table, format))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let text = |text: &str| Some(text.to_owned());
        Sheet(vec![
            Column {
                name: "n".to_owned(),
                values: Values::U64(vec![Some(1), None, Some(u64::MAX), Some(4)]),
                optional: true,
            },
            Column {
                name: "x".to_owned(),
                values: Values::F64(vec![Some(-0.5), Some(1.0), None, Some(2.25)]),
                optional: true,
            },
            Column {
                name: "text".to_owned(),
                values: Values::Text(vec![text("=1+1"), text("a \"b\", c\nd"), None, text("@x")]),
                optional: true,
            },
            Column {
                name: "yes".to_owned(),
                values: Values::Bool(vec![Some(true), Some(false), None, Some(true)]),
                optional: true,
            },
        ])
    }

    fn written(format: ExportFormat) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::new(format, &mut out);
        writer.write(&sheet()).expect("in memory");
        writer.write(&sheet()).expect("in memory");
        writer.finish().expect("in memory");
        out
    }

    #[test]
    fn csv_is_quoted_and_no_formula() {
        let csv = String::from_utf8(written(ExportFormat::Csv)).expect("UTF-8");
        let rows = "1,-0.5,'=1+1,true\r\n\
                    ,1,\"a \"\"b\"\", c\nd\",false\r\n\
                    18446744073709551615,,,\r\n\
                    4,2.25,'@x,true\r\n";
        assert_eq!(csv, format!("n,x,text,yes\r\n{rows}{rows}"));
    }

    #[test]
    fn json_is_an_object_a_line() {
        let json = String::from_utf8(written(ExportFormat::Json)).expect("UTF-8");
        let lines: Vec<serde_json::Value> = json
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines.len(), 8);
        assert_eq!(lines[2]["n"], serde_json::json!(u64::MAX));
        assert_eq!(lines[5]["text"], "a \"b\", c\nd");
        assert!(lines[1]["n"].is_null());
    }

    #[test]
    fn parquet_can_be_read() {
        use ::parquet::file::reader::{FileReader, SerializedFileReader};
        let file = bytes::Bytes::from(written(ExportFormat::Parquet));
        let reader = SerializedFileReader::new(file).expect("a Parquet file");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 8);
    }
}
