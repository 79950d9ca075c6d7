//! What an agent says, in Markdown: its formatting stays, its HTML and its mentions do not.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

use super::escape::{defuse, escape};
use super::markdown::{comments, parser};
use super::parse::is_hidden;
use super::render::{Fence, Piece};

/// Taking one thing out can bring another into being, though not often.
const MOST_ROUNDS: usize = 5;
/// A longer paragraph is shown as it is written, and may be split anywhere.
const LONGEST_PARAGRAPH: usize = 30_000;
const CHUNK: usize = 4_000;

/// Prose as pieces of a comment. A paragraph is one, as what is cut out of it may mean something else on its own.
pub(super) fn pieces(prose: &str) -> Vec<Piece> {
    let text: String = prose.chars().filter(|c| *c == '\n' || *c == '\t' || !is_hidden(*c)).collect();
    let text = text.trim_matches('\n');
    let Some(text) = without_html(text) else {
        return escaped(text);
    };
    let code = Code::find(&text);
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if let Some(fence) = code.fence_at(at) {
            pieces.extend(code.paragraph(&text, start..at));
            pieces.extend(chunks(line).map(|text| Piece { text, inside: Some(fence.clone()) }));
            start = end;
        } else if line.trim().is_empty() {
            pieces.extend(code.paragraph(&text, start..end));
            start = end;
        }
        at = end;
    }
    pieces.extend(code.paragraph(&text, start..at));
    if let Some(fence) = code.unclosed(&text) {
        pieces.push(Piece { text: format!("\n{}", fence.close), inside: Some(fence.clone()) });
    }
    pieces
}

/// A text in pieces that may be parted from each other.
fn chunks(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(CHUNK).map(|chunk| chunk.iter().collect()).collect::<Vec<String>>().into_iter()
}

/// A text that is shown as it is written.
fn escaped(text: &str) -> Vec<Piece> {
    let escaped = chunks(text).map(|chunk| {
        let mut shown = String::new();
        escape(&mut shown, &chunk);
        Piece::new(shown)
    });
    escaped.collect()
}

/// The text without comments, and with every other tag shown as it is written; none where that can't be had.
fn without_html(text: &str) -> Option<String> {
    let mut text = text.to_owned();
    for _ in 0..MOST_ROUNDS {
        let ranges = parser(&text).into_offset_iter().filter_map(|(event, range)| match event {
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) | Event::Html(_) => Some(range),
            _ => None,
        });
        let mut ranges: Vec<Range<usize>> = ranges.collect();
        if ranges.is_empty() {
            return Some(text);
        }
        ranges.sort_by_key(|range| range.start);
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for range in ranges {
            let start = range.start.max(at);
            if start >= range.end {
                continue;
            }
            out.push_str(&text[at..start]);
            at = start;
            for comment in comments(&text, start..range.end) {
                out.push_str(&text[at..comment.start].replace('<', "\\<"));
                at = comment.end;
            }
            out.push_str(&text[at..range.end].replace('<', "\\<"));
            at = range.end;
        }
        out.push_str(&text[at..]);
        text = out;
    }
    None
}

/// Where code is.
struct Code {
    ranges: Vec<Range<usize>>,
    fences: Vec<(Range<usize>, Fence)>,
}

impl Code {
    fn find(text: &str) -> Self {
        let mut code = Self { ranges: Vec::new(), fences: Vec::new() };
        let mut depth = 0_usize;
        for (event, range) in parser(text).into_offset_iter() {
            match event {
                Event::Start(Tag::BlockQuote(_) | Tag::Item | Tag::FootnoteDefinition(_)) => depth += 1,
                Event::End(TagEnd::BlockQuote(_) | TagEnd::Item | TagEnd::FootnoteDefinition) => {
                    depth = depth.saturating_sub(1);
                }
                Event::Code(_) => code.ranges.push(range),
                Event::Start(Tag::CodeBlock(kind)) => {
                    let first = text[range.clone()].lines().next().unwrap_or_default();
                    if let (CodeBlockKind::Fenced(_), Some(fence)) = (kind, Fence::read(first, depth > 0)) {
                        code.fences.push((range.clone(), fence));
                    }
                    code.ranges.push(range);
                }
                _ => {}
            }
        }
        code
    }

    /// The fence that is open where a line begins.
    fn fence_at(&self, line: usize) -> Option<&Fence> {
        self.fences.iter().find(|(range, _)| range.start < line && line < range.end).map(|(_, fence)| fence)
    }

    /// Lines that belong together.
    fn paragraph(&self, text: &str, range: Range<usize>) -> Vec<Piece> {
        let tame = self.defused(text, range.clone());
        if tame.is_empty() {
            return Vec::new();
        }
        // What was no tag with a mention in it may be one without.
        let has_html = parser(&tame).any(|event| matches!(event, Event::Html(_) | Event::InlineHtml(_)));
        if tame.chars().count() <= LONGEST_PARAGRAPH && !has_html {
            return vec![Piece::new(tame)];
        }
        escaped(&text[range])
    }

    /// A range of the text, without any mention outside of code.
    fn defused(&self, text: &str, line: Range<usize>) -> String {
        let mut out = String::new();
        let mut at = line.start;
        for range in self.ranges.iter().filter(|range| range.start < line.end && line.start < range.end) {
            let (start, end) = (range.start.max(at), range.end.min(line.end));
            if start < end {
                defuse(&mut out, &text[at..start]);
                out.push_str(&text[start..end]);
                at = end;
            }
        }
        defuse(&mut out, &text[at..line.end]);
        out
    }

    /// The fence that is still open at the end.
    fn unclosed(&self, text: &str) -> Option<&Fence> {
        let (range, fence) = self.fences.last()?;
        if fence.is_nested || range.end < text.trim_end().len() {
            return None;
        }
        let mut lines = text[range.clone()].trim_end().lines();
        let is_closed = lines.next().is_some() && lines.next_back().is_some_and(|last| fence.is_closed_by(last));
        (!is_closed).then_some(fence)
    }
}
