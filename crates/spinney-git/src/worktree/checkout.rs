//! Filling a worktree that was added without its files.

use crate::Result;
use crate::process::command::Command;
use crate::settings::executing::Runs;
use crate::worktree::linked::Worktree;

const MAX_WORKERS: usize = 4;

impl Worktree {
    /// Writes index and files of HEAD. Needs no lock: only this worktree changes.
    pub async fn checkout(&self, lfs: bool) -> Result<()> {
        let secrets = self.checkout_secrets(lfs).await?;
        let command = secrets.go_with(with_lfs(self.command(), lfs).running(runs(lfs)).network());
        let command = command.config("checkout.workers", workers().to_string());
        let reset = command.args(["reset", "--hard", "--quiet", "--no-recurse-submodules"]).run().await;
        reset.map(drop).map_err(|error| secrets.explain(error))
    }

    /// Writes every file that the index has, and nothing else; LFS pointers stay as they are.
    pub async fn checkout_index(&self) -> Result<()> {
        // What was only announced to the index (`add --intent-to-add`) stands there as this object, which need not exist.
        self.command().args(["hash-object", "-w", "--stdin"]).stdin_bytes(Vec::new()).run().await?;
        let command = with_lfs(self.command(), false).running(Runs::FILES);
        let command = command.config("checkout.workers", workers().to_string());
        command.args(["checkout-index", "--all", "--force", "--index", "--quiet"]).run().await.map(drop)
    }

    /// Writes the index again in the plain format that can be copied for other trees: one file, version 2, without what
    /// only helps to look at this very tree.
    pub async fn write_plain_index(&self) -> Result<()> {
        write_plain_index(self.command()).await
    }

    /// The same with a copy of the index; a sparse one is written whole.
    pub(crate) async fn write_plain_index_to(&self, index: &std::path::Path) -> Result<()> {
        write_plain_index(self.command().env("GIT_INDEX_FILE", index).config("index.sparse", "false")).await
    }

    /// Writes down anew how the files look that are as the index has them, so that nobody has to read them to know.
    pub async fn refresh_index(&self) -> Result<()> {
        // One that differs is not our question.
        let command = self.command().running(Runs::FILES).args(["update-index", "-q", "--refresh"]);
        command.accept(&[0, 1]).run().await.map(drop)
    }

    /// Writes the index as HEAD has it; the files stay as they are.
    pub async fn read_head_into_index(&self) -> Result<()> {
        self.command().args(["read-tree", "HEAD"]).run().await.map(drop)
    }

    /// Brings the contents that the LFS pointers stand for.
    pub async fn pull_lfs(&self) -> Result<()> {
        let secrets = self.secrets(None).await?;
        let command = self.command().running(runs(true)).network();
        let pull = secrets.go_with(command).args(["lfs", "pull"]).run().await;
        pull.map(drop).map_err(|error| secrets.explain(error))
    }
}

async fn write_plain_index(command: Command) -> Result<()> {
    let command = command.config("core.splitIndex", "false").config("core.untrackedCache", "false");
    let plain = ["update-index", "--index-version", "2", "--no-split-index", "--no-untracked-cache"];
    command.args(plain).arg("--force-write-index").run().await.map(drop)
}

/// What writing files makes git run; what LFS keeps elsewhere is brought by programs, too.
pub(crate) fn runs(lfs: bool) -> Runs {
    if lfs { Runs::FILES.and(Runs::REMOTES) } else { Runs::FILES }
}

/// How many processes write files. Two are a tenth to a third faster than one on two cores, more than there are cores
/// slower; and a checkout seldom runs alone.
pub(crate) fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_WORKERS)
}

/// Sets how files are written where few are: sooner than helpers are started.
pub(crate) fn writing_few(command: Command) -> Command {
    let command = command.network().config("checkout.workers", workers().to_string());
    command.config("checkout.thresholdForParallelism", "1000")
}

/// Leaves LFS pointers as they are, unless their contents are wanted.
pub(crate) fn with_lfs(command: Command, lfs: bool) -> Command {
    if lfs {
        return command;
    }
    command
        .config("filter.lfs.smudge", "")
        .config("filter.lfs.process", "")
        .config("filter.lfs.required", "false")
        .env("GIT_LFS_SKIP_SMUDGE", "1")
}
