//! What a main checkout consists of, to show that nobody touched it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::TestRepository;

/// HEAD, index, files, configuration and branches of a repository, byte by byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    pub head: Vec<u8>,
    /// None before the first `git add`.
    pub index: Option<Vec<u8>>,
    pub config: Vec<u8>,
    /// Every path below the root but `.git`: mode, and content or a link's target.
    pub files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
    /// Each local branch with its commit.
    pub branches: BTreeMap<String, String>,
}

impl Fingerprint {
    #[track_caller]
    pub(crate) fn of(repository: &TestRepository) -> Self {
        let read = |path: PathBuf| fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let git_dir = PathBuf::from(repository.git(&["rev-parse", "--absolute-git-dir"]));
        let common_dir = repository.path().join(repository.git(&["rev-parse", "--git-common-dir"]));
        let branches = repository.git(&["for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads"]);
        let branch = |line: &str| line.split_once(' ').map(|(name, commit)| (name.to_owned(), commit.to_owned()));
        let mut files = BTreeMap::new();
        walk(repository.path(), Path::new(""), &mut files);
        Self {
            head: read(git_dir.join("HEAD")),
            index: fs::read(git_dir.join("index")).ok(),
            config: read(common_dir.join("config")),
            files,
            branches: branches.lines().filter_map(branch).collect(),
        }
    }

    /// The same without branches, which work makes and unmakes.
    #[must_use]
    pub fn without_branches(&self) -> Self {
        Self { branches: BTreeMap::new(), ..self.clone() }
    }

    /// What is not the same in `other`, in words.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        let parts = [
            ("HEAD", self.head == other.head),
            ("the index", self.index == other.index),
            ("the configuration", self.config == other.config),
            ("the branches", self.branches == other.branches),
        ];
        differences.extend(parts.iter().filter(|(_, same)| !same).map(|(name, _)| (*name).to_owned()));
        for (path, file) in &self.files {
            match other.files.get(path) {
                None => differences.push(format!("`{}` is gone", path.display())),
                Some(now) if now.0 != file.0 => differences.push(format!("`{}` has another mode", path.display())),
                Some(now) if now != file => differences.push(format!("`{}` has other content", path.display())),
                Some(_) => {}
            }
        }
        let new = other.files.keys().filter(|path| !self.files.contains_key(*path));
        differences.extend(new.map(|path| format!("`{}` is new", path.display())));
        differences
    }
}

fn walk(root: &Path, below: &Path, files: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(root.join(below)).expect("the checkout can be read") {
        let entry = entry.expect("the checkout can be read");
        if below == Path::new("") && entry.file_name() == OsStr::new(".git") {
            continue;
        }
        let (path, relative) = (entry.path(), below.join(entry.file_name()));
        let metadata = fs::symlink_metadata(&path).expect("the file is there");
        let content = if metadata.is_symlink() {
            fs::read_link(&path).expect("the link is there").as_os_str().as_bytes().to_vec()
        } else if metadata.is_file() {
            fs::read(&path).expect("the file can be read")
        } else {
            Vec::new()
        };
        files.insert(relative.clone(), (metadata.permissions().mode(), content));
        if metadata.is_dir() {
            walk(root, &relative, files);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;
    use crate::Sandbox;

    #[test]
    fn every_kind_of_change_shows() {
        let repository = Sandbox::new().repository("app");
        let mut before = repository.fingerprint();
        assert_eq!(before, repository.fingerprint());
        let mut expect = |expected: &[&str]| {
            let after = repository.fingerprint();
            assert_eq!(before.differences(&after), expected);
            assert_eq!(before == after, expected.is_empty());
            before = after;
        };
        repository.write("README.md", "other");
        expect(&["`README.md` has other content"]);
        repository.write("new/file", "");
        expect(&["`new` is new", "`new/file` is new"]);
        fs::remove_file(repository.path().join("new/file")).unwrap();
        expect(&["`new/file` is gone"]);
        fs::set_permissions(repository.path().join("run.sh"), Permissions::from_mode(0o644)).unwrap();
        expect(&["`run.sh` has another mode"]);
        repository.git(&["add", "README.md"]);
        expect(&["the index"]);
        repository.git(&["config", "x.y", "z"]);
        expect(&["the configuration"]);
        repository.git(&["branch", "other"]);
        expect(&["the branches"]);
        repository.git(&["symbolic-ref", "HEAD", "refs/heads/other"]);
        expect(&["HEAD"]);
        std::os::unix::fs::symlink("a", repository.path().join("link")).unwrap();
        expect(&["`link` is new"]);
        expect(&[]);
    }

    #[test]
    fn branches_alone_leave_the_checkout_unchanged() {
        let repository = Sandbox::new().repository("app");
        let before = repository.fingerprint();
        repository.git(&["branch", "other"]);
        repository.assert_checkout_unchanged(&before);
    }

    #[test]
    #[should_panic(expected = "`README.md` has other content")]
    fn a_touched_checkout_is_noticed() {
        let repository = Sandbox::new().repository("app");
        let before = repository.fingerprint();
        repository.write("README.md", "other");
        repository.assert_checkout_unchanged(&before);
    }
}
