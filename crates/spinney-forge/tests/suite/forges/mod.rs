//! Every kind of forge, asked over HTTP: a small one on loopback that answers in the shapes of the real ones.

mod app;
mod issues;
mod opening;
mod people;
mod pull_requests;
mod secrets;
mod story;
mod tracking;
mod transport;
mod waiting;
