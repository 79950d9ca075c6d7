//! Cuts a text into messages that a platform takes, between lines or words where it can.

/// Around lines in a fixed width, in Slack's markup as in Markdown.
const FENCE: &str = "```";
/// What closing a block at a cut takes.
const FENCE_ROOM: usize = FENCE.len() + 1;

/// The pieces of a text, none longer than `limit` as platforms count: in units of UTF-16. A block that is cut is closed, and
/// opened again in the next piece. At least one piece.
pub(crate) fn pieces(text: &str, limit: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text.trim().to_owned();
    while length(&rest) > limit {
        let (piece, behind) = rest.split_at(cut(&rest, limit - FENCE_ROOM));
        let is_open = piece.matches(FENCE).count() % 2 == 1;
        let (mut piece, mut behind) = (piece.trim_end().to_owned(), behind.trim_start_matches(['\n', ' ']).to_owned());
        if is_open {
            piece = format!("{piece}\n{FENCE}");
            behind = format!("{FENCE}\n{behind}");
        }
        if !piece.is_empty() {
            pieces.push(piece);
        }
        rest = behind;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(rest);
    }
    pieces
}

pub(crate) fn length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Where a text that is too long is cut: at the last end of a line that is not too early, else of a word, else anywhere.
pub(crate) fn cut(text: &str, limit: usize) -> usize {
    let mut room = limit;
    let end = text.char_indices().find(|(_, c)| {
        let fits = c.len_utf16() <= room;
        room = room.saturating_sub(c.len_utf16());
        !fits
    });
    let end = end.map_or(text.len(), |(end, _)| end);
    let late = |at: usize| (at > end / 3).then_some(at);
    // Not within a fence.
    let ticks = text[..end].len() - text[..end].trim_end_matches('`').len();
    let anywhere = end - ticks % FENCE.len();
    text[..end].rfind('\n').and_then(late).or_else(|| text[..end].rfind(' ').and_then(late)).unwrap_or(anywhere)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_texts_are_one_piece() {
        assert_eq!(pieces("", 20), [""]);
        assert_eq!(pieces(" a ", 20), ["a"]);
    }

    #[test]
    fn cuts_are_between_lines_then_words_then_anywhere() {
        assert_eq!(pieces("one two\nthree four five", 20), ["one two", "three four five"]);
        assert_eq!(pieces("one two three four five", 20), ["one two three", "four five"]);
        assert_eq!(pieces(&"x".repeat(40), 20), ["x".repeat(16), "x".repeat(16), "x".repeat(8)]);
        assert_eq!(pieces(&"😀".repeat(12), 20), ["😀".repeat(8), "😀".repeat(4)], "two units each");
    }

    #[test]
    fn a_block_goes_on_in_the_next_piece() {
        let text = "```\nline one\nline two\nline three\n```\nend";
        assert_eq!(pieces(text, 32), ["```\nline one\nline two\n```", "```\nline three\n```\nend"]);
    }

    proptest! {
        #[test]
        fn any_text_is_cut_within_the_limit(text in "(?s)(.|```|\n| ){0,300}", limit in 20usize..60) {
            let pieces = pieces(&text, limit);
            prop_assert!(!pieces.is_empty());
            for piece in &pieces {
                prop_assert!(length(piece) <= limit, "{} > {}", length(piece), limit);
            }
            let seen = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != '`').collect::<String>();
            prop_assert_eq!(seen(&pieces.concat()), seen(&text));
        }
    }
}
