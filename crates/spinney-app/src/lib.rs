//! What people and programs can ask for, and how it is told: the room between the engine with its jobs, and the fronts
//! (command line, API, pages, chats).
//!
//! Here are the JSON documents ([`document`]), the words that people read ([`words`]), and how this program starts itself
//! again for jobs and chores ([`own_program`]). Nothing here knows HTTP, a
//! terminal, or the markup of a platform.

pub mod document;
pub mod own_program;
pub mod words;
