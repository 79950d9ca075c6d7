//! The daemon: API, events, schedules, accounts, and how it dies.

mod api;
mod api_edges;
mod audit;
mod database;
mod openapi;
mod reload;
mod routes;
mod schedules;
mod security;
mod stories;
mod tokens;
