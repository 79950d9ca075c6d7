//! The address of an issue or pull request on a forge, as a person copies it from a browser.

use crate::repository::canonical_remote;
use crate::work::parse_number;
use crate::{Repository, Work};

/// What the page of an issue or pull request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkAddress {
    /// The repository, as [`canonical_remote`] writes it.
    pub remote: String,
    pub work: Work,
}

impl WorkAddress {
    /// Reads `https://HOST/OWNER/NAME/issues/42` and what GitHub, GitLab, Forgejo and Gitea write instead of `issues`;
    /// parts of such a page count as the page. Anything else is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let place = text.trim().strip_prefix("https://").or_else(|| text.trim().strip_prefix("http://"))?;
        let place = place.split(['?', '#']).next().unwrap_or_default();
        let parts: Vec<&str> = place.split('/').collect();
        let (at, work) = parts.windows(2).enumerate().find_map(|(at, pair)| {
            let number = parse_number(pair[1]).ok()?;
            match pair[0] {
                "issues" => Some((at, Work::issue(number))),
                "pull" | "pulls" | "merge_requests" => Some((at, Work::pr(number))),
                _ => None,
            }
        })?;
        // GitLab puts a dash between a repository and its pages.
        let repository = parts[..at].join("/");
        let repository = repository.strip_suffix("/-").unwrap_or(&repository);
        let remote = canonical_remote(&format!("https://{repository}"))?;
        Some(Self { remote, work })
    }

    /// Whether it is of this repository. Forges tell names in any case.
    #[must_use]
    pub fn is_of(&self, repository: &Repository) -> bool {
        repository.remote().is_some_and(|remote| remote.eq_ignore_ascii_case(&self.remote))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_of_every_forge_are_read() {
        for (text, remote, work) in [
            ("https://github.com/acme/app/issues/42", "github.com/acme/app", Work::issue(42)),
            ("https://github.com/acme/app/issues/42#issuecomment-7", "github.com/acme/app", Work::issue(42)),
            ("https://github.com/acme/app/pull/99/files?w=1", "github.com/acme/app", Work::pr(99)),
            ("https://gitlab.example/group/sub/app/-/issues/3", "gitlab.example/group/sub/app", Work::issue(3)),
            ("https://gitlab.example/acme/app/-/merge_requests/9", "gitlab.example/acme/app", Work::pr(9)),
            ("http://forge.local:3000/acme/app/pulls/7", "forge.local:3000/acme/app", Work::pr(7)),
        ] {
            let address = WorkAddress::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((address.remote.as_str(), &address.work), (remote, &work), "{text}");
        }
        for text in [
            "",
            "42",
            "issues/42",
            "https://",
            "https:///issues/42",
            "https://github.com/issues/42",
            "https://github.com/acme/app",
            "https://github.com/acme/app/issues/0",
            "https://github.com/acme/app/issues/x",
            "ssh://github.com/acme/app/issues/42",
        ] {
            assert_eq!(WorkAddress::parse(text).filter(|address| address.remote.contains("acme")), None, "{text}");
        }
    }
}
