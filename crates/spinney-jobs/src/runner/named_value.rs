//! A value `"$NAME"` of the configuration is that of a variable of Spinney's own environment, so that no secret has to be
//! written there. Spinney's own secrets are not given out in this way.

use std::ffi::OsString;

use spinney_core::config::VariableValue;

/// Why there is no such value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoValue {
    /// The variable is not set, or is no text.
    Unset(String),
    /// It holds a secret of Spinney's own.
    Secret(String),
}

/// The value that a text of the configuration stands for.
pub(crate) fn resolve(
    text: &str,
    environment: &[(OsString, OsString)],
    secrets: &[OsString],
) -> Result<String, NoValue> {
    let name = match VariableValue::read(text) {
        VariableValue::Text(text) => return Ok(text.to_owned()),
        VariableValue::Of(name) => name,
    };
    if secrets.iter().any(|secret| secret == name) {
        return Err(NoValue::Secret(name.to_owned()));
    }
    let value = environment.iter().rfind(|(known, _)| known == name).and_then(|(_, value)| value.to_str());
    value.map(ToOwned::to_owned).ok_or_else(|| NoValue::Unset(name.to_owned()))
}

/// The same, where a word such as `Bearer` may stand before the variable.
pub(crate) fn resolve_last_word(
    text: &str,
    environment: &[(OsString, OsString)],
    secrets: &[OsString],
) -> Result<String, NoValue> {
    let (before, last) = text.rsplit_once(' ').map_or(("", text), |(before, last)| (before, last));
    let value = resolve(last, environment, secrets)?;
    Ok(if before.is_empty() { value } else { format!("{before} {value}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_its_value_and_any_other_text_for_itself() {
        let environment = [("KEY", "one"), ("KEY", "two"), ("TOKEN", "ours")].map(|(k, v)| (k.into(), v.into()));
        let secrets = ["TOKEN".into()];
        let value = |text| resolve(text, &environment, &secrets);
        assert_eq!(value("$KEY"), Ok("two".into()));
        assert_eq!(value("$OTHER"), Err(NoValue::Unset("OTHER".into())));
        assert_eq!(value("$TOKEN"), Err(NoValue::Secret("TOKEN".into())));
        for text in ["", "$", "$5", "a $KEY", "${KEY}", "$KEY ", "KEY"] {
            assert_eq!(value(text), Ok(text.into()));
        }
        let header = |text| resolve_last_word(text, &environment, &secrets);
        assert_eq!(header("Bearer $KEY"), Ok("Bearer two".into()));
        assert_eq!((header("$KEY"), header("a b")), (Ok("two".into()), Ok("a b".into())));
        assert_eq!(header("Bearer $TOKEN"), Err(NoValue::Secret("TOKEN".into())));
    }
}
