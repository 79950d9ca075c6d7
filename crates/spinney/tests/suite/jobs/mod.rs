//! Jobs of scripted agents.

mod abandoned;
mod agents;
mod cancelled;
mod cli;
mod copied;
#[cfg(feature = "fail-points")]
mod death;
mod delivery;
mod executor;
mod floods;
mod guards;
mod held;
mod life;
mod origins;
mod queue;
mod reading;
mod repository;
mod room;
mod signed;
mod stops;
mod tokens;
mod told;
#[cfg(feature = "fail-points")]
mod waiting;
mod way;
