//! The dashboard: what a person does with it in a real browser, and what an agent's words can't do to it.

mod desk;
mod forms;
mod keyboard;
mod pictures;
mod stories;
mod tabs;
mod trouble;
