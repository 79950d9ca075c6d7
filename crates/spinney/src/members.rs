//! A settings file of another program, in JSON: what we set goes in, and all else stays as it was written.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members of an object, in their order, each as it was written.
#[derive(Debug, Default)]
pub struct Members(Vec<(String, String)>);

impl Members {
    pub fn get(&self, key: &str) -> Option<&str> {
        // Of a key that is there twice, the last counts.
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    pub fn set(&mut self, key: &str, value: String) {
        match self.0.iter_mut().rev().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    pub fn render(&self, indent: usize) -> String {
        let margin = " ".repeat(indent);
        let member = |(key, value): &(String, String)| format!("{margin}  {}: {value}", Value::from(key.as_str()));
        let members = self.0.iter().map(member).collect::<Vec<_>>().join(",\n");
        format!("{{\n{members}\n{margin}}}")
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    members.push((key, value.get().to_owned()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
