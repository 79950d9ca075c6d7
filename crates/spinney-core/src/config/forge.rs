//! Where the forges' APIs are, and which variables hold their tokens.

use serde::{Deserialize, Serialize};

use super::api_url::ApiUrl;
use super::values;
use crate::checked_text::checked_text;

/// The forges, each with an API of its own kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgesConfig {
    pub github: ForgeConfig,
    pub gitlab: ForgeConfig,
    pub forgejo: ForgeConfig,
    /// No forge, but where issues may be.
    pub linear: ForgeConfig,
}

/// One forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    use super::super::schema::tests::plain_fault as fault;
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
        for (key, value) in
            [("forge.forgejo.api_url", ""), ("forge.github.api_url", ""), ("forge.gitlab.token_env", "")]
        {
            assert_eq!(fault(key, &value.into()), None, "{key}");
        }
        let message = fault("forge.github.api_url", &"https://s3cret@host".into()).unwrap();
        assert_eq!(message, "it has a user or password in it: `token_env` names the variable that holds the token");
        let message = fault("forge.github.token_env", &"a b".into()).unwrap();
        assert_eq!(message, "`a b` is not the name of a variable such as `GITHUB_TOKEN`");
    }
}
