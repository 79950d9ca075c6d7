//! Work that must never be lost: unique texts, planted in every way in which a tree can hold work, and found again.
//!
//! ```ignore
//! let tokens = Tokens::plant(&sandbox, &tree, Plant::PLAIN);
//! // … remove, purge, kill …
//! tokens.assert_safe(&repository, &[]);
//! ```
//!
//! A token is safe when it can be read from a tree, from an object that a ref or a live index leads to, from the trash
//! or from an archive. What was only moved aside to be deleted (`undo-…`, `purge-…`, `….partial`) is no such place, and
//! neither is an object that the next `git gc` would drop.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::programs::process;
use crate::{Sandbox, TestRepository};

/// One way to have work in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plant {
    /// In a commit of the branch, on no remote.
    Committed,
    /// In a commit that only a detached HEAD names. Leaves HEAD detached.
    Detached,
    /// In a commit that is being rebased. Leaves the rebase stopped at a conflict.
    Rebase,
    /// In the index alone: the file says something else by now.
    Staged,
    /// In a tracked file.
    Unstaged,
    Untracked,
    /// In an ignored file that nothing makes again.
    Ignored,
    /// In the name of a directory with nothing in it.
    EmptyDirectory,
}

impl Plant {
    /// What any tree can have at once, its HEAD on its branch.
    pub const PLAIN: &[Self] =
        &[Self::Committed, Self::Staged, Self::Unstaged, Self::Untracked, Self::Ignored, Self::EmptyDirectory];
    /// The same with HEAD detached.
    pub const DETACHED: &[Self] = &[
        Self::Committed,
        Self::Detached,
        Self::Staged,
        Self::Unstaged,
        Self::Untracked,
        Self::Ignored,
        Self::EmptyDirectory,
    ];
    /// The same in the middle of a rebase.
    pub const REBASING: &[Self] = &[
        Self::Committed,
        Self::Rebase,
        Self::Staged,
        Self::Unstaged,
        Self::Untracked,
        Self::Ignored,
        Self::EmptyDirectory,
    ];
}

/// One text, and how it was planted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub kind: String,
    pub text: String,
}

/// The texts of one or more trees.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Vec<Token>);

impl Tokens {
    /// Plants one token in each of these ways, in this order. `tree` is a worktree of a repository of the sandbox.
    #[must_use]
    #[track_caller]
    pub fn plant(sandbox: &Sandbox, tree: &Path, plants: &[Plant]) -> Self {
        let mut tokens = Self::default();
        for plant in plants {
            let text = tokens.make(&format!("{plant:?}"));
            sow(sandbox, tree, *plant, &text);
        }
        tokens
    }

    /// Makes a token for the caller to plant in a way of its own.
    pub fn make(&mut self, kind: &str) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let text = format!("token-{}-{process:x}-{count:x}-", kind.to_lowercase());
        self.0.push(Token { kind: kind.to_owned(), text: text.clone() });
        text
    }

    /// Takes another tree's tokens in.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The tokens that can be read nowhere: not in the repository, Spinney's home, or these directories beside it.
    #[must_use]
    #[track_caller]
    pub fn missing(&self, repository: &TestRepository, beside: &[&Path]) -> Vec<Token> {
        let mut missing = self.0.clone();
        strike(&mut missing, &reachable_objects(repository));
        let home = repository.sandbox().spinney_home();
        for directory in beside.iter().copied().chain([home.as_path()]) {
            search(directory, &mut missing);
        }
        missing
    }

    /// Asserts that every token can be read somewhere.
    #[track_caller]
    pub fn assert_safe(&self, repository: &TestRepository, beside: &[&Path]) {
        let missing = self.missing(repository, beside);
        assert!(missing.is_empty(), "work was lost: {missing:?}");
    }
}

#[track_caller]
fn sow(sandbox: &Sandbox, tree: &Path, plant: Plant, text: &str) {
    let git = |arguments: &[&str]| sandbox.git(tree, arguments);
    let write = |name: &str, content: &str| fs::write(tree.join(name), content).expect("the tree can be written");
    let commit = |name: &str, content: &str| {
        write(name, content);
        git(&["add", name]);
        git(&["commit", "--quiet", "--message", name]);
        git(&["rev-parse", "HEAD"])
    };
    match plant {
        Plant::Committed => drop(commit("committed.txt", text)),
        Plant::Detached => {
            git(&["checkout", "--quiet", "--detach"]);
            commit("detached.txt", text);
        }
        Plant::Rebase => {
            let start = git(&["rev-parse", "HEAD"]);
            commit("conflict.txt", text);
            git(&["checkout", "--quiet", "--detach", &start]);
            let other = commit("conflict.txt", "the other side");
            git(&["checkout", "--quiet", "-"]);
            assert_ne!(sandbox.try_git(tree, &["rebase", &other]).status, 0, "the rebase stops at a conflict");
        }
        Plant::Staged => {
            write("staged.txt", text);
            git(&["add", "staged.txt"]);
            write("staged.txt", "changed since");
        }
        Plant::Unstaged => write("README.md", text),
        Plant::Untracked => write("untracked.txt", text),
        Plant::Ignored => write(".env", text),
        Plant::EmptyDirectory => fs::create_dir(tree.join(text)).expect("the tree can be written"),
    }
}

/// Everything that a garbage collection would keep, as one text.
#[track_caller]
fn reachable_objects(repository: &TestRepository) -> String {
    // Those of workspaces with a git dir of their own too, where it is whole, as in the trash.
    let script = "git rev-list --objects --all --indexed-objects | cut -d' ' -f1 | git cat-file --batch
        for own in .git/spinney/clones/* .git/spinney/*; do
            case $own in */undo-* | */purge-* | *.partial) continue ;; esac
            [ -d \"$own/objects\" ] && [ -f \"$own/HEAD\" ] || continue
            export GIT_DIR=$own
            git rev-list --objects --all --indexed-objects | cut -d' ' -f1 | git cat-file --batch
        done
        true";
    let mut shell = repository.sandbox().command("sh");
    process::start(shell.args(["-c", script]).current_dir(repository.path())).wait().ok().stdout
}

/// Strikes the tokens off that a text holds.
fn strike(missing: &mut Vec<Token>, text: &str) {
    missing.retain(|token| !text.contains(&token.text));
}

/// Strikes the tokens off that are below a directory: names, files, archives. Follows no link.
fn search(directory: &Path, missing: &mut Vec<Token>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let aside = name.starts_with("undo-") || name.starts_with("purge-") || name.ends_with(".partial");
        if missing.is_empty() || aside {
            continue;
        }
        strike(missing, &name);
        let kind = entry.file_type().expect("the entry is there");
        if kind.is_dir() {
            search(&path, missing);
        } else if kind.is_file() {
            let bytes = if name.ends_with(".tar.zst") {
                let archive = File::open(&path).expect("the archive can be read");
                zstd::stream::decode_all(archive).unwrap_or_default()
            } else {
                fs::read(&path).unwrap_or_default()
            };
            strike(missing, &String::from_utf8_lossy(&bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a linked worktree that holds tokens.
    fn planted(plants: &[Plant]) -> (TestRepository, std::path::PathBuf, Tokens) {
        let repository = Sandbox::new().repository("app");
        let tree = repository.sandbox().spinney_home().join("trees/one");
        fs::create_dir_all(tree.parent().unwrap()).unwrap();
        repository.git(&["worktree", "add", "--quiet", "-b", "one", tree.to_str().unwrap()]);
        let tokens = Tokens::plant(repository.sandbox(), &tree, plants);
        (repository, tree, tokens)
    }

    fn kinds(missing: &[Token]) -> Vec<&str> {
        missing.iter().map(|token| token.kind.as_str()).collect()
    }

    #[test]
    fn every_token_is_found_where_it_was_planted() {
        for plants in [Plant::PLAIN, Plant::DETACHED, Plant::REBASING] {
            let (repository, _, tokens) = planted(plants);
            tokens.assert_safe(&repository, &[]);
        }
    }

    #[test]
    fn a_deleted_tree_is_missed() {
        let (repository, tree, tokens) = planted(Plant::DETACHED);
        let admin_dir = repository.path().join(".git/worktrees/one");
        let away = repository.sandbox().path().join("away");
        fs::rename(&tree, &away).unwrap();
        assert_eq!(
            kinds(&tokens.missing(&repository, &[])),
            ["Unstaged", "Untracked", "Ignored", "EmptyDirectory"],
            "the rest is in objects that the admin dir still names"
        );
        assert_eq!(tokens.missing(&repository, &[&away]), []);
        fs::rename(admin_dir, repository.sandbox().path().join("admin")).unwrap();
        assert_eq!(kinds(&tokens.missing(&repository, &[&away])), ["Staged"], "its file says something else");
        fs::remove_file(away.join("detached.txt")).unwrap();
        assert_eq!(kinds(&tokens.missing(&repository, &[&away])), ["Detached", "Staged"]);
    }

    #[test]
    fn an_archive_counts_and_what_is_about_to_be_deleted_does_not() {
        let (repository, tree, mut tokens) = planted(&[Plant::Untracked]);
        let archived = tokens.make("archived");
        let home = repository.sandbox().spinney_home();
        fs::rename(tree, home.join("purge-x")).unwrap();
        fs::create_dir_all(home.join("archives")).unwrap();
        assert_eq!(kinds(&tokens.missing(&repository, &[])), ["Untracked", "archived"]);
        let packed = zstd::stream::encode_all(archived.as_bytes(), 1).unwrap();
        fs::write(home.join("archives/x.tar.zst"), packed).unwrap();
        assert_eq!(kinds(&tokens.missing(&repository, &[])), ["Untracked"]);
    }
}
