//! What may go, how it goes, and how it comes back.

mod archives;
mod cleanup;
mod erase;
mod glance;
mod interference;
mod left_branches;
#[cfg(feature = "fail-points")]
mod loss_model;
mod matrix;
mod mirror_and_lfs;
mod own_branches;
mod purge;
#[cfg(feature = "fail-points")]
mod purge_apart;
mod races;
mod stories;
mod unseen;
mod verdict;
mod worktrees_inside;
