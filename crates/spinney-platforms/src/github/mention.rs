//! Whether a text asks for something: it mentions us, or begins with a command of ours.

use super::markdown::{Without, blanked};

/// What a text may begin with to be for us, whoever is mentioned.
const COMMANDS: [&str; 6] = ["/worktree", "/status", "/run", "/cancel", "/repo", "/help"];
/// Behind the name where the account is an app's.
const APP: &str = "[bot]";

/// The name that people call us by.
#[derive(Debug, Clone)]
pub(super) struct Mention {
    /// Without the `@`.
    login: String,
}

/// With the `@`.
impl std::fmt::Display for Mention {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "@{}", self.login)
    }
}

impl Mention {
    /// Takes it with the `@` or without.
    pub fn new(mention: &str) -> Self {
        Self { login: mention.trim_start_matches('@').to_owned() }
    }

    /// Whether an account is our own, as a person or as an app.
    pub fn is_login(&self, login: &str) -> bool {
        login.strip_suffix(APP).unwrap_or(login).eq_ignore_ascii_case(&self.login)
    }

    /// What is asked for, without the mention; none where the text is not for us.
    pub fn request(&self, text: &str) -> Option<String> {
        let said = blanked(text, Without::Quotes);
        let mut request = String::new();
        let mut end = 0;
        let mut at = 0;
        while let Some(start) = said[at..].find('@').map(|start| at + start) {
            at = start + 1;
            let Some(length) = self.length_at(&said, start) else { continue };
            request.push_str(&text[end..start]);
            end = start + length;
            let mut rest = &text[end..];
            if is_blank_line(&request) {
                // As in `@spinney, please …`.
                rest = rest.trim_start_matches([',', ':']).trim_start_matches([' ', '\t']);
            } else if request.ends_with(' ') {
                rest = rest.trim_start_matches(' ');
            }
            end = text.len() - rest.len();
            at = end;
        }
        if end == 0 {
            return is_command(text).then(|| text.trim().to_owned());
        }
        request.push_str(&text[end..]);
        Some(request.trim().to_owned())
    }

    /// How long the mention is that begins here, if one does.
    fn length_at(&self, said: &str, start: usize) -> Option<usize> {
        let before = said[..start].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || "_-+@/".contains(c)) {
            return None;
        }
        let name = said.get(start + 1..start + 1 + self.login.len())?;
        if !name.eq_ignore_ascii_case(&self.login) {
            return None;
        }
        let rest = &said[start + 1 + self.login.len()..];
        if rest.starts_with(APP) {
            return Some(1 + self.login.len() + APP.len());
        }
        let mut behind = rest.chars();
        let is_longer = match behind.next() {
            Some('.') => behind.next().is_some_and(char::is_alphanumeric),
            Some(c) => c.is_alphanumeric() || "_-/".contains(c),
            None => false,
        };
        (!is_longer).then_some(1 + self.login.len())
    }
}

/// Whether nothing stands on the last line so far.
fn is_blank_line(text: &str) -> bool {
    text.rsplit('\n').next().is_none_or(|line| line.trim().is_empty())
}

fn is_command(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    COMMANDS.contains(&first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_mention_is_a_whole_word_that_is_said() {
        let mention = Mention::new("@spinney");
        for (text, request) in [
            ("@spinney fix it", Some("fix it")),
            ("@Spinney, fix it", Some("fix it")),
            ("@SPINNEY: fix it", Some("fix it")),
            ("  @spinney\nfix it", Some("fix it")),
            ("please @spinney fix it", Some("please fix it")),
            ("could you, @spinney?", Some("could you, ?")),
            ("Thanks @spinney.", Some("Thanks .")),
            ("(@spinney) go", Some("() go")),
            ("@spinney[bot] go", Some("go")),
            ("@spinney", Some("")),
            ("@spinney /worktree create a", Some("/worktree create a")),
            ("@spinney a @spinney b", Some("a b")),
            ("`@spinney` and @spinney go", Some("`@spinney` and go")),
            ("@spinney run\n```\n@spinney\n```", Some("run\n```\n@spinney\n```")),
            ("> quoted\n\n@spinney go", Some("> quoted\n\ngo")),
            ("@spinney-bot go", None),
            ("@spinney_x go", None),
            ("@spinneys go", None),
            ("@spinneyü go", None),
            ("@spinney/team go", None),
            ("@spinney.io", None),
            ("me@spinney.io", None),
            ("me@spinney", None),
            ("@@spinney", None),
            ("npm i x/@spinney", None),
            ("spinney go", None),
            ("@spinne", None),
            ("`@spinney go`", None),
            ("```\n@spinney go\n```", None),
            ("    @spinney go", None),
            ("> @spinney go", None),
            ("<!-- @spinney go -->", None),
            ("", None),
            ("@", None),
        ] {
            assert_eq!(mention.request(text).as_deref(), request, "{text}");
        }
    }

    #[test]
    fn a_command_at_the_very_start_needs_no_mention() {
        let mention = Mention::new("@spinney");
        for text in ["/status", "/worktree list", "\n/help", "/run\nfix it", "/cancel ", "/repo acme/app"] {
            assert_eq!(mention.request(text).as_deref(), Some(text.trim()), "{text}");
        }
        for text in ["/statuses", "/etc/passwd", "please /status", "> /status", "`/status`", "/Worktree", "//run", "/"]
        {
            assert_eq!(mention.request(text), None, "{text}");
        }
    }

    #[test]
    fn our_own_accounts_are_known() {
        let mention = Mention::new("@spinney");
        assert!(mention.is_login("Spinney") && mention.is_login("spinney[bot]"));
        assert!(!mention.is_login("spinney-bot") && !mention.is_login("[bot]"));
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in "(?s)([@`>\n ,:.]|@spinney|.){0,100}") {
            if let Some(request) = Mention::new("@spinney").request(&text) {
                prop_assert!(request.len() <= text.len());
            }
        }
    }
}
