//! What a single value of an agent must be like. Messages are fragments, as in [`super::values`].
//!
//! Some of these values become arguments of a runtime's program: none may look like an option of it.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::forge::VariableName;
use super::template::{InvalidTemplate, Placeholders, Template};
use super::values::texts;
use crate::names::for_message;

/// More than any program takes as one argument.
const MAX_TEXT_BYTES: usize = 100_000;

pub(super) fn command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let command = arguments(deserializer)?;
    match command.first().map(String::as_str) {
        Some(program) if program.is_empty() || program.starts_with('-') || program.contains(char::is_control) => {
            Err(D::Error::custom(format!("`{}` is not a program", for_message(program))))
        }
        _ => Ok(command),
    }
}

/// Arguments of a program, which may look like options of it.
pub(super) fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    texts(deserializer, |part| is_long(part).then_some("is too long, or has a NUL in it"))
}

pub(super) fn tools<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    texts(deserializer, |tool| {
        let wrong = tool.trim().is_empty() || tool.starts_with('-') || tool.contains(char::is_control);
        wrong.then_some("is not a tool such as `Read` or `Bash(git log:*)`")
    })
}

pub(super) fn prompt<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_long(&text) { Err(D::Error::custom("it is too long, or has a NUL in it")) } else { Ok(text) }
}

fn is_long(text: &str) -> bool {
    text.len() > MAX_TEXT_BYTES || text.contains('\0')
}

/// A text that may be left empty: none then.
macro_rules! optional_text {
    ($name:ident, $fault:expr) => {
        pub(super) mod $name {
            use super::{Deserialize, Deserializer, Error, for_message};

            pub use super::super::values::optional::serialize;

            pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
                let text = String::deserialize(deserializer)?;
                let fault: fn(&str) -> Option<&'static str> = $fault;
                match fault(&text) {
                    _ if text.is_empty() => Ok(None),
                    None => Ok(Some(text)),
                    Some(fault) => Err(D::Error::custom(format!("`{}` {fault}", for_message(&text)))),
                }
            }
        }
    };
}

optional_text!(model, |text| {
    let plain = text.chars().all(|c| !c.is_control() && !c.is_whitespace());
    (!plain || text.starts_with('-') || text.len() > 200).then_some("is not the name of a model")
});

optional_text!(permission_mode, |text| {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    (!plain || text.starts_with('-') || text.len() > 40).then_some("is not the name of a permission mode")
});

pub(super) fn variables<'de, D>(deserializer: D) -> Result<BTreeMap<VariableName, String>, D::Error>
where
    D: Deserializer<'de>,
{
    let table = toml::Table::deserialize(deserializer)?;
    let variable = |(name, value): (String, toml::Value)| {
        let name = name.parse::<VariableName>().map_err(D::Error::custom)?;
        match value {
            toml::Value::String(text) if !text.contains('\0') => Ok((name, text)),
            _ => Err(D::Error::custom(format!("the value of `{}` is not a text", for_message(name.as_str())))),
        }
    };
    table.into_iter().map(variable).collect()
}

/// A template that gives some text, whatever its values.
pub(super) fn message<'de, D, P>(deserializer: D) -> Result<Template<P>, D::Error>
where
    D: Deserializer<'de>,
    P: Placeholders,
{
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() || text.contains('\0') {
        return Err(D::Error::custom("it is empty, or has a NUL in it"));
    }
    Template::from_str(&text).map_err(|error: InvalidTemplate| D::Error::custom(error))
}

/// As [`message`], on one line.
pub(super) fn title<'de, D, P>(deserializer: D) -> Result<Template<P>, D::Error>
where
    D: Deserializer<'de>,
    P: Placeholders,
{
    let template = message(deserializer)?;
    if template.as_str().contains(char::is_control) {
        return Err(D::Error::custom(format!("`{}` is not one line", for_message(template.as_str()))));
    }
    Ok(template)
}

#[cfg(test)]
mod tests {
    use super::super::schema::tests::agent_fault as fault;

    fn texts(values: &[&str]) -> toml::Value {
        values.iter().map(|value| toml::Value::from(*value)).collect::<Vec<_>>().into()
    }

    fn table(name: &str, value: impl Into<toml::Value>) -> toml::Value {
        toml::Table::from_iter([(name.to_owned(), value.into())]).into()
    }

    #[test]
    fn right_values_are_taken() {
        for (key, value) in [
            ("runtime", toml::Value::from("codex")),
            ("command", texts(&["my-agent", "--flag", "", "a b"])),
            ("model", "claude-opus-4-5[1m]".into()),
            ("model", "openai/gpt-5:free".into()),
            ("system_prompt", "Be careful.\n\tAlways. 👩‍💻".into()),
            ("permission_mode", "".into()),
            ("permission_mode", "workspace-write".into()),
            ("allowed_tools", texts(&["Read", "Bash(git log:*)", "mcp__x__y"])),
            ("env", table("A_1", "any $(text) {x}")),
            ("env", table("A", "$SOME_KEY")),
            ("pass", texts(&["SSH_AUTH_SOCK", "_x1"])),
            ("mcp_servers", table("docs", table("command", "mcp-docs"))),
            ("working_directory", "sub".into()),
            ("working_directory", table("root", "../other")),
            ("max_concurrent", 0.into()),
            ("timeout", "0".into()),
            ("handoff_at", 0.0.into()),
            ("workspace.keep", "24h".into()),
            ("workspace.keep", "until_closed".into()),
            ("workspace.on_push_failure", "warn".into()),
            ("workspace.on_dirty", "refuse".into()),
            ("workspace.commit_message", "fix: {summary}\n\nJob: {jobId}".into()),
            ("workspace.pr_body", "".into()),
            ("workspace.strategy", "static".into()),
            ("hooks.before_run", texts(&["make\n\tall"])),
        ] {
            assert_eq!(fault(key, &value), None, "{key} = {value}");
        }
    }

    #[test]
    fn wrong_values_are_refused_with_a_reason() {
        let long = "x".repeat(super::MAX_TEXT_BYTES + 1);
        for (key, value, message) in [
            (
                "runtime",
                "Claude".into(),
                "`Claude` is not a runtime's name such as `claude`: at most 20 lowercase letters",
            ),
            ("command", texts(&["-x"]), "`-x` is not a program"),
            ("command", texts(&["", "x"]), "`` is not a program"),
            ("command", texts(&["x", "a\0b"]), "`a\\0b` is too long, or has a NUL in it"),
            ("model", "--yolo".into(), "`--yolo` is not the name of a model"),
            ("model", "a b".into(), "`a b` is not the name of a model"),
            ("system_prompt", long.into(), "it is too long, or has a NUL in it"),
            ("permission_mode", "-x".into(), "`-x` is not the name of a permission mode"),
            ("permission_mode", "a b".into(), "`a b` is not the name of a permission mode"),
            ("allowed_tools", texts(&["Read", ""]), "`` is not a tool such as `Read` or `Bash(git log:*)`"),
            ("disallowed_tools", texts(&["--x"]), "`--x` is not a tool such as `Read` or `Bash(git log:*)`"),
            ("env", table("A-B", "x"), "`A-B` is not the name of a variable such as `GITHUB_TOKEN`"),
            ("env", table("A", 1), "the value of `A` is not a text"),
            ("env", table("A", "s3cret\0"), "the value of `A` is not a text"),
            (
                "pass",
                texts(&["A", "ANTHROPIC_*"]),
                "`ANTHROPIC_*` is not the name of a variable such as `GITHUB_TOKEN`",
            ),
            ("pass", texts(&["$A"]), "`$A` is not the name of a variable such as `GITHUB_TOKEN`"),
            ("mcp_servers", table("docs", "x"), "`docs` is not a table with `command` or `url`"),
            ("working_directory", table("auto_clone", true), "`auto_clone` needs a `url`"),
            ("max_concurrent", (-1).into(), "`-1` is not a number from `0` to `4294967295`"),
            ("max_attempts", 0.into(), "`0` is not a number from `1` to `4294967295`"),
            ("timeout", "1".into(), "`1` is not a span of time such as `30s`, `5m`, `6h` or `14d`"),
            ("handoff_at", 1.5.into(), "`1.5` is not a share from `0` to `1` in thousandths, such as `0.9`"),
            ("workspace.branch_pattern", "{agnt}".into(), "`{agnt}` is no placeholder: did you mean `{agent}`?"),
            ("workspace.commit_message", " ".into(), "it is empty, or has a NUL in it"),
            (
                "workspace.commit_message",
                "{titel}".into(),
                "`{titel}` is no placeholder: use one of `{summary}`, `{jobId}`, `{workItem}`",
            ),
            ("workspace.on_push_failure", "ask".into(), "`ask` is none of `retry`, `fail`, `warn`"),
            ("workspace.on_dirty", "stash".into(), "`stash` is none of `keep`, `refuse`, `commit`"),
            ("workspace.pr_title", "a\nb".into(), "`a\\nb` is not one line"),
            ("workspace.pr_body", "{close}".into(), "`{close}` is no placeholder: did you mean `{closes}`?"),
            (
                "workspace.keep",
                "forever".into(),
                "`forever` is none of `auto`, `until_delivered`, `until_closed`, nor a span of time such as `24h`",
            ),
            ("workspace.strategy", "clone".into(), "`clone` is none of `git_worktree`, `static`"),
            ("hooks.on_error", texts(&["a\u{202e}b"]), "`a\\u{202e}b` contains a control or invisible character"),
        ] {
            assert_eq!(fault(key, &value).as_deref(), Some(message), "{key} = {value}");
        }
    }
}
