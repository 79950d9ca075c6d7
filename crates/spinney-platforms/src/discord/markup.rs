//! Messages in Discord's Markdown. Nobody is called: each message says so beside its text.

use crate::{Message, Span};

/// What begins a format anywhere in a line.
const MARKS: &str = "\\*_~`|<>[]()#";

pub(super) fn render(message: &Message) -> String {
    let mut out = String::new();
    for span in &message.0 {
        match span {
            Span::Plain(text) => out.push_str(&escape(text)),
            Span::Strong(text) => out.push_str(&around("**", &escape(text))),
            Span::Code(text) => out.push_str(&around("`", &text.replace('`', "'"))),
            Span::Link { text, url } => out.push_str(&link(text, url)),
            Span::Block(text) => {
                out.push_str(&format!("\n```\n{}\n```\n", text.trim_matches('\n').replace("```", "'''")));
            }
            Span::Prose(text) => out.push_str(&prose(text)),
            Span::Break => out.push('\n'),
        }
    }
    out.trim().to_owned()
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    let mut is_start = true;
    for c in text.chars() {
        if MARKS.contains(c) || (is_start && "-+".contains(c)) {
            out.push('\\');
        }
        is_start = c == '\n';
        out.push(c);
    }
    out
}

fn around(mark: &str, text: &str) -> String {
    let line = text.split(['\n', '\r']).map(str::trim).collect::<Vec<_>>().join(" ");
    let line = line.trim();
    if line.is_empty() { String::new() } else { format!("{mark}{line}{mark}") }
}

/// A link where the address is one of the web, else its text.
fn link(text: &str, url: &str) -> String {
    let is_web = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
    let is_plain = url.chars().all(|c| c.is_ascii_graphic() && !"<>()\\".contains(c));
    let text = escape(&text.replace(['\n', '\r'], " "));
    if is_web && is_plain && !text.trim().is_empty() { format!("[{text}](<{url}>)") } else { text }
}

/// Markdown as it is, with its last block closed, and no marks for users, roles and channels.
fn prose(text: &str) -> String {
    let open = text.lines().filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1;
    let text = text.replace("<@", "<\u{200b}@").replace("<#", "<\u{200b}#");
    let text = text.replace("@everyone", "@\u{200b}everyone").replace("@here", "@\u{200b}here");
    if open { format!("{text}\n```\n") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_written_in_markdown() {
        let message = Message::new()
            .strong("issue-42")
            .plain(" is ready (a_b): ")
            .code("agent/coder/issue-42")
            .line()
            .link("Pull request #108", "https://git.example/pull/108")
            .block("one\ntwo");
        assert_eq!(
            render(&message),
            "**issue-42** is ready \\(a\\_b\\): `agent/coder/issue-42`\n\
             [Pull request \\#108](<https://git.example/pull/108>)\n```\none\ntwo\n```"
        );
    }

    #[test]
    fn what_others_wrote_stays_text() {
        for (message, written) in [
            (Message::new().plain("<@1> *a* [x](y)"), "\\<@1\\> \\*a\\* \\[x\\]\\(y\\)"),
            (Message::new().plain("- a\n- b - c\n> d"), "\\- a\n\\- b - c\n\\> d"),
            (Message::new().code("a`b\nc"), "`a'b c`"),
            (Message::new().strong("a**b\nc"), "**a\\*\\*b c**"),
            (Message::new().block("```x"), "```\n'''x\n```"),
            (Message::new().link("x](y)", "https://a.example"), "[x\\]\\(y\\)](<https://a.example>)"),
            (Message::new().link("x", "javascript:x"), "x"),
            (Message::new().link("x", "https://a> b"), "x"),
            (Message::new().prose("**a** <@1> @everyone"), "**a** <\u{200b}@1> @\u{200b}everyone"),
            (Message::new().prose("```\nopen"), "```\nopen\n```"),
        ] {
            assert_eq!(render(&message), written);
        }
    }
}
