//! Everything that concerns a workspace on disk and in git: making and unmaking it, and every question about it.
//!
//! A [`provider`] makes trees and opens them; the row's `provider` says which one. What it gives is a [`Tree`], which owns
//! every git question about one workspace. Nothing outside this folder asks git about a workspace in another way. None of
//! it deletes a tree in place: what goes is renamed first.

mod bringing;
#[cfg(feature = "fail-points")]
mod clone;
mod finding;
pub(crate) mod homes;
mod inside;
mod left_over;
mod making;
pub(crate) mod marker;
mod moving;
mod opening;
mod own_branch;
mod provider;
mod pushing;
pub(crate) mod rescue;
mod tips;
mod workspace;
mod worktree;

pub(crate) use bringing::{bring_in, is_apart, lend_branch, places, stale_locks};
pub(crate) use finding::{
    all_admin_dirs_in, check_nested, check_not_moved, find_admin_dir, find_admin_dir_of, named_branches, was_handed_out,
};
pub(crate) use inside::{find_inside, lock_inside, release_inside, unlock_inside};
pub(crate) use making::{discard, drop_made_branch, make, populate, retire_admin_dir};
pub(crate) use moving::{
    ASIDE, KEPT_REFS, LOCKED_BY_SPINNEY, TRASH_BESIDE, bring_back, has_begun_to_move, kept_by, kept_refs, lock_reason,
    move_if_there, move_to_trash, rescue_ref, set_locks_aside, trash_place, trashed_admin_dir,
};
pub(crate) use opening::{Opened, is_missing, is_of_other_home, linked, moved, open, open_at, require};
pub use own_branch::OwnBranch;
pub(crate) use provider::provider_of_new;
pub(crate) use pushing::push;
pub use tips::tip_ref;
pub use workspace::Tree;
