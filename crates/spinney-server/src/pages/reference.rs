//! The API's own description, to be read.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use askama::Template;
use serde_json::Value;

use super::answer::Result;
use super::frame::{Did, Frame};
use super::render;
use crate::auth::Caller;

/// How deep a shape is told; what nests deeper is named.
const MAX_DEPTH: usize = 4;

#[derive(Template)]
#[template(path = "reference.html")]
struct ReferencePage {
    frame: Frame,
    resources: &'static [Resource],
}

/// What can be asked about one kind of thing.
struct Resource {
    name: String,
    operations: Vec<Operation>,
}

struct Operation {
    verb: String,
    path: String,
    summary: String,
    description: String,
    parameters: Vec<Parameter>,
    body: Option<String>,
    answers: Vec<(String, String, Option<String>)>,
}

struct Parameter {
    name: String,
    place: String,
    kind: String,
    is_required: bool,
    description: String,
}

static RESOURCES: LazyLock<Vec<Resource>> = LazyLock::new(|| {
    let document = serde_json::to_value(crate::openapi::document()).unwrap_or_default();
    read(&document)
});

pub(crate) async fn show(caller: Caller) -> Result {
    Ok(render(&ReferencePage { frame: Frame::new(&caller, "API", &Did::default()), resources: &RESOURCES }))
}

/// Reads the document, by resource.
fn read(document: &Value) -> Vec<Resource> {
    let mut by_name: BTreeMap<String, Vec<Operation>> = BTreeMap::new();
    let empty = serde_json::Map::new();
    for (path, item) in document["paths"].as_object().unwrap_or(&empty) {
        for (verb, operation) in item.as_object().unwrap_or(&empty) {
            let name = operation["tags"][0].as_str().unwrap_or("other").to_owned();
            by_name.entry(name).or_default().push(Operation::new(document, verb, path, operation));
        }
    }
    by_name.into_iter().map(|(name, operations)| Resource { name, operations }).collect()
}

impl Operation {
    fn new(document: &Value, verb: &str, path: &str, operation: &Value) -> Self {
        let list = |name: &str| operation[name].as_array().cloned().unwrap_or_default();
        let body = content_schema(&operation["requestBody"]);
        let answers = operation["responses"].as_object().cloned().unwrap_or_default();
        let answers = answers.iter().map(|(status, answer)| {
            let schema = content_schema(answer).filter(|_| status != "default");
            (status.clone(), text(&answer["description"]), schema.map(|schema| shape(document, schema, 0)))
        });
        Self {
            verb: verb.to_owned(),
            path: path.to_owned(),
            summary: text(&operation["summary"]),
            description: text(&operation["description"]),
            parameters: list("parameters").iter().map(|one| Parameter::new(document, one)).collect(),
            body: body.map(|schema| shape(document, schema, 0)),
            answers: answers.collect(),
        }
    }
}

impl Parameter {
    fn new(document: &Value, parameter: &Value) -> Self {
        Self {
            name: text(&parameter["name"]),
            place: text(&parameter["in"]),
            kind: shape(document, &parameter["schema"], MAX_DEPTH),
            is_required: parameter["required"].as_bool().unwrap_or(false),
            description: text(&parameter["description"]),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The schema of what is sent, of whatever type.
fn content_schema(of: &Value) -> Option<&Value> {
    let (_, content) = of["content"].as_object()?.iter().next()?;
    Some(&content["schema"]).filter(|schema| !schema.is_null())
}

/// A schema as people write JSON: names, types, and what each is for.
fn shape(document: &Value, schema: &Value, depth: usize) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        let target = &document["components"]["schemas"][name];
        let is_word = target["properties"].is_null() && target["allOf"].is_null();
        return if depth >= MAX_DEPTH && !is_word { name.to_owned() } else { shape(document, target, depth) };
    }
    for (name, between) in [("oneOf", " | "), ("anyOf", " | "), ("allOf", " + ")] {
        if let Some(parts) = schema[name].as_array() {
            return parts.iter().map(|part| shape(document, part, depth)).collect::<Vec<_>>().join(between);
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(fields) = schema["properties"].as_object() {
        return object(document, schema, fields, depth);
    }
    if !schema["items"].is_null() {
        return format!("[{}]", shape(document, &schema["items"], depth));
    }
    match &schema["type"] {
        Value::String(kind) => schema["format"].as_str().unwrap_or(kind).to_owned(),
        Value::Array(kinds) => kinds.iter().map(text).collect::<Vec<_>>().join(" | "),
        _ => "any".to_owned(),
    }
}

fn object(document: &Value, schema: &Value, fields: &serde_json::Map<String, Value>, depth: usize) -> String {
    if depth >= MAX_DEPTH {
        return "{ … }".to_owned();
    }
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let indent = "  ".repeat(depth + 1);
    let mut lines = vec!["{".to_owned()];
    for (name, field) in fields {
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        let about = field["description"].as_str().map(|text| format!("  // {}", text.replace('\n', " ")));
        let kind = shape(document, field, depth + 1);
        lines.push(format!("{indent}{name}{optional}: {kind}{}", about.unwrap_or_default()));
    }
    lines.push(format!("{}}}", "  ".repeat(depth)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_described_route_can_be_read() {
        let described = crate::routes::table().iter().filter(|route| route.description.is_some()).count();
        assert_eq!(RESOURCES.iter().map(|resource| resource.operations.len()).sum::<usize>(), described);
        assert!(RESOURCES.iter().flat_map(|resource| &resource.operations).all(|one| !one.summary.is_empty()));
    }

    #[test]
    fn a_shape_reads_like_json() {
        let document = serde_json::json!({ "components": { "schemas": {
            "Word": { "type": "string", "enum": ["a", "b"] },
            "Thing": { "type": "object", "required": ["id"], "properties": {
                "id": { "type": "string", "description": "Its id." },
                "words": { "type": "array", "items": { "$ref": "#/components/schemas/Word" } },
            } },
        } } });
        let schema = serde_json::json!({ "$ref": "#/components/schemas/Thing" });
        assert_eq!(shape(&document, &schema, 0), "{\n  id: string  // Its id.\n  words?: [\"a\" | \"b\"]\n}");
    }
}
