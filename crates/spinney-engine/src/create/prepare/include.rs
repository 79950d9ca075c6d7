//! Files that every new workspace of a clone is given, noted in the clone's own git dir: what `.worktreeinclude` says for
//! everybody, it says for the person alone, as git's `info/exclude` does beside `.gitignore`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_git::{SETTINGS_BYTES, read_regular_text};

use crate::home::disk::write_durably;
use crate::repositories::context::Context;
use crate::{Engine, Error, Result};

/// What a new workspace would have of a file, as far as is known without asking the remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreseen {
    /// What it would start from, as people call it.
    pub start: String,
    /// What is committed there.
    pub committed: Option<Vec<u8>>,
    /// Whether git ignores the path in the main checkout.
    pub is_ignored: bool,
}

impl Engine {
    /// Tells what a new workspace would have of a file.
    ///
    /// # Errors
    ///
    /// If there is no base that it could start from.
    #[boxed]
    pub async fn foresee(&self, context: &Context, file: &str) -> Result<Foreseen> {
        let base = self.known_start(context, None).await?;
        Ok(Foreseen {
            committed: context.load_file(&base.tip, file).await?,
            start: base.shown,
            is_ignored: context.is_ignored(Path::new(file)).await?,
        })
    }

    /// Notes that new workspaces are given a copy of a file of the main checkout, and that git ignores it: in the checkout, too.
    #[boxed]
    pub async fn give_to_workspaces(&self, context: &Context, file: &str) -> Result<()> {
        // Ignored first: what is not ignored would not be copied.
        if !context.is_ignored(Path::new(file)).await? {
            add_line(&context.common_dir().join("info").join("exclude"), &format!("/{file}"))?;
        }
        add_line(&place(context), &format!("/{file}"))
    }
}

/// The patterns are in git's ignore syntax, one a line.
pub(super) fn place(context: &Context) -> PathBuf {
    context.common_dir().join("spinney").join("include")
}

/// Adds a line to a file, which is replaced in one step, unless it has that line.
fn add_line(file: &Path, line: &str) -> Result<()> {
    let mut text = match read_regular_text(file, SETTINGS_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::files(file, "read")(error)),
    };
    if text.lines().any(|found| found == line) {
        return Ok(());
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text += &format!("{line}\n");
    let directory = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(Error::files(directory, "made"))?;
    write_durably(file, text.as_bytes()).map_err(Error::files(file, "written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_added_once_and_the_others_stay() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("info/exclude");
        add_line(&file, "/a").unwrap();
        fs::write(&file, "# mine\n/a\nlast").unwrap();
        for line in ["/a", "/b", "/b"] {
            add_line(&file, line).unwrap();
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n/a\nlast\n/b\n");
    }
}
