//! How columns become rows again, from a Parquet file or from the stream of a killed run.

use super::FolderError;
use arrow_array::{Array, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::reader::StreamReader;
use model::record::{Column, ColumnKind, Record, RowSource};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

/// Reads the table of `R` in `folder`. A table of a run that has not `ended` may be missing or
/// cut short; what is missing is told in `truncated`.
pub fn read<R: Record>(
    folder: &Path,
    ended: bool,
    truncated: &mut Vec<String>,
) -> Result<Vec<R>, FolderError> {
    let parquet = folder.join(format!("{}.parquet", R::TABLE));
    match File::open(&parquet) {
        Ok(file) => return read_parquet(&parquet, file),
        Err(source) if source.kind() != ErrorKind::NotFound => {
            return Err(FolderError::read(&parquet)(source));
        }
        Err(_) => {}
    }
    let stream = folder.join(format!("{}.arrows", R::TABLE));
    match File::open(&stream) {
        Ok(file) => read_stream(&stream, file, truncated),
        Err(source) if source.kind() == ErrorKind::NotFound && !ended => {
            truncated.push(format!("{}: missing", R::TABLE));
            Ok(Vec::new())
        }
        Err(source) => Err(FolderError::read(&parquet)(source)),
    }
}

fn read_parquet<R: Record>(path: &Path, file: File) -> Result<Vec<R>, FolderError> {
    let damaged = |e| FolderError::damaged(path, e);
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.build())
        .map_err(damaged)?;
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|e| FolderError::damaged(path, e))?;
        append(path, &batch, &mut rows)?;
    }
    Ok(rows)
}

/// The whole batches of a stream; a process that was killed may have left half a batch.
fn read_stream<R: Record>(
    path: &Path,
    file: File,
    truncated: &mut Vec<String>,
) -> Result<Vec<R>, FolderError> {
    let cut = |rows: usize| format!("{}.arrows: cut short after {rows} rows", R::TABLE);
    let mut rows = Vec::new();
    let Ok(reader) = StreamReader::try_new(BufReader::new(file), None) else {
        truncated.push(cut(0));
        return Ok(rows);
    };
    for batch in reader {
        match batch {
            Ok(batch) => append(path, &batch, &mut rows)?,
            Err(_) => {
                truncated.push(cut(rows.len()));
                break;
            }
        }
    }
    Ok(rows)
}

enum Values {
    U64(UInt64Array),
    F64(Float64Array),
    Bool(BooleanArray),
    Text(StringArray),
    /// An optional column that the file does not have.
    Missing,
}

impl Values {
    /// The column of `batch`, if it has the form it should have.
    fn of(batch: &RecordBatch, column: &Column) -> Result<Values, String> {
        let Some(array) = batch.column_by_name(column.name) else {
            return match column.optional {
                true => Ok(Values::Missing),
                false => Err(format!("it has no column `{}`", column.name)),
            };
        };
        let any = array.as_any();
        let values = match column.kind {
            ColumnKind::U64 => any.downcast_ref().cloned().map(Values::U64),
            ColumnKind::F64 => any.downcast_ref().cloned().map(Values::F64),
            ColumnKind::Bool => any.downcast_ref().cloned().map(Values::Bool),
            ColumnKind::Text => any.downcast_ref().cloned().map(Values::Text),
        };
        values.ok_or_else(|| format!("column `{}` holds {}", column.name, array.data_type()))
    }
}

/// The columns of a batch, and the place of the next value in the current row.
struct Rows {
    columns: Vec<Values>,
    row: usize,
    next: usize,
}

/// Takes the next column's value, which [`Record::take`] promises to be of this kind.
macro_rules! take {
    ($self:ident, $kind:ident) => {{
        let column = &$self.columns[$self.next];
        $self.next += 1;
        match column {
            Values::$kind(array) => array.is_valid($self.row).then(|| array.value($self.row)),
            Values::Missing => None,
            _ => unreachable!("a record takes its columns in their order"),
        }
    }};
}

impl RowSource for Rows {
    fn u64(&mut self) -> Option<u64> {
        take!(self, U64)
    }
    fn f64(&mut self) -> Option<f64> {
        take!(self, F64)
    }
    fn bool(&mut self) -> Option<bool> {
        take!(self, Bool)
    }
    fn text(&mut self) -> Option<&str> {
        take!(self, Text)
    }
}

fn append<R: Record>(
    path: &Path,
    batch: &RecordBatch,
    rows: &mut Vec<R>,
) -> Result<(), FolderError> {
    let columns = R::COLUMNS.iter().map(|c| Values::of(batch, c));
    let mut source = Rows {
        columns: columns
            .collect::<Result<_, _>>()
            .map_err(|what| FolderError::damaged(path, what))?,
        row: 0,
        next: 0,
    };
    rows.reserve(batch.num_rows());
    for row in 0..batch.num_rows() {
        (source.row, source.next) = (row, 0);
        let record = R::take(&mut source).map_err(|source| FolderError::Cell {
            file: path.to_owned(),
            row: rows.len(),
            source,
        })?;
        rows.push(record);
    }
    Ok(())
}
