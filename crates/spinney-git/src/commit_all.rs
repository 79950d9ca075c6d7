//! Committing what is left over in a worktree.
//!
//! 1. A tree in the middle of a merge or rebase, or with conflicts, is refused: nobody but its author knows how it ends.
//! 2. Everything that `status` tells is staged, but an untracked `STATE.json` at the root and repositories that lie in
//!    the tree: as entries of this one they would lead to commits that nobody has.
//! 3. The index becomes a tree, the tree a commit, and HEAD moves from where it was to that commit. No hook runs, nothing
//!    is signed, so that nothing waits for a person.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use spinney_core::{CommitId, STATE_FILE};

use crate::command::Command;
use crate::status::{Status, StatusOptions, seeing_all};
use crate::worktree::Worktree;
use crate::{Error, Result};

/// More than anybody reads; an agent may say anything.
const MAX_MESSAGE: usize = 64 << 10;
/// What a commit is called when nothing is said about it.
const UNNAMED: &str = "work that was left over";
/// The variables of the caller's environment that say who commits.
const ROLES: [&str; 2] = ["AUTHOR", "COMMITTER"];

/// A name and an address for commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

/// What became of what was left over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitAll {
    /// None where nothing was left over.
    pub commit: Option<CommitId>,
    /// Repositories that lie in the tree and were not committed.
    pub left: Vec<PathBuf>,
}

impl Worktree {
    /// Commits all that differs from HEAD, and untracked files that are not ignored, on the branch that HEAD is on, or on
    /// none. By whom git knows, else by `fallback`.
    pub async fn commit_all(&self, message: &str, fallback: &Identity) -> Result<CommitAll> {
        if let Some(operation) = self.load_operation_in_progress() {
            return Err(Error::OperationInProgress { path: self.path().to_owned(), operation });
        }
        let status = self.load_status(&StatusOptions { untracked: true, ignored: false }).await?;
        if let Some(change) = status.changes.iter().find(|change| change.conflicted) {
            return Err(Error::Conflicted { path: change.path.clone() });
        }
        let repositories = status.untracked.iter().filter(|entry| entry.directory);
        let left: Vec<PathBuf> = repositories.map(|entry| entry.path.clone()).collect();
        if status.is_clean() {
            return Ok(CommitAll { commit: None, left });
        }
        self.stage_all(&status, &left).await?;
        let tree = self.repository().run_patiently(|| self.command().arg("write-tree")).await?.text();
        let committed = match &status.head {
            Some(head) => Some(self.repository().load_tree(head).await?),
            None => None,
        };
        if committed.as_ref() == Some(&tree) {
            return Ok(CommitAll { commit: None, left });
        }
        let commit = self.write_commit(&tree, status.head.as_ref(), &clean_message(message), fallback).await?;
        self.move_head(&commit, status.head.as_ref()).await?;
        Ok(CommitAll { commit: Some(commit), left })
    }

    async fn stage_all(&self, status: &Status, left: &[PathBuf]) -> Result<()> {
        let is_state = |path: &Path| path == Path::new(STATE_FILE);
        let state = status.untracked.iter().filter(|entry| is_state(&entry.path)).map(|entry| &entry.path);
        let mut wanted = b".\0".to_vec();
        for path in left.iter().chain(state) {
            wanted.extend_from_slice(b":(exclude,top,literal)");
            wanted.extend_from_slice(path.as_os_str().as_bytes());
            wanted.push(0);
        }
        let add = || {
            let command = seeing_all(self.command()).network().env("GIT_LITERAL_PATHSPECS", "0");
            let command = command.args(["add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"]);
            command.stdin_bytes(wanted.clone())
        };
        self.repository().run_patiently(add).await.map(drop)
    }

    async fn write_commit(
        &self,
        tree: &str,
        parent: Option<&CommitId>,
        message: &str,
        fallback: &Identity,
    ) -> Result<CommitId> {
        let mut command = self.command().config("i18n.commitEncoding", "UTF-8").args(["commit-tree", "-F", "-"]);
        for role in ROLES {
            command = self.identify(command, role, fallback).await?;
        }
        let command = command.args(parent.iter().flat_map(|parent| ["-p", parent.as_str()])).arg(tree);
        let answer = command.stdin_bytes(message.as_bytes().to_vec()).text().await?;
        let unexpected = |_| Error::Unexpected { command: "git commit-tree".to_owned(), detail: answer.clone() };
        answer.parse().map_err(unexpected)
    }

    /// Says who commits: what the caller's environment or the configuration names, and never what git would guess from
    /// the machine.
    async fn identify(&self, command: Command, role: &str, fallback: &Identity) -> Result<Command> {
        let variables = ["NAME", "EMAIL"].map(|part| format!("GIT_{role}_{part}"));
        let given = &self.repository().git().options().environment;
        let named: Vec<_> = given
            .iter()
            .filter(|(key, value)| variables.iter().any(|name| key == name.as_str()) && !value.is_empty())
            .collect();
        let with = |command: Command| named.iter().fold(command, |command, (key, value)| command.env(key, value));
        let question = with(self.command()).config("user.useConfigOnly", "true");
        let answer = question.args(["var", &format!("GIT_{role}_IDENT")]).accept(&[0, 128]).text().await?;
        let [name, email] = variables;
        Ok(if is_whole(&answer) {
            with(command)
        } else {
            command.env(name, &fallback.name).env(email, &fallback.email)
        })
    }

    async fn move_head(&self, commit: &CommitId, old: Option<&CommitId>) -> Result<()> {
        let none = "0".repeat(commit.as_str().len());
        let old = old.map_or(none.as_str(), CommitId::as_str);
        let lock = self.repository().lock("commit").await?;
        let update = ["update-ref", "-m", "commit: what was left over", "HEAD", commit.as_str(), old];
        self.repository().run_patiently(|| self.command().holding(&lock).args(update)).await.map(drop)
    }
}

/// Whether an identity, as `A Person <person@example.org> 1700000000 +0000`, has both parts: where only the author's
/// address is configured, git takes the committer for one without any.
fn is_whole(identity: &str) -> bool {
    let parts = identity.rsplit_once("> ").and_then(|(person, _)| person.split_once('<'));
    parts.is_some_and(|(name, email)| !name.trim().is_empty() && !email.trim().is_empty())
}

/// A message as git takes it: no control characters, no blanks at the ends, never empty. Nothing in it is a comment.
fn clean_message(message: &str) -> String {
    let cut = &message[..message.floor_char_boundary(MAX_MESSAGE)];
    let plain: String = cut.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    let lines: Vec<&str> = plain.lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    let text = text.trim_matches('\n');
    if text.trim().is_empty() { UNNAMED.to_owned() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_keeps_its_words_and_nothing_else() {
        for (given, clean) in [
            ("agent: x", "agent: x\n"),
            ("\n\n# not a comment \r\n\n  body\t\n\n", "# not a comment\n\n  body\n"),
            ("a\0b\u{1b}[31mc\u{7f}", "ab[31mc\n"),
            ("", UNNAMED),
            (" \n\0\n ", UNNAMED),
        ] {
            assert_eq!(clean_message(given), clean, "{given:?}");
        }
        assert!(clean_message(&"ü".repeat(MAX_MESSAGE)).len() <= MAX_MESSAGE + 1);
    }

    #[test]
    fn half_an_identity_is_none() {
        assert!(is_whole("A Person <person@example.org> 1700000000 +0000"));
        for identity in ["", "A Person <> 1700000000 +0000", " <a@b> 1 +0000", "nonsense"] {
            assert!(!is_whole(identity), "{identity}");
        }
    }

    proptest! {
        #[test]
        fn any_message_can_be_committed(message in "(?s).{0,200}") {
            let clean = clean_message(&message);
            prop_assert!(!clean.trim().is_empty() && !clean.contains('\0'));
        }
    }
}
