//! A comment's hidden mark, by which our own is found again and known for ours.
//!
//! It is signed for one conversation: whoever copies it elsewhere, or makes one up, fools nobody.

use std::fmt::Write;

use ring::hmac;

const BEGIN: &str = "<!-- spinney:";
const END: &str = " -->";
/// Room that a mark takes in a comment, with the line before it.
pub(super) const LONGEST_MARK: usize = 200;
const LONGEST_KEY: usize = 100;
/// Of the signature, in bytes: enough that nobody guesses it.
const SIGNATURE: usize = 12;

pub(super) struct Marker(Vec<hmac::Key>);

impl Marker {
    /// Signs with the first key, and knows what any of them signed.
    pub fn new(keys: Vec<hmac::Key>) -> Self {
        Self(keys)
    }

    /// The marks that a part of a saying may have, the one that it gets first.
    pub fn marks(&self, conversation: &str, key: &str, part: usize) -> Vec<String> {
        let content = format!("{}:{part}", tame(key));
        self.0.iter().map(|signer| format!("{BEGIN}{content}:{}{END}", sign(signer, conversation, &content))).collect()
    }

    /// Whether a text has a mark of ours for this conversation.
    pub fn is_in(&self, text: &str, conversation: &str) -> bool {
        text.split(BEGIN).skip(1).filter_map(|rest| rest.split_once(END)).any(|(mark, _)| {
            let Some((content, signature)) = mark.rsplit_once(':') else { return false };
            content.len() <= LONGEST_MARK && self.0.iter().any(|key| sign(key, conversation, content) == signature)
        })
    }
}

/// A key that is safe within a comment of HTML.
fn tame(key: &str) -> String {
    key.chars().take(LONGEST_KEY).map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' }).collect()
}

fn sign(key: &hmac::Key, conversation: &str, content: &str) -> String {
    let tag = hmac::sign(key, format!("comment\0{conversation}\0{content}").as_bytes());
    tag.as_ref().iter().take(SIGNATURE).fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(secrets: &[&str]) -> Marker {
        Marker::new(secrets.iter().map(|secret| hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())).collect())
    }

    #[test]
    fn a_mark_is_ours_where_it_was_made_and_nowhere_else() {
        let (old, new, other) = (marker(&["old"]), marker(&["new", "old"]), marker(&["other"]));
        let mark = &old.marks("acme/app#1", "72d3162e-cc78", 0)[0];
        assert!(mark.len() < LONGEST_MARK, "{mark}");
        let text = format!("hello <!-- spinney: --> {mark} <!-- spinney:x:0:00 -->");
        assert!(old.is_in(&text, "acme/app#1") && new.is_in(&text, "acme/app#1"));
        assert!(!old.is_in(&text, "acme/app#2") && !other.is_in(&text, "acme/app#1"));
        assert!(!old.is_in("<!-- spinney:72d3162e-cc78:0: -->", "acme/app#1"));
        assert_eq!(new.marks("acme/app#1", "72d3162e-cc78", 0)[1], *mark);
        assert_ne!(old.marks("acme/app#1", "72d3162e-cc78", 1)[0], *mark);
    }

    #[test]
    fn a_key_can_not_end_the_comment() {
        let mark = &marker(&["a"]).marks("acme/app#1", "--> <b>@all\n", 0)[0];
        assert_eq!(mark.matches("-->").count(), 1);
        assert!(mark.starts_with("<!-- spinney:____") && !mark.contains(['@', '\n']), "{mark}");
    }
}
