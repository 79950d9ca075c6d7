//! The MCP servers that an agent is given, by their names: each a program that it starts, or an address that it calls.
//!
//! Secrets never stand here: a value `"$NAME"`, in a header also after a word as `"Bearer $NAME"`, is that of a variable
//! of Spinney's own environment.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::agent::Variables;
use super::agent_values;
use super::api_url::host;
use super::nearest::Suggestion;
use crate::names::for_message;

/// More characters make names of tools that models' APIs refuse.
const MAX_NAME_BYTES: usize = 40;

/// The keys of a server that is a program, and of one that is an address.
const KEYS: [&str; 5] = ["command", "args", "env", "url", "headers"];

/// MCP servers by their names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct McpServers(BTreeMap<String, McpServerConfig>);

/// One MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum McpServerConfig {
    /// A program that the agent starts and talks to over its standard input and output.
    Program { command: String, args: Vec<String>, env: Variables },
    /// A server that it calls over HTTP.
    Address { url: String, headers: Headers },
}

/// HTTP headers with their values, which are not shown: people put keys there.
#[derive(Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Headers(BTreeMap<String, String>);

impl McpServers {
    /// Names and servers, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &McpServerConfig)> {
        self.0.iter().map(|(name, server)| (name.as_str(), server))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Headers {
    /// Names and values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl<'de> Deserialize<'de> for McpServers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(deserializer)?;
        let server = |(name, value): (String, toml::Value)| match server(&name, value) {
            Ok(server) => Ok((name, server)),
            Err(fault) => Err(D::Error::custom(fault)),
        };
        table.into_iter().map(server).collect::<Result<_, _>>().map(Self)
    }
}

/// Reads one server; an error is a fragment, as in [`super::values`].
fn server(name: &str, value: toml::Value) -> Result<McpServerConfig, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(plain) || name.contains("__") {
        let most = MAX_NAME_BYTES;
        let name = for_message(name);
        return Err(format!("`{name}` is not a server's name: at most {most} letters, digits, `-` and single `_`"));
    }
    let toml::Value::Table(mut table) = value else {
        return Err(format!("`{name}` is not a table with `command` or `url`"));
    };
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let suggestion = Suggestion::new(key, KEYS.into_iter());
        return Err(format!("`{name}` has an unknown key `{}`: {suggestion}", for_message(key)));
    }
    let fault = |key: &str, error: &toml::de::Error| format!("`{name}.{key}`: {}", error.message().trim());
    let misplaced = |table: &toml::Table, keys: [&'static str; 2], other: &str| {
        let key = keys.into_iter().find(|key| table.contains_key(*key));
        key.map_or(Ok(()), |key| Err(format!("`{name}` has `{key}`, which goes with `{other}`")))
    };
    match (table.remove("command"), table.remove("url")) {
        (Some(command), None) => {
            misplaced(&table, ["headers", "url"], "url")?;
            Ok(McpServerConfig::Program {
                command: program(name, &command)?,
                args: value_of(&mut table, "args", agent_values::arguments).map_err(|e| fault("args", &e))?,
                env: value_of(&mut table, "env", Variables::deserialize).map_err(|error| fault("env", &error))?,
            })
        }
        (None, Some(url)) => {
            misplaced(&table, ["args", "env"], "command")?;
            let headers =
                value_of(&mut table, "headers", toml::Table::deserialize).map_err(|e| fault("headers", &e))?;
            Ok(McpServerConfig::Address { url: address(name, &url)?, headers: self::headers(name, headers)? })
        }
        _ => Err(format!("`{name}` needs either `command` or `url`")),
    }
}

/// What a key holds; empty where it is not there.
fn value_of<T: Default>(
    table: &mut toml::Table,
    key: &str,
    read: impl FnOnce(toml::Value) -> Result<T, toml::de::Error>,
) -> Result<T, toml::de::Error> {
    table.remove(key).map_or_else(|| Ok(T::default()), read)
}

/// A program's name or absolute path: what a relative one means, the repository would decide.
fn program(name: &str, value: &toml::Value) -> Result<String, String> {
    let text = value.as_str().unwrap_or_default();
    let is_plain = !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_control);
    if is_plain && (text.starts_with('/') || !text.contains('/')) {
        return Ok(text.to_owned());
    }
    Err(format!("`{name}.command` is not the name of a program or an absolute path; its arguments are `args`"))
}

/// An address without a user; it is not repeated, what is wrong with it may be the secret in it.
fn address(name: &str, value: &toml::Value) -> Result<String, String> {
    let text = value.as_str().unwrap_or_default();
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let authority = rest.map(|rest| rest.split(['/', '?']).next().unwrap_or_default());
    let is_plain = text.chars().all(|c| c.is_ascii_graphic() && !"#\\\"<>`{}|^".contains(c));
    if authority.is_some_and(|authority| authority.contains('@')) {
        return Err(format!(
            "`{name}.url` has a user or password in it: `headers` can name the variable that holds it"
        ));
    }
    if is_plain && authority.and_then(host).is_some() {
        return Ok(text.to_owned());
    }
    Err(format!("`{name}.url` is not a URL of the form `https://host/path`"))
}

fn headers(name: &str, table: toml::Table) -> Result<Headers, String> {
    let header = |(header, value): (String, toml::Value)| {
        let is_name = !header.is_empty() && header.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        if !is_name {
            return Err(format!("`{name}.headers` has `{}`, which is not a header's name", for_message(&header)));
        }
        match value {
            toml::Value::String(text) if !text.contains(char::is_control) => Ok((header, text)),
            _ => Err(format!("the value of `{name}.headers.{header}` is not a text on one line")),
        }
    };
    table.into_iter().map(header).collect::<Result<_, _>>().map(Headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<McpServers, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let text = "docs = { command = 'mcp-docs', args = ['-x', '--root'], env = { KEY = '$DOCS_KEY' } }\n\
            [search-1]\nurl = 'https://search.example/mcp?v=1'\nheaders = { Authorization = 'Bearer s3cret' }\n";
        let servers = read(text).unwrap();
        let names: Vec<_> = servers.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["docs", "search-1"]);
        let McpServerConfig::Program { command, args, env } = servers.iter().next().unwrap().1 else { panic!() };
        assert_eq!((command.as_str(), args.len()), ("mcp-docs", 2));
        assert_eq!(env.iter().collect::<Vec<_>>(), [("KEY", "$DOCS_KEY")]);
        assert!(!format!("{servers:?}").contains("s3cret"));
        let again = toml::from_str::<McpServers>(&toml::to_string(&servers).unwrap()).unwrap();
        assert_eq!(again, servers);
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn what_is_neither_is_refused_with_a_reason() {
        for (text, message) in [
            ("a = 'x'", "`a` is not a table with `command` or `url`"),
            ("a = {}", "`a` needs either `command` or `url`"),
            ("a = { command = 'x', url = 'https://h' }", "`a` needs either `command` or `url`"),
            ("a = { comand = 'x' }", "`a` has an unknown key `comand`: did you mean `command`?"),
            ("a = { command = 'x', headers = {} }", "`a` has `headers`, which goes with `url`"),
            ("a = { url = 'https://h', env = {} }", "`a` has `env`, which goes with `command`"),
            (
                "a = { command = './x' }",
                "`a.command` is not the name of a program or an absolute path; its arguments are `args`",
            ),
            ("a = { command = 'x', env = { A = 1 } }", "`a.env`: the value of `A` is not a text"),
            ("a = { url = 'ftp://h' }", "`a.url` is not a URL of the form `https://host/path`"),
            (
                "a = { url = 'https://u:s3cret@h/' }",
                "`a.url` has a user or password in it: `headers` can name the variable that holds it",
            ),
            (
                "a = { url = 'https://h', headers = { 'A B' = '' } }",
                "`a.headers` has `A B`, which is not a header's name",
            ),
            ("a = { url = 'https://h', headers = { A = 1 } }", "the value of `a.headers.A` is not a text on one line"),
            ("a__b = {}", "`a__b` is not a server's name: at most 40 letters, digits, `-` and single `_`"),
            ("'a.b' = {}", "`a.b` is not a server's name: at most 40 letters, digits, `-` and single `_`"),
        ] {
            assert_eq!(read(text).unwrap_err(), message, "{text}");
        }
    }
}
