//! The worktrees that git knows of a repository.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use spinney_core::{BranchName, CommitId};

use crate::process::retry::Retry;
use crate::repository::opened::Repository;
use crate::{Error, Result};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeEntry {
    pub path: PathBuf,
    /// None where the branch has no commit yet.
    pub head: Option<CommitId>,
    /// None when detached, and where the name is none that we accept; `branch_ref` has it then.
    pub branch: Option<BranchName>,
    pub branch_ref: Option<String>,
    /// The main checkout, or the bare repository itself.
    pub is_main: bool,
    pub bare: bool,
    pub detached: bool,
    /// The reason it was locked with, maybe empty.
    pub locked: Option<String>,
    /// Why git would forget it.
    pub prunable: Option<String>,
}

impl Repository {
    /// Lists all worktrees, the main one first.
    pub async fn load_worktrees(&self) -> Result<Vec<WorktreeEntry>> {
        self.check_admin_files()?;
        let mut retry = Retry::default();
        loop {
            let output = self.command().args(["worktree", "list", "--porcelain", "-z"]).run().await;
            if !retry.again(&output).await {
                return Ok(parse_worktrees(&output?.stdout));
            }
        }
    }

    /// Refuses files that git would read without end, or wait for: it reads those of every worktree to list one.
    fn check_admin_files(&self) -> Result<()> {
        for entry in std::fs::read_dir(self.common_dir().join("worktrees")).into_iter().flatten().flatten() {
            for name in ["gitdir", "locked"] {
                let file = entry.path().join(name);
                if std::fs::symlink_metadata(&file).is_ok_and(|found| !found.is_file()) {
                    let reason = format!("its `{name}` is no regular file");
                    return Err(Error::DamagedWorktree { path: entry.path(), reason });
                }
            }
        }
        Ok(())
    }
}

/// Reads `label value\0` lines, each worktree ended by an empty one.
fn parse_worktrees(stdout: &[u8]) -> Vec<WorktreeEntry> {
    let mut entries: Vec<WorktreeEntry> = Vec::new();
    for line in stdout.split(|byte| *byte == 0) {
        let space = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (label, value) = (&line[..space], line.get(space + 1..).unwrap_or_default());
        if label == b"worktree" {
            entries.push(WorktreeEntry {
                path: PathBuf::from(OsStr::from_bytes(value)),
                head: None,
                branch: None,
                branch_ref: None,
                is_main: entries.is_empty(),
                bare: false,
                detached: false,
                locked: None,
                prunable: None,
            });
            continue;
        }
        let Some(entry) = entries.last_mut() else { continue };
        let text = String::from_utf8_lossy(value).into_owned();
        match label {
            b"HEAD" => entry.head = text.parse().ok().filter(|_| text.bytes().any(|digit| digit != b'0')),
            b"branch" => {
                entry.branch = text.strip_prefix("refs/heads/").and_then(|name| name.parse().ok());
                entry.branch_ref = Some(text);
            }
            b"bare" => entry.bare = true,
            b"detached" => entry.detached = true,
            b"locked" => entry.locked = Some(text),
            b"prunable" => entry.prunable = Some(text),
            _ => {}
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn every_attribute_is_read() {
        let commit = "a".repeat(40);
        let text = format!(
            "worktree /r\0HEAD {commit}\0branch refs/heads/main\0\0\
             worktree /w/my tré\0HEAD {commit}\0detached\0locked spinney:k3\nline two\0\0\
             worktree /w/n\0HEAD {}\0branch refs/heads/🎉\0locked\0prunable gone\0\0",
            "0".repeat(40)
        );
        let entries = parse_worktrees(text.as_bytes());
        assert_eq!(entries.len(), 3);
        assert!(entries[0].is_main && !entries[1].is_main);
        assert_eq!(entries[0].branch.as_ref().unwrap().as_str(), "main");
        assert_eq!(entries[1].path, PathBuf::from("/w/my tré"));
        assert!(entries[1].detached);
        assert_eq!(entries[1].locked.as_deref(), Some("spinney:k3\nline two"));
        assert_eq!(entries[2].head, None);
        assert_eq!(entries[2].branch, None);
        assert_eq!(entries[2].branch_ref.as_deref(), Some("refs/heads/🎉"));
        assert_eq!(entries[2].locked.as_deref(), Some(""));
        assert_eq!(entries[2].prunable.as_deref(), Some("gone"));
    }

    const WORDS: &[&str] =
        &["worktree ", "HEAD ", "branch refs/heads/", "bare", "detached", "locked ", "prunable", "\0\0"];

    fn entry() -> impl Strategy<Value = WorktreeEntry> {
        let reason = || proptest::option::of("[a-z: \n]{0,12}");
        let head = (hostile::commit(), proptest::option::of("[a-z]{1,8}(/[a-z]{1,8})?"), any::<bool>());
        (hostile::path(), head, reason(), reason()).prop_map(|(path, (commit, branch, bare), locked, prunable)| {
            let branch: Option<BranchName> = branch.filter(|_| !bare).map(|name| name.parse().unwrap());
            WorktreeEntry {
                path: PathBuf::from(OsStr::from_bytes(&path)),
                head: Some(commit).filter(|_| !bare),
                branch_ref: branch.as_ref().map(BranchName::local_ref),
                detached: branch.is_none() && !bare,
                branch,
                is_main: false,
                bare,
                locked,
                prunable,
            }
        })
    }

    /// As git writes it.
    fn written(entries: &[WorktreeEntry]) -> Vec<u8> {
        let mut text = Vec::new();
        for entry in entries {
            let mut write = |label: &str, value: Option<&[u8]>| {
                text.extend(label.bytes());
                text.extend(
                    value.filter(|value| !value.is_empty()).map(|value| [b" ", value].concat()).unwrap_or_default(),
                );
                text.push(0);
            };
            write("worktree", Some(entry.path.as_os_str().as_bytes()));
            if entry.bare {
                write("bare", None);
            }
            if let Some(head) = &entry.head {
                write("HEAD", Some(head.as_str().as_bytes()));
            }
            match &entry.branch_ref {
                Some(name) => write("branch", Some(name.as_bytes())),
                None if entry.detached => write("detached", None),
                None => {}
            }
            for (label, reason) in [("locked", &entry.locked), ("prunable", &entry.prunable)] {
                if let Some(reason) = reason {
                    write(label, Some(reason.as_bytes()));
                }
            }
            text.push(0);
        }
        text
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(WORDS)) {
            let _ = parse_worktrees(&stdout);
        }

        #[test]
        fn what_git_writes_is_read_back(mut entries in proptest::collection::vec(entry(), 0..6)) {
            if let Some(first) = entries.first_mut() {
                first.is_main = true;
            }
            prop_assert_eq!(parse_worktrees(&written(&entries)), entries);
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(WORDS, |stdout| drop(parse_worktrees(stdout)));
    }
}
