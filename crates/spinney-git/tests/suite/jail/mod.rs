//! A hostile agent in a box, and a host that asks about its tree and imports its commits.
//!
//! The tests play the agent by plain git and by writing files, on the host itself: what a container would keep away from the
//! host is not even there. Each attack has a payload that writes a canary file. The numbers are those of the list of attacks in
//! `docs/SAFETY.md`.

mod content;
mod executing;
pub mod fixture;
mod importing;
mod inside;
mod reaching;
mod waiting;
mod walls;
