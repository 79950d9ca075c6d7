//! Objects that only a pin leads to, and a `git gc --prune=now` that began before the pin's ref was set.
//!
//! Such a gc looked for what refs lead to, found nothing that leads to the pin, and deletes loose objects at any time
//! later. What lies in a pack with a `.keep` beside it is safe from it:
//!
//! 1. List what only the pin leads to. An object that is missing is an error here, before any ref leads to it.
//! 2. Pack it into a scratch directory.
//! 3. Put the `.keep` into its place, then the pack, and its index last.
//! 4. The caller sets the ref and looks again, then the `.keep` goes. A repack that knew this pack before the ref was
//!    set knew it as one to keep; one that comes to know it later finds the ref too.
//!
//! All of it happens under the repository's lock: a `.keep` of ours that is there at the beginning was left by a death.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use spinney_core::CommitId;

use crate::pin::sources::object_names;
use crate::process::command::Command;
use crate::repository::lock::RepositoryLock;
use crate::repository::opened::Repository;
use crate::{Error, Result};

/// What a `.keep` of ours says.
const KEEP: &str = "spinney: while a rescue ref is set\n";

/// A pack that no gc takes away as long as its `.keep` is there.
#[derive(Debug)]
#[must_use]
pub(crate) struct KeptPack {
    keep: PathBuf,
}

impl KeptPack {
    /// Gives the pack to git, once a ref leads to what is in it.
    pub(crate) fn release(self) -> Result<()> {
        fs::remove_file(&self.keep).map_err(|source| Error::io("delete", &self.keep, source))
    }
}

impl Repository {
    /// Lists what these objects lead to and no ref but `rescue_ref` does. Fails with [`Error::MissingObjects`] where
    /// something of it is missing.
    pub(crate) async fn load_exclusive(&self, objects: &[String], rescue_ref: &str) -> Result<Vec<String>> {
        let mut questions = String::new();
        for object in objects {
            questions.push_str(&format!("{object}\n"));
        }
        let command = self.exclusive_command(rescue_ref).stdin_bytes(questions.into_bytes());
        let listed = command.text().await.map_err(missing_objects)?;
        Ok(listed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
    }

    /// The same of a commit that must be there itself. Nothing is listed where another ref leads to that very commit:
    /// a pin of the same state that was written within the same second.
    pub(crate) async fn require_whole(&self, commit: &CommitId, rescue_ref: &str) -> Result<Vec<String>> {
        let listed = self.load_exclusive(&[commit.to_string()], rescue_ref).await?;
        if listed.iter().any(|object| object == commit.as_str()) || self.has_other_ref_to(commit, rescue_ref).await? {
            Ok(listed)
        } else {
            Err(Error::MissingObjects { objects: vec![commit.to_string()] })
        }
    }

    /// Whether a ref other than `rescue_ref` is at this commit.
    async fn has_other_ref_to(&self, commit: &CommitId, rescue_ref: &str) -> Result<bool> {
        let refs = self.command().args(["for-each-ref", "--format=%(objectname) %(refname)"]).text().await?;
        let mut refs = refs.lines().filter_map(|line| line.split_once(' '));
        Ok(refs.any(|(object, name)| object == commit.as_str() && name != rescue_ref))
    }

    /// A listing of what objects on stdin lead to and no other ref does. Refs of others that are broken lead nowhere.
    fn exclusive_command(&self, rescue_ref: &str) -> Command {
        let command = self.command().config("core.commitGraph", "false");
        let command = command.args(["rev-list", "--objects", "--ignore-missing", "--single-worktree", "--stdin"]);
        let command = if self.has_promised_objects() { command.arg("--exclude-promisor-objects") } else { command };
        command.args(["--not", &format!("--exclude={rescue_ref}"), "--all"])
    }

    /// Whether it is a partial clone, where objects may be missing that a remote promised.
    pub(crate) fn has_promised_objects(&self) -> bool {
        let packs = fs::read_dir(self.pack_dir()).into_iter().flatten().flatten();
        packs.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(".promisor"))
    }

    /// Packs what only a pin among scratch objects leads to, safe from every gc; nothing where another ref leads to all.
    pub(crate) async fn keep_exclusive(
        &self,
        lock: &RepositoryLock,
        scratch: &Self,
        pin: &CommitId,
        rescue_ref: &str,
    ) -> Result<Option<KeptPack>> {
        self.drop_stale_keeps()?;
        let exclusive = scratch.require_whole(pin, rescue_ref).await?;
        if exclusive.is_empty() {
            return Ok(None);
        }
        let directory = crate::disk::scratch::directory(&self.require_state_dir()?, crate::disk::scratch::PACK)?;
        let command = crate::pin::keep::durable(scratch.holding(lock)).config("pack.compression", "1");
        let command = command.config("pack.packSizeLimit", "0").args(["pack-objects", "--quiet", "--window=0"]);
        let command =
            command.arg(directory.path().join("pack")).stdin_bytes((exclusive.join("\n") + "\n").into_bytes());
        let name = format!("pack-{}", command.text().await.map_err(missing_objects)?);
        self.take_in(directory.path(), &name).map(Some)
    }

    /// Moves a whole pack into the repository, safe from every gc until it is released.
    pub(crate) fn take_in(&self, directory: &Path, name: &str) -> Result<KeptPack> {
        let packs = self.pack_dir();
        let keep = packs.join(format!("{name}.keep"));
        fs::create_dir_all(&packs).and_then(|()| fs::write(&keep, KEEP)).map_err(|e| Error::io("write", &keep, e))?;
        // A pack without its index is none: that comes last.
        for end in ["rev", "pack", "idx"] {
            let file = format!("{name}.{end}");
            move_in(&directory.join(&file), &packs.join(&file), end != "rev")?;
        }
        let synced = fs::File::open(&packs).and_then(|directory| directory.sync_all());
        synced.map_err(|source| Error::io("write", &packs, source))?;
        Ok(KeptPack { keep })
    }

    fn pack_dir(&self) -> PathBuf {
        self.common_dir().join("objects").join("pack")
    }

    /// Deletes the `.keep`s that a death left.
    pub(crate) fn drop_stale_keeps(&self) -> Result<()> {
        for entry in fs::read_dir(self.pack_dir()).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "keep")
                && fs::read_to_string(&path).is_ok_and(|text| text == KEEP)
            {
                fs::remove_file(&path).map_err(|source| Error::io("delete", &path, source))?;
            }
        }
        Ok(())
    }
}

/// Renames a file into its place; copies it where that is on another disk.
fn move_in(from: &Path, to: &Path, required: bool) -> Result<()> {
    let moved = match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            fs::copy(from, to).and_then(|_| fs::File::open(to)?.sync_all())
        }
        done => done,
    };
    match moved {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !required => Ok(()),
        done => done.map_err(|source| Error::io("write", to, source)),
    }
}

/// Tells an object that is missing from other failures, by what git names in its words.
pub(crate) fn missing_objects(error: Error) -> Error {
    let text = match &error {
        Error::Failed { status: 128, stderr, .. } => stderr.as_str(),
        Error::MissingRef { name } => name.as_str(),
        _ => return error,
    };
    let objects: BTreeSet<String> = object_names(text.as_bytes()).collect();
    if objects.is_empty() { error } else { Error::MissingObjects { objects: objects.into_iter().collect() } }
}
