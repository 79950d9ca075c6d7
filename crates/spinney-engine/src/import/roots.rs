//! Directories in which other tools keep their worktrees, searched for linked worktrees. Links are not followed.

use std::fs;
use std::path::{Path, PathBuf};

use super::candidate::{Candidate, Collected, tool};

/// `~/.archon/workspaces/<owner>/<name>/worktrees/<branch, which may have a slash or two>`.
const MAX_DEPTH: usize = 6;
/// So many that it is no place of worktrees.
const MAX_DIRECTORIES: usize = 20_000;

/// Where the tools that we know keep worktrees in a person's home.
pub(super) fn in_home(user_home: Option<&Path>, archon_home: Option<&Path>) -> Vec<(PathBuf, &'static str)> {
    let archon = archon_home.iter().flat_map(|home| [home.join("worktrees"), home.join("workspaces")]);
    let mut roots: Vec<_> = archon.map(|root| (root, tool::ARCHON)).collect();
    if let Some(home) = user_home {
        roots.push((home.join("tmp/worktrees"), tool::CLAUDE_WORKTREE_MANAGER));
        roots.push((home.join(".claude/worktrees"), tool::CLAUDE));
    }
    roots
}

/// Where they keep them in a repository's main checkout.
pub(super) fn in_checkout(root: &Path) -> [(PathBuf, &'static str); 2] {
    [(root.join(".worktrees"), tool::GIT), (root.join(".claude/worktrees"), tool::CLAUDE)]
}

/// Collects the directories below a root that have a `.git` file; what has a `.git` directory is a repository of its own.
pub(super) fn search(root: &Path, from: &'static str, collected: &mut Collected) {
    let mut open = vec![(root.to_owned(), 0)];
    let mut seen = 0;
    while let Some((directory, depth)) = open.pop() {
        seen += 1;
        if seen > MAX_DIRECTORIES {
            collected.fail(
                root,
                from,
                format!("it has more than {MAX_DIRECTORIES} directories; the rest is not looked at"),
            );
            return;
        }
        match fs::symlink_metadata(&directory) {
            Ok(metadata) if metadata.is_dir() => {}
            _ => continue,
        }
        match fs::symlink_metadata(directory.join(".git")) {
            Ok(metadata) if metadata.is_file() => {
                collected.candidates.push(Candidate::new(directory, from));
                continue;
            }
            Ok(_) => continue,
            Err(_) if depth == MAX_DEPTH => continue,
            Err(_) => {}
        }
        match directories(&directory) {
            Ok(below) => open.extend(below.into_iter().map(|directory| (directory, depth + 1))),
            Err(error) => collected.fail(directory, from, error.to_string()),
        }
    }
}

/// The directories in one, the first by name last.
fn directories(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    Ok(found)
}
