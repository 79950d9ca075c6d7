//! What was changed, as a patch.

use serde::Serialize;
use utoipa::ToSchema;

/// What a job or a workspace changed, as `git diff` tells it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Diff {
    /// The commit that it began with; none while there is no workspace.
    #[schema(required)]
    pub base_commit: Option<String>,
    /// The commit that it came to, or has come to so far.
    #[schema(required)]
    pub commit: Option<String>,
    /// The patch. What is not committed is not in it.
    pub diff: String,
    /// Whether the patch has more than is told.
    pub truncated: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::assert_described;

    #[test]
    fn a_diff_is_what_its_schema_says() {
        let diff = |commit: Option<String>| Diff {
            base_commit: commit.clone(),
            commit,
            diff: String::new(),
            truncated: false,
        };
        assert_described(&diff(Some("a".repeat(40))), &diff(None));
    }
}
