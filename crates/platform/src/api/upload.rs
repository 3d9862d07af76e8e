//! What does a client hand in of a run? The run folder as one JSON document, its tables by column.

use model::Manifest;
use model::columns::Columns;
use model::record::{ColumnKind, Event, LinkState, Message, Record, Sample};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};

/// The version of the document.
pub const FORMAT: &str = "walkabout.upload/1";

/// `PUT /api/v1/runs/{id}`, `Content-Encoding: zstd` or none. The id is 32 hexadecimal digits the client
/// drew; the header `Walkabout-Secret` (64 hexadecimal digits the client drew) is what deletes the run.
///
/// The same document under the same id again is acknowledged and stored once; another one is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Upload {
    /// [`FORMAT`].
    pub format: String,
    /// The manifest, with its `live` part.
    #[schema(value_type = Object)]
    pub manifest: Manifest,
    /// One row per application message, of both ends.
    #[schema(schema_with = table::<Message>)]
    pub messages: Columns<Message>,
    /// The state of connections and paths over time.
    #[schema(schema_with = table::<Sample>)]
    pub samples: Columns<Sample>,
    /// The state of the client's interfaces over time, where it was recorded.
    #[serde(default)]
    #[schema(schema_with = table::<LinkState>)]
    pub links: Columns<LinkState>,
    /// What happened.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Event>,
}

/// The answer: only sent when the run is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stored {
    /// The run's id.
    pub id: String,
    /// Whether this upload stored it, or an earlier one had.
    pub state: UploadState,
}

/// Which upload stored a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UploadState {
    /// This one.
    Stored,
    /// An earlier one, of the same content.
    AlreadyStored,
}

/// The schema of a table by column.
pub fn table<R: Record>() -> RefOr<Schema> {
    let mut object =
        ObjectBuilder::new().description(Some(format!("The table `{}`, by column.", R::TABLE)));
    for column in R::COLUMNS {
        let kind = match column.kind {
            ColumnKind::U64 => Type::Integer,
            ColumnKind::F64 => Type::Number,
            ColumnKind::Bool => Type::Boolean,
            ColumnKind::Text => Type::String,
        };
        let value = match column.optional {
            true => SchemaType::from_iter([kind, Type::Null]),
            false => SchemaType::new(kind),
        };
        let mut items = ObjectBuilder::new().schema_type(value);
        if column.kind == ColumnKind::U64 {
            items = items.minimum(Some(0));
        }
        object = object.property(column.name, ArrayBuilder::new().items(items.build()));
        if !column.optional {
            object = object.required(column.name);
        }
    }
    object.into()
}
