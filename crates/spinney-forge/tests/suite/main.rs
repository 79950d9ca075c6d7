//! Forges as they answer on loopback.

mod forges;
mod github_description;
mod linear;
