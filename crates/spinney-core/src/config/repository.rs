//! What a repository's own `spinney.toml` may say, and what of it a person must see first.
//!
//! The file is hostile until shown otherwise: whoever can push to the repository writes it. It never decides where
//! things are put on disk or what is deleted, and its shell lines count only after `spinney trust`.

use super::document::{self, Setting};
use super::error::ConfigError;
use crate::names::content_hash;

pub(super) const SETUP: &str = "workspace.setup";

/// What a person must see before it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRequest {
    /// The part in question, in one canonical form whatever the file's layout and comments.
    pub content: String,
    /// The hash that is remembered: other content must be shown again.
    pub hash: String,
    /// The shell lines.
    pub setup: Vec<String>,
}

/// Says what of the repository's file needs a person's trust; none when nothing does.
pub fn needs_trust(place: &str, text: &str) -> Result<Option<TrustRequest>, ConfigError> {
    let setup = setup_of(&read(place, text)?);
    if setup.is_empty() {
        return Ok(None);
    }
    let content = canonical(&setup);
    Ok(Some(TrustRequest { hash: content_hash(content.as_bytes()), content, setup }))
}

/// Reads the file, refusing what does not belong in it.
pub(super) fn read(place: &str, text: &str) -> Result<Vec<Setting>, ConfigError> {
    let settings = document::read(place, text)?;
    match settings.iter().find(|setting| !may_set(setting.key)) {
        Some(setting) => {
            Err(ConfigError::NotForRepositories { place: setting.place.clone(), key: setting.key.to_owned() })
        }
        None => Ok(settings),
    }
}

pub(super) fn may_set(key: &str) -> bool {
    key == "limits.max_workspaces" || key == "pool.size" || (key.starts_with("workspace.") && key != "workspace.path")
}

/// The shell lines among some settings. An empty list runs nothing, so it needs nobody's trust.
pub(super) fn setup_of(settings: &[Setting]) -> Vec<String> {
    let lines = settings.iter().filter(|setting| setting.key == SETUP).filter_map(|setting| setting.value.as_array());
    lines.flatten().filter_map(|line| line.as_str().map(str::to_owned)).collect()
}

/// Written here and not by a library, so that a newer library does not make everyone trust everything again.
fn canonical(setup: &[String]) -> String {
    let lines: String = setup.iter().map(|line| format!("  {},\n", serde_json::Value::from(line.as_str()))).collect();
    format!("[workspace]\nsetup = [\n{lines}]\n")
}

#[cfg(test)]
mod tests {
    use super::super::{DEFAULTS, defaults};
    use super::*;

    #[test]
    fn only_the_documented_keys_are_for_repositories() {
        let refused: Vec<_> =
            defaults::keys().iter().filter(|known| !may_set(&known.key)).map(|known| known.key.as_str()).collect();
        assert_eq!(
            refused,
            [
                "workspace.path",
                "limits.min_free_disk",
                "cleanup.stale_after",
                "cleanup.max_age",
                "cleanup.adopted",
                "cleanup.persistent_platforms",
                "cleanup.delete_merged_branches",
                "cleanup.prune_unmerged_branches",
                "cleanup.caches",
                "cleanup.trash_for",
                "cleanup.trash_quota",
                "store.url",
            ]
        );
    }

    #[test]
    fn what_does_not_belong_is_refused_and_told_where_it_belongs() {
        let error = read("spinney.toml", "[workspace]\nbase = 'x'\n[cleanup]\ntrash_for = '1s'").unwrap_err();
        assert_eq!(error.to_string(), "spinney.toml:4: `cleanup.trash_for` can't be set by a repository");
        let hint = "set `cleanup.trash_for` in your own file, `$XDG_CONFIG_HOME/spinney/config.toml`";
        assert_eq!(error.hint().unwrap(), hint);
        assert!(read("spinney.toml", DEFAULTS).is_err());
    }

    #[test]
    fn trust_is_about_content_not_about_layout() {
        let a = needs_trust("x", "[workspace]\nsetup = ['npm ci', \"echo \\\"a\\\"\"]").unwrap().unwrap();
        let b = "# hi\n[limits]\nmax_workspaces = 3\n[workspace]\nsetup = [\n  'npm ci', # one\n  'echo \"a\"',\n]\n";
        let b = needs_trust("y", b).unwrap().unwrap();
        assert_eq!(a, b);
        assert_eq!(a.setup, ["npm ci", "echo \"a\""]);
        assert_eq!(a.content, "[workspace]\nsetup = [\n  \"npm ci\",\n  \"echo \\\"a\\\"\",\n]\n");
        let canonical = needs_trust("z", &a.content).unwrap().unwrap();
        assert_eq!(canonical, a, "the canonical text says the same as the file");
    }

    #[test]
    fn other_content_has_another_hash() {
        let hash = |setup: &str| needs_trust("x", &format!("workspace.setup = {setup}")).unwrap().unwrap().hash;
        let hashes = [hash("['a', 'b']"), hash("['b', 'a']"), hash("['a\\nb']"), hash("[\"a\\nb\"]"), hash("['a b']")];
        for (index, one) in hashes.iter().enumerate() {
            assert!(!hashes[index + 1..].contains(one), "{index}");
        }
    }

    #[test]
    fn nothing_to_run_needs_no_trust() {
        for text in ["", "[workspace]\nsetup = []", "[workspace]\ncopy = ['.env']", "limits.max_workspaces = 3"] {
            assert_eq!(needs_trust("x", text).unwrap(), None, "{text}");
        }
    }
}
