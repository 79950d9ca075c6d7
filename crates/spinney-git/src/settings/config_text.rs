//! A text of git's configuration, read by git itself.

use std::path::Path;

use crate::Result;
use crate::git::Git;
use crate::repository::opened::Repository;

impl Repository {
    /// The keys and values of a text, in its order. What it includes is not read.
    pub async fn parse_config(&self, text: Vec<u8>) -> Result<Vec<(String, String)>> {
        parse_text(self.git(), text).await
    }
}

/// The same outside of any repository.
pub(crate) async fn parse_text(git: &Git, text: Vec<u8>) -> Result<Vec<(String, String)>> {
    let command = git.command(Path::new("/")).env("GIT_CEILING_DIRECTORIES", "/");
    let command = command.args(["config", "--file", "-", "--no-includes", "-z", "--list"]);
    let listed = command.stdin_bytes(text).run().await?.stdout;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let entries = listed.split_terminator('\0');
    // A key without a value is `true`.
    let settings = entries.map(|entry| entry.split_once('\n').unwrap_or((entry, "true")));
    Ok(settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}
