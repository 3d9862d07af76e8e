//! How is a sheet written as Parquet? Compressed with zstd, a row group for every few thousand rows, so
//! that what waits in memory is bounded.

use super::Sheet;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use model::columns::Values;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows of a row group.
const GROUP_ROWS: usize = 16_384;

/// A Parquet file that is being written: it begins with the first rows, whose columns it has.
pub struct Writer<W: Write + Send> {
    out: Option<W>,
    file: Option<ArrowWriter<W>>,
}

impl<W: Write + Send> Writer<W> {
    pub fn new(out: W) -> Writer<W> {
        Writer {
            out: Some(out),
            file: None,
        }
    }

    pub fn write(&mut self, sheet: &Sheet) -> io::Result<()> {
        let batch = batch(sheet)?;
        let file = match &mut self.file {
            Some(file) => file,
            empty => {
                let Some(out) = self.out.take() else {
                    return Err(io::Error::other("the file could not be begun"));
                };
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(ZstdLevel::default()))
                    .set_max_row_group_row_count(Some(GROUP_ROWS));
                let properties = Some(properties.build());
                let file = ArrowWriter::try_new(out, batch.schema(), properties);
                empty.insert(file.map_err(io::Error::other)?)
            }
        };
        file.write(&batch).map_err(io::Error::other)
    }

    pub fn finish(self) -> io::Result<()> {
        match self.file {
            Some(file) => file.close().map(drop).map_err(io::Error::other),
            None => Ok(()),
        }
    }
}

fn batch(sheet: &Sheet) -> io::Result<RecordBatch> {
    let fields = sheet.0.iter().map(|column| {
        let kind = match column.values {
            Values::U64(_) => DataType::UInt64,
            Values::F64(_) => DataType::Float64,
            Values::Bool(_) => DataType::Boolean,
            Values::Text(_) => DataType::Utf8,
        };
        Field::new(&column.name, kind, column.optional)
    });
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let arrays = sheet.0.iter().map(|column| -> ArrayRef {
        match &column.values {
            Values::U64(v) => Arc::new(UInt64Array::from(v.clone())),
            Values::F64(v) => Arc::new(Float64Array::from(v.clone())),
            Values::Bool(v) => Arc::new(BooleanArray::from(v.clone())),
            Values::Text(v) => Arc::new(StringArray::from_iter(v.iter().map(Option::as_deref))),
        }
    });
    RecordBatch::try_new(Arc::new(schema), arrays.collect()).map_err(io::Error::other)
}
