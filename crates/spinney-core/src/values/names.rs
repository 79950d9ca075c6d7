//! Names that Spinney generates, and the slugs they are made of.
//!
//! A generated name uses `[a-z0-9._/-]` only, has at most [`MAX_GENERATED_BYTES`], and carries a hash of the whole
//! text where it had to be shortened, so that two long texts with a shared beginning stay apart.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub const MAX_GENERATED_BYTES: usize = 100;
const HASH_DIGITS: usize = 8;

/// Eight hex digits of a text's SHA-256.
#[must_use]
pub fn short_hash(text: &str) -> String {
    content_hash(text.as_bytes())[..HASH_DIGITS].to_owned()
}

/// The SHA-256 of some bytes in hex.
#[must_use]
pub fn content_hash(bytes: &[u8]) -> String {
    let mut hasher = Hasher::default();
    hasher.update(bytes);
    hasher.finish()
}

/// The SHA-256 of bytes that come piece by piece.
#[derive(Debug, Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash in hex.
    #[must_use]
    pub fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Turns any text into lowercase words joined by dashes; `None` when it has no letter or digit to keep.
///
/// Latin letters lose their accents: `café` is `cafe`, however the accent is encoded. Letters of other scripts are written
/// as they sound; different words may sound alike, so that a text with any of them gets a hash.
#[must_use]
pub fn slug(text: &str, max_bytes: usize) -> Option<String> {
    let mut slug = String::new();
    let mut is_ambiguous = false;
    for c in text.chars() {
        if is_accent(c) {
            continue;
        }
        let sound = if c.is_alphanumeric() { deunicode::deunicode_char(c) } else { None };
        is_ambiguous |= c.is_alphanumeric() && !is_latin(c);
        for c in sound.unwrap_or(" ").chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
    }
    let slug = slug.trim_end_matches('-');
    match (slug.is_empty(), is_ambiguous) {
        (true, true) => Some(short_hash(text)),
        (true, false) => None,
        (false, true) => Some(shorten(&format!("{slug}-{}", short_hash(text)), max_bytes)),
        (false, false) => Some(shorten(slug, max_bytes)),
    }
}

/// An accent that is a character of its own, after its letter.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

fn is_latin(c: char) -> bool {
    c.is_ascii() || matches!(c, '\u{aa}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

/// The slug of a text as earlier versions made it, where that differs: letters outside ASCII were dropped from it, and any
/// such text got a hash. Work that was named so is found by this name.
#[must_use]
pub fn earlier_slug(text: &str, max_bytes: usize) -> Option<String> {
    let mut slug = String::new();
    let mut lost = false;
    for c in text.chars() {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else {
            lost |= !c.is_ascii() && c.is_alphanumeric();
            if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        return lost.then(|| short_hash(text));
    }
    if lost {
        return Some(shorten(&format!("{slug}-{}", short_hash(text)), max_bytes));
    }
    Some(shorten(slug, max_bytes))
}

/// Cuts a generated name to `max_bytes`, ending it in the hash of the whole where anything was cut.
#[must_use]
pub fn shorten(name: &str, max_bytes: usize) -> String {
    if name.len() <= max_bytes {
        return name.to_owned();
    }
    let kept = &name[..name.floor_char_boundary(max_bytes - HASH_DIGITS - 1)];
    format!("{}-{}", kept.trim_end_matches(['-', '.', '/']), short_hash(name))
}

/// A value as it may stand in a one-line message: no control characters, not too long.
#[must_use]
pub fn for_message(value: &str) -> String {
    cut_for_message(value, 60)
}

/// As [`for_message`], with another bound on the characters shown.
#[must_use]
pub fn cut_for_message(value: &str, most: usize) -> String {
    let mut shown: String = value.chars().take(most).flat_map(char::escape_debug).collect();
    if value.chars().count() > most {
        shown.push('…');
    }
    shown.replace("\\'", "'").replace("\\\"", "\"").replace("\\\\", "\\")
}

/// Somebody else's text for people to read, as it is but for what would steer a terminal or turn the text around: that is
/// shown by its number. Line breaks and tabs stay.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    show(text, |c| steers(c) && !matches!(c, '\n' | '\t'))
}

/// The same for what has to stay on one line, such as the name of a file.
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    show(text, steers)
}

fn show(text: &str, hides: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hides) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hides(c) { shown.extend(c.escape_debug()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Whether a character is none to be seen: it steers a terminal, ends a line, or makes what follows run the other way.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A workspace's readable name, as `issue-42`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkspaceName(String);

impl WorkspaceName {
    /// Wraps a name that came from [`crate::Work::workspace_name`] or from the store.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkspaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `owner/name` of a repository: two path components that are safe as directory names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepositoryName {
    owner: String,
    name: String,
}

/// A text that is not `owner/name`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a repository name of the form `owner/name`", for_message(.0))]
pub struct InvalidRepositoryName(pub String);

impl RepositoryName {
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Builds a name from any two texts, replacing what a directory name should not have.
    #[must_use]
    pub fn sanitized(owner: &str, name: &str) -> Self {
        Self { owner: component(owner), name: component(name) }
    }

    /// The same name with a number behind it, for a second repository that would be called the same.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        Self { owner: self.owner.clone(), name: format!("{}-{number}", self.name) }
    }

    /// Reads `owner/name` off a remote's URL; `None` for a plain path, which says nothing about an owner.
    #[must_use]
    pub fn from_url(url: &str) -> Option<Self> {
        let path = match url.split_once("://") {
            Some(("file", _)) => return None,
            Some((_, rest)) => rest.split_once('/')?.1,
            None if url.starts_with(['/', '.', '~']) => return None,
            None => url.split_once(':')?.1,
        };
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let mut parts = path.trim_matches('/').rsplit('/').filter(|part| !part.is_empty());
        let name = parts.next()?;
        let owner = parts.next()?;
        let name = name.strip_suffix(".git").unwrap_or(name);
        (!name.is_empty()).then(|| Self::sanitized(owner, name))
    }
}

fn component(text: &str) -> String {
    let kept: String = text.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect();
    let kept = kept.trim_start_matches(['.', '-']);
    let kept = kept.strip_suffix(".git").unwrap_or(kept);
    if kept.is_empty() { short_hash(text) } else { shorten(kept, MAX_GENERATED_BYTES) }
}

fn is_component(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_GENERATED_BYTES + 8
        && !text.starts_with(['.', '-'])
        && text.chars().all(|c| c.is_alphanumeric() || "._-".contains(c))
}

impl FromStr for RepositoryName {
    type Err = InvalidRepositoryName;

    fn from_str(text: &str) -> Result<Self, InvalidRepositoryName> {
        match text.split_once('/') {
            Some((owner, name)) if is_component(owner) && is_component(name) => {
                Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
            }
            _ => Err(InvalidRepositoryName(text.to_owned())),
        }
    }
}

impl TryFrom<String> for RepositoryName {
    type Error = InvalidRepositoryName;

    fn try_from(text: String) -> Result<Self, InvalidRepositoryName> {
        text.parse()
    }
}

impl From<RepositoryName> for String {
    fn from(name: RepositoryName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for RepositoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::BranchName;

    #[test]
    fn slugs_read_well() {
        assert_eq!(slug("Add dark mode", 100).unwrap(), "add-dark-mode");
        assert_eq!(slug("  Fix: the `login` bug!! ", 100).unwrap(), "fix-the-login-bug");
        assert_eq!(slug("feature/auth", 100).unwrap(), "feature-auth");
        assert_eq!(slug("🎉 --- ..", 100), None);
        assert_eq!(slug("Unicode: café, résumé", 100).unwrap(), "unicode-cafe-resume");
        assert_eq!(slug("cafe\u{301}", 100).unwrap(), "cafe", "an accent of its own");
        assert_eq!(slug("Größe ändern", 100).unwrap(), "grosse-andern");
        assert!(slug("Добавить тему", 100).unwrap().starts_with("dobavit-temu-"));
    }

    #[test]
    fn the_earlier_slug_stays_what_it_was() {
        assert_eq!(earlier_slug("Add dark mode", 100), slug("Add dark mode", 100));
        assert_eq!(earlier_slug("Unicode café", 100).unwrap(), "unicode-caf-1f0aee19");
        assert_eq!(earlier_slug("日本", 100).unwrap(), short_hash("日本"));
    }

    #[test]
    fn texts_that_differ_only_in_what_a_slug_drops_stay_apart() {
        assert_ne!(slug("größe", 100), slug("gräße", 100));
        assert_ne!(slug("日本", 100), slug("中国", 100));
        assert_ne!(slug("北京", 100), slug("背景", 100), "they sound alike");
        let (a, b) = (format!("{}a", "x".repeat(300)), format!("{}b", "x".repeat(300)));
        assert_ne!(slug(&a, 100), slug(&b, 100));
    }

    #[test]
    fn names_come_off_every_form_of_url() {
        for url in [
            "https://github.com/acme/app.git",
            "https://user@github.com/acme/app/",
            "ssh://git@github.com:22/acme/app.git",
            "git@github.com:acme/app.git",
            "https://gitlab.example/group/acme/app",
        ] {
            assert_eq!(RepositoryName::from_url(url).unwrap().to_string(), "acme/app", "{url}");
        }
        for url in ["/srv/git/app.git", "file:///srv/git/app.git", "../app", "https://host/", "git@host:app.git"] {
            assert_eq!(RepositoryName::from_url(url), None, "{url}");
        }
    }

    #[test]
    fn what_steers_is_shown_by_its_number() {
        assert_eq!(
            visible_line("a\u{202e}b\u{1b}[2J\n日本 größe 👩\u{200d}💻"),
            "a\\u{202e}b\\u{1b}[2J\\n日本 größe 👩\u{200d}💻"
        );
        assert_eq!(visible("a\nb\tc\r"), "a\nb\tc\\r");
    }

    proptest! {
        #[test]
        fn a_slug_is_always_a_valid_short_branch(text in ".{0,400}") {
            if let Some(slug) = slug(&text, MAX_GENERATED_BYTES) {
                prop_assert!(slug.len() <= MAX_GENERATED_BYTES);
                prop_assert!(slug.parse::<BranchName>().is_ok(), "{slug}");
            }
        }

        #[test]
        fn a_slug_is_its_own_slug(text in "(?s).{0,200}", max_bytes in 12..200usize) {
            if let Some(once) = slug(&text, max_bytes) {
                prop_assert!(once.len() <= max_bytes, "{once}");
                prop_assert_eq!(slug(&once, max_bytes), Some(once));
            }
        }

        #[test]
        fn what_is_shortened_tells_names_apart(text in "[a-z/-]{101,300}", max_bytes in 20..100usize) {
            let (one, other) = (shorten(&text, max_bytes), shorten(&format!("{text}x"), max_bytes));
            prop_assert!(one.len() <= max_bytes && one != other, "{one}");
        }

        #[test]
        fn a_sanitized_repository_name_is_valid_and_stays_in_its_directory(owner in ".{0,200}", name in ".{0,200}") {
            let built = RepositoryName::sanitized(&owner, &name);
            prop_assert_eq!(built.to_string().parse::<RepositoryName>().unwrap(), built);
        }

        #[test]
        fn nothing_of_a_visible_text_steers(text in "(?s)(.|\u{202e}|\u{1b}|\n|\u{2066}|\u{200f}){0,60}") {
            prop_assert!(!visible_line(&text).contains(steers));
            prop_assert!(!visible(&text).replace(['\n', '\t'], "").contains(steers));
        }

        #[test]
        fn a_value_in_a_message_stays_on_one_line(text in "(?s).{0,300}") {
            prop_assert!(!for_message(&text).contains(char::is_control));
        }
    }
}
