//! Schedules and work sources, on real repositories and a small forge; only the jobs' processes are stand-ins.

mod files;
mod issues;
mod linear;
mod pausing;
mod places;
mod story;
mod times;

#[cfg(feature = "fail-points")]
mod death;
