//! How are rows written as JSON? By column: `{"sent_us": [0, 100], "acked_us": [71, null]}`, an array
//! per column of the table, all of one length.

use crate::record::{Column, ColumnKind, Record, RowSink, RowSource};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// Rows of one table, in JSON an object with an array per column.
///
/// Read from JSON, an optional column may be left out; one that the table does not have, that
/// comes twice, or whose length differs from the others' is an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns<R>(pub Vec<R>);

// Not derived: a table without rows needs no default row.
impl<R> Default for Columns<R> {
    fn default() -> Self {
        Columns(Vec::new())
    }
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Of a [`ColumnKind::U64`] column.
    U64(Vec<Option<u64>>),
    /// Of a [`ColumnKind::F64`] column.
    F64(Vec<Option<f64>>),
    /// Of a [`ColumnKind::Bool`] column.
    Bool(Vec<Option<bool>>),
    /// Of a [`ColumnKind::Text`] column.
    Text(Vec<Option<String>>),
}

impl Values {
    /// The values of `rows`, for each column of [`Record::COLUMNS`] in its order.
    pub fn of<R: Record>(rows: &[R]) -> Vec<Values> {
        let mut writer = Writer {
            columns: R::COLUMNS.iter().map(|c| Values::new(c.kind)).collect(),
            next: 0,
        };
        for row in rows {
            writer.next = 0;
            row.put(&mut writer);
        }
        writer.columns
    }

    fn new(kind: ColumnKind) -> Values {
        match kind {
            ColumnKind::U64 => Values::U64(Vec::new()),
            ColumnKind::F64 => Values::F64(Vec::new()),
            ColumnKind::Bool => Values::Bool(Vec::new()),
            ColumnKind::Text => Values::Text(Vec::new()),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Values::U64(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bool(v) => v.len(),
            Values::Text(v) => v.len(),
        }
    }

    fn resize(&mut self, rows: usize) {
        match self {
            Values::U64(v) => v.resize(rows, None),
            Values::F64(v) => v.resize(rows, None),
            Values::Bool(v) => v.resize(rows, None),
            Values::Text(v) => v.resize(rows, None),
        }
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Values::U64(v) => v.serialize(serializer),
            Values::F64(v) => v.serialize(serializer),
            Values::Bool(v) => v.serialize(serializer),
            Values::Text(v) => v.serialize(serializer),
        }
    }
}

/// Takes rows apart: the values of a row come in the order of the columns.
struct Writer {
    columns: Vec<Values>,
    next: usize,
}

macro_rules! put {
    ($($method:ident $kind:ident $type:ty, $convert:expr;)*) => {
        impl RowSink for Writer {
            $(fn $method(&mut self, value: Option<$type>) {
                let convert: fn($type) -> _ = $convert;
                // A row's columns come in the order of `Record::COLUMNS`, whose kinds these are.
                if let Values::$kind(values) = &mut self.columns[self.next] {
                    values.push(value.map(convert));
                }
                self.next += 1;
            })*
        }
    };
}

put! {
    u64 U64 u64, |v| v;
    f64 F64 f64, |v| v;
    bool Bool bool, |v| v;
    text Text &str, str::to_owned;
}

impl<R: Record> Serialize for Columns<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(R::COLUMNS.len()))?;
        for (column, values) in R::COLUMNS.iter().zip(Values::of(&self.0)) {
            map.serialize_entry(column.name, &values)?;
        }
        map.end()
    }
}

/// Puts one row together.
struct Reader<'c> {
    columns: &'c [Values],
    row: usize,
    next: usize,
}

macro_rules! take {
    ($($method:ident $kind:ident $type:ty, $convert:expr;)*) => {
        impl RowSource for Reader<'_> {
            $(fn $method(&mut self) -> Option<$type> {
                let column = &self.columns[self.next];
                self.next += 1;
                match column {
                    Values::$kind(values) => $convert(&values[self.row]),
                    _ => None,
                }
            })*
        }
    };
}

take! {
    u64 U64 u64, |v: &Option<u64>| *v;
    f64 F64 f64, |v: &Option<f64>| *v;
    bool Bool bool, |v: &Option<bool>| *v;
    text Text &str, Option::<String>::as_deref;
}

impl<'de, R: Record> Deserialize<'de> for Columns<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor(PhantomData))
    }
}

struct TableVisitor<R>(PhantomData<R>);

impl<'de, R: Record> Visitor<'de> for TableVisitor<R> {
    type Value = Columns<R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with an array per column of `{}`", R::TABLE)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found: Vec<Option<Values>> = R::COLUMNS.iter().map(|_| None).collect();
        while let Some(name) = map.next_key::<String>()? {
            let index = R::COLUMNS.iter().position(|c| c.name == name);
            let Some(index) = index else {
                return Err(A::Error::custom(format!(
                    "the table `{}` has no column `{name}`",
                    R::TABLE
                )));
            };
            if found[index].is_some() {
                return Err(A::Error::custom(format!("the column `{name}` comes twice")));
            }
            found[index] = Some(match R::COLUMNS[index].kind {
                ColumnKind::U64 => Values::U64(map.next_value()?),
                ColumnKind::F64 => Values::F64(map.next_value()?),
                ColumnKind::Bool => Values::Bool(map.next_value()?),
                ColumnKind::Text => Values::Text(map.next_value()?),
            });
        }
        let columns = complete(R::COLUMNS, found).map_err(A::Error::custom)?;
        let rows = columns.first().map_or(0, Values::len);
        let take = |row| {
            let (columns, next) = (&columns[..], 0);
            R::take(&mut Reader { columns, row, next })
                .map_err(|error| A::Error::custom(format!("row {row}: {error}")))
        };
        Ok(Columns((0..rows).map(take).collect::<Result<_, _>>()?))
    }
}

/// Fills in the optional columns that were left out; the error says what is wrong.
fn complete(columns: &[Column], found: Vec<Option<Values>>) -> Result<Vec<Values>, String> {
    let rows = found.iter().flatten().map(Values::len).next().unwrap_or(0);
    let nothing = found.iter().all(Option::is_none);
    let columns = columns.iter().zip(found).map(|(column, values)| {
        let values = match values {
            Some(values) if values.len() != rows => {
                let (name, found) = (column.name, values.len());
                return Err(format!(
                    "the column `{name}` has {found} values, where the first has {rows}"
                ));
            }
            Some(values) => values,
            None if column.optional || nothing => {
                let mut values = Values::new(column.kind);
                values.resize(rows);
                values
            }
            None => return Err(format!("the column `{}` is missing", column.name)),
        };
        Ok(values)
    });
    columns.collect()
}
