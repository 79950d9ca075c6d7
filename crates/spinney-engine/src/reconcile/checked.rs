//! What a marker says is input: whoever works in the repository can write it. A row that is made from one takes from it only
//! what can do no harm.

use std::path::PathBuf;

use crate::Engine;
use crate::home::layout::MARKER;
use crate::repositories::context::{Context, tree_root};
use crate::tree::marker::Marker;

impl Engine {
    /// The marker with a base commit that base has: with the branch's own tip for one, all its commits would count as
    /// somebody else's.
    pub(super) async fn checked_base(&self, context: &Context, marker: Marker) -> Marker {
        let named = marker.base_branch.as_ref().filter(|base| **base != marker.branch);
        let base = match self.known_base(context, named).await {
            Ok(base) => base,
            Err(_) => match self.known_base(context, None).await {
                Ok(base) => base,
                // Nothing is known that it could be compared with.
                Err(_) => return marker,
            },
        };
        if context.is_ancestor(&marker.base_commit, &base.tip).await.unwrap_or(false) {
            return Marker { base_branch: base.branch, ..marker };
        }
        let base_commit = match context.load_branch(&marker.branch).await {
            Ok(Some(tip)) => context.load_merge_base(&tip, &base.tip).await.ok().flatten(),
            _ => None,
        };
        Marker { base_branch: base.branch, base_commit: base_commit.unwrap_or(base.tip), ..marker }
    }

    /// The place that a removed workspace had, if it is one where workspaces lie; else the one that it would get today.
    pub(super) async fn checked_path(&self, context: &Context, marker: &Marker) -> PathBuf {
        let (path, root) = (&marker.path, tree_root(&marker.path));
        let of_home = root.starts_with(self.home.root().join("trees"));
        let in_git = path.starts_with(context.common_dir());
        let ignored = context.is_in_checkout(root) && context.is_ignored(path).await.unwrap_or(false);
        if !in_git && (of_home || ignored || root.join(MARKER).exists()) {
            return path.clone();
        }
        let name = marker.work.workspace_name();
        self.expand_path(context, &marker.id, name.as_str(), &marker.branch)
    }
}
