//! How workspaces are made and unmade on disk. Everything that touches a tree as a whole goes through here.
//!
//! A provider offers: [`worktree::make`] and [`worktree::populate`], [`worktree::open`], [`worktree::discard`] for a
//! creation that failed, [`worktree::move_to_trash`] and [`worktree::bring_back`]. None of them deletes a tree in
//! place: what goes is renamed first.

pub(crate) mod homes;
pub(crate) mod marker;
pub(crate) mod rescue;
pub(crate) mod worktree;
