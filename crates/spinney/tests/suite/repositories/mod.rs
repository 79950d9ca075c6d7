//! Repositories: known by their own id, wherever they stand.

mod identity;
mod known;
mod moved_trees;
mod upgrade;
