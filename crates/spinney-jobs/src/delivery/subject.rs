//! What a commit or a pull request is called: the first sentence of prose of what an agent says, who writes Markdown.

use std::str::FromStr;

use spinney_core::config::{CommitPlaceholder, Template};
use spinney_core::names::cut_for_message;

use super::offer::TITLE_BYTES;

/// What ends with a dot and ends no sentence.
const SHORT_FORMS: [&str; 7] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "no.", "approx."];

/// The first sentence of prose of a text, cut to a title's length; the first line that says something where it has no prose.
pub(crate) fn subject(text: &str) -> String {
    let paragraphs = paragraphs(text);
    // What announces a list is no sentence of its own.
    let says = |paragraph: &&String| !paragraph.ends_with(':');
    let chosen = paragraphs.iter().find(says).or(paragraphs.first());
    let fallback = || {
        let mut lines = text.lines().map(str::trim).filter(|line| line.chars().any(char::is_alphanumeric));
        let first = lines.next().unwrap_or_default();
        if is_fence(first) { lines.next().unwrap_or(first) } else { first }
    };
    cut_for_message(chosen.map_or_else(fallback, |paragraph| first_sentence(paragraph)), TITLE_BYTES)
}

/// A commit's message by its template. Where the summary is in the first line, that has its first sentence, and all of it
/// follows.
pub(crate) fn commit_message(
    template: &Template<CommitPlaceholder>,
    summary: &str,
    value: impl Fn(CommitPlaceholder) -> String,
) -> String {
    let summary = summary.trim();
    let first = template.as_str().lines().next().unwrap_or_default();
    let is_subject =
        Template::<CommitPlaceholder>::from_str(first).is_ok_and(|first| first.uses(CommitPlaceholder::Summary));
    if !is_subject {
        return template.expand(|placeholder| match placeholder {
            CommitPlaceholder::Summary => summary.to_owned(),
            other => value(other),
        });
    }
    let sentence = subject(summary);
    let message = template.expand(|placeholder| match placeholder {
        CommitPlaceholder::Summary => sentence.clone(),
        other => value(other),
    });
    if summary.trim_end_matches('.') == sentence.trim_end_matches('.') {
        return message;
    }
    // Trailers stay at the end.
    match message.split_once('\n') {
        Some((first, rest)) => format!("{first}\n\n{summary}\n\n{}", rest.trim_start_matches('\n')),
        None => format!("{message}\n\n{summary}"),
    }
}

/// The paragraphs and items of a text in Markdown, each on one line, without headings, code, tables and marks.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = Vec::new();
    let mut open = String::new();
    let mut fence: Option<&str> = None;
    for line in text.lines().map(str::trim) {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (Some(opened), Some(mark)) if opened == mark => fence = None,
            (None, Some(mark)) => {
                fence = Some(mark);
                paragraphs.push(std::mem::take(&mut open));
            }
            _ => {}
        }
        if fence.is_some() || mark.is_some() {
            continue;
        }
        let line = without_quote(line);
        if is_rule(line) {
            // Under a line, it makes a heading of that.
            open.clear();
        } else if line.is_empty() || is_heading(line) || line.starts_with('|') || line.starts_with("<!--") {
            paragraphs.push(std::mem::take(&mut open));
        } else {
            let item = without_marker(line);
            if item.len() < line.len() {
                paragraphs.push(std::mem::take(&mut open));
            }
            if !open.is_empty() {
                open.push(' ');
            }
            open.push_str(&item.replace("**", ""));
        }
    }
    paragraphs.push(open);
    paragraphs.retain(|paragraph| paragraph.chars().any(char::is_alphanumeric));
    paragraphs
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

fn without_quote(line: &str) -> &str {
    line.strip_prefix('>').map_or(line, str::trim_start)
}

/// `# One`, or a line that is bold from end to end.
fn is_heading(line: &str) -> bool {
    let hashes = line.bytes().take_while(|byte| *byte == b'#').count();
    let is_hashed = (1..=6).contains(&hashes) && line[hashes..].chars().next().is_none_or(char::is_whitespace);
    let bold = line.strip_suffix(':').unwrap_or(line).strip_prefix("**").and_then(|line| line.strip_suffix("**"));
    let bold = bold.map(|text| text.strip_suffix(':').unwrap_or(text));
    is_hashed || bold.is_some_and(|text| !text.contains("**") && !text.ends_with(['.', '!', '?']))
}

fn is_rule(line: &str) -> bool {
    ['-', '=', '*', '_'].iter().any(|mark| line.len() >= 3 && line.chars().all(|c| c == *mark || c == ' '))
}

/// An item of a list as text.
fn without_marker(line: &str) -> &str {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = || {
        let rest = &line[digits..];
        (1..=3).contains(&digits).then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))).flatten()
    };
    let bulleted = ["- ", "* ", "+ ", "• "].iter().find_map(|mark| line.strip_prefix(mark));
    let Some(item) = bulleted.or_else(numbered).map(str::trim_start) else { return line };
    let boxes = ["[ ] ", "[x] ", "[X] "];
    boxes.iter().find_map(|mark| item.strip_prefix(mark)).unwrap_or(item).trim_start()
}

/// Up to what ends the first sentence, without its dot.
fn first_sentence(paragraph: &str) -> &str {
    let is_end = |(at, c): &(usize, char)| {
        let (before, behind) = (&paragraph[..at + c.len_utf8()], &paragraph[at + c.len_utf8()..]);
        match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
                let begins = behind.trim_start().chars().next();
                let is_short = SHORT_FORMS.contains(&word.trim_start_matches('('));
                behind.starts_with(char::is_whitespace) && !is_short && !begins.is_some_and(char::is_lowercase)
            }
            _ => false,
        }
    };
    let says = |(at, _): &(usize, char)| paragraph[..*at].chars().any(char::is_alphanumeric);
    let end = paragraph.char_indices().find(|found| is_end(found) && says(found));
    let end = end.map_or(paragraph.len(), |(at, c)| at + c.len_utf8());
    let sentence = &paragraph[..end];
    match sentence.strip_suffix('.') {
        Some(plain) if !plain.ends_with('.') => plain,
        _ => sentence,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_sentence_of_prose_is_the_subject() {
        for (text, expected) in [
            ("fix the login bug", "fix the login bug"),
            ("Fixed the login. Added a test.", "Fixed the login"),
            ("## Summary\n\nFixed the login.", "Fixed the login"),
            ("Summary\n=======\nFixed it", "Fixed it"),
            ("**Summary**\n\nFixed **the** login", "Fixed the login"),
            ("**What changed:**\n- [x] the `login` form", "the `login` form"),
            ("\n\n```rust\nlet x = 1;\n```\nI changed a number.", "I changed a number"),
            ("~~~\n```\n~~~\nafter", "after"),
            ("- Fixed the login.\n- Added a test.", "Fixed the login"),
            ("Here is what I did:\n\n1. Fixed the login\n2. Added a test", "Fixed the login"),
            ("Only this:", "Only this:"),
            ("> quoted words", "quoted words"),
            ("---\n| a | b |\n<!-- x -->\nprose", "prose"),
            ("It is wrapped\nover two lines. And more.", "It is wrapped over two lines"),
            (
                "Changed e.g. the login in v1.2 of app.rs to be safe. Done",
                "Changed e.g. the login in v1.2 of app.rs to be safe",
            ),
            ("Is it done? Yes.", "Is it done?"),
            ("Wait... then go", "Wait... then go"),
            ("修正しました。テストも。", "修正しました。"),
            ("#42 is fixed", "#42 is fixed"),
            ("2024 was long", "2024 was long"),
            ("# Only a heading", "# Only a heading"),
            ("```rust\nonly code\n```", "only code"),
            ("", ""),
            (" \n***\n", ""),
        ] {
            assert_eq!(subject(text), expected, "{text:?}");
        }
        let long = subject(&"word ".repeat(40));
        assert!(long.len() <= TITLE_BYTES + '…'.len_utf8() && long.starts_with("word word"), "{long}");
    }

    #[test]
    fn a_message_has_its_subject_and_then_everything() {
        let message = |template: &str, summary: &str| {
            let template = template.parse().unwrap();
            commit_message(&template, summary, |_| "J1".to_owned())
        };
        assert_eq!(message("agent: {summary}", " done.\n"), "agent: done");
        assert_eq!(
            message("agent: {summary}", "# Done\n\nIt works. Now."),
            "agent: It works\n\n# Done\n\nIt works. Now."
        );
        assert_eq!(message("{summary}\n\nJob: {jobId}", "One. Two."), "One\n\nOne. Two.\n\nJob: J1");
        assert_eq!(message("{summary}\n\nJob: {jobId}", "One"), "One\n\nJob: J1");
        assert_eq!(message("job {jobId}\n\n{summary}", "# A\n\nOne. Two."), "job J1\n\n# A\n\nOne. Two.");
    }

    proptest! {
        #[test]
        fn any_text_has_a_subject_of_one_line(text in "(?s)[-#*`~>|.:!? \\n0-9a-zA-Zäß。]{0,200}") {
            let subject = subject(&text);
            prop_assert!(!subject.contains('\n'));
            prop_assert_eq!(subject.is_empty(), !text.chars().any(char::is_alphanumeric));
        }
    }
}
