//! How is a sheet written as CSV? As RFC 4180 says, with a header line. A text that a spreadsheet would
//! take for a formula gets a `'` in front.

use super::{Column, Sheet};
use model::columns::Values;
use std::io::{self, Write};

/// A CSV file that is being written.
pub struct Writer<W> {
    out: W,
    has_header: bool,
}

impl<W: Write> Writer<W> {
    pub fn new(out: W) -> Writer<W> {
        Writer {
            out,
            has_header: false,
        }
    }

    pub fn write(&mut self, sheet: &Sheet) -> io::Result<()> {
        let mut text = String::new();
        if !self.has_header {
            self.has_header = true;
            let names: Vec<&str> = sheet.0.iter().map(|column| column.name.as_str()).collect();
            text.push_str(&names.join(","));
            text.push_str("\r\n");
        }
        for row in 0..sheet.rows() {
            for (number, column) in sheet.0.iter().enumerate() {
                if number > 0 {
                    text.push(',');
                }
                cell(column, row, &mut text);
            }
            text.push_str("\r\n");
        }
        self.out.write_all(text.as_bytes())
    }
}

fn cell(column: &Column, row: usize, out: &mut String) {
    match &column.values {
        Values::U64(v) => out.push_str(&v[row].map_or(String::new(), |v| v.to_string())),
        Values::F64(v) => out.push_str(&v[row].map_or(String::new(), |v| v.to_string())),
        Values::Bool(v) => out.push_str(&v[row].map_or(String::new(), |v| v.to_string())),
        Values::Text(v) => {
            if let Some(text) = &v[row] {
                quote(text, out);
            }
        }
    }
}

fn quote(text: &str, out: &mut String) {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let quoted = text.contains([',', '"', '\n', '\r']);
    if quoted {
        out.push('"');
    }
    if formula {
        out.push('\'');
    }
    match quoted {
        true => {
            out.push_str(&text.replace('"', "\"\""));
            out.push('"');
        }
        false => out.push_str(text),
    }
}
