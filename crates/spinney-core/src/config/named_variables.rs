//! The variables of the environment that the configuration names. Each holds a secret, and none reaches an agent.

use serde_json::Value;

use super::Config;
use super::keys::VARIABLE;

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
                    Value::String(name) if key.ends_with(VARIABLE) => named.push(name.clone()),
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
    use super::super::forge::ForgeConfig;
    use super::super::sections::{Schema, Section};
    use super::*;

    #[test]
    fn every_key_that_names_a_variable_counts_in_whichever_section() {
        let check = |table: toml::Table| table.try_into::<ForgeConfig>().map(drop).map_err(|error| error.to_string());
        let defaults = "api_url = \"\"\ntoken_env = \"USUAL\"\n";
        let section = |path| Section { path, defaults, check, takes_numbers: false };
        let schema: &'static Schema = Box::leak(Box::new(Schema::new([section("forge.one"), section("forge.other")])));
        assert_eq!(schema.usual_variables(), ["USUAL", "USUAL"]);
        let mut layers = Layers::of(schema);
        assert_eq!(named_variables(&layers.resolve().unwrap().config), ["USUAL"]);
        layers.file(Path::new("config.toml"), "forge.other.token_env = 'MINE'\n").unwrap();
        assert_eq!(named_variables(&layers.resolve().unwrap().config), ["MINE", "USUAL"]);
    }
}
