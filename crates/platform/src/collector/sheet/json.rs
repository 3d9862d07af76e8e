//! How is a sheet written as JSON? One object per line.

use super::Sheet;
use model::columns::Values;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// A file of JSON lines that is being written.
pub struct Writer<W>(W);

impl<W: Write> Writer<W> {
    pub fn new(out: W) -> Writer<W> {
        Writer(out)
    }

    pub fn write(&mut self, sheet: &Sheet) -> io::Result<()> {
        let mut text = Vec::new();
        for row in 0..sheet.rows() {
            let cells = sheet.0.iter().map(|column| {
                let value = match &column.values {
                    Values::U64(v) => Value::from(v[row]),
                    Values::F64(v) => Value::from(v[row]),
                    Values::Bool(v) => Value::from(v[row]),
                    Values::Text(v) => Value::from(v[row].as_deref()),
                };
                (column.name.clone(), value)
            });
            serde_json::to_writer(&mut text, &cells.collect::<Map<_, _>>())?;
            text.push(b'\n');
        }
        self.0.write_all(&text)
    }
}
