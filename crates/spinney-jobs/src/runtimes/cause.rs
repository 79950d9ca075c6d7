//! What a program itself names as the cause of its failure, found among all that it printed. A warning of a library, a
//! stack or a hint often comes after it.

use serde_json::{Deserializer, Value};

use super::json::object_text;
use crate::plain::plain;

/// How long a cause may be, in characters.
const CHARACTERS: usize = 1000;

/// How many words at the beginning of a line may stand before the one that calls it an error: a time, a module.
const WORDS_BEFORE: usize = 5;

/// Words that call a line an error, without what stands around them.
const LABELS: [&str; 6] = ["error", "fatal", "panic", "critical", "exception", "uncaught"];

/// Beginnings of lines that say nothing about the cause: frames of stacks, and hints that follow an error.
const NOISE: [&str; 13] = [
    "at ",
    "file \"",
    "node.js v",
    "(node:",
    "(use `node ",
    "note: ",
    "hint: ",
    "help: ",
    "usage: ",
    "for more ",
    "goroutine ",
    "traceback (",
    "stack backtrace",
];

/// The cause that a standard error tells; none where it says nothing.
pub(super) fn cause(stderr: &str) -> Option<String> {
    let lines: Vec<_> = stderr.lines().map(plain).collect();
    let lines: Vec<&str> = lines.iter().map(AsRef::as_ref).collect();
    let told = object(&lines).or_else(|| labelled(&lines)).or_else(|| last(&lines));
    told.map(|text| line(&text)).filter(|line| !line.is_empty())
}

/// A text on one line, with an end.
pub(super) fn line(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(CHARACTERS) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Whether a line calls itself an error. One of JSON is no such line, whatever it has in it.
pub(super) fn is_error(line: &str) -> bool {
    !line.starts_with('{') && !is_noise(line) && line.split_whitespace().take(WORDS_BEFORE).any(is_label)
}

/// The message of the last JSON object that is an error, on one line or on several.
fn object(lines: &[&str]) -> Option<String> {
    (0..lines.len()).rev().filter(|first| lines[*first].starts_with('{')).find_map(|first| {
        let text = lines[first..].join("\n");
        let value = Deserializer::from_str(&text).into_iter::<Value>().next()?.ok()?;
        let is_error = value["error"].is_object() || value["error"].is_string();
        let level = object_text(&value, &["level", "severity"]).unwrap_or_default();
        let message = object_text(&value["error"], &["message", "details"])
            .or_else(|| value["error"].as_str().map(ToOwned::to_owned))
            .or_else(|| object_text(&value, &["message", "msg"]));
        message.filter(|_| is_error || LABELS.contains(&level.to_lowercase().as_str()))
    })
}

/// The last line that calls itself an error; where that is all that it says, with the next.
fn labelled(lines: &[&str]) -> Option<String> {
    let index = lines.iter().rposition(|line| is_error(line))?;
    let line = lines[index].trim();
    // A panic of Rust says where it was, and on the next line what.
    let is_whole = !line.ends_with(':');
    let next = lines.get(index + 1).map(|next| next.trim()).filter(|next| !is_whole && !is_noise(next));
    Some(next.map_or_else(|| line.to_owned(), |next| format!("{line} {next}")))
}

/// The last line that is no noise; else the last line.
fn last(lines: &[&str]) -> Option<String> {
    let says = |line: &&&str| !line.trim().is_empty();
    let telling = lines.iter().filter(says).rfind(|line| !is_noise(line));
    telling.or_else(|| lines.iter().rfind(says)).map(|line| line.trim().to_owned())
}

fn is_noise(line: &str) -> bool {
    let line = line.trim().to_lowercase();
    let is_mark = !line.is_empty() && line.chars().all(|c| "{}[]()^~-=|,; ".contains(c));
    is_mark || line.contains("warning") || NOISE.iter().any(|beginning| line.starts_with(beginning))
}

/// Whether a word such as `error:`, `[ERROR]`, `TypeError:` or `panicked` calls its line an error.
fn is_label(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    let label = bare.to_lowercase();
    let is_named = word.ends_with(':') && (label.ends_with("error") || label.ends_with("exception"));
    // In the middle of a sentence it is a word like any other.
    let is_marked = word.ends_with(':') || word.starts_with('[') || (bare.len() > 1 && bare == bare.to_uppercase());
    is_named || label == "panicked" || (is_marked && LABELS.contains(&label.as_str())) || bare == "Uncaught"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_cause(stderr: &str, expected: &str) {
        assert_eq!(cause(stderr).as_deref(), Some(expected), "{stderr}");
    }

    #[test]
    fn a_line_that_says_error_is_the_cause_whatever_comes_after() {
        assert_cause(
            "starting\nError: no API key\n(node:7) [DEP0040] DeprecationWarning: punycode\n",
            "Error: no API key",
        );
        assert_cause(
            "error: unexpected argument `--x`\n\nUsage: agent [OPTIONS]\n\nFor more information, try '--help'.",
            "error: unexpected argument `--x`",
        );
        assert_cause("fatal: not a git repository\nhint: run git init", "fatal: not a git repository");
        assert_cause(
            "2026-01-02T03:04:05Z ERROR agent::api: no route\nbye",
            "2026-01-02T03:04:05Z ERROR agent::api: no route",
        );
        assert_cause("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found\nbye", "Error: Session not found");
        assert_cause("[ERROR] out of credit\nshutting down", "[ERROR] out of credit");
    }

    #[test]
    fn a_stack_is_not_the_cause() {
        let node = "/a/b.js:10\n    throw new TypeError(\"x\");\n    ^\n\nTypeError: x is not a function\n    at Object.<anonymous> (/a/b.js:10:9)\n    at node:internal/main:1:2 {\n  code: 'E'\n}\n\nNode.js v20.20.2\n";
        assert_cause(node, "TypeError: x is not a function");
        let python = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\nValueError: bad\nsys:1: ResourceWarning: unclosed file\n";
        assert_cause(python, "ValueError: bad");
        let rust = "thread 'main' panicked at src/main.rs:2:5:\nno such model\nnote: run with `RUST_BACKTRACE=1`\n";
        assert_cause(rust, "thread 'main' panicked at src/main.rs:2:5: no such model");
        assert_cause("panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:3\n", "panic: boom");
    }

    #[test]
    fn an_error_in_json_is_told_by_its_message() {
        assert_cause(
            "{\n  \"error\": {\n    \"type\": \"Error\",\n    \"message\": \"set an auth method\",\n    \"code\": 41\n  }\n}\n",
            "set an auth method",
        );
        assert_cause("{\"level\":\"error\",\"msg\":\"no key\"}\n{\"level\":\"info\",\"msg\":\"bye\"}", "no key");
        assert_cause("{\"error\":\"denied\"}\nbye", "denied");
    }

    #[test]
    fn otherwise_it_is_the_last_line_that_says_something() {
        assert_cause("one\nno such file\n\n", "no such file");
        assert_cause(
            "agent: line 3: foo: command not found\n(node:7) Warning: old",
            "agent: line 3: foo: command not found",
        );
        assert_cause("(node:7) Warning: old\n", "(node:7) Warning: old");
        assert_cause("there was no error here\nI give up", "I give up");
        assert_eq!(cause(" \n\n"), None);
    }
}
