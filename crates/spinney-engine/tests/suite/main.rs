//! Stories of what jobs need of the engine, on real repositories.

mod accounts;
mod delivery;
mod doors;
mod escape;
mod executor;
mod jobs;
mod patterns;
mod setup;
