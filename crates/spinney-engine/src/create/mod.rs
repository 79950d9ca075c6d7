//! A new workspace: planned, made, filled with files, prepared.

pub(crate) mod free_branch;
pub(crate) mod free_name;
pub(crate) mod make;
pub(crate) mod plan;
pub(crate) mod populate;
pub(crate) mod prepare;
pub(crate) mod row;
