//! A model on loopback that does what the prompt says, for real agent programs to talk to.
//!
//! It speaks Anthropic's messages, OpenAI's responses and chat completions, and Gemini's generateContent. The newest
//! prompt holds the instructions, one a line and done one after the other:
//!
//! ```text
//! STUB:WRITE PATH TEXT    the agent writes a file
//! STUB:BASH COMMAND       the agent runs a command
//! STUB:CALL TOOL JSON     the agent uses any tool of its own
//! STUB:DENIED             the agent runs a command that nobody may run unasked
//! STUB:SAY TEXT           the model says this
//! STUB:USAGE N            the next answer says that N tokens went in
//! STUB:FAIL STATUS        the request fails, however often it is repeated
//! STUB:FAILONCE STATUS    it fails the first time
//! STUB:NOTE TEXT          what to answer to a later prompt that asks for a hand-off note
//! ```
//!
//! At the end it says `done (N messages seen)`, where N shows whether a resumed session brought its history. Asked for a
//! hand-off note, it says `STUB-NOTE: TEXT`; of a prompt that holds such a note, only what follows it is done.

mod answer;
mod anthropic;
mod chat;
mod conversation;
mod gemini;
mod instruction;
mod responses;
mod server;

pub use server::{ModelRequest, StubModel};
