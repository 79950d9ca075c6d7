//! The variables of the environment that the configuration names. Each holds a secret, and none reaches an agent.

use serde_json::Value;

use super::Config;

/// How the keys end whose value is the name of a variable.
const ENDING: &str = "_env";

/// Collects them from every section, whichever keys that has.
#[must_use]
pub fn named_variables(config: &Config) -> Vec<String> {
    let mut named = Vec::new();
    if let Ok(config) = serde_json::to_value(config) {
        collect(&config, &mut named);
    }
    named.sort();
    named.dedup();
    named
}

fn collect(value: &Value, named: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(name) if key.ends_with(ENDING) => named.push(name.clone()),
                    value => collect(value, named),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, named)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Layers;
    use super::super::defaults::keys;
    use super::*;

    #[test]
    fn every_key_that_names_a_variable_counts() {
        let keys: Vec<&str> =
            keys().iter().map(|known| known.key.as_str()).filter(|key| key.ends_with(ENDING)).collect();
        assert!(keys.len() >= 10, "{keys:?}");
        for (number, key) in keys.iter().enumerate() {
            let mut layers = Layers::new();
            let name = format!("MY_VARIABLE_{number}");
            layers.file(Path::new("config.toml"), &format!("{key} = '{name}'\n")).unwrap();
            let config = layers.resolve().unwrap().config;
            assert!(named_variables(&config).contains(&name), "{key}");
        }
    }
}
