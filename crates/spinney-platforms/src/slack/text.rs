//! What Slack sends as text, as people read it: its marks for users, channels and links, and its escapes.

/// Whether a text calls this user.
pub(super) fn mentions(text: &str, user: &str) -> bool {
    let mut called = false;
    each(text, |part| called |= matches!(part, Part::User { id, .. } if id == user));
    called
}

/// A text without the calls of this user.
pub(super) fn plain(text: &str, without: Option<&str>) -> String {
    let mut plain = String::new();
    each(text, |part| match part {
        Part::Text(text) => plain.push_str(&unescape(text)),
        Part::User { id, .. } if Some(id) == without => {
            // The space behind it, or before it, is enough.
            if plain.ends_with(' ') {
                plain.pop();
            }
        }
        Part::User { id, name } => plain.push_str(&format!("@{}", unescape(name.unwrap_or(id)))),
        Part::Channel { id, name } => plain.push_str(&format!("#{}", unescape(name.unwrap_or(id)))),
        Part::Special { word, name } => match name {
            Some(name) => plain.push_str(&unescape(name)),
            None => plain.push_str(&format!("@{}", unescape(word))),
        },
        Part::Link { url, name } => {
            match name.filter(|name| *name != url && Some(*name) != url.strip_prefix("mailto:")) {
                Some(name) => plain.push_str(&format!("{} ({})", unescape(name), unescape(url))),
                None => plain.push_str(&unescape(url.strip_prefix("mailto:").unwrap_or(url))),
            }
        }
    });
    plain.trim().to_owned()
}

enum Part<'a> {
    Text(&'a str),
    User {
        id: &'a str,
        name: Option<&'a str>,
    },
    Channel {
        id: &'a str,
        name: Option<&'a str>,
    },
    /// `<!here>`, `<!subteam^S1|@team>`, `<!date^…|yesterday>`.
    Special {
        word: &'a str,
        name: Option<&'a str>,
    },
    Link {
        url: &'a str,
        name: Option<&'a str>,
    },
}

/// Takes a text apart. Slack escapes a `<` that somebody wrote, so that one stands only around its marks.
fn each<'a>(text: &'a str, mut see: impl FnMut(Part<'a>)) {
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('<') {
        let Some((mark, behind)) = behind.split_once('>') else { break };
        see(Part::Text(before));
        let (target, name) = match mark.split_once('|') {
            Some((target, name)) => (target, Some(name).filter(|name| !name.is_empty())),
            None => (mark, None),
        };
        see(match target.split_at_checked(1) {
            Some(("@", id)) => Part::User { id, name },
            Some(("#", id)) => Part::Channel { id, name },
            Some(("!", word)) => Part::Special { word, name },
            _ => Part::Link { url: target, name },
        });
        rest = behind;
    }
    see(Part::Text(rest));
}

fn unescape(text: &str) -> String {
    // The ampersand last, as what it makes is no escape.
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_are_read_as_people_see_them() {
        for (text, read) in [
            ("<@UBOT> fix it", "fix it"),
            ("hey <@UBOT> fix it", "hey fix it"),
            ("fix it <@UBOT>", "fix it"),
            ("<@UBOT|spinney> /status", "/status"),
            ("<@UBOT><@UBOT> twice", "twice"),
            ("<@UBOT> ask <@U2> or <@U3|ann>", "ask @U2 or @ann"),
            ("in <#C1|general> and <#C2|> and <#C3>", "in #general and #C2 and #C3"),
            ("<!here> <!channel> <!subteam^S1|@team> <!date^1^{date}|today>", "@here @channel @team today"),
            ("<https://a.example/?x=1&amp;y=2>", "https://a.example/?x=1&y=2"),
            ("<https://a.example|the page>", "the page (https://a.example)"),
            ("<https://a.example|https://a.example>", "https://a.example"),
            ("<mailto:a@b.example|a@b.example>", "a@b.example"),
            ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
            ("&amp;lt;", "&lt;"),
            ("open <ended", "open <ended"),
            ("<> <|> <@> <#> <!>", "@ # @"),
            ("<@UBOT", "<@UBOT"),
            ("&lt;@UBOT&gt;", "<@UBOT>"),
        ] {
            assert_eq!(plain(text, Some("UBOT")), read.trim(), "{text}");
        }
    }

    #[test]
    fn only_a_mark_is_a_mention() {
        for (text, is_one) in [
            ("<@UBOT>", true),
            ("a<@UBOT|x>b", true),
            ("<@UBOTX>", false),
            ("@UBOT", false),
            ("&lt;@UBOT&gt;", false),
            ("<@ubot>", false),
            ("<@UBOT", false),
            ("<https://x|<@UBOT>", false),
        ] {
            assert_eq!(mentions(text, "UBOT"), is_one, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(?s)([<>@#!|&;]|lt|amp|UBOT|.){0,60}") {
            let read = plain(&text, Some("UBOT"));
            prop_assert!(read.len() <= 3 * text.len());
            mentions(&text, "UBOT");
        }
    }
}
