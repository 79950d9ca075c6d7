//! How a variable that is given to an agent is written: as a text, or as the name of a variable of Spinney's own
//! environment.
//!
//! Only the whole value `$NAME` is a name. A text that begins with a dollar is written with two. Only the operator's own
//! file may refer to the operator's variables.

use std::ffi::OsString;

use super::forge::VariableName;

/// What a value says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableValue<'v> {
    Text(&'v str),
    /// The value of this variable of Spinney's own environment.
    Of(&'v str),
}

/// A variable that a value refers to, and that Spinney's own environment does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the variable `{0}` is not set in Spinney's own environment")]
pub struct MissingVariable(pub String);

impl<'v> VariableValue<'v> {
    #[must_use]
    pub fn read(written: &'v str) -> Self {
        match written.strip_prefix('$') {
            Some(text) if text.starts_with('$') => Self::Text(text),
            Some(name) if name.parse::<VariableName>().is_ok() => Self::Of(name),
            _ => Self::Text(written),
        }
    }

    /// The value itself.
    ///
    /// # Errors
    ///
    /// If the environment lacks the variable.
    pub fn resolve(self, environment: &[(OsString, OsString)]) -> Result<OsString, MissingVariable> {
        match self {
            Self::Text(text) => Ok(text.into()),
            Self::Of(name) => {
                let found = environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
                found.ok_or_else(|| MissingVariable(name.to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_name_behind_a_dollar_refers_to_a_variable() {
        for name in ["A", "_x1", "OPENROUTER_API_KEY"] {
            assert_eq!(VariableValue::read(&format!("${name}")), VariableValue::Of(name));
        }
        for text in ["", "A", "$", "$1", "${A}", "$A/b", "$A B", "a$A", " $A", "$A\n", "$(A)", "$größe"] {
            assert_eq!(VariableValue::read(text), VariableValue::Text(text), "{text:?}");
        }
        for (written, text) in [("$$A", "$A"), ("$$", "$"), ("$$$A", "$$A"), ("$$5", "$5"), ("a$$A", "a$$A")] {
            assert_eq!(VariableValue::read(written), VariableValue::Text(text), "{written}");
        }
    }

    #[test]
    fn a_variable_that_is_not_there_is_an_error_and_an_empty_one_is_not() {
        let environment = [("KEY", "s3cret $OTHER"), ("EMPTY", "")].map(|(name, value)| (name.into(), value.into()));
        let resolve = |text: &str| VariableValue::read(text).resolve(&environment);
        assert_eq!(resolve("$KEY").unwrap(), "s3cret $OTHER");
        assert_eq!(resolve("$EMPTY").unwrap(), "");
        assert_eq!(resolve("$$KEY").unwrap(), "$KEY");
        assert_eq!(resolve("$KE"), Err(MissingVariable("KE".to_owned())));
    }
}
