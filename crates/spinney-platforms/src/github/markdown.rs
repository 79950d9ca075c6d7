//! What in a text is said, and what is shown or quoted: code, quotes and comments, as GitHub's Markdown has them.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// GitHub's own additions, as far as they change where code begins and ends.
pub(super) fn parser(text: &str) -> Parser<'_> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    Parser::new_ext(text, options)
}

/// What is left out of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Without {
    CodeAndComments,
    /// Lines that begin with `>`, too.
    Quotes,
}

/// The text with blanks where code and comments are; every other byte is where it was.
pub(super) fn blanked(text: &str, without: Without) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (event, range) in parser(text).into_offset_iter() {
        match event {
            Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => blank(&mut bytes, range),
            Event::Start(Tag::HtmlBlock) | Event::Html(_) | Event::InlineHtml(_) => {
                for comment in comments(text, range) {
                    blank(&mut bytes, comment);
                }
            }
            Event::Start(Tag::BlockQuote(_)) if without == Without::Quotes => {
                for line in quoted_lines(text, range) {
                    blank(&mut bytes, line);
                }
            }
            _ => {}
        }
    }
    // Whole characters were blanked, so that it is text still.
    String::from_utf8(bytes).unwrap_or_default()
}

fn blank(bytes: &mut [u8], range: Range<usize>) {
    bytes[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

/// The comments within a range of HTML; one without an end goes to the end of the range.
pub(super) fn comments(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = range.start;
    while let Some(start) = text[at..range.end].find("<!--").map(|start| at + start) {
        let end = text[start..range.end].find("-->").map_or(range.end, |end| start + end + "-->".len());
        found.push(start..end);
        at = end;
    }
    found
}

/// The lines of a quote that are marked as quoted: what follows without a mark is its writer's own.
fn quoted_lines(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut at = range.start;
    let mut lines = Vec::new();
    for line in text[range].split_inclusive('\n') {
        if line.trim_start().starts_with('>') {
            lines.push(at..at + line.len());
        }
        at += line.len();
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn left(text: &str) -> String {
        blanked(text, Without::Quotes).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_what_is_said_is_left() {
        for (text, said) in [
            ("a `b` c", "a c"),
            ("a ``b ` c`` d", "a d"),
            ("a ` b", "a ` b"),
            ("a \\`b\\` c", "a \\`b\\` c"),
            ("a\n```\nb\n```\nc", "a c"),
            ("a\n~~~ x\nb\n```\nc", "a"),
            ("a\n\n    b\n\nc", "a c"),
            ("> a\nb", "b"),
            ("> a\n> > b\n\nc", "c"),
            ("- x\n  > a\n\nb", "- x b"),
            ("a <!-- b --> c", "a c"),
            ("<!-- a\n\nb -->\nc", "c"),
            ("<!-- a", ""),
            ("<details>\na\n<!-- b -->\n</details>", "<details> a </details>"),
            ("ü `ü` ü", "ü ü"),
        ] {
            assert_eq!(left(text), said, "{text}");
        }
        assert!(blanked("> a", Without::CodeAndComments).contains('a'));
    }

    proptest! {
        #[test]
        fn any_text_keeps_its_length(text in "(?s)([`>~<!\\-\n @#a*\\[\\]|]|.){0,200}") {
            for without in [Without::Quotes, Without::CodeAndComments] {
                prop_assert_eq!(blanked(&text, without).len(), text.len());
            }
        }
    }
}
