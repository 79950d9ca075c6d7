//! What a prompt tells the model to do.

use serde_json::Value;

/// Marks the answer to a prompt that asks for a hand-off note.
pub(super) const NOTE: &str = "STUB-NOTE:";
const MARK: &str = "STUB:";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Instruction {
    Do(Action),
    Say(String),
    Usage(u64),
    Fail(u16),
    FailOnce(u16),
    Note(String),
}

/// What the agent is asked to do by a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Write {
        path: String,
        text: String,
    },
    Run(String),
    /// Any tool, with its input as JSON.
    Call {
        tool: String,
        input: Value,
    },
}

impl Action {
    /// The same as a shell's command, for agents that have nothing else to write with.
    pub fn command(&self) -> String {
        match self {
            Self::Run(command) => command.clone(),
            Self::Call { tool, .. } => format!("echo {} is no shell command >&2; false", quoted(tool)),
            Self::Write { path, text } => format!("printf '%s\\n' {} > {}", quoted(text), quoted(path)),
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The instructions of a prompt, in order. One that makes no sense is said back, so that a test sees it.
pub(super) fn parse(prompt: &str) -> Vec<Instruction> {
    let prompt = prompt.rsplit(NOTE).next().unwrap_or_default();
    prompt
        .lines()
        .filter_map(|line| line.split_once(MARK))
        .map(|(before, words)| one(unquoted(before, words)))
        .collect()
}

/// opencode puts a prompt with spaces in quotes.
fn unquoted<'a>(before: &str, words: &'a str) -> &'a str {
    let words = words.trim_end();
    if before.ends_with('"') { words.strip_suffix('"').unwrap_or(words) } else { words }
}

fn one(words: &str) -> Instruction {
    let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
    let unknown = || Instruction::Say(format!("no such instruction: {words}"));
    match verb {
        "WRITE" => match rest.split_once(' ') {
            Some((path, text)) => Instruction::Do(Action::Write { path: path.to_owned(), text: text.to_owned() }),
            None => unknown(),
        },
        "CALL" => match rest.split_once(' ').map(|(tool, input)| (tool, serde_json::from_str(input))) {
            Some((tool, Ok(input))) => Instruction::Do(Action::Call { tool: tool.to_owned(), input }),
            _ => unknown(),
        },
        "BASH" => Instruction::Do(Action::Run(rest.to_owned())),
        "DENIED" => Instruction::Do(Action::Run("git commit --allow-empty --message denied".to_owned())),
        "SAY" => Instruction::Say(rest.to_owned()),
        "USAGE" => rest.parse().map_or_else(|_| unknown(), Instruction::Usage),
        "FAIL" => rest.parse().map_or_else(|_| unknown(), Instruction::Fail),
        "FAILONCE" => rest.parse().map_or_else(|_| unknown(), Instruction::FailOnce),
        "NOTE" => Instruction::Note(rest.to_owned()),
        _ => unknown(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_read_line_by_line() {
        let write = |path: &str, text: &str| Instruction::Do(Action::Write { path: path.into(), text: text.into() });
        let prompt =
            "Please:\nSTUB:WRITE a.txt one two\n> STUB:SAY hello\nSTUB:USAGE 5\nSTUB:FAIL 500\nSTUB:NOTE STUB:SAY x";
        let expected = [
            write("a.txt", "one two"),
            Instruction::Say("hello".into()),
            Instruction::Usage(5),
            Instruction::Fail(500),
            Instruction::Note("STUB:SAY x".into()),
        ];
        assert_eq!(parse(prompt), expected);
        assert_eq!(parse("\"STUB:WRITE a.txt x\"\n"), [write("a.txt", "x")]);
        assert_eq!(parse("nothing"), []);
    }

    #[test]
    fn only_what_follows_a_note_is_done() {
        assert_eq!(parse("STUB:SAY a\nSTUB-NOTE: STUB:SAY b\n"), [Instruction::Say("b".into())]);
    }

    #[test]
    fn nonsense_is_said_back() {
        for words in ["DANCE", "WRITE a.txt", "FAIL soon"] {
            assert_eq!(parse(&format!("STUB:{words}")), [Instruction::Say(format!("no such instruction: {words}"))]);
        }
    }

    #[test]
    fn a_write_is_a_command_too() {
        let write = Action::Write { path: "a b".into(), text: "it's".into() };
        assert_eq!(write.command(), r"printf '%s\n' 'it'\''s' > 'a b'");
    }
}
