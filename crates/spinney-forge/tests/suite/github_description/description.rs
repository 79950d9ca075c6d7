//! Finds an operation in an OpenAPI description, and checks an exchange against it.

use serde_json::Value;
use spinney_testkit::github_description;

use crate::github_description::schema::Schemas;

pub struct Description(Value);

impl Description {
    pub fn load() -> Self {
        Self(github_description())
    }

    /// The operation that a request is one of.
    pub fn operation(&self, method: &str, path: &str) -> Option<Operation<'_>> {
        let paths = self.0["paths"].as_object().expect("the description has paths");
        let fitting = paths.iter().filter(|(template, _)| variables(template, path).is_some());
        // `/pulls/comments` is described beside `/pulls/{pull_number}`.
        let (path, operations) = fitting.min_by_key(|(template, _)| template.matches('{').count())?;
        let operation = operations.get(method.to_ascii_lowercase())?;
        Some(Operation { path, operation, schemas: Schemas::new(&self.0) })
    }
}

/// What stands in a path for the names in a template; none where the path does not fit.
fn variables<'a>(template: &'a str, path: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    if template.len() != path.len() {
        return None;
    }
    let mut found = Vec::new();
    for (pattern, part) in template.into_iter().zip(path) {
        match pattern.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => found.push((name, part)),
            None if pattern == part => {}
            None => return None,
        }
    }
    Some(found)
}

pub struct Operation<'a> {
    pub path: &'a str,
    operation: &'a Value,
    schemas: Schemas<'a>,
}

impl Operation<'_> {
    pub fn check_path(&self, path: &str) -> Vec<String> {
        let variables = variables(self.path, path).expect("the operation was found by it");
        variables.into_iter().flat_map(|(name, value)| self.check_parameter("path", name, value)).collect()
    }

    pub fn check_query(&self, query: &[(String, String)]) -> Vec<String> {
        let given = query.iter().flat_map(|(name, value)| self.check_parameter("query", name, value));
        let mut faults: Vec<_> = given.collect();
        for parameter in
            self.parameters().filter(|parameter| parameter["required"] == true && parameter["in"] == "query")
        {
            if !query.iter().any(|(name, _)| parameter["name"] == *name) {
                faults.push(format!("the query has no `{}`", parameter["name"]));
            }
        }
        faults
    }

    fn parameters(&self) -> impl Iterator<Item = &Value> {
        let parameters = self.operation["parameters"].as_array().into_iter().flatten();
        parameters.map(|parameter| self.schemas.resolve(parameter))
    }

    fn check_parameter(&self, place: &str, name: &str, text: &str) -> Vec<String> {
        let Some(parameter) = self.parameters().find(|parameter| parameter["name"] == name && parameter["in"] == place)
        else {
            return vec![format!("the {place} has an unknown `{name}`")];
        };
        let schema = self.schemas.resolve(&parameter["schema"]);
        let value = match schema["type"].as_str() {
            Some("integer") => text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from),
            _ => Value::from(text),
        };
        self.schemas.check(schema, &value, name)
    }

    pub fn check_body(&self, body: &Value) -> Vec<String> {
        let described = &self.operation["requestBody"];
        match (described, body) {
            (Value::Null, Value::Null) => Vec::new(),
            (Value::Null, _) => vec!["it takes no body".to_owned()],
            _ => self.schemas.check(&described["content"]["application/json"]["schema"], body, "the body"),
        }
    }

    pub fn check_answer(&self, status: u16, answer: &Value) -> Vec<String> {
        let response = self.schemas.resolve(&self.operation["responses"][status.to_string()]);
        match &response["content"]["application/json"]["schema"] {
            // An answer without content.
            Value::Null if response.is_object() && answer.is_null() => Vec::new(),
            Value::Null => vec![format!("no answer with status {status} is described")],
            schema => self.schemas.check(schema, answer, "the answer"),
        }
    }
}
