//! Repositories, and the forges that they are on.

pub mod forge;
pub mod repository;
