//! What the host asks about a boxed tree.

use std::collections::BTreeSet;
use std::path::PathBuf;

use spinney_core::CommitId;

use crate::boxed::tree::BoxedTree;
use crate::jail::answer::{ask, ask_about_files, require_inside, require_path, unverifiable};
use crate::worktree::status_parse::parse_status;
use crate::{Patch, Result, Status, StatusOptions};

const STATUS: &str = "the status of a boxed tree";
const CHANGES: &str = "what changed in a boxed tree";

/// As far as git looks at repositories inside of a tree: at their HEADs. More would take a process of its own there.
const NESTED: &str = "--ignore-submodules=dirty";

impl BoxedTree {
    /// Compares files, index and HEAD. What the agent made git ignore is not told: only a walk of all paths finds that.
    pub async fn load_status(&self, options: &StatusOptions) -> Result<Status> {
        let untracked = if options.untracked { "--untracked-files=all" } else { "--untracked-files=no" };
        let ignored = if options.ignored { "--ignored=matching" } else { "--ignored=no" };
        let command = self.command()?.args(["status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind"]);
        let output = ask_about_files(STATUS, command.args(["--no-renames", NESTED, untracked, ignored])).await?;
        let status = parse_status(&output.stdout);
        let paths = status.changes.iter().map(|change| &change.path);
        let others = status.untracked.iter().chain(&status.ignored).map(|entry| &entry.path);
        for path in paths.chain(others) {
            require_inside(path).map_err(|why| unverifiable(STATUS, why))?;
        }
        Ok(status)
    }

    /// The paths that differ from a commit, untracked ones among them.
    pub async fn load_changed_paths(&self, base: &CommitId) -> Result<BTreeSet<PathBuf>> {
        let tracked = self.command()?.args(["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"]);
        let tracked = tracked.args(["--no-textconv", NESTED, base.as_str(), "--"]);
        let untracked = self.command()?.args(["ls-files", "--others", "--exclude-standard", "-z"]);
        let (tracked, untracked) = tokio::join!(ask_about_files(CHANGES, tracked), ask_about_files(CHANGES, untracked));
        let listed = [tracked?.stdout, untracked?.stdout].concat();
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        // A repository inside of the tree ends with a slash.
        let paths = paths.map(|path| require_path(path.strip_suffix(b"/").unwrap_or(path)));
        paths.collect::<Result<_, _>>().map_err(|why| unverifiable(CHANGES, why))
    }

    /// How the tracked files differ from a commit; of more than so many bytes, the beginning.
    pub async fn load_patch(&self, base: &CommitId, max_bytes: usize) -> Result<Patch> {
        let command = self.command()?.config("diff.noprefix", "false").config("diff.mnemonicPrefix", "false");
        let command = command.args(["diff", "-p", "--find-renames", "--no-color", "--no-ext-diff", "--no-textconv"]);
        let command = command.args(["--submodule=short", NESTED, base.as_str(), "--"]).stdout_up_to(max_bytes);
        Ok(Patch::cut(ask(CHANGES, command).await?.stdout, max_bytes))
    }
}
