//! Texts of agents and programs, made safe to be shown: nothing of them steers a terminal.

use std::borrow::Cow;

/// Somebody else's text without what would steer a terminal.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Cow::Borrowed(text);
    }
    let visible = anstream::adapter::strip_str(text).to_string();
    Cow::Owned(visible.chars().filter(|c| (!c.is_control() || *c == '\t') && !turns_text(*c)).collect())
}

/// The first line that says something, without what would steer a terminal.
#[must_use]
pub fn first_line(text: &str) -> Cow<'_, str> {
    plain(text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default())
}

/// Whether a character makes what follows it run the other way, so that a line reads as something else.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_goes_and_the_text_stays() {
        assert_eq!(plain("\u{1b}[31mred\u{1b}[0m\tgrün\u{7}\r\u{1b}]0;title\u{7}!"), "red\tgrün!");
        assert_eq!(plain("a\u{202e}b"), "ab");
        assert_eq!(first_line(" \n\n  two\u{1b}[2J \nthree"), "two");
    }
}
