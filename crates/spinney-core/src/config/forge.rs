//! Where the forges' APIs are, and which variables hold their tokens. Which forges there are is said where their dialects
//! are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::api_url::ApiUrl;
use super::values;
use crate::values::checked_text::checked_text;

/// The forges by their names, each with an API of its own kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ForgesConfig(BTreeMap<String, ForgeConfig>);

impl ForgesConfig {
    /// What is said of a forge; none where nobody declared it.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<&ForgeConfig> {
        self.0.get(name)
    }
}

/// One forge.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgeConfig {
    /// None: no such forge is used.
    #[serde(with = "values::optional")]
    pub api_url: Option<ApiUrl>,
    /// None: no token is looked for.
    #[serde(with = "values::optional")]
    pub token_env: Option<VariableName>,
}

checked_text!(
    /// The name of an environment variable, as `GITHUB_TOKEN`.
    VariableName,
    is_variable_name,
    /// A text that can't name a variable.
    InvalidVariableName: "`{}` is not the name of a variable such as `GITHUB_TOKEN`"
);

fn is_variable_name(text: &str) -> bool {
    text.len() <= 255
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_portable_names() {
        for name in ["GITHUB_TOKEN", "_x1"] {
            assert!(name.parse::<VariableName>().is_ok(), "{name}");
        }
        for name in ["", "1X", "A-B", "A B", "A=B", "$A", "größe", "A\0"] {
            assert!(name.parse::<VariableName>().is_err(), "{name}");
        }
    }

    #[test]
    fn urls_and_variables_are_checked_and_may_be_left_out() {
        let fault = |api_url: &str, token_env: &str| {
            let table = toml::toml! { api_url = "" token_env = "" };
            let mut table = table;
            table.insert("api_url".to_owned(), api_url.into());
            table.insert("token_env".to_owned(), token_env.into());
            table.try_into::<ForgeConfig>().err().map(|error| error.message().to_owned())
        };
        assert_eq!(fault("", ""), None);
        assert_eq!(
            fault("https://s3cret@host", "").unwrap(),
            "it has a user or password in it: `token_env` names the variable that holds the token"
        );
        assert_eq!(fault("", "a b").unwrap(), "`a b` is not the name of a variable such as `GITHUB_TOKEN`");
    }
}
