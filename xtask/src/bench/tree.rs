//! The repository that is measured on: generated, or a copy of somebody's.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::site::{clean, output};

/// Files of the generated trees.
pub const LARGE: usize = 30_000;
pub const MEDIUM: usize = 1000;
pub const SMALL: usize = 10;
const FILES_PER_DIRECTORY: usize = 50;

/// A bare repository that sites clone.
#[derive(Debug)]
pub struct Tree {
    pub remote: PathBuf,
    root: PathBuf,
    pub branch: String,
    pub files: usize,
    pub bytes: u64,
}

impl Tree {
    /// A repository with this many files, within a directory that has a home for git.
    pub fn generated(root: &Path, files: usize) -> Result<Self> {
        let remote = root.join(format!("generated-{files}.git"));
        let mut init = Command::new("git");
        output(clean(init.args(["init", "--quiet", "--bare", "--initial-branch=main"]).arg(&remote), root))?;
        let mut stream = commit("main", "start", None);
        for number in 0..files {
            let mut text = String::new();
            for line in 0..20 + number % 60 {
                let _ = writeln!(text, "pub fn item_{number}_{line}() -> u64 {{ {} }}", number * 31 + line * 7);
            }
            file(&mut stream, &format!("src/part{:03}/file{number:05}.rs", number / FILES_PER_DIRECTORY), &text);
        }
        let mut tree = Self { remote, root: root.to_owned(), branch: "main".to_owned(), files: 0, bytes: 0 };
        tree.import(&stream)?;
        tree.count()?;
        Ok(tree)
    }

    /// A bare copy of somebody's repository, which is only read.
    pub fn of(root: &Path, repository: &Path) -> Result<Self> {
        let remote = root.join("given.git");
        let mut clone = Command::new("git");
        output(clean(clone.args(["clone", "--quiet", "--bare", "--shared"]).arg(repository).arg(&remote), root))?;
        let mut tree = Self { remote, root: root.to_owned(), branch: String::new(), files: 0, bytes: 0 };
        tree.branch = tree.git(&["symbolic-ref", "--short", "HEAD"])?.trim().to_owned();
        tree.count()?;
        Ok(tree)
    }

    /// Moves the branch on by a commit that changes so many files.
    pub fn advance(&self, files: usize, label: &str) -> Result<()> {
        let listed = self.git(&["ls-tree", "-r", "HEAD"])?;
        // Names that the importer takes as they are.
        let plain = |path: &&str| path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
        let paths: Vec<&str> = listed
            .lines()
            .filter_map(|line| line.strip_prefix("100644 blob ")?.split_once('\t'))
            .map(|(_, path)| path)
            .filter(plain)
            .collect();
        if paths.len() < files {
            bail!("the tree has no {files} files to change");
        }
        let mut stream = commit(&self.branch, label, Some(&self.branch));
        for number in 0..files {
            file(&mut stream, paths[number * paths.len() / files], &format!("changed: {label}\n"));
        }
        self.import(&stream)
    }

    fn count(&mut self) -> Result<()> {
        for line in self.git(&["ls-tree", "-r", "--long", "HEAD"])?.lines() {
            let size = line.split('\t').next().and_then(|entry| entry.split_whitespace().nth(3));
            self.files += 1;
            self.bytes += size.and_then(|size| size.parse::<u64>().ok()).unwrap_or(0);
        }
        Ok(())
    }

    fn git(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new("git");
        let output = output(clean(command.arg("-C").arg(&self.remote).args(arguments), &self.root))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Writes commits through git's own importer.
    fn import(&self, stream: &str) -> Result<()> {
        let mut command = Command::new("git");
        clean(command.arg("-C").arg(&self.remote).args(["fast-import", "--quiet"]), &self.root);
        let mut child = command.stdin(Stdio::piped()).spawn().context("can't start git fast-import")?;
        child.stdin.take().context("git fast-import has no input")?.write_all(stream.as_bytes())?;
        if !child.wait()?.success() {
            bail!("git fast-import failed");
        }
        Ok(())
    }
}

/// The head of a commit, for the importer.
fn commit(branch: &str, message: &str, from: Option<&str>) -> String {
    let committer = "committer Bench <bench@localhost> 1700000000 +0000";
    let mut text = format!("commit refs/heads/{branch}\n{committer}\ndata {}\n{message}\n", message.len());
    if let Some(from) = from {
        let _ = writeln!(text, "from refs/heads/{from}^0");
    }
    text
}

/// A file of a commit, for the importer.
fn file(stream: &mut String, path: &str, text: &str) {
    let _ = write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len());
}

#[cfg(test)]
mod tests {
    use super::super::site::make_home;
    use super::*;

    #[test]
    fn a_tree_is_counted_and_moves_on() {
        let root = tempfile::tempdir().unwrap();
        make_home(root.path()).unwrap();
        let generated = Tree::generated(root.path(), 120).unwrap();
        assert_eq!(generated.files, 120);
        let tree = Tree::of(root.path(), &generated.remote).unwrap();
        assert_eq!((tree.files, tree.bytes, tree.branch.as_str()), (120, generated.bytes, "main"));
        tree.advance(100, "one").unwrap();
        let changed = tree.git(&["diff", "--name-only", "HEAD~1", "HEAD"]).unwrap();
        assert_eq!(changed.lines().count(), 100);
        assert_eq!(generated.git(&["rev-list", "--count", "HEAD"]).unwrap().trim(), "1", "the one given is only read");
        assert!(tree.advance(121, "two").is_err());
    }
}
