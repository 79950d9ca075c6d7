//! This crate tells facts (`told/`) and writes no sentence for people: checked on the sources.

use std::fs;
use std::path::{Path, PathBuf};

/// Files that have sentences, and why those are not for whoever follows a job.
const FILES: [(&str, &str); 3] = [
    ("agent/mod.rs", "faults of the configuration"),
    ("error.rs", "what errors say, and what helps"),
    ("runner/prompt.rs", "what an agent is asked"),
];
/// What a sentence may be given to, and why.
const CALLS: [(&str, &str); 8] = [
    ("#[error", "what an error says"),
    ("tracing::error!", "a line for the operator"),
    ("tracing::warn!", "a line for the operator"),
    ("expect", "what must not happen"),
    ("expect_patience", "what must not happen"),
    ("contains", "what another program says"),
    ("has_no", "a fault of the configuration"),
    ("unsupported", "a fault of the configuration"),
];
/// How a command to type begins.
const COMMAND: &str = "npm install -g ";
/// A literal with so many words is a sentence.
const WORDS: usize = 3;

/// The sentences of a source that are given to none of the calls. Its tests are left out.
fn sentences(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let (mut found, mut calls, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(next) = code[at..].chars().next() {
        let rest = &code[at..];
        at += match next {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            // A character, which may be a quotation mark or a parenthesis.
            '\'' if rest.chars().nth(2) == Some('\'') => rest.chars().take(3).map(char::len_utf8).sum(),
            '(' => {
                calls.push(callee(&code[..at]));
                1
            }
            ')' => {
                calls.pop();
                1
            }
            '"' => {
                let is_raw = code[..at].ends_with('#');
                let length = if is_raw { rest.find("\"#").unwrap_or(rest.len()) } else { length(rest) };
                let literal = &rest[1..length];
                let is_sentence = words(literal) >= WORDS && !literal.starts_with(COMMAND);
                if is_sentence && !calls.iter().any(|call| CALLS.iter().any(|(name, _)| name == call)) {
                    found.push(literal.to_owned());
                }
                length + 1
            }
            other => other.len_utf8(),
        };
    }
    found
}

/// Where a literal ends that begins here.
fn length(rest: &str) -> usize {
    let mut is_escaped = true;
    for (at, character) in rest.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    rest.len()
}

/// The words before a parenthesis.
fn callee(before: &str) -> &str {
    let is_part = |character: char| character.is_alphanumeric() || "_:!#[".contains(character);
    let name = &before[before.trim_end_matches(is_part).len()..];
    if name.starts_with("tracing::") || name.starts_with('#') { name } else { name.rsplit("::").next().unwrap_or(name) }
}

/// How many words a literal has, without what is put in.
fn words(literal: &str) -> usize {
    let mut is_put_in = false;
    let mut is_own = |character: char| {
        is_put_in = (is_put_in || character == '{') && character != '}';
        !is_put_in && character != '}'
    };
    let own: String = literal.replace("\\n", " ").chars().filter(|character| is_own(*character)).collect();
    own.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count()
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn nothing_here_is_written_for_people() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut told = Vec::new();
    let mut exempt = 0;
    for file in &files {
        let name = file.strip_prefix(&root).unwrap().to_str().unwrap();
        if FILES.iter().any(|(exempt, _)| *exempt == name) {
            exempt += 1;
            continue;
        }
        let found = sentences(&fs::read_to_string(file).unwrap());
        told.extend(found.into_iter().map(|sentence| format!("{name}: {sentence:?}")));
    }
    assert_eq!(exempt, FILES.len(), "the sources are not where they were");
    assert!(told.is_empty(), "tell the facts in `told/`, and let the app say them:\n{}", told.join("\n"));
}

#[test]
fn a_sentence_is_seen() {
    let of = |text: &str| sentences(text).len();
    assert_eq!(of("End::failed(format!(\"it took {} too long\", time))"), 1);
    assert_eq!(of("self.warn(\n    \"one\\\n     two three\",\n)"), 1);
    assert_eq!(of("let text = r#\"it says \"no\" to you\"#; f(\"its own time\")"), 2);
    assert_eq!(of("let c = '\"'; f(\"its own time\")"), 1);
    assert_eq!(of("x.contains('('); f(\"its own time\")"), 1);
    assert_eq!(of("f(x).expect(\"that is so\"); g(\"that is so\")"), 1);
    assert_eq!(of("tracing::warn!(%error, \"that is so\")"), 0);
    assert_eq!(of("#[error(\"that `{is}` so\", f(.is))]"), 0);
    assert_eq!(of("unsupported(self, key, &format!(\"has no {what}: that is so\"))"), 0);
    assert_eq!(of("// f(\"that is so\")\nformat!(\"file {node} {}\", path); f(\"a\", \"b\", \"c\")"), 0);
    assert_eq!(of("#[cfg(test)]\nmod tests { f(\"that is so\") }"), 0);
}
