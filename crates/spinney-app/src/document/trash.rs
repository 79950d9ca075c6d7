//! What is in the trash, and what was purged from it.

use serde::Serialize;
use spinney_engine::{Engine, Purged, Trashed};
use utoipa::ToSchema;

use super::{Timestamp, Workspace, path_text};

/// A workspace in the trash.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TrashedWorkspace {
    #[serde(flatten)]
    pub workspace: Workspace,
    /// When it will be purged by itself.
    pub until: Timestamp,
    /// What it takes on disk, where that was asked for.
    #[schema(required)]
    pub bytes: Option<u64>,
}

impl TrashedWorkspace {
    #[must_use]
    pub fn of(engine: &Engine, trashed: &Trashed) -> Self {
        Self { workspace: Workspace::of(engine, &trashed.workspace), until: trashed.until.into(), bytes: trashed.bytes }
    }
}

/// A workspace whose tree was freed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PurgedWorkspace {
    #[serde(flatten)]
    pub workspace: Workspace,
    /// The archive of what only its tree held; none where that was nothing.
    #[schema(required)]
    pub archive: Option<String>,
    /// Bytes.
    pub freed: u64,
}

impl PurgedWorkspace {
    #[must_use]
    pub fn of(engine: &Engine, purged: &Purged) -> Self {
        Self {
            workspace: Workspace::of(engine, &purged.workspace),
            archive: purged.archive.as_deref().map(path_text),
            freed: purged.freed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn what_is_or_was_in_the_trash_is_what_its_schema_says() {
        let workspace = || Workspace::linked(&sample::bare_workspace(), None);
        let trashed = |bytes| TrashedWorkspace { workspace: workspace(), until: sample::at(1).into(), bytes };
        assert_described(&trashed(Some(1)), &trashed(None));
        let purged = |archive| PurgedWorkspace { workspace: workspace(), archive, freed: 1 };
        assert_described(&purged(Some("/archive".to_owned())), &purged(None));
    }
}
