//! Who would conflict with whom.

use serde::Serialize;
use spinney_engine::Opponent;
use utoipa::ToSchema;

use super::path_text;

/// Which workspaces of a repository would conflict, were they merged now.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Conflicts {
    pub conflicts: Vec<Conflict>,
    /// How many workspaces have work of their own, and were compared.
    pub compared: usize,
    pub uncommitted: Vec<Uncommitted>,
    pub unknown: Vec<Unjudged>,
}

/// Two that would conflict.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Conflict {
    /// The names of both; `base` stands for the base of the first.
    pub workspaces: [String; 2],
    /// The base branch, where that is the second.
    #[schema(required)]
    pub base: Option<String>,
    /// Git may find a conflict that is in no file.
    pub files: Vec<String>,
}

/// A workspace with files that are not committed, and so were not judged.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Uncommitted {
    pub workspace: String,
    /// How many.
    pub files: usize,
}

/// A workspace that could not be judged, or not in full.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Unjudged {
    pub workspace: String,
    pub detail: String,
}

impl Conflicts {
    #[must_use]
    pub fn of(conflicts: &spinney_engine::Conflicts) -> Self {
        let uncommitted = conflicts.uncommitted.iter();
        let unknown = conflicts.unknown.iter();
        Self {
            conflicts: conflicts.found.iter().map(Conflict::of).collect(),
            compared: conflicts.compared,
            uncommitted: uncommitted
                .map(|(name, files)| Uncommitted { workspace: name.to_string(), files: *files })
                .collect(),
            unknown: unknown
                .map(|(name, detail)| Unjudged { workspace: name.to_string(), detail: detail.clone() })
                .collect(),
        }
    }
}

impl Conflict {
    fn of(conflict: &spinney_engine::Conflict) -> Self {
        let (with, base) = match &conflict.with {
            Opponent::Workspace(name) => (name.to_string(), None),
            Opponent::Base(branch) => ("base".to_owned(), Some(branch.to_string())),
        };
        Self {
            workspaces: [conflict.workspace.to_string(), with],
            base,
            files: conflict.files.iter().map(|file| path_text(file)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use spinney_core::WorkspaceName;

    use super::*;
    use crate::document::described::assert_described;

    #[test]
    fn conflicts_are_what_their_schema_says() {
        let name = |name: &str| WorkspaceName::new(name);
        let conflict = |with| spinney_engine::Conflict { workspace: name("issue-1"), with, files: vec!["a".into()] };
        let with_base = conflict(Opponent::Base("main".parse().unwrap()));
        let with_other = conflict(Opponent::Workspace(name("issue-2")));
        assert_described(&Conflict::of(&with_base), &Conflict::of(&with_other));
        let full = Conflicts::of(&spinney_engine::Conflicts {
            found: vec![with_base, with_other],
            compared: 2,
            uncommitted: vec![(name("issue-3"), 4)],
            unknown: vec![(name("issue-5"), "its directory is gone".to_owned())],
        });
        assert_described(&full, &Conflicts::of(&spinney_engine::Conflicts::default()));
        assert_described(&full.uncommitted[0], &full.uncommitted[0]);
        assert_described(&full.unknown[0], &full.unknown[0]);
    }
}
