//! Stories of what jobs need of the engine, on real repositories.

mod accounts;
mod delivery;
mod doors;
mod escape;
mod jobs;
mod one_way;
mod patterns;
mod roots;
mod setup;
