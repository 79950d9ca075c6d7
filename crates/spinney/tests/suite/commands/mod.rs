//! What the commands print and take.

mod configuration;
mod conflicts;
mod deliver;
mod demo;
mod forge;
mod pages;
mod readme;
mod shell;
mod speech;
mod stories;
