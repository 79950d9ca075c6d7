//! Core's words and points in time, with schemas: the words are listed, so that a client knows them all.

use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

/// A text that is one of these.
pub(super) fn one_of(words: impl IntoIterator<Item = &'static str>) -> RefOr<Schema> {
    let words = words.into_iter().map(Value::from);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
}

/// Declares the form that one of core's words has in a document.
macro_rules! word {
    ($name:ident) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub spinney_core::$name);

        impl From<spinney_core::$name> for $name {
            fn from(word: spinney_core::$name) -> Self {
                Self(word)
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                one_of(spinney_core::$name::ALL.iter().map(|word| word.as_str()))
            }
        }

        impl ToSchema for $name {}
    };
}

word!(Cancel);
word!(DeliveryStatus);
word!(EvidenceKind);
word!(JobStatus);
word!(LeftOutReason);
word!(LongOperationStatus);
word!(Method);
word!(Populate);
word!(Provider);
word!(Push);
word!(ReasonCode);
word!(Scope);
word!(SessionStatus);
word!(WorkKind);
word!(WorkspaceStatus);

/// Where a request came from. Which platforms there are is said in the description of the API, by who knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Platform(pub spinney_core::Platform);

impl From<spinney_core::Platform> for Platform {
    fn from(platform: spinney_core::Platform) -> Self {
        Self(platform)
    }
}

impl PartialSchema for Platform {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).into()
    }
}

impl ToSchema for Platform {}

/// A point in time: RFC 3339, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Timestamp(pub spinney_core::Timestamp);

impl From<spinney_core::Timestamp> for Timestamp {
    fn from(timestamp: spinney_core::Timestamp) -> Self {
        Self(timestamp)
    }
}

impl PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
    }
}

impl ToSchema for Timestamp {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_listed_as_it_is_sent() {
        let schema = serde_json::to_value(JobStatus::schema()).unwrap();
        let sent: Vec<_> = spinney_core::JobStatus::ALL.iter().map(|status| JobStatus(*status)).collect();
        assert_eq!(schema["enum"], serde_json::to_value(sent).unwrap());
        assert_eq!(JobStatus::name(), "JobStatus");
    }
}
