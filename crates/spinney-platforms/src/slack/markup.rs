//! Messages in Slack's mrkdwn. What others wrote can neither call anybody nor link anywhere: `&`, `<` and `>` are escaped.

use crate::{Message, Span};

/// Before a mark that would begin a format; nobody sees it.
const WORD_JOINER: char = '\u{2060}';

pub(super) fn render(message: &Message) -> String {
    let mut out = String::new();
    for span in &message.0 {
        match span {
            Span::Plain(text) => out.push_str(&unformatted(text)),
            Span::Strong(text) => out.push_str(&around("*", &escape(text).replace('*', "∗"))),
            Span::Code(text) => out.push_str(&around("`", &escape(text).replace('`', "'"))),
            Span::Link { text, url } => out.push_str(&link(text, url)),
            Span::Block(text) => out.push_str(&block(text)),
            Span::Prose(text) => out.push_str(&prose(text)),
            Span::Break => out.push('\n'),
        }
    }
    out.trim().to_owned()
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Slack knows no escape for its formats: they begin only at a mark that has no letter before it.
fn unformatted(text: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    for c in text.chars() {
        if "*_~`".contains(c) && !before.is_alphanumeric() {
            out.push(WORD_JOINER);
        }
        out.push(c);
        before = c;
    }
    escape(&out)
}

/// A format does not go over the end of a line.
fn around(mark: &str, text: &str) -> String {
    let line = text.split(['\n', '\r']).map(str::trim).collect::<Vec<_>>().join(" ");
    if line.trim().is_empty() { line } else { format!("{mark}{line}{mark}") }
}

fn block(text: &str) -> String {
    format!("\n```\n{}\n```\n", escape(text.trim_matches('\n')).replace("```", "'''"))
}

/// A link where the address is one of the web, else its text.
fn link(text: &str, url: &str) -> String {
    let is_web = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
    let is_plain = url.chars().all(|c| c.is_ascii_graphic() && !"|<>".contains(c));
    let text = text.replace(['|', '\n', '\r'], " ");
    if is_web && is_plain { format!("<{}|{}>", escape(url), escape(&text)) } else { unformatted(&text) }
}

/// Markdown in Slack's words: its headings, strong texts and links; the rest is the same or stands as it was written.
fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence {
            is_code = !is_code;
            // Slack would show the language as the first line.
            out.push_str("```");
        } else if is_code {
            out.push_str(&escape(line).replace("```", "'''"));
        } else {
            out.push_str(&prose_line(line));
        }
        out.push('\n');
    }
    if is_code {
        out.push_str("```\n");
    }
    out
}

fn prose_line(line: &str) -> String {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&marks) && line[marks..].starts_with(' ') {
        let text = line[marks..].trim().replace("**", "").replace('*', "");
        return around("*", &inline(&text));
    }
    let bullet = line.trim_start();
    let indent = &line[..line.len() - bullet.len()];
    match bullet.strip_prefix("* ").or_else(|| bullet.strip_prefix("- ")) {
        Some(item) => format!("{indent}• {}", inline(item)),
        None => inline(line),
    }
}

/// Strong texts and links of a line; what is between backticks stays as it is.
fn inline(line: &str) -> String {
    let mut out = String::new();
    for (index, part) in line.split('`').enumerate() {
        if index > 0 {
            out.push('`');
        }
        if index % 2 == 1 {
            out.push_str(&escape(part));
        } else {
            out.push_str(&links(&part.replace("**", "*").replace("__", "*")));
        }
    }
    out
}

fn links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('[') {
        let found = behind.split_once("](").and_then(|(name, behind)| {
            let (url, behind) = behind.split_once(')')?;
            (!name.contains('[')).then_some((name, url, behind))
        });
        out.push_str(&escape(before));
        match found {
            Some((name, url, behind)) => {
                out.push_str(&link(name, url));
                rest = behind;
            }
            None => {
                out.push('[');
                rest = behind;
            }
        }
    }
    out.push_str(&escape(rest));
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spans_are_written_in_slacks_markup() {
        let message = Message::new()
            .strong("issue-42")
            .plain(" is ready: branch ")
            .code("agent/coder/issue-42")
            .line()
            .link("Pull request #108", "https://git.example/pull/108?a=1&b=2")
            .block("one\ntwo");
        assert_eq!(
            render(&message),
            "*issue-42* is ready: branch `agent/coder/issue-42`\n\
             <https://git.example/pull/108?a=1&amp;b=2|Pull request #108>\n```\none\ntwo\n```"
        );
    }

    #[test]
    fn what_others_wrote_stays_text() {
        for (message, written) in [
            (Message::new().plain("<!channel> & <@U1>"), "&lt;!channel&gt; &amp; &lt;@U1&gt;"),
            (Message::new().plain("*a* b_c `d`"), "\u{2060}*a* b_c \u{2060}`d`"),
            (Message::new().code("a`b\n<c>"), "`a'b &lt;c&gt;`"),
            (Message::new().strong("a*b"), "*a∗b*"),
            (Message::new().block("```\n<!here>"), "```\n'''\n&lt;!here&gt;\n```"),
            (Message::new().link("x|y>", "https://a.example"), "<https://a.example|x y&gt;>"),
            (Message::new().link("x", "javascript:alert(1)"), "x"),
            (Message::new().link("x", "https://a|b"), "x"),
            (Message::new().link("<!here>", "https://a> <!channel"), "&lt;!here&gt;"),
            (
                Message::new().prose("<!channel> [x](!channel) [y](https://a.example)"),
                "&lt;!channel&gt; x <https://a.example|y>",
            ),
            (Message::new().prose("```\n<!channel>"), "```\n&lt;!channel&gt;\n```"),
        ] {
            assert_eq!(render(&message), written);
        }
    }

    #[test]
    fn markdown_is_put_in_slacks_words() {
        for (markdown, written) in [
            ("# Done\n\nFixed **it**.", "*Done*\n\nFixed *it*."),
            ("- one\n  * two", "• one\n  • two"),
            ("`**x**` and __y__", "`**x**` and *y*"),
            ("```rust\nlet x = [1](2);\n```", "```\nlet x = [1](2);\n```"),
            ("[a [b](https://x.example)", "[a <https://x.example|b>"),
            ("#42 is closed", "#42 is closed"),
            ("[open", "[open"),
        ] {
            assert_eq!(render(&Message::new().prose(markdown)), written, "{markdown}");
        }
    }

    proptest! {
        #[test]
        fn nothing_calls_anybody(text in "(?s)([<>!@|`*\\[\\]()\n]|channel|https://a.example|.){0,60}") {
            let message = Message::new().plain(&*text).strong(&*text).code(&*text).prose(&*text).block(&*text).link(&*text, &*text);
            let written = render(&message);
            for (at, _) in written.match_indices('<') {
                prop_assert!(written[at..].starts_with("<http"), "{}", written);
            }
        }
    }
}
