//! The jail: a short-lived sandbox of bubblewrap, in which git looks at what an agent in a box could have written.
//!
//! What is in a private git dir or a tree can make git run programs, follow alternates and links, wait for a pipe, or write a
//! terabyte. In the jail there is nothing to run and nothing to reach:
//!
//! - its own user, process, network, IPC and host name spaces, no capability, no environment of the caller, no home;
//! - the system's programs, and the directories that the call names, all read-only; at most one that can be written;
//! - a filter of system calls: git itself and its threads run, it starts no other program and opens no socket;
//! - limits of time, processor time, memory, file size, open files and output. When the time is up, all in it is dead;
//! - what it says is read as a hostile text: an answer that can't be had is [`Error::Unverifiable`](crate::Error).

pub(crate) mod answer;
pub(crate) mod confinement;
pub(crate) mod filter;
pub(crate) mod limits;
pub(crate) mod probe;
pub(crate) mod system;
