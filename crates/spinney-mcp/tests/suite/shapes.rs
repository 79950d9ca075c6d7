//! Documents are what the schemas of their tools say.

use serde_json::{Value, json};
use spinney_core::Scope;

use crate::desk::Desk;

/// Whether a value is of a type that a schema allows.
fn fits(value: &Value, schema: &Value) -> bool {
    let is_of = |kind: &str| match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("no type is called {other}"),
    };
    match &schema["type"] {
        Value::Null => true,
        Value::String(kind) => is_of(kind),
        Value::Array(kinds) => kinds.iter().any(|kind| is_of(kind.as_str().unwrap())),
        other => panic!("no type is {other}"),
    }
}

fn assert_fits(value: &Value, schema: &Value, place: &str) {
    assert!(fits(value, schema), "{place}: {value} is not {schema}");
    for (name, member) in value.as_object().into_iter().flatten() {
        if let Some(properties) = schema["properties"].as_object() {
            let known = properties.get(name).unwrap_or_else(|| panic!("{place}.{name} is not in the schema"));
            assert_fits(member, known, &format!("{place}.{name}"));
        }
    }
    for item in value.as_array().into_iter().flatten() {
        assert_fits(item, &schema["items"], place);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_given_is_what_was_declared() {
    let mut desk = Desk::open(Scope::Write, None, None).await;
    let tools = desk.tools().await;
    for (name, arguments) in [("context", json!({})), ("workspace_list", json!({}))] {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let answer = desk.call(name, arguments).await;
        assert_fits(&answer["result"]["structuredContent"], &tool["outputSchema"], name);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), answer["result"]["structuredContent"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_name_what_matters_and_have_no_dead_ends() {
    let mut desk = Desk::open(Scope::Write, None, None).await;
    for tool in desk.tools().await {
        let gives = tool["outputSchema"]["properties"].as_object().unwrap();
        assert!(gives.len() > 1, "{tool}");
        assert!(!tool.to_string().contains("$ref"), "a schema stands alone: {tool}");
    }
    let tools = desk.tools().await;
    let of = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(of("workspace_new")["outputSchema"]["properties"]["path"], json!({ "type": "string" }));
    assert_eq!(of("run")["inputSchema"]["required"], json!(["prompt"]));
    assert_eq!(
        of("workspace_new")["inputSchema"]["properties"]["kind"]["enum"],
        json!(["issue", "pr", "review", "thread", "task"])
    );
}
