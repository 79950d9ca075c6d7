//! A message in GitHub's Markdown, in as many comments as it takes.

use super::escape::{escape, short};
use super::parse::is_hidden;
use super::prose;
use crate::{Message, Span};

/// A name, or a command: what is longer is cut.
const LONGEST_CODE: usize = 1_000;
const CHUNK: usize = 4_000;
/// More comments than these say nothing more.
const MOST_PARTS: usize = 5;

/// A piece of a comment that is not split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub text: String,
    /// The fence that is open where it begins: where a comment ends before it, the fence goes on in the next.
    pub inside: Option<Fence>,
}

/// What stands before and behind a block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence {
    pub open: String,
    pub close: String,
    /// Within a list or a quote, whose end is its end, too.
    pub is_nested: bool,
}

impl Piece {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), inside: None }
    }
}

impl Fence {
    /// One that nothing in the text can close.
    fn around(text: &str) -> Self {
        let fence = "`".repeat(longest_run(text).max(2) + 1);
        Self { open: fence.clone(), close: fence, is_nested: false }
    }

    /// Reads the line that opens a block, whatever it is indented by.
    pub fn read(line: &str, is_nested: bool) -> Option<Self> {
        let open = line.trim();
        let mark = open.chars().next().filter(|c| "`~".contains(*c))?;
        let close: String = open.chars().take_while(|c| *c == mark).collect();
        Some(Self { open: open.to_owned(), close, is_nested })
    }

    pub fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.starts_with(&self.close) && line.chars().all(|c| self.close.starts_with(c))
    }
}

/// The comments that a message makes, each of at most so many characters. An empty message makes an empty one.
pub(super) fn render(message: &Message, longest: usize) -> Vec<String> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut line = String::new();
    for span in &message.0 {
        match span {
            Span::Plain(text) => plain(&mut pieces, &mut line, text),
            Span::Strong(text) => {
                line.push_str("**");
                escape(&mut line, short(text, LONGEST_CODE).trim());
                line.push_str("**");
            }
            Span::Code(text) => line.push_str(&code(text)),
            Span::Link { text, url } => link(&mut line, text, url),
            Span::Break => {
                line.push('\n');
                flush(&mut pieces, &mut line);
            }
            Span::Block(text) => {
                new_paragraph(&mut pieces, &mut line);
                pieces.extend(block(text));
            }
            Span::Prose(text) => {
                new_paragraph(&mut pieces, &mut line);
                pieces.extend(prose::pieces(text));
                pieces.push(Piece::new("\n\n"));
            }
        }
        if line.len() > CHUNK {
            flush(&mut pieces, &mut line);
        }
    }
    flush(&mut pieces, &mut line);
    split(pieces, longest)
}

fn flush(pieces: &mut Vec<Piece>, line: &mut String) {
    if !line.is_empty() {
        pieces.push(Piece::new(std::mem::take(line)));
    }
}

/// Plain text, line by line; a long one may be split.
fn plain(pieces: &mut Vec<Piece>, line: &mut String, text: &str) {
    for part in text.split_inclusive('\n') {
        let chars: Vec<char> = part.chars().collect();
        for chunk in chars.chunks(CHUNK) {
            escape(line, &chunk.iter().collect::<String>());
            if chars.len() > CHUNK {
                flush(pieces, line);
            }
        }
        if part.ends_with('\n') {
            flush(pieces, line);
        }
    }
}

fn new_paragraph(pieces: &mut Vec<Piece>, line: &mut String) {
    flush(pieces, line);
    if pieces.last().is_some_and(|last| !last.text.ends_with("\n\n")) {
        pieces.push(Piece::new("\n\n"));
    }
}

fn code(text: &str) -> String {
    let text = short(text, LONGEST_CODE);
    if text.trim().is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let space = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

fn link(line: &mut String, text: &str, url: &str) {
    let text = short(text, LONGEST_CODE);
    let is_address = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme))
        && url.len() <= LONGEST_CODE
        && !url.contains(|c: char| c.is_whitespace() || is_hidden(c));
    if !is_address {
        return escape(line, &text);
    }
    line.push('[');
    escape(line, &text);
    let url = url.replace('\\', "%5C").replace('<', "%3C").replace('>', "%3E");
    line.push_str(&format!("](<{url}>)"));
}

fn block(text: &str) -> Vec<Piece> {
    let text: String = text.chars().filter(|c| *c == '\n' || *c == '\t' || !is_hidden(*c)).collect();
    let fence = Fence::around(&text);
    let mut pieces = vec![Piece::new(format!("{}\n", fence.open))];
    let inside = |text: String| Piece { text, inside: Some(fence.clone()) };
    for line in text.trim_matches('\n').split_inclusive('\n') {
        let chars: Vec<char> = line.chars().collect();
        pieces.extend(chars.chunks(CHUNK).map(|chunk| inside(chunk.iter().collect())));
    }
    pieces.push(inside(format!("\n{}\n\n", fence.close)));
    pieces
}

/// Cuts between pieces, and mends the fence that a cut goes through.
fn split(pieces: Vec<Piece>, longest: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut length = 0;
    for Piece { text, inside } in pieces {
        let mending = inside.as_ref().map_or(0, |fence| fence.close.chars().count() + 2);
        let size = text.chars().count();
        if length + size + mending > longest && !part.trim().is_empty() {
            if let Some(fence) = inside.as_ref().filter(|fence| !fence.is_nested) {
                if !part.ends_with('\n') {
                    part.push('\n');
                }
                part.push_str(&fence.close);
            }
            parts.push(part.trim_end().to_owned());
            part = inside.as_ref().map(|fence| format!("{}\n", fence.open)).unwrap_or_default();
            length = part.chars().count();
        }
        if part.is_empty() {
            part.push_str(text.trim_start_matches('\n'));
            length = part.chars().count();
        } else {
            part.push_str(&text);
            length += size;
        }
    }
    parts.push(part.trim_end().to_owned());
    if parts.len() > MOST_PARTS {
        parts.truncate(MOST_PARTS);
        parts.last_mut().expect("there are some").push_str("\n\n…");
    }
    parts
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Tag, TagEnd};

    use super::super::markdown::parser;
    use super::*;

    /// Who is called by a comment: a name behind an `@` in a text that is no code.
    fn called(markdown: &str) -> Vec<String> {
        let (mut in_code, mut texts, mut text) = (false, Vec::new(), String::new());
        for event in parser(markdown) {
            match event {
                Event::Start(Tag::CodeBlock(_)) => in_code = true,
                Event::End(TagEnd::CodeBlock) => in_code = false,
                Event::Text(more) if !in_code => text.push_str(&more),
                _ => texts.push(std::mem::take(&mut text)),
            }
        }
        texts.push(text);
        let is_call = |text: &str, at: usize| {
            !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric())
                && text[at + 1..].starts_with(|c: char| c.is_ascii_alphanumeric())
        };
        let calls = |text: &String| text.match_indices('@').any(|(at, _)| is_call(text, at));
        texts.into_iter().filter(calls).collect()
    }

    fn has_html(markdown: &str) -> bool {
        parser(markdown).any(|event| matches!(event, Event::Html(_) | Event::InlineHtml(_)))
    }

    /// The text that a reader sees.
    fn seen(markdown: &str) -> String {
        let seen = parser(markdown).filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.to_string()),
            Event::SoftBreak | Event::HardBreak | Event::End(_) => Some("\n".to_owned()),
            _ => None,
        });
        seen.collect::<String>().replace('\u{200b}', "").replace('\u{a0}', " ")
    }

    #[test]
    fn a_mention_that_is_taken_out_makes_no_tag() {
        for part in render(&Message::new().plain("x").prose("--><!--@mona>-->").plain("y"), 40) {
            assert!(!has_html(&part) && called(&part).is_empty(), "{part}");
        }
    }

    #[test]
    fn prose_keeps_its_code_and_calls_nobody() {
        for (prose, expected) in [
            ("`@a/b` and @c", "`@a/b` and @·c"),
            ("```sh\nnpm i @a/b\n```", "```sh\nnpm i @a/b\n```"),
            ("```\nopen @a", "```\nopen @a\n```"),
            ("~~~~\nopen\n~~~", "~~~~\nopen\n~~~\n~~~~"),
            ("- ```\n  @a", "- ```\n  @a"),
            ("<div>\n```\n@a\n```\n</div>", "\\<div>\n```\n@a\n```\n\\</div>"),
            ("a <!-- x --> b", "a  b"),
            ("@<!-- -->a", "@·a"),
            ("<script>x</script>", "\\<script>x\\</script>"),
            ("| `a | @b | c` |\n|-|-|-|\n| `a | @b | c` |", "| `a | @·b | c` |\n|-|-|-|\n| `a | @·b | c` |"),
            ("`a\n# h @b `", "`a\n# h @·b `"),
            ("- ```\n  @a\n  ```\n@b", "- ```\n  @a\n  ```\n@·b"),
            ("<a title=\"`\">`@x`", "\\<a title=\"`\">`@·x`"),
        ] {
            let rendered = render(&Message::new().prose(prose), 10_000);
            assert_eq!(rendered, [expected.replace('·', "\u{200b}")], "{prose}");
            assert_eq!(called(&rendered[0]), Vec::<String>::new(), "{prose}");
        }
    }

    #[test]
    fn a_message_without_end_ends() {
        let parts = render(&Message::new().prose("word ".repeat(200_000)), 2_000_000);
        assert_eq!(parts.len(), 1);
        let parts = render(&Message::new().plain("x".repeat(2_000_000)), 65_000);
        assert_eq!(parts.len(), MOST_PARTS);
        assert!(parts[MOST_PARTS - 1].ends_with('…'));
        assert_eq!(render(&Message::new(), 100), [""]);
    }

    proptest! {
        #[test]
        fn plain_text_is_seen_as_it_is(text in "[ -~\nü]{0,80}") {
            let rendered = render(&Message::new().plain(text.as_str()), 65_000).remove(0);
            prop_assert!(!has_html(&rendered) && called(&rendered).is_empty(), "{}", rendered);
            let words = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&seen(&rendered)), words(&text), "{}", rendered);
        }

        #[test]
        fn code_is_seen_as_it_is(text in "[ -~]{1,40}") {
            prop_assume!(!text.trim().is_empty());
            let rendered = render(&Message::new().plain("a").code(text.as_str()).plain("b"), 65_000).remove(0);
            let codes: Vec<_> = parser(&rendered).filter_map(|event| match event {
                Event::Code(code) => Some(code.to_string()),
                _ => None,
            }).collect();
            prop_assert_eq!(codes, [text]);
        }

        #[test]
        fn prose_of_any_kind_calls_nobody(
            prose in "([`~>|*_#@<!&;\\-\\[\\]()\n ]|```|~~~|<!--|-->|<div>|</a>|@mona|&#64;|https://|    |- |a){0,60}",
            longest in 40usize..400,
        ) {
            for part in render(&Message::new().plain("x").prose(prose).plain("y"), longest) {
                prop_assert!(!has_html(&part) && called(&part).is_empty(), "{}", part);
            }
        }
    }
}
