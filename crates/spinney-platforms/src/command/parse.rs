//! What a text asks for, if it begins with a command. Text is data: nothing of it is run or looked up here.

/// Longer words name nothing.
const MAX_WORD_CHARS: usize = 250;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A workspace on a branch of this name; the conversation moves to it.
    Create {
        branch: String,
    },
    List,
    /// Without a name: the conversation's own.
    Remove {
        name: Option<String>,
        force: bool,
    },
    Orphans,
    CleanupMerged,
    CleanupStale,
    Restore {
        name: String,
    },
    Why {
        name: String,
    },
    Status,
    /// As a message without a command, whatever it begins with.
    Run {
        prompt: String,
    },
    Cancel,
    /// None: tells which one it is.
    Repo {
        name: Option<String>,
    },
    Help,
}

/// A command that is not written as it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Usage {
    #[error("There is no `{0}`")]
    Unknown(String),
    #[error("`{command}` needs {what}")]
    Missing { command: &'static str, what: &'static str },
    #[error("`{command}` does not take `{word}`")]
    TooMuch { command: &'static str, word: String },
}

/// Tells what command a text is; none where it is no command, but something to do. A command is alone in its message, on one
/// line, but for the prompt of `/run`.
#[must_use]
pub fn parse(text: &str) -> Option<Result<Command, Usage>> {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    if first == "/run" {
        let missing = Usage::Missing { command: "/run", what: "a prompt" };
        return Some(if rest.is_empty() { Err(missing) } else { Ok(Command::Run { prompt: rest.to_owned() }) });
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let command = match first {
        "/worktree" => worktree(&words),
        "/status" => alone("/status", Command::Status, &words),
        "/cancel" => alone("/cancel", Command::Cancel, &words),
        "/help" => alone("/help", Command::Help, &words),
        "/repo" => at_most_one("/repo", &words).map(|name| Command::Repo { name }),
        _ => return None,
    };
    Some(command)
}

fn worktree(words: &[&str]) -> Result<Command, Usage> {
    let Some((what, rest)) = words.split_first() else {
        return Err(Usage::Missing { command: "/worktree", what: "a subcommand: see `/help`" });
    };
    match *what {
        "create" => one("/worktree create", "a branch", rest).map(|branch| Command::Create { branch }),
        "list" => alone("/worktree list", Command::List, rest),
        "remove" => {
            // What a phone makes of two hyphens, too.
            let (flags, names): (Vec<_>, Vec<_>) = rest.iter().partition(|word| matches!(**word, "--force" | "—force"));
            let name = at_most_one("/worktree remove", &names)?;
            Ok(Command::Remove { name, force: !flags.is_empty() })
        }
        "orphans" => alone("/worktree orphans", Command::Orphans, rest),
        "cleanup" => match one("/worktree cleanup", "`merged` or `stale`", rest)?.as_str() {
            "merged" => Ok(Command::CleanupMerged),
            "stale" => Ok(Command::CleanupStale),
            other => Err(Usage::TooMuch { command: "/worktree cleanup", word: cut(other) }),
        },
        "restore" => one("/worktree restore", "a name", rest).map(|name| Command::Restore { name }),
        "why" => one("/worktree why", "a name", rest).map(|name| Command::Why { name }),
        other => Err(Usage::Unknown(format!("/worktree {}", cut(other)))),
    }
}

fn alone(command: &'static str, parsed: Command, words: &[&str]) -> Result<Command, Usage> {
    match words.first() {
        None => Ok(parsed),
        Some(word) => Err(Usage::TooMuch { command, word: cut(word) }),
    }
}

fn one(command: &'static str, what: &'static str, words: &[&str]) -> Result<String, Usage> {
    at_most_one(command, words)?.ok_or(Usage::Missing { command, what })
}

/// A word that begins like a flag is none: no name does.
fn at_most_one(command: &'static str, words: &[&str]) -> Result<Option<String>, Usage> {
    let too_much = |word: &str| Usage::TooMuch { command, word: cut(word) };
    match words {
        [] => Ok(None),
        [word] if word.starts_with(['-', '—']) || word.chars().count() > MAX_WORD_CHARS => Err(too_much(word)),
        [word] => Ok(Some((*word).to_owned())),
        [_, more, ..] => Err(too_much(more)),
    }
}

fn cut(word: &str) -> String {
    spinney_core::names::cut_for_message(word, 80)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Command {
        parse(text).expect("it is a command").expect("it is written well")
    }

    #[test]
    fn every_command_is_understood() {
        let name = |name: &str| Some(name.to_owned());
        for (text, command) in [
            ("/worktree create feature/x", Command::Create { branch: "feature/x".to_owned() }),
            ("  /worktree   list \n", Command::List),
            ("/worktree remove", Command::Remove { name: None, force: false }),
            ("/worktree remove --force", Command::Remove { name: None, force: true }),
            ("/worktree remove issue-42", Command::Remove { name: name("issue-42"), force: false }),
            ("/worktree remove issue-42 --force", Command::Remove { name: name("issue-42"), force: true }),
            ("/worktree remove —force issue-42", Command::Remove { name: name("issue-42"), force: true }),
            ("/worktree orphans", Command::Orphans),
            ("/worktree cleanup merged", Command::CleanupMerged),
            ("/worktree cleanup stale", Command::CleanupStale),
            ("/worktree restore issue-42", Command::Restore { name: "issue-42".to_owned() }),
            ("/worktree why issue-42", Command::Why { name: "issue-42".to_owned() }),
            ("/status", Command::Status),
            ("/cancel", Command::Cancel),
            ("/repo", Command::Repo { name: None }),
            ("/repo acme/app", Command::Repo { name: name("acme/app") }),
            ("/help", Command::Help),
            ("/run fix\nit --force", Command::Run { prompt: "fix\nit --force".to_owned() }),
        ] {
            assert_eq!(parsed(text), command, "{text}");
        }
    }

    #[test]
    fn what_is_no_command_is_something_to_do() {
        for text in
            ["", "fix it", "/", "//status", "/statuses", "/worktrees list", "see /status", "/etc/passwd", "/Status"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_wrong_says_how_it_is_right() {
        for (text, message) in [
            ("/worktree", "`/worktree` needs a subcommand: see `/help`"),
            ("/worktree destroy x", "There is no `/worktree destroy`"),
            ("/worktree create", "`/worktree create` needs a branch"),
            ("/worktree create a b", "`/worktree create` does not take `b`"),
            ("/worktree create --help", "`/worktree create` does not take `--help`"),
            ("/worktree cleanup", "`/worktree cleanup` needs `merged` or `stale`"),
            ("/worktree cleanup all", "`/worktree cleanup` does not take `all`"),
            ("/worktree remove a b", "`/worktree remove` does not take `b`"),
            ("/worktree remove --all", "`/worktree remove` does not take `--all`"),
            ("/status now", "`/status` does not take `now`"),
            ("/run", "`/run` needs a prompt"),
        ] {
            assert_eq!(parse(text).unwrap().unwrap_err().to_string(), message, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_breaks_it_and_no_flag_is_a_name(text in "(/worktree|/run|/repo|/x)?[ \t]*(create|remove|why)?[ ]*\\PC{0,300}") {
            match parse(&text) {
                Some(Ok(Command::Create { branch: name } | Command::Why { name } | Command::Restore { name })) => {
                    prop_assert!(!name.starts_with('-') && !name.contains(char::is_whitespace) && !name.is_empty());
                }
                Some(Err(usage)) => prop_assert!(usage.to_string().chars().count() < 300),
                _ => {}
            }
        }
    }
}
