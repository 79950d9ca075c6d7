//! Workspaces: the work that they are for, what changes them, and whether they may go.

pub mod evidence;
pub mod operation;
pub mod origin;
pub mod variables;
pub mod verdict;
pub mod work;
pub mod workspace;
