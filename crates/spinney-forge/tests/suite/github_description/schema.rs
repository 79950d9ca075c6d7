//! As much of OpenAPI's schemas as these operations use. A key that is not described is a fault.

use serde_json::Value;

pub struct Schemas<'a>(&'a Value);

impl<'a> Schemas<'a> {
    pub fn new(description: &'a Value) -> Self {
        Self(description)
    }

    /// Follows a reference, where it is one.
    pub fn resolve(&self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => {
                let pointer = reference.strip_prefix('#').expect("references stay in the description");
                self.resolve(self.0.pointer(pointer).expect("references lead somewhere"))
            }
            None => value,
        }
    }

    /// Everything about a value that its schema does not allow.
    pub fn check(&self, schema: &'a Value, value: &Value, at: &str) -> Vec<String> {
        let schema = self.resolve(schema);
        if value.is_null() && schema["nullable"] == true {
            return Vec::new();
        }
        if let Some(all) = schema["allOf"].as_array() {
            return all.iter().flat_map(|schema| self.check(schema, value, at)).collect();
        }
        if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
            let faults = choices.iter().map(|schema| self.check(schema, value, at));
            // The faults of the choice that comes nearest.
            return faults.min_by_key(Vec::len).unwrap_or_default();
        }
        let mut faults = Vec::new();
        if let Some(kind) = schema["type"].as_str()
            && !is_a(kind, value)
        {
            faults.push(format!("{at} is no {kind}: {value}"));
        }
        if let Some(known) = schema["enum"].as_array()
            && !known.contains(value)
        {
            faults.push(format!("{at} is none of {known:?}: {value}"));
        }
        if let Value::Array(items) = value {
            let each = items.iter().enumerate();
            faults.extend(each.flat_map(|(index, item)| self.check(&schema["items"], item, &format!("{at}[{index}]"))));
        }
        if value.is_object() {
            faults.extend(self.check_keys(schema, value, at));
        }
        faults
    }

    fn check_keys(&self, schema: &'a Value, value: &Value, at: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for key in required.filter(|key| value.get(key).is_none()) {
            faults.push(format!("{at} has no `{key}`"));
        }
        for (key, value) in value.as_object().into_iter().flatten() {
            match schema["properties"].get(key) {
                Some(schema) => faults.extend(self.check(schema, value, &format!("{at}.{key}"))),
                None => faults.push(format!("{at} has an unknown `{key}`")),
            }
        }
        faults
    }
}

fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        other => panic!("the kind `{other}` of a schema is unknown"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_allowed_is_found() {
        let description = json!({ "s": {
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": { "type": "string", "enum": ["x", "y"] },
                "b": { "type": "array", "items": { "$ref": "#/n" } },
                "c": { "oneOf": [{ "type": "string" }, { "type": "integer" }] },
            },
        }, "n": { "type": "integer", "nullable": true } });
        let schemas = Schemas::new(&description);
        let check = |value: Value| schemas.check(&description["s"], &value, "it");
        assert!(check(json!({ "a": "x", "b": [1, null], "c": 1 })).is_empty());
        for wrong in [
            json!({}),
            json!([]),
            json!(null),
            json!({ "a": "z" }),
            json!({ "a": 1 }),
            json!({ "a": "x", "b": ["1"] }),
            json!({ "a": "x", "b": {} }),
            json!({ "a": "x", "c": true }),
            json!({ "a": "x", "d": 1 }),
        ] {
            assert!(!check(wrong.clone()).is_empty(), "{wrong}");
        }
    }
}
