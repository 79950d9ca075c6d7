//! Stories of the store, on a real SQLite and a real PostgreSQL alike; then what only the one or the other can do.

mod archon;
mod archon_server;
mod backend;
mod concurrency;
mod events;
mod files;
mod jobs;
mod origins;
mod outages;
mod pages;
mod processes;
mod retention;
mod rows;
mod samples;
mod schedules;
mod stories;
mod tokens;
mod upgrade;
mod year;
