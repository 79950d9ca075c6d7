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
                pieces.push(Piece::new("\n"));
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
    pieces.push(inside(format!("\n{}\n", fence.close)));
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
