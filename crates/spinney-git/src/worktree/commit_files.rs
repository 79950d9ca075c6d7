//! Committing what is left over in a worktree, file by file.
//!
//! 1. A tree in the middle of a merge or rebase, or with conflicts, is refused: nobody but its author knows how it ends.
//! 2. The files that are wanted are put into an index of HEAD's tree, which becomes the commit's tree: what somebody has
//!    staged besides is not in it.
//! 3. They are put into the worktree's own index too, where everything else stays as it is.
//! 4. The tree becomes a commit, signed where the person has their own signed and it needs nobody ([`super::signature`]), and
//!    HEAD moves from where it was to that commit. No hook runs: nothing waits for a person.
//!
//! A death after any step leaves what can be done again.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use spinney_core::CommitId;

use crate::disk::scratch;
use crate::process::command::Command;
use crate::settings::executing::Runs;
use crate::worktree::files::Files;
use crate::worktree::linked::Worktree;
use crate::worktree::signature::Unsigned;
use crate::worktree::status::seeing_all;
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

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    pub commit: CommitId,
    /// Why it has no signature although the configuration asks for one.
    pub unsigned: Option<Unsigned>,
}

impl Worktree {
    /// Lists what is left over, if it can be committed.
    pub async fn load_left_over(&self) -> Result<Files> {
        if let Some(operation) = self.load_operation_in_progress() {
            return Err(Error::OperationInProgress { path: self.path().to_owned(), operation });
        }
        let files = self.load_files(false).await?;
        match files.conflicted {
            Some(path) => Err(Error::Conflicted { path }),
            None => Ok(files),
        }
    }

    /// Commits these of the files as they lie there, and nothing else, on the branch that HEAD is on, or on none. By whom
    /// git knows, else by `fallback`. None where HEAD has them so already.
    pub async fn commit_files(
        &self,
        files: &Files,
        wanted: &[PathBuf],
        message: &str,
        fallback: &Identity,
    ) -> Result<Option<Committed>> {
        if wanted.is_empty() {
            return Ok(None);
        }
        let head = files.head.as_ref();
        let directory = scratch::directory(&self.repository().require_state_dir()?, scratch::INDEX)?;
        let index = directory.path().join("index");
        if let Some(head) = head {
            let read = ["read-tree", "--no-sparse-checkout", head.as_str()];
            self.with_index(&index).args(read).run().await?;
        }
        self.stage(files, wanted, || self.with_index(&index)).await?;
        let tree = self.repository().run_patiently(|| self.with_index(&index).arg("write-tree")).await?.text();
        self.stage(files, wanted, || self.command()).await?;
        let committed = match head {
            Some(head) => Some(self.repository().load_tree(head).await?),
            None => None,
        };
        if committed.as_ref() == Some(&tree) {
            return Ok(None);
        }
        let committed = self.write_commit(&tree, head, &clean_message(message), fallback).await?;
        self.move_head(&committed.commit, head).await?;
        Ok(Some(committed))
    }

    fn with_index(&self, index: &Path) -> Command {
        let command = self.command().env("GIT_INDEX_FILE", index);
        command.config("core.splitIndex", "false").config("index.sparse", "false")
    }

    /// Makes the entries of an index what the files are, by their exact paths: what is gone first, for a directory may
    /// stand where a file was.
    async fn stage(
        &self,
        files: &Files,
        wanted: &[PathBuf],
        command: impl Fn() -> Command + Send + Sync,
    ) -> Result<()> {
        let (there, gone): (Vec<&PathBuf>, Vec<&PathBuf>) =
            wanted.iter().partition(|path| is_there(self.path(), path, files.submodules.contains(path)));
        for (paths, options) in [(gone, ["--force-remove"].as_slice()), (there, &["--add", "--replace"])] {
            if paths.is_empty() {
                continue;
            }
            let listed: Vec<u8> = paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
            let update = || {
                let command = seeing_all(command()).running(Runs::FILES).network().arg("update-index").args(options);
                command.args(["-z", "--stdin"]).stdin_bytes(listed.clone())
            };
            self.repository().run_patiently(update).await?;
        }
        Ok(())
    }

    async fn write_commit(
        &self,
        tree: &str,
        parent: Option<&CommitId>,
        message: &str,
        fallback: &Identity,
    ) -> Result<Committed> {
        let (signing, mut unsigned) = match self.load_signing().await? {
            Some(Ok(signing)) => (Some(signing), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        let command = async |options: &[&str]| {
            let mut command = self.command().config("i18n.commitEncoding", "UTF-8").arg("commit-tree").args(options);
            for role in ROLES {
                command = self.identify(command, role, fallback).await?;
            }
            let command = command.args(["-F", "-"]).args(parent.iter().flat_map(|parent| ["-p", parent.as_str()]));
            Ok::<_, Error>(command.arg(tree).stdin_bytes(message.as_bytes().to_vec()))
        };
        if let Some(signing) = signing {
            let limit = self.repository().git().options().signing_timeout;
            let fault = match signing.go_with(command(&["--gpg-sign"]).await?, limit).run().await {
                Ok(output) => match signing.fault(output.status, &output.stderr) {
                    Some(fault) => fault,
                    None => return Ok(Committed { commit: parse_commit(&output.text())?, unsigned: None }),
                },
                Err(Error::Timeout { .. }) => signing.timed_out(limit),
                Err(error) => return Err(error),
            };
            unsigned = Some(fault);
        }
        // Whatever else is wrong, is wrong here too.
        let commit = parse_commit(&command(&[]).await?.text().await?)?;
        Ok(Committed { commit, unsigned })
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

fn parse_commit(answer: &str) -> Result<CommitId> {
    let unexpected = |_| Error::Unexpected { command: "git commit-tree".to_owned(), detail: answer.to_owned() };
    answer.parse().map_err(unexpected)
}

/// Whether a path of the tree leads to something that git can have: not through a link, and to no directory but a
/// submodule.
fn is_there(root: &Path, path: &Path, submodule: bool) -> bool {
    let found = |path: &Path| std::fs::symlink_metadata(root.join(path)).ok();
    let mut parents = path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    parents.all(|parent| found(parent).is_some_and(|found| found.is_dir()))
        && found(path).is_some_and(|entry| !entry.is_dir() || (submodule && found(&path.join(".git")).is_some()))
}

/// Whether an identity, as `A Person <person@example.org> 1700000000 +0000`, has both parts: where only the author's
/// address is configured, git takes the committer for one without any.
fn is_whole(identity: &str) -> bool {
    let parts = identity.rsplit_once("> ").and_then(|(person, _)| person.split_once('<'));
    parts.is_some_and(|(name, email)| !name.trim().is_empty() && !email.trim().is_empty())
}

/// A message as git takes it: no control characters, no blanks at the ends, never empty. Nothing in it is a comment.
pub(crate) fn clean_message(message: &str) -> String {
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
