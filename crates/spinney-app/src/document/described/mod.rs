//! Holds documents against their schemas, so that the two can't drift apart.

pub mod sample;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Asserts that a document is what its schema says: `full` has every property that is described, `bare` none but the
/// required ones, and both the described types and words.
#[track_caller]
pub fn assert_described<T: Serialize + ToSchema>(full: &T, bare: &T) {
    let described = Described::of::<T>();
    let object = described.object(&described.root);
    let (full, bare) = (to_value(full), to_value(bare));
    let properties: BTreeSet<_> = object.properties.keys().copied().collect();
    assert_eq!(keys(&full), properties, "what is sent in full is what is described");
    assert_eq!(keys(&bare), object.required, "what is always sent is what is required");
    for value in [&full, &bare] {
        described.check(&T::name(), value, &described.root);
    }
}

fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// A schema, with those that it refers to.
struct Described {
    root: Value,
    components: BTreeMap<String, Value>,
}

/// An object's schema, with the parts that it is put together of.
#[derive(Default)]
struct Object<'a> {
    properties: BTreeMap<&'a str, &'a Value>,
    required: BTreeSet<&'a str>,
}

impl Described {
    fn of<T: ToSchema>() -> Self {
        let mut components = Vec::new();
        T::schemas(&mut components);
        let components = components.into_iter().map(|(name, schema)| (name, to_value(&schema))).collect();
        Self { root: to_value(&T::schema()), components }
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let Some(reference) = schema["$ref"].as_str() else { return schema };
        let name = reference.strip_prefix("#/components/schemas/").unwrap();
        self.components.get(name).unwrap_or_else(|| panic!("{name} is described nowhere"))
    }

    fn object<'a>(&'a self, schema: &'a Value) -> Object<'a> {
        let schema = self.resolve(schema);
        let mut object = Object::default();
        for part in schema["allOf"].as_array().into_iter().flatten() {
            let part = self.object(part);
            object.properties.extend(part.properties);
            object.required.extend(part.required);
        }
        let properties = schema["properties"].as_object().into_iter().flatten();
        object.properties.extend(properties.map(|(name, schema)| (name.as_str(), schema)));
        object.required.extend(schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str));
        object
    }

    fn check(&self, place: &str, value: &Value, schema: &Value) {
        let schema = self.resolve(schema);
        if let Some(choices) = schema["oneOf"].as_array() {
            let fits = |choice: &&Value| (choice["type"] == "null") == value.is_null();
            let choice = choices.iter().find(fits).unwrap_or_else(|| panic!("{place}: {value} is none of {schema}"));
            return self.check(place, value, choice);
        }
        if schema["allOf"].is_array() || schema["properties"].is_object() {
            return self.check_object(place, value, &self.object(schema));
        }
        assert!(is_typed(value, &schema["type"]), "{place}: {value} is no {schema}");
        if let Some(words) = schema["enum"].as_array() {
            assert!(words.contains(value), "{place}: {value} is none of {words:?}");
        }
        if let Some(number) = value.as_i64().filter(|_| !schema["minimum"].is_null()) {
            assert!(number >= schema["minimum"].as_i64().unwrap(), "{place}: {number} is too small");
        }
        if schema["format"] == "date-time" {
            assert!(value.as_str().unwrap().ends_with('Z'), "{place}: {value} is no time");
        }
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            self.check(&format!("{place}[{index}]"), item, &schema["items"]);
        }
        for (key, item) in value.as_object().into_iter().flatten() {
            self.check(&format!("{place}.{key}"), item, &schema["additionalProperties"]);
        }
    }

    fn check_object(&self, place: &str, value: &Value, object: &Object<'_>) {
        let sent = keys(value);
        assert!(object.required.is_subset(&sent), "{place}: all of {:?} is required, not {sent:?}", object.required);
        for key in sent {
            let property = object.properties.get(key).unwrap_or_else(|| panic!("{place}.{key} is not described"));
            self.check(&format!("{place}.{key}"), &value[key], property);
        }
    }
}

/// Whether a value is of the described type, or of one of several.
fn is_typed(value: &Value, described: &Value) -> bool {
    match described {
        Value::Array(several) => several.iter().any(|one| is_typed(value, one)),
        Value::String(name) => match name.as_str() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other} is no type that a document has"),
        },
        _ => panic!("a document says of everything what it is"),
    }
}
