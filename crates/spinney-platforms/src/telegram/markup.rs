//! Messages in Telegram's HTML, cut where they are too long. What others wrote can neither call anybody nor be markup.

use crate::conversation::split;
use crate::{Message, Span};

/// Of the 4,096 units of UTF-16 that Telegram takes, not counting the markup.
const MAX_UNITS: usize = 4000;
/// Less room than this is left empty.
const MIN_UNITS: usize = 64;
/// Behind a mark that would begin a name; nobody sees it.
const WORD_JOINER: &str = "\u{2060}";

/// A text between two tags.
struct Part {
    open: String,
    close: &'static str,
    text: String,
}

/// The messages that say it; at least one, and none is empty, since Telegram takes none that is.
pub(super) fn render(message: &Message) -> Vec<String> {
    let mut pieces = Pieces::default();
    for span in &message.0 {
        pieces.add(&part(span));
    }
    pieces.end();
    if pieces.done.is_empty() { vec!["…".to_owned()] } else { pieces.done }
}

fn part(span: &Span) -> Part {
    let (open, close, text) = match span {
        Span::Plain(text) | Span::Prose(text) => (String::new(), "", uncalled(text)),
        Span::Strong(text) => ("<b>".to_owned(), "</b>", uncalled(text)),
        Span::Code(text) => ("<code>".to_owned(), "</code>", text.clone()),
        Span::Block(text) => ("<pre>".to_owned(), "</pre>", text.trim_matches('\n').to_owned()),
        Span::Link { text, url } if is_web(url) => (format!("<a href=\"{}\">", escape(url)), "</a>", uncalled(text)),
        Span::Link { text, .. } => (String::new(), "", uncalled(text)),
        Span::Break => (String::new(), "", "\n".to_owned()),
    };
    Part { open, close, text: text.replace('\0', "") }
}

/// No name behind an `@` is one for Telegram.
fn uncalled(text: &str) -> String {
    text.replace('@', &format!("@{WORD_JOINER}"))
}

/// Telegram has addresses that call people, beside those of the web.
fn is_web(url: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme))
        && url.bytes().all(|byte| byte.is_ascii_graphic())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[derive(Default)]
struct Pieces {
    done: Vec<String>,
    /// What is being written, with its markup, and how much of it is seen.
    open: String,
    units: usize,
    is_seen: bool,
}

impl Pieces {
    fn add(&mut self, part: &Part) {
        let mut rest = part.text.as_str();
        while !rest.is_empty() {
            let room = MAX_UNITS.saturating_sub(self.units);
            if split::length(rest) <= room {
                self.write(part, rest);
                return;
            }
            if room >= MIN_UNITS {
                let (piece, behind) = rest.split_at(split::cut(rest, room));
                self.write(part, piece);
                rest = behind.trim_start_matches(['\n', ' ']);
            }
            self.end();
        }
    }

    fn write(&mut self, part: &Part, text: &str) {
        self.open.push_str(&part.open);
        self.open.push_str(&escape(text));
        self.open.push_str(part.close);
        self.units += split::length(text);
        self.is_seen |= text.chars().any(|c| !c.is_whitespace() && !c.is_control());
    }

    fn end(&mut self) {
        let piece = std::mem::take(&mut self.open);
        if self.is_seen {
            self.done.push(piece.trim().to_owned());
        }
        (self.units, self.is_seen) = (0, false);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spans_are_written_in_telegrams_html() {
        let message = Message::new()
            .strong("thread-1")
            .plain(" is ready: branch ")
            .code("agent/coder/thread-1")
            .line()
            .link("Pull request #108", "https://git.example/pull/108?a=1&b=2")
            .line()
            .block("one\ntwo\n")
            .prose("**as** it <is>");
        assert_eq!(
            render(&message),
            ["<b>thread-1</b> is ready: branch <code>agent/coder/thread-1</code>\n\
              <a href=\"https://git.example/pull/108?a=1&amp;b=2\">Pull request #108</a>\n\
              <pre>one\ntwo</pre>**as** it &lt;is&gt;"]
        );
    }

    #[test]
    fn what_others_wrote_stays_text() {
        for (message, written) in [
            (Message::new().plain("<b>&amp;</b>"), "&lt;b&gt;&amp;amp;&lt;/b&gt;"),
            (Message::new().plain("@ann and me@b.example"), "@\u{2060}ann and me@\u{2060}b.example"),
            (Message::new().code("</code>@ann"), "<code>&lt;/code&gt;@ann</code>"),
            (
                Message::new().block("</pre><a href=\"tg://user?id=1\">"),
                "<pre>&lt;/pre&gt;&lt;a href=&quot;tg://user?id=1&quot;&gt;</pre>",
            ),
            (Message::new().link("x", "tg://user?id=1"), "x"),
            (Message::new().link("x", "javascript:alert(1)"), "x"),
            (Message::new().link("x", "https://a\"><b>"), "<a href=\"https://a&quot;&gt;&lt;b&gt;\">x</a>"),
            (Message::new().link("x", "https://a b"), "x"),
            (Message::new().prose("<script>"), "&lt;script&gt;"),
            (Message::new(), "…"),
            (Message::new().line().code("").plain(" "), "…"),
            (Message::new().plain(" \0"), "\\0"),
        ] {
            assert_eq!(render(&message), [written]);
        }
    }

    #[test]
    fn what_is_too_long_goes_on_in_the_next_message() {
        let line = "x".repeat(79) + "\n";
        let pieces = render(&Message::new().block(line.repeat(100)));
        assert_eq!(pieces.len(), 2);
        for piece in &pieces {
            assert!(piece.starts_with("<pre>x") && piece.ends_with("x</pre>"), "{piece}");
        }
        let pieces = render(&Message::new().plain("😀".repeat(MAX_UNITS)));
        assert_eq!(pieces, ["😀".repeat(MAX_UNITS / 2), "😀".repeat(MAX_UNITS / 2)], "two units each");
        let escaped = render(&Message::new().plain("<".repeat(MAX_UNITS)));
        assert_eq!(escaped, ["&lt;".repeat(MAX_UNITS)], "markup does not count");
    }

    /// A piece as people see it; fails where its markup is not ours.
    fn seen(piece: &str) -> Result<String, TestCaseError> {
        let mut out = String::new();
        let mut rest = piece;
        let mut open: Option<&str> = None;
        while let Some((text, behind)) = rest.split_once('<') {
            out.push_str(text);
            let (tag, behind) = behind.split_once('>').ok_or_else(|| TestCaseError::fail("a tag has no end"))?;
            match (open, tag) {
                (None, "b" | "code" | "pre") => open = Some(tag),
                (None, tag) if tag.starts_with("a href=\"http") && tag.ends_with('"') => open = Some("a"),
                (Some(was), tag) if tag.strip_prefix('/') == Some(was) => open = None,
                _ => return Err(TestCaseError::fail(format!("`{tag}` in {piece}"))),
            }
            rest = behind;
        }
        prop_assert!(open.is_none() && !rest.contains('>'), "{}", piece);
        out.push_str(rest);
        Ok(out.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
    }

    proptest! {
        #[test]
        fn any_message_is_well_formed_and_short_enough(
            text in "(?s)([<>&\"@` \n]|</pre>|&amp;|https://a.example|.){0,60}", times in 1usize..80,
        ) {
            let long = text.repeat(times);
            let message = Message::new().plain(&*text).strong(&*text).code(&*long).prose(&*long).block(&*long).link(&*text, &*text);
            let pieces = render(&message);
            prop_assert!(!pieces.is_empty());
            let mut all = String::new();
            for piece in &pieces {
                let seen = seen(piece)?;
                prop_assert!(seen.encode_utf16().count() <= 4096);
                prop_assert!(!seen.trim().is_empty());
                all.push_str(&seen);
            }
            let marks = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
            prop_assert_eq!(marks(&all).max(marks(&text) * 3), marks(&all));
        }
    }
}
