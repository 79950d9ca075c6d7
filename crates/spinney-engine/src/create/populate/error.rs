//! Why files could not be shared; each leaves the caller another way.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    /// What is copied from is not what its index says.
    #[error("the template was changed: `{}`", .path.display())]
    TemplateChanged { path: PathBuf },
    /// Its index has something that a copy can't have: a submodule, a conflict, a file that is left out.
    #[error("the template can't be copied: `{}` is no plain file", .path.display())]
    TemplateUnsuitable { path: PathBuf },
    #[error("the template's index can't be used")]
    Index(#[from] spinney_git::InvalidIndex),
    /// The file system can't share blocks, or not between these two places.
    #[error("the file system of `{}` can't share files", .path.display())]
    NotShareable { path: PathBuf, source: io::Error },
    #[error("no space left on the disk of `{}`", .path.display())]
    DiskFull { path: PathBuf },
    #[error("too large to copy: more than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("`{}` can't be {doing}", .path.display())]
    Files { path: PathBuf, doing: &'static str, source: io::Error },
    #[error("`{command}` failed: {message}")]
    Program { command: String, message: String },
}

impl CopyError {
    /// Whether the file system can't do what it was believed to: then that belief is to be forgotten.
    pub(crate) fn is_incapable(&self) -> bool {
        matches!(self, Self::NotShareable { .. } | Self::Program { .. })
    }

    pub(super) fn files(path: &Path, doing: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::of(path, doing, errno)
    }

    pub(super) fn of(path: &Path, doing: &'static str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOSPC | Errno::DQUOT => Self::DiskFull { path },
            _ => Self::Files { path, doing, source: errno.into() },
        }
    }

    /// What a refused `FICLONE` means.
    pub(super) fn clone_of(path: &Path, errno: Errno) -> Self {
        match errno {
            // The last two are what file systems without it answer, and what is said of files that can't be shared.
            Errno::OPNOTSUPP | Errno::XDEV | Errno::NOTTY | Errno::NOSYS | Errno::INVAL | Errno::PERM => {
                Self::NotShareable { path: path.to_owned(), source: errno.into() }
            }
            _ => Self::of(path, "shared", errno),
        }
    }
}
