//! Whether a workspace may go, and what stands against it.

use serde::Serialize;
use spinney_core::Consent;
use spinney_engine::Engine;
use utoipa::ToSchema;

use super::{EvidenceKind, ReasonCode, Workspace};

/// Whether a workspace may go, with every reason against it at once.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Verdict {
    pub workspace: Workspace,
    /// Whether nothing stands in the way of a person who agrees to nothing.
    pub removable: bool,
    pub reasons: Vec<Reason>,
    /// Why it counts as merged; empty where it does not.
    pub evidence: Vec<Evidence>,
}

impl Verdict {
    #[must_use]
    pub fn of(engine: &Engine, workspace: &spinney_core::Workspace, verdict: &spinney_core::Verdict) -> Self {
        Self::with(Workspace::of(engine, workspace), verdict)
    }

    fn with(workspace: Workspace, verdict: &spinney_core::Verdict) -> Self {
        Self {
            workspace,
            removable: verdict.removable(&Consent::None),
            reasons: Reason::all(&verdict.reasons),
            evidence: verdict.evidence().map(Evidence::of).collect(),
        }
    }
}

/// A reason against a removal.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Reason {
    pub code: ReasonCode,
    /// How much, in words: `3 files`, `1 commit`.
    pub detail: String,
    /// Which, the first few: paths, commits, processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// Whether it stops whoever asked.
    pub blocks: bool,
    /// Whether a person may override it.
    pub overridable: bool,
    /// The job that runs in it, where that is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub job: Option<String>,
}

impl Reason {
    #[must_use]
    pub fn of(reason: &spinney_core::Reason) -> Self {
        Self {
            code: reason.code.into(),
            detail: reason.detail(),
            items: reason.items.clone(),
            blocks: reason.blocks,
            overridable: reason.overridable,
            job: reason.job.as_ref().map(ToString::to_string),
        }
    }

    #[must_use]
    pub fn all(reasons: &[spinney_core::Reason]) -> Vec<Self> {
        reasons.iter().map(Self::of).collect()
    }
}

/// Why a branch counts as merged.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Evidence {
    pub kind: EvidenceKind,
    pub detail: String,
}

impl Evidence {
    #[must_use]
    pub fn of(evidence: &spinney_core::Evidence) -> Self {
        Self { kind: evidence.kind.into(), detail: evidence.detail.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn a_verdict_is_what_its_schema_says() {
        let workspace = Workspace::linked(&sample::bare_workspace(), None);
        let kind = spinney_core::EvidenceKind::Ancestor;
        let evidence = spinney_core::Evidence { kind, detail: "in main".to_owned() };
        let full = spinney_core::Verdict {
            reasons: vec![sample::full_reason(), sample::bare_reason()],
            merge: spinney_core::Merge::Merged(evidence.clone()),
        };
        let bare = spinney_core::Verdict { reasons: vec![], merge: spinney_core::Merge::Unstarted };
        let (full, bare) = (Verdict::with(workspace.clone(), &full), Verdict::with(workspace, &bare));
        assert_eq!((full.removable, bare.removable), (false, true));
        assert_described(&full, &bare);
        assert_described(&Evidence::of(&evidence), &Evidence::of(&evidence));
    }

    #[test]
    fn a_reason_is_what_its_schema_says() {
        assert_described(&Reason::of(&sample::full_reason()), &Reason::of(&sample::bare_reason()));
    }
}
