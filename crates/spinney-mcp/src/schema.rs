//! The schemas of tools, from the declarations of arguments and documents. What models read costs them: of a document they are
//! told its members and their types, and no more.

use std::collections::BTreeMap;

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// What a tool takes, with descriptions.
pub(crate) fn input<T: ToSchema>() -> JsonObject {
    let (schema, named) = declared::<T>();
    let mut all = members(&schema, &named);
    all.properties.values_mut().for_each(|member| *member = argument(member, &named));
    let mut input = Map::new();
    input.insert("type".to_owned(), json!("object"));
    input.insert("properties".to_owned(), Value::Object(all.properties));
    if !all.required.is_empty() {
        input.insert("required".to_owned(), json!(all.required));
    }
    input.insert("additionalProperties".to_owned(), json!(false));
    input
}

/// What a tool gives.
pub(crate) fn output<T: ToSchema>() -> JsonObject {
    let (schema, named) = declared::<T>();
    let all = members(&schema, &named).properties;
    let shapes: Map<_, _> = all.iter().map(|(name, member)| (name.clone(), shape(member, &named))).collect();
    let mut output = Map::new();
    output.insert("type".to_owned(), json!("object"));
    output.insert("properties".to_owned(), Value::Object(shapes));
    output
}

/// The same, for a document that is told in parts.
pub(crate) fn paged<T: ToSchema>() -> JsonObject {
    with::<T>(&[("next", json!({}))])
}

/// The same, for one with a part of a log.
pub(crate) fn logged<T: ToSchema>() -> JsonObject {
    let events = json!({ "type": "array", "items": { "type": "object" } });
    with::<T>(&[("events", events), ("next", json!({ "type": ["string", "null"] }))])
}

fn with<T: ToSchema>(more: &[(&str, Value)]) -> JsonObject {
    let mut shape = output::<T>();
    if let Some(Value::Object(properties)) = shape.get_mut("properties") {
        properties.extend(more.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())));
    }
    shape
}

type Named = BTreeMap<String, Value>;

/// A schema as it is declared, with those that it refers to.
fn declared<T: ToSchema>() -> (Value, Named) {
    let mut named = Vec::new();
    T::schemas(&mut named);
    let named = named.into_iter().map(|(name, schema)| (name, json!(schema))).collect();
    (json!(T::schema()), named)
}

fn resolved<'s>(schema: &'s Value, named: &'s Named) -> &'s Value {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    name.and_then(|name| named.get(name)).unwrap_or(schema)
}

#[derive(Default)]
struct Members {
    properties: Map<String, Value>,
    required: Vec<String>,
}

/// The members of an object, also of one that is put together of several.
fn members(schema: &Value, named: &Named) -> Members {
    let schema = resolved(schema, named);
    let mut all = Members::default();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let Members { properties, required } = members(part, named);
        all.properties.extend(properties);
        all.required.extend(required);
    }
    if let Some(properties) = schema["properties"].as_object() {
        all.properties.extend(properties.clone());
    }
    all.required
        .extend(schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    all
}

/// An argument's type, description and words. That it may be left out is said by `required`.
fn argument(schema: &Value, named: &Named) -> Value {
    let mut told = Map::new();
    let bare = not_null(schema, named);
    let kind = match &bare["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").cloned().unwrap_or_default(),
        kind => kind.clone(),
    };
    if !kind.is_null() {
        told.insert("type".to_owned(), kind);
    }
    if let Some(text) = schema["description"].as_str() {
        told.insert("description".to_owned(), json!(text));
    }
    if let Some(words) = bare["enum"].as_array() {
        // A job's own work is named by nobody.
        let words: Vec<_> = words.iter().filter(|word| *word != "job").collect();
        told.insert("enum".to_owned(), json!(words));
    }
    if bare.get("items").is_some() {
        told.insert("items".to_owned(), argument(&bare["items"], named));
    }
    Value::Object(told)
}

/// The schema of a value where it is not null.
fn not_null<'s>(schema: &'s Value, named: &'s Named) -> &'s Value {
    let either = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    let other = either.and_then(|schemas| schemas.iter().find(|one| one["type"] != "null"));
    resolved(other.unwrap_or(schema), named)
}

/// The shape of what is given: its members and their types. What is inside of a member is left to the document itself, and a
/// member that may be null has no type here.
fn shape(schema: &Value, named: &Named) -> Value {
    let bare = not_null(schema, named);
    let is_nullable = !std::ptr::eq(bare, resolved(schema, named)) || bare["type"].is_array();
    if is_nullable {
        return json!({});
    }
    if bare.get("properties").is_some() || bare.get("allOf").is_some() {
        return json!({ "type": "object" });
    }
    match &bare["type"] {
        Value::Null => json!({}),
        Value::String(kind) if kind == "array" => json!({ "type": "array", "items": shape(&bare["items"], named) }),
        kind => json!({ "type": kind }),
    }
}
