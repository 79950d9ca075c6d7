//! Helps someone who mistyped a name.

use std::fmt;

/// Less alike than this, and naming the other would only confuse.
const ALIKE: f64 = 0.7;

/// What to say to someone who wrote an unknown name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suggestion {
    /// The name they probably meant.
    Nearest(String),
    /// Nothing is near: all there is.
    Known(Vec<String>),
}

impl Suggestion {
    /// Looks for the candidate most like `name`.
    pub(super) fn new<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Self {
        let candidates: Vec<_> = candidates.collect();
        match nearest(name, candidates.iter().copied()) {
            Some(nearest) => Self::Nearest(nearest.to_owned()),
            None => Self::Known(candidates.into_iter().map(str::to_owned).collect()),
        }
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nearest(name) => write!(f, "did you mean `{name}`?"),
            Self::Known(names) => match names.as_slice() {
                [only] => write!(f, "use `{only}`"),
                names => write!(f, "use one of `{}`", names.join("`, `")),
            },
        }
    }
}

/// The candidate most like `name`, if any is like it at all. Case and dashes make no difference.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = normal(name);
    candidates
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&name, &normal(candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Names are short; comparing a long one takes time for nothing.
fn normal(name: &str) -> String {
    name.chars().take(100).map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_found_or_none() {
        let names = ["max_workspaces", "min_free_disk"];
        assert_eq!(nearest("max_workspace", names.into_iter()), Some("max_workspaces"));
        assert_eq!(nearest("MAX-WORKSPACES", names.into_iter()), Some("max_workspaces"));
        assert_eq!(nearest("colour", names.into_iter()), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), names.into_iter()), None);
    }
}
