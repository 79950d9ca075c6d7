//! What is told as it happens, on real databases and real files.

mod broadcast;
mod log;
mod place;
mod sse;
