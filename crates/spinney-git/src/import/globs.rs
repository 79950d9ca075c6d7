//! Patterns of protected paths, such as `.github/workflows/**`.
//!
//! They hold more than they name rather than less: letters count in either case, and what stands in the place of a directory on the
//! way is held, too.

/// Patterns whose parts are separated by slashes. `**` is any number of parts, `*` any part of a name, `?` one character.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Globs {
    patterns: Vec<Vec<Vec<u8>>>,
}

impl Globs {
    pub(crate) fn new(patterns: &[String]) -> Self {
        let parts = |pattern: &String| {
            let pattern = pattern.trim_start_matches('/').to_ascii_lowercase();
            // A directory means all that is in it.
            let pattern = if pattern.ends_with('/') { pattern + "**" } else { pattern };
            pattern.split('/').map(|part| part.as_bytes().to_vec()).collect()
        };
        Self { patterns: patterns.iter().map(parts).collect() }
    }

    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        let path = path.to_ascii_lowercase();
        let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        self.patterns.iter().any(|pattern| is_held(pattern, &parts))
    }
}

/// Whether a path fits the pattern, or is a directory on the way of what would.
fn is_held(pattern: &[Vec<u8>], path: &[&[u8]]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        // The path ends on the way, or where the pattern does.
        (_, None) => true,
        (None, Some(_)) => false,
        // At the end it holds all below. Else it is any number of parts; a name among them is not on the way of anything.
        (Some((first, rest)), Some((_, below))) if first == b"**" => {
            rest.is_empty() || is_held(rest, path) || (!below.is_empty() && is_held(pattern, below))
        }
        (Some((first, rest)), Some((name, below))) => fits(first, name) && is_held(rest, below),
    }
}

/// Whether a name fits a part of a pattern; in time that is linear in both.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut on, mut back) = (0, 0, None);
    while on < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                back = Some((at, on));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[on] => {
                at += 1;
                on += 1;
            }
            _ => match back {
                Some((star, from)) => {
                    back = Some((star, from + 1));
                    at = star + 1;
                    on = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn holds(pattern: &str, path: &str) -> bool {
        Globs::new(&[pattern.to_owned()]).matches(path.as_bytes())
    }

    #[test]
    fn what_is_protected_is_held_with_its_way() {
        for (pattern, path) in [
            (".github/workflows/**", ".github/workflows/ci.yml"),
            (".github/workflows/**", ".github/workflows/a/b"),
            (".github/workflows/**", ".GitHub/Workflows/ci.yml"),
            (".github/workflows/**", ".github"),
            (".github/workflows/**", ".github/workflows"),
            (".gitlab-ci.yml", ".gitlab-ci.yml"),
            ("/ci/", "ci/x"),
            ("**/Dockerfile", "a/b/Dockerfile"),
            ("**/Dockerfile", "Dockerfile"),
            ("a/*.y?l", "a/b.yml"),
        ] {
            assert!(holds(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            (".github/workflows/**", ".github/dependabot.yml"),
            (".github/workflows/**", "src/.github/workflows/ci.yml"),
            (".gitlab-ci.yml", ".gitlab-ci.yml/x"),
            ("**/Dockerfile", "a/Dockerfile.x"),
            ("a/*.yml", "a/b/c.yml"),
        ] {
            assert!(!holds(pattern, path), "{pattern} {path}");
        }
    }

    proptest! {
        #[test]
        fn no_pattern_makes_it_panic_or_wait(pattern in "[a*?/]{0,24}", path in "[a/]{0,60}") {
            let _ = holds(&pattern, &path);
        }
    }
}
