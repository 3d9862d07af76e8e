//! How rows become columns: an Arrow stream while the run lasts, a Parquet file when it ends.

use super::RecordError;
use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use model::record::{Column, ColumnKind, FORMAT_VERSION, Record, RowSink};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows held in memory at most before they are written.
const BATCH_ROWS: usize = 16 * 1024;
/// Rows of a Parquet row group; bounds the memory the conversion needs.
const GROUP_ROWS: usize = 256 * 1024;

/// The Arrow schema of a table; its metadata names the table and the format's version.
pub fn schema<R: Record>() -> Schema {
    let fields: Vec<Field> = R::COLUMNS
        .iter()
        .map(|column| {
            let kind = match column.kind {
                ColumnKind::U64 => DataType::UInt64,
                ColumnKind::F64 => DataType::Float64,
                ColumnKind::Bool => DataType::Boolean,
                ColumnKind::Text => DataType::Utf8,
            };
            Field::new(column.name, kind, column.optional)
        })
        .collect();
    let metadata = [
        ("walkabout.table".to_owned(), R::TABLE.to_owned()),
        (
            "walkabout.format_version".to_owned(),
            FORMAT_VERSION.to_string(),
        ),
    ];
    Schema::new(fields).with_metadata(metadata.into())
}

enum Builder {
    U64(UInt64Builder),
    F64(Float64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
}

impl Builder {
    fn new(column: &Column) -> Builder {
        match column.kind {
            ColumnKind::U64 => Builder::U64(UInt64Builder::new()),
            ColumnKind::F64 => Builder::F64(Float64Builder::new()),
            ColumnKind::Bool => Builder::Bool(BooleanBuilder::new()),
            ColumnKind::Text => Builder::Text(StringBuilder::new()),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::U64(b) => Arc::new(b.finish()),
            Builder::F64(b) => Arc::new(b.finish()),
            Builder::Bool(b) => Arc::new(b.finish()),
            Builder::Text(b) => Arc::new(b.finish()),
        }
    }
}

/// The columns of the batch being filled, and the place of the next value in its row.
struct Columns {
    builders: Vec<Builder>,
    next: usize,
}

/// Appends to the next column, which [`Record::put`] promises to be of this kind.
macro_rules! append {
    ($self:ident, $kind:ident, $value:ident) => {{
        match &mut $self.builders[$self.next] {
            Builder::$kind(builder) => builder.append_option($value),
            _ => unreachable!("a record puts its columns in their order"),
        }
        $self.next += 1;
    }};
}

impl RowSink for Columns {
    fn u64(&mut self, value: Option<u64>) {
        append!(self, U64, value);
    }
    fn f64(&mut self, value: Option<f64>) {
        append!(self, F64, value);
    }
    fn bool(&mut self, value: Option<bool>) {
        append!(self, Bool, value);
    }
    fn text(&mut self, value: Option<&str>) {
        append!(self, Text, value);
    }
}

/// A table being written.
pub struct Table<R: Record> {
    folder: PathBuf,
    schema: SchemaRef,
    stream: StreamWriter<BufWriter<File>>,
    columns: Columns,
    rows: usize,
    row: std::marker::PhantomData<fn(&R)>,
}

impl<R: Record> Table<R> {
    /// Creates the stream file and writes the schema into it.
    pub fn create(folder: &Path) -> Result<Table<R>, RecordError> {
        let path = stream_file::<R>(folder);
        let schema = Arc::new(schema::<R>());
        let file = File::create(&path).map_err(|e| RecordError::io(&path, e))?;
        let stream = StreamWriter::try_new(BufWriter::new(file), &schema);
        let mut table = Table {
            folder: folder.to_owned(),
            schema,
            stream: stream.map_err(|e| arrow_error(&path, e))?,
            columns: Columns {
                builders: R::COLUMNS.iter().map(Builder::new).collect(),
                next: 0,
            },
            rows: 0,
            row: std::marker::PhantomData,
        };
        table.flush()?;
        Ok(table)
    }

    /// Adds a row.
    pub fn push(&mut self, row: &R) -> Result<(), RecordError> {
        self.columns.next = 0;
        row.put(&mut self.columns);
        self.rows += 1;
        if self.rows >= BATCH_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    /// Hands every row to the operating system.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        let written = self.write_batch().and_then(|()| self.stream.flush());
        written.map_err(|e| arrow_error(&stream_file::<R>(&self.folder), e))
    }

    fn write_batch(&mut self) -> Result<(), ArrowError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let arrays = self.columns.builders.iter_mut().map(Builder::finish);
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect())?;
        self.stream.write(&batch)
    }

    /// Turns the stream into the Parquet file, which appears whole or not at all.
    pub fn finish(mut self) -> Result<(), RecordError> {
        self.flush()?;
        let stream_path = stream_file::<R>(&self.folder);
        self.stream
            .finish()
            .map_err(|e| arrow_error(&stream_path, e))?;
        let path = self.folder.join(format!("{}.parquet", R::TABLE));
        let partial = self.folder.join(format!("{}.parquet.partial", R::TABLE));

        let stream = File::open(&stream_path).map_err(|e| RecordError::io(&stream_path, e))?;
        let batches = StreamReader::try_new(BufReader::new(stream), None)
            .map_err(|e| arrow_error(&stream_path, e))?;
        let file = File::create(&partial).map_err(|e| RecordError::io(&path, e))?;
        let mut parquet = ArrowWriter::try_new(
            BufWriter::new(file),
            Arc::clone(&self.schema),
            Some(properties::<R>()),
        )
        .map_err(|e| parquet_error(&path, e))?;
        for batch in batches {
            let batch = batch.map_err(|e| arrow_error(&stream_path, e))?;
            parquet.write(&batch).map_err(|e| parquet_error(&path, e))?;
        }
        parquet.close().map_err(|e| parquet_error(&path, e))?;
        fs::rename(&partial, &path)
            .and_then(|()| fs::remove_file(&stream_path))
            .map_err(|e| RecordError::io(&path, e))
    }
}

fn stream_file<R: Record>(folder: &Path) -> PathBuf {
    folder.join(format!("{}.arrows", R::TABLE))
}

/// Times and counters grow slowly: their differences take a few bits. Text comes from a
/// small set: a dictionary, Parquet's default.
fn properties<R: Record>() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS));
    for column in R::COLUMNS.iter().filter(|c| c.kind == ColumnKind::U64) {
        properties = properties
            .set_column_dictionary_enabled(column.name.into(), false)
            .set_column_encoding(column.name.into(), Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

fn arrow_error(file: &Path, error: ArrowError) -> RecordError {
    match error {
        ArrowError::IoError(_, source) => RecordError::io(file, source),
        other => RecordError::Write {
            file: file.to_owned(),
            source: other.into(),
        },
    }
}

fn parquet_error(file: &Path, error: ParquetError) -> RecordError {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => RecordError::io(file, *source),
            Err(source) => RecordError::Write {
                file: file.to_owned(),
                source,
            },
        },
        other => RecordError::Write {
            file: file.to_owned(),
            source: other.into(),
        },
    }
}
