//! `cargo xtask strings`: every text that people can see, in one file. `cargo xtask spell`: none of them is misspelt.
//!
//! The texts are read from the sources: string literals that are a sentence or part of one, what the commands' help is made
//! of, templates of pages, and the documents. Tests are left out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// Wrong spellings, each with the right one.
const MISSPELLINGS: &str = include_str!("misspellings.txt");

/// One text, where it is.
#[derive(Debug, PartialEq, Eq)]
struct Text {
    file: PathBuf,
    line: usize,
    text: String,
}

/// Prints every text, or writes it to a file.
pub fn print(file: Option<&str>) -> Result<ExitCode> {
    let texts = load()?;
    let lines: String =
        texts.iter().map(|text| format!("{}:{}: {}\n", text.file.display(), text.line, text.text)).collect();
    match file {
        Some(file) => {
            fs::write(file, lines).with_context(|| format!("can't write {file}"))?;
            eprintln!("{} texts in {file}", texts.len());
        }
        None => print!("{lines}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Looks for misspelt words in every text.
pub fn spell() -> Result<ExitCode> {
    let pairs: Vec<(&str, &str)> = MISSPELLINGS.lines().filter_map(|line| line.split_once(' ')).collect();
    let mut wrong = 0;
    for Text { file, line, text } in load()? {
        for word in text.split(|c: char| !c.is_alphabetic()).map(str::to_lowercase) {
            if let Some((_, right)) = pairs.iter().find(|(misspelt, _)| *misspelt == word) {
                eprintln!("{}:{line}: `{word}`: write `{right}`", file.display());
                wrong += 1;
            }
        }
    }
    if wrong > 0 {
        bail!("{wrong} misspelt words; `xtask/src/misspellings.txt` has the list");
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the texts of all files that git knows.
fn load() -> Result<Vec<Text>> {
    let listed = Command::new("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]).output()?;
    let listed = String::from_utf8(listed.stdout).context("a path is not text")?;
    let mut texts = Vec::new();
    for name in listed.lines() {
        let file = Path::new(name);
        let Ok(content) = fs::read_to_string(file) else { continue };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("rs") if name.starts_with("crates/") && is_product(name) => of_rust(file, &content, &mut texts),
            Some("md" | "html") if !name.contains("/tests/") => of_lines(file, &content, &mut texts),
            Some("toml") if name.contains("/config/") => of_lines(file, &content, &mut texts),
            _ => {}
        }
    }
    Ok(texts)
}

/// Whether a source is part of what people run.
fn is_product(name: &str) -> bool {
    name.contains("/src/") && !name.contains("spinney-testkit") && !name.ends_with("/tests.rs")
}

fn of_lines(file: &Path, content: &str, texts: &mut Vec<Text>) {
    for (index, line) in content.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        texts.push(Text { file: file.to_owned(), line: index + 1, text: line.trim().to_owned() });
    }
}

/// The literals of a source that are words, and its doc comments where they are help.
fn of_rust(file: &Path, content: &str, texts: &mut Vec<Text>) {
    let product = content.split("#[cfg(test)]\nmod tests").next().unwrap_or(content);
    let is_help = file.starts_with("crates/spinney/src");
    for (index, line) in product.lines().enumerate() {
        let Some(text) = line.trim().strip_prefix("/// ").filter(|_| is_help) else { continue };
        texts.push(Text { file: file.to_owned(), line: index + 1, text: text.to_owned() });
    }
    for (line, text) in literals(product) {
        if is_prose(&text) {
            texts.push(Text { file: file.to_owned(), line, text });
        }
    }
}

/// The string literals of a source with their lines; escapes are left as they are, but for line breaks.
fn literals(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => line += 1,
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|c| *c != '\n').is_some() {},
            '\'' => {
                // A character, which can be a quote; a lifetime has no quote after it.
                let mut ahead = rest.clone();
                let is_escape = ahead.next() == Some('\\');
                if is_escape || ahead.next() == Some('\'') {
                    rest.next();
                    rest.next();
                    while is_escape && rest.next_if(|c| *c != '\'').is_some() {}
                    rest.next_if_eq(&'\'');
                }
            }
            '"' => {
                let start = line;
                let mut text = String::new();
                while let Some(c) = rest.next_if(|c| *c != '"') {
                    line += usize::from(c == '\n');
                    if c != '\\' {
                        text.push(c);
                        continue;
                    }
                    match rest.next() {
                        Some('\n') => {
                            line += 1;
                            while rest.next_if(|c| c.is_whitespace()).is_some() {}
                        }
                        Some('n') => text.push(' '),
                        Some(c) => text.push(c),
                        None => {}
                    }
                }
                rest.next();
                found.push((start, text));
            }
            _ => {}
        }
    }
    found
}

/// Whether a literal reads as words: at least two, most of them of letters.
fn is_prose(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let plain = words.iter().filter(|word| word.chars().all(|c| c.is_alphabetic() || "'`,.:;()-".contains(c))).count();
    let is_query =
        ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WHERE ", "JOIN "].iter().any(|verb| text.contains(verb));
    words.len() >= 2 && plain * 2 >= words.len() && !is_query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_told_from_characters_comments_and_lifetimes() {
        let source = "fn f<'a>(x: &'a str) { // \"not this\"\n let q = '\"'; let n = '\\n';\n say(\"one \\\"two\\\" \\\n   three\") }\n";
        assert_eq!(literals(source), [(3, "one \"two\" three".to_owned())]);
    }

    #[test]
    fn prose_is_words() {
        assert!(is_prose("no workspace is called `{}`"));
        assert!(!is_prose("SELECT id FROM works"));
        assert!(!is_prose("refs/heads/"));
    }

    #[test]
    fn the_list_has_a_right_spelling_for_each() {
        assert!(MISSPELLINGS.lines().all(|line| line.split_once(' ').is_some_and(|(wrong, right)| wrong != right)));
    }
}
