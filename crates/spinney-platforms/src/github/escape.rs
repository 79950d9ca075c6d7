//! Texts that are shown as they are: nothing in them becomes Markdown, HTML or a call to anybody.

use super::parse::is_hidden;

/// Between an `@` and a name it is no mention, and nobody sees it.
const NOTHING: char = '\u{200b}';
/// What Markdown gives a meaning to anywhere in a line.
const SPECIAL: &str = "\\`*_[]<>~|&$";

/// Puts a text behind what is written so far.
pub(super) fn escape(out: &mut String, text: &str) {
    let line = out.rsplit('\n').next().unwrap_or_default();
    let (mut is_start, mut is_number) = (line.chars().all(|c| c == '\u{a0}'), is_number(line));
    let mut chars = text.chars().filter(|c| *c == '\n' || *c == '\t' || !is_hidden(*c)).peekable();
    while let Some(c) = chars.next() {
        match c {
            // Four of them would make code.
            ' ' | '\t' if is_start => out.push('\u{a0}'),
            '#' if chars.peek().is_some_and(char::is_ascii_digit) => out.push('#'),
            '#' => out.push_str("\\#"),
            '-' | '+' | '=' if is_start => out.extend(['\\', c]),
            '.' | ')' if is_number => out.extend(['\\', c]),
            '@' => {
                out.push('@');
                out.push(NOTHING);
            }
            _ if SPECIAL.contains(c) => out.extend(['\\', c]),
            _ => out.push(c),
        }
        is_number = c.is_ascii_digit() && (is_start || is_number);
        is_start = c == '\n' || (is_start && matches!(c, ' ' | '\t'));
    }
}

/// Whether a line so far could be the number of a list.
fn is_number(line: &str) -> bool {
    let digits = line.trim_start_matches('\u{a0}');
    !digits.is_empty() && digits.len() <= 9 && digits.chars().all(|c| c.is_ascii_digit())
}

/// The same on one line, of a bounded length.
pub(super) fn short(text: &str, most: usize) -> String {
    let mut short: String = text.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).take(most).collect();
    short.retain(|c| !is_hidden(c));
    if text.chars().count() > most {
        short.push('…');
    }
    short
}

/// Takes the call out of every mention in a piece of Markdown that is no code.
pub(super) fn defuse(out: &mut String, markdown: &str) {
    let mut is_in_url = false;
    let mut before = out.chars().next_back();
    for (at, c) in markdown.char_indices() {
        is_in_url = !c.is_whitespace() && (is_in_url || markdown[at..].starts_with("://"));
        match c {
            // There it means the same, and elsewhere it would be no address any more.
            '@' if is_in_url => out.push_str("%40"),
            '@' if before.is_some_and(|before| before.is_ascii_alphanumeric()) => out.push('@'),
            '@' => {
                out.push('@');
                out.push(NOTHING);
            }
            // An entity may be an `@`, or the letter behind one.
            '&' if is_entity(&markdown[at..]) => out.push_str("&amp;"),
            _ => out.push(c),
        }
        before = Some(c);
    }
}

/// Whether it begins with a number of a character, or with the name of the one that calls people.
fn is_entity(text: &str) -> bool {
    text.starts_with("&#") || text.starts_with("&commat;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        escape(&mut out, text);
        out
    }

    fn defused(text: &str) -> String {
        let mut out = String::new();
        defuse(&mut out, text);
        out.replace(NOTHING, "·")
    }

    #[test]
    fn nothing_has_a_meaning() {
        for (text, out) in [
            ("plain, text. (1) a-b", "plain, text. (1) a-b"),
            ("*a* _b_ `c` ~d~", "\\*a\\* \\_b\\_ \\`c\\` \\~d\\~"),
            ("<b>&amp;[x](y)", "\\<b\\>\\&amp;\\[x\\](y)"),
            ("# a\n## b #12", "\\# a\n\\#\\# b #12"),
            ("- a\n+ b\n---\n===", "\\- a\n\\+ b\n\\---\n\\==="),
            ("1. a\n12) b", "1\\. a\n12\\) b"),
            ("    code", "\u{a0}\u{a0}\u{a0}\u{a0}code"),
            ("\u{1b}[31mred\u{202e}\r", "\\[31mred"),
            ("@mona", "@\u{200b}mona"),
        ] {
            assert_eq!(escaped(text), out, "{text}");
        }
    }

    #[test]
    fn nobody_is_called() {
        for (text, out) in [
            ("@mona and @acme/team", "@·mona and @·acme/team"),
            ("me@example.com", "me@example.com"),
            ("\\@mona _@mona_ **@mona**", "\\@·mona _@·mona_ **@·mona**"),
            ("&#64;mona &#x40;mona &commat;mona", "&amp;#64;mona &amp;#x40;mona &amp;commat;mona"),
            ("@&#109;ona", "@·&amp;#109;ona"),
            ("https://example.com/@mona/x y", "https://example.com/%40mona/x y"),
            ("https://@mona", "https://%40mona"),
            ("a &lt; b", "a &lt; b"),
        ] {
            assert_eq!(defused(text), out, "{text}");
        }
    }
}
