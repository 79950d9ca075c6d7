//! Whom a message calls, and what is left of it without the bot's name.

/// Whether a text mentions `@name`: as a whole word, in capitals or not.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    find(text, name).is_some()
}

/// The same without the mentions of `@name`; the spaces around each become one.
pub(super) fn without_mentions(text: &str, name: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((start, end)) = find(rest, name) {
        let before = rest[..start].trim_end_matches(' ');
        out.push_str(before);
        rest = rest[end..].trim_start_matches(' ');
        if !before.is_empty() && !rest.is_empty() {
            out.push(' ');
        }
    }
    out + rest
}

/// Whether a text calls anybody at all, by a name that could be a bot's.
pub(super) fn has_mention(text: &str) -> bool {
    text.match_indices('@').any(|(at, _)| text[at + 1..].starts_with(is_name))
}

/// A text that begins with a command: its name with the slash, the bot that it is for, and the rest.
pub(super) fn command(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let text = text.trim_start();
    let (first, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    let (name, bot) = match first.split_once('@') {
        Some((name, bot)) => (name, Some(bot)),
        None => (first, None),
    };
    let is_command = name.strip_prefix('/').is_some_and(|name| !name.is_empty() && name.chars().all(is_name));
    is_command.then_some((name, bot, rest))
}

/// Where `@name` stands.
fn find(text: &str, name: &str) -> Option<(usize, usize)> {
    if name.is_empty() {
        return None;
    }
    let mut signs = text.match_indices('@').map(|(at, _)| (at, at + 1 + name.len()));
    signs.find(|(start, end)| {
        let is_alone = !text[..*start].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '/');
        let is_name_here = text.get(start + 1..*end).is_some_and(|given| given.eq_ignore_ascii_case(name));
        is_alone && is_name_here && !text[*end..].starts_with(is_name)
    })
}

/// What Telegram's names are made of.
fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_mention_is_a_whole_word() {
        for (text, is_one) in [
            ("@spinney_bot fix it", true),
            ("fix it, @Spinney_BOT!", true),
            ("(@spinney_bot)", true),
            ("@spinney_bot2", false),
            ("@spinney", false),
            ("me@spinney_bot", false),
            ("https://t.me/@spinney_bot", false),
            ("spinney_bot", false),
            ("@spinney_böt", false),
            ("ü@spinney_bot", false),
            ("@@spinney_bot", true),
            ("", false),
            ("@", false),
        ] {
            assert_eq!(mentions(text, "spinney_bot"), is_one, "{text}");
        }
        assert!(!mentions("@ x", ""), "no name is no mention");
    }

    #[test]
    fn the_name_is_left_out() {
        for (text, left) in [
            ("@bot fix it", "fix it"),
            ("please @bot fix", "please fix"),
            ("fix it @BOT", "fix it"),
            ("@bot\nfix it", "\nfix it"),
            ("@bot @bot fix @botany", "fix @botany"),
            ("@bot", ""),
            ("nothing", "nothing"),
        ] {
            assert_eq!(without_mentions(text, "bot"), left, "{text}");
        }
    }

    #[test]
    fn a_command_may_name_its_bot() {
        assert_eq!(command("/status"), Some(("/status", None, "")));
        assert_eq!(command(" /worktree@bot list"), Some(("/worktree", Some("bot"), " list")));
        for text in ["status", "/", "//x", "/a-b", "/usr/bin", "", "a /status"] {
            assert_eq!(command(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(?s)([@/ \n]|bot|BOT|.){0,60}", name in "[A-Za-z0-9_]{0,6}") {
            let left = without_mentions(&text, &name);
            prop_assert!(left.len() <= text.len());
            if !mentions(&text, &name) {
                prop_assert_eq!(&left, &text);
            } else {
                prop_assert!(has_mention(&text));
            }
            let _ = command(&text);
        }
    }
}
