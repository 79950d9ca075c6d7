//! A workspace as the one who works in it sees it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;
use spinney_testkit::{Ran, Sandbox};

use crate::support::common::{Story, Workspace};

/// Everything below a directory: mode, and content or a link's target.
pub type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

#[derive(Debug, Clone)]
pub struct Work {
    pub name: String,
    pub id: String,
    pub path: PathBuf,
    pub repository: PathBuf,
    sandbox: Sandbox,
}

impl Work {
    pub fn of(story: &Story, workspace: &Workspace) -> Self {
        Self {
            name: workspace.text("name").to_owned(),
            id: workspace.text("id").to_owned(),
            path: workspace.path(),
            repository: story.repository.path().to_owned(),
            sandbox: story.sandbox().clone(),
        }
    }

    /// `spinney new --issue N`.
    #[track_caller]
    pub fn new(story: &Story, issue: &str) -> Self {
        Self::of(story, &story.make(&["--issue", issue]))
    }

    /// The same at another place.
    pub fn moved(&self, path: &Path) -> Self {
        Self { path: path.to_owned(), ..self.clone() }
    }

    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.path, arguments)
    }

    #[track_caller]
    pub fn try_git(&self, arguments: &[&str]) -> Ran {
        self.sandbox.try_git(&self.path, arguments)
    }

    /// Commits one file; gives the commit.
    #[track_caller]
    pub fn commit(&self, file: &str, content: &str) -> String {
        self.write(file, content);
        self.git(&["add", "--", file]);
        self.git(&["commit", "--quiet", "--message", file]);
        self.head()
    }

    #[track_caller]
    pub fn push(&self) {
        self.git(&["push", "--quiet", "origin", "HEAD"]);
    }

    #[track_caller]
    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Git's own directory for it.
    #[track_caller]
    pub fn admin_dir(&self) -> PathBuf {
        self.git(&["rev-parse", "--absolute-git-dir"]).into()
    }

    /// A repository of its own below the workspace, with one commit that holds a text.
    #[track_caller]
    pub fn nested_repository(&self, directory: &str, text: &str) -> PathBuf {
        let path = self.path.join(directory);
        fs::create_dir_all(&path).unwrap();
        self.sandbox.git(&path, &["init", "--quiet"]);
        fs::write(path.join("nested.txt"), text).unwrap();
        self.sandbox.git(&path, &["add", "--all"]);
        self.sandbox.git(&path, &["commit", "--quiet", "--message", "nested"]);
        path
    }

    /// Stops in the middle of a rebase or a merge, at a conflict; gives the two sides' texts to whoever counts them.
    #[track_caller]
    pub fn stop_at_a_conflict(&self, how: &str, ours: &str, theirs: &str) {
        let base = self.git(&["merge-base", "HEAD", "origin/main"]);
        let branch = self.git(&["branch", "--show-current"]);
        self.commit("conflict.txt", ours);
        self.git(&["switch", "--quiet", "--detach", &base]);
        let other = self.commit("conflict.txt", theirs);
        self.git(&["switch", "--quiet", &branch]);
        self.try_git(&[how, &other]).exits(1);
    }

    /// Stops in the middle of a merge with a detached HEAD.
    #[track_caller]
    pub fn stop_at_a_merge_conflict(&self) {
        let start = self.head();
        self.commit("both.txt", "one side");
        let ours = self.head();
        self.git(&["switch", "--quiet", "--detach", &start]);
        let theirs = self.commit("both.txt", "the other side");
        self.git(&["switch", "--quiet", "--detach", &ours]);
        self.try_git(&["merge", &theirs]).exits(1);
    }

    /// What must be the same after a way into the trash and back: every file, the index, HEAD, and what git makes of it.
    #[track_caller]
    pub fn snapshot(&self) -> Snapshot {
        let status =
            ["--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored"];
        Snapshot {
            files: files(&self.path),
            index: self.git(&["ls-files", "--stage", "-v"]),
            status: self.git(&status),
            head: self.try_git(&["symbolic-ref", "HEAD"]).stdout + &self.head(),
        }
    }
}

/// See [`Work::snapshot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    files: Files,
    index: String,
    status: String,
    head: String,
}

impl Snapshot {
    /// Asserts that git's own part does not differ: what is staged, and where HEAD is.
    #[track_caller]
    pub fn assert_same_in_git(&self, now: &Self, when: &str) {
        assert_eq!((&self.index, &self.head), (&now.index, &now.head), "{when}");
    }

    /// Asserts that nothing differs, and says what does.
    #[track_caller]
    pub fn assert_same(&self, now: &Self, when: &str) {
        let mut differences = Vec::new();
        for (path, file) in &self.files {
            match now.files.get(path) {
                None => differences.push(format!("`{}` is gone", path.display())),
                Some(found) if found.0 != file.0 => {
                    differences.push(format!("`{}` was {:o}, is {:o}", path.display(), file.0, found.0));
                }
                Some(found) if found != file => differences.push(format!("`{}` has other content", path.display())),
                Some(_) => {}
            }
        }
        let new = now.files.keys().filter(|path| !self.files.contains_key(*path));
        differences.extend(new.map(|path| format!("`{}` is new", path.display())));
        for (what, a, b) in
            [("index", &self.index, &now.index), ("status", &self.status, &now.status), ("HEAD", &self.head, &now.head)]
        {
            if a != b {
                differences.push(format!("{what} was\n{a}\nand is\n{b}"));
            }
        }
        assert!(differences.is_empty(), "{when}:\n{}", differences.join("\n"));
    }
}

/// Everything below a directory.
#[track_caller]
pub fn files(directory: &Path) -> Files {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if metadata.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else if metadata.file_type().is_fifo() {
                b"a pipe".to_vec()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path.strip_prefix(directory).unwrap().to_owned(), (metadata.permissions().mode(), content));
        }
    }
    found
}

/// The reasons of a verdict as code and detail.
pub fn reasons(document: &Value) -> Vec<(String, String)> {
    let text = |reason: &Value, key: &str| reason[key].as_str().unwrap().to_owned();
    document.as_array().unwrap().iter().map(|reason| (text(reason, "code"), text(reason, "detail"))).collect()
}

/// The codes of a list of reasons.
pub fn codes(document: &Value) -> Vec<String> {
    reasons(document).into_iter().map(|(code, _)| code).collect()
}

/// A path that is no text.
pub fn odd_path(prefix: &str) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&[prefix.as_bytes(), b"-\xff\xfe"].concat()))
}
