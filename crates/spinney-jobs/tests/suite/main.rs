//! Runtimes, schedules and the sources of their work.

mod no_prose;
mod runtimes;
mod runtimes_real;
mod schedules;
