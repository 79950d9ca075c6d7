//! Git as Spinney runs it, on real repositories.

mod branch_names;
mod churn;
mod clean;
mod clone;
mod commit_files;
mod common;
mod discovery;
mod fetch;
mod index;
mod jail;
mod lock;
mod measured;
mod merge;
mod moving;
mod nested;
mod open;
mod pin;
mod push;
mod refs;
mod remembered;
mod secrets;
mod signature;
mod status;
mod submodules;
mod worktrees;
