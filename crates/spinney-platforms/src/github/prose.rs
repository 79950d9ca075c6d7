//! What an agent says, in Markdown: its formatting stays, its HTML and its mentions do not.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

use super::escape::{defuse, escape};
use super::markdown::{comments, parser};
use super::parse::is_hidden;
use super::render::{Fence, Piece};

/// Taking one thing out can bring another into being, though not often.
const MOST_ROUNDS: usize = 5;
/// A longer line is shown as it is, and may be split anywhere.
const LONGEST_LINE: usize = 8_000;
const CHUNK: usize = 4_000;

/// Prose as pieces of a comment, each a line or less.
pub(super) fn pieces(prose: &str) -> Vec<Piece> {
    let text: String = prose.chars().filter(|c| *c == '\n' || *c == '\t' || !is_hidden(*c)).collect();
    let text = text.trim_matches('\n');
    let Some(text) = without_html(text) else {
        let mut plain = String::new();
        escape(&mut plain, text);
        return plain.split_inclusive('\n').map(Piece::new).collect();
    };
    let code = Code::find(&text);
    let mut pieces = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let inside = code.fence_at(at);
        if line.chars().count() > LONGEST_LINE {
            let chars: Vec<char> = line.chars().collect();
            for chunk in chars.chunks(CHUNK) {
                let chunk: String = chunk.iter().collect();
                let mut shown = String::new();
                if inside.is_some() {
                    shown = chunk
                } else {
                    escape(&mut shown, &chunk)
                };
                pieces.push(Piece { text: shown, inside: inside.cloned() });
            }
        } else {
            pieces.push(Piece { text: code.defused(&text, at..at + line.len()), inside: inside.cloned() });
        }
        at += line.len();
    }
    if let Some(fence) = code.unclosed(&text) {
        pieces.push(Piece { text: format!("\n{}", fence.close), inside: Some(fence.clone()) });
    }
    pieces
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
                // One over several lines may end up in two comments.
                Event::Code(_) if !text[range.clone()].contains('\n') => code.ranges.push(range),
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
