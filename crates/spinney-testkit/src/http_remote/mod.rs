//! git over HTTP on loopback: a small server before the real `git http-backend`.
//!
//! It serves what lies in [`crate::Sandbox::remotes`], so that `acme/app.git` there is `http://127.0.0.1:PORT/acme/app.git`.
//! Fetching works always; pushing where the repository says `http.receivepack`, or with a token.

mod server;

pub use server::HttpRemote;
