//! Advice names commands with the global options of this one. Without them they would mean another home, account or
//! repository.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

use crate::cli::Global;
use crate::help;

const PROGRAM: &str = "spinney ";

static REPEATED: OnceLock<Repeated> = OnceLock::new();

#[derive(Debug)]
struct Repeated {
    /// Each option with its value, as a shell takes them.
    options: Vec<(&'static str, String)>,
    /// The names of our commands: what else follows our name is no command.
    commands: HashSet<String>,
}

/// Remembers what this command was given, for all that it says.
pub fn remember(global: &Global) {
    let path = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
    let given = [
        ("--home", global.home.as_ref().map(path)),
        ("--config", global.config.as_ref().map(path)),
        ("--account", global.account.as_ref().map(ToString::to_string)),
        ("--repo", global.repo.clone()),
    ];
    let options: Vec<_> = given.into_iter().filter_map(|(option, value)| Some((option, for_shell(&value?)))).collect();
    if !options.is_empty() {
        let grammar = help::grammar(false);
        let names = grammar.get_subcommands().flat_map(|command| {
            command.get_all_aliases().chain([command.get_name()]).map(str::to_owned).collect::<Vec<_>>()
        });
        // A second one in the same process, as in a test, would say the same.
        let _ = REPEATED.set(Repeated { options, commands: names.collect() });
    }
}

/// A text, with the options in every command that it names.
pub fn repeated(text: &str) -> Cow<'_, str> {
    REPEATED.get().map_or(Cow::Borrowed(text), |repeated| repeated.write_into(text))
}

impl Repeated {
    fn write_into<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut written = String::new();
        let mut done = 0;
        for (at, _) in text.match_indices(PROGRAM) {
            let begins =
                text[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || "`(".contains(before));
            let rest = &text[at + PROGRAM.len()..];
            let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default();
            if !begins || !self.commands.contains(name) {
                continue;
            }
            let ends = ["`", "\n", " && ", "     "].iter().filter_map(|mark| rest.find(mark)).min();
            let command = &rest[..ends.unwrap_or(rest.len())];
            written.push_str(&text[done..at + PROGRAM.len()]);
            done = at + PROGRAM.len();
            for (option, value) in &self.options {
                // The commands that list what an option names need it least where it names nothing.
                let lists_it = option.strip_prefix("--") == Some(name);
                if !lists_it && !command.split(' ').any(|word| word == *option) {
                    written.push_str(&format!("{option} {value} "));
                }
            }
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        written.push_str(&text[done..]);
        Cow::Owned(written)
    }
}

/// A word as a shell takes it.
fn for_shell(word: &str) -> String {
    let is_plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-/:@+=,".contains(c));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(options: &[(&'static str, &str)]) -> Repeated {
        Repeated {
            options: options.iter().map(|(option, value)| (*option, for_shell(value))).collect(),
            commands: ["rm", "ls", "restore", "new", "repo", "account"].map(str::to_owned).into(),
        }
    }

    #[test]
    fn every_command_has_the_options() {
        let repeated = given(&[("--account", "acme"), ("--repo", "a b")]);
        for (text, expected) in [
            ("undo: spinney restore x", "undo: spinney --account acme --repo 'a b' restore x"),
            (
                "`spinney ls` and `spinney rm x`",
                "`spinney --account acme --repo 'a b' ls` and `spinney --account acme --repo 'a b' rm x`",
            ),
            ("`spinney ls --repo c/d` shows", "`spinney --account acme ls --repo c/d` shows"),
            ("`spinney repo ls` shows", "`spinney --account acme repo ls` shows"),
            ("`spinney account add x`", "`spinney --repo 'a b' account add x`"),
            (
                "spinney rm x && spinney ls",
                "spinney --account acme --repo 'a b' rm x && spinney --account acme --repo 'a b' ls",
            ),
        ] {
            assert_eq!(repeated.write_into(text), expected);
        }
    }

    #[test]
    fn what_is_no_command_stays() {
        let repeated = given(&[("--account", "acme")]);
        for text in ["spinney is here", "a-spinney rm x", "/x/spinney ls", "`spinney --home x rm y`", "spinney"] {
            assert_eq!(repeated.write_into(text), text);
        }
    }
}
