//! Bounds of what comes from outside, before it goes any further.

use crate::Author;

const MAX_TEXT_CHARS: usize = 100_000;
const MAX_NAME_CHARS: usize = 200;
const MAX_ID_CHARS: usize = 64;

/// What somebody wrote, cut where it is longer than anybody writes.
pub(crate) fn text(text: &str) -> String {
    text.trim().chars().filter(|c| *c != '\0').take(MAX_TEXT_CHARS).collect()
}

/// A name or title: one line of what can be seen.
pub(crate) fn name(name: &str) -> String {
    let shown: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_NAME_CHARS).collect();
    shown.trim().to_owned()
}

pub(crate) fn author(id: &str, named: &str) -> Author {
    Author { id: id.to_owned(), name: name(named) }
}

/// Whether a text is an id as chats have them: it can stand in a path and in an id of our own.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=MAX_ID_CHARS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_and_what_is_unseen_is_left_out() {
        assert_eq!(text(" a\nb\0 "), "a\nb");
        assert_eq!(text(&"ü".repeat(MAX_TEXT_CHARS + 1)).chars().count(), MAX_TEXT_CHARS);
        assert_eq!(name("\u{1b}[31mred\nblack\u{0}"), "[31mred black");
        assert_eq!(name(&"ü".repeat(MAX_NAME_CHARS + 1)).chars().count(), MAX_NAME_CHARS);
        assert!(is_id("U012AB3CD") && is_id("1029384756"));
        for wrong in ["", "a:b", "a/b", "..", "a b", "ü", &"a".repeat(65)] {
            assert!(!is_id(wrong), "{wrong}");
        }
    }
}
