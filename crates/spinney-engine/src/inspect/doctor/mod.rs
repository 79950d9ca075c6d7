//! Looks at everything that Spinney stands on, and says what to do where it is not good. Changes nothing.

mod forge;
mod other_homes;
mod refs;

use async_recursion::async_recursion as boxed;
pub(crate) use refs::mirror_warning;
use serde::Serialize;
use spinney_core::{Advice, OperationId, WorkspaceStatus};
use spinney_store::Ownable;

use crate::error::{mend_index, size};
use crate::home::disk;
use crate::resolve::lookup::Among;
use crate::tree::{Opened, check_not_moved, is_of_other_home, open};
use crate::verdict::plural;
use crate::{Engine, Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    Good,
    Notice,
    Bad,
}

#[derive(Debug, Clone, Serialize)]
pub struct Check {
    pub mark: Mark,
    pub name: &'static str,
    pub fact: String,
    /// What to type, where it is not good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The same where it comes from an error: whoever shows it says it in its own terms.
    #[serde(skip)]
    pub advice: Vec<Advice>,
}

impl Check {
    pub fn good(name: &'static str, fact: impl Into<String>) -> Self {
        Self { mark: Mark::Good, name, fact: fact.into(), fix: None, advice: Vec::new() }
    }

    pub fn notice(name: &'static str, fact: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { mark: Mark::Notice, name, fact: fact.into(), fix: Some(fix.into()), advice: Vec::new() }
    }

    pub fn bad(name: &'static str, fact: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { mark: Mark::Bad, name, fact: fact.into(), fix: Some(fix.into()), advice: Vec::new() }
    }

    /// What is not good, and what the error says that helps.
    pub fn advised(mark: Mark, name: &'static str, fact: impl Into<String>, advice: Vec<Advice>) -> Self {
        Self { mark, name, fact: fact.into(), fix: None, advice }
    }
}

impl Engine {
    #[boxed]
    pub async fn diagnose(&self) -> Result<Vec<Check>> {
        let mut checks =
            vec![self.check_git().await, self.check_home(), self.check_store().await, self.check_free_disk()];
        checks.extend(self.check_operations().await?);
        if self.git().await.is_ok() {
            checks.extend(self.check_repositories().await?);
            checks.extend(self.check_forges().await?);
        }
        Ok(checks)
    }

    async fn check_git(&self) -> Check {
        match self.git().await {
            Ok(git) => Check::good("git", git.version().to_string()),
            Err(error) => Check::bad("git", error.to_string(), "install git 2.38 or newer"),
        }
    }

    fn check_home(&self) -> Check {
        let home = self.home.root();
        if spinney_store::is_network_file_system(home) && self.config.store.url.is_none() {
            let fact = format!("{} is on a network file system, where SQLite is not safe", home.display());
            return Check::bad("home", fact, "SPINNEY_HOME=/a/local/directory, or SPINNEY_DATABASE_URL=postgres://…");
        }
        match tempfile_in(home) {
            Ok(()) => Check::good("home", home.display().to_string()),
            Err(error) => Check::bad(
                "home",
                format!("{} can't be written: {error}", home.display()),
                "choose another with --home DIR",
            ),
        }
    }

    async fn check_store(&self) -> Check {
        let info = match self.store.load_info().await {
            Ok(info) => info,
            Err(error) => return Check::bad("store", error.to_string(), "restore a backup (spinney.db.backup-…)"),
        };
        let bytes = info.size_bytes.map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
        let fact = format!("{}, schema {}{bytes}", info.engine, info.schema);
        match self.store.check().await {
            Ok(problems) if problems.is_empty() => Check::good("store", fact),
            Ok(problems) => Check::bad(
                "store",
                format!("{fact}: {}", problems.join("; ")),
                "restore a backup (spinney.db.backup-…)",
            ),
            Err(error) => Check::bad("store", format!("{fact}: {error}"), "restore a backup (spinney.db.backup-…)"),
        }
    }

    fn check_free_disk(&self) -> Check {
        let kept = self.config.limits.min_free_disk.0;
        match disk::free_bytes(self.home.root()) {
            Ok(free) if free >= kept => Check::good("disk", format!("{} free where the trees are", size(free))),
            Ok(free) => {
                let fact = format!("only {} free where the trees are; {} must stay free", size(free), size(kept));
                Check::bad("disk", fact, "spinney ls -l, then spinney rm what is done")
            }
            Err(error) => {
                Check::bad("disk", format!("can't be asked: {error}"), "check that the home's disk is mounted")
            }
        }
    }

    /// Operations that somebody left open, and lock files that belong to none.
    async fn check_operations(&self) -> Result<Vec<Check>> {
        let mut db = self.store.read().await?;
        let open = db.open_operations(self.home.node()).await?;
        let mut dead = Vec::new();
        for operation in &open {
            if self.is_abandoned(&operation.id) {
                dead.push(
                    operation
                        .error
                        .clone()
                        .unwrap_or_else(|| format!("{} {}", operation.kind(), operation.workspace_id)),
                );
            }
        }
        let mut stale = 0;
        let names = std::fs::read_dir(self.home.operations()).into_iter().flatten().flatten();
        for id in names.filter_map(|entry| entry.file_name().to_str()?.parse::<OperationId>().ok()) {
            // It holds nothing: its operation is closed.
            if !open.iter().any(|operation| operation.id == id)
                && let Ok(Some(owned)) = self.ownership.take(Ownable::Operation(id))
            {
                owned.discard();
                stale += 1;
            }
        }
        let under_way = open.len() - dead.len();
        let mut checks = Vec::new();
        if dead.is_empty() {
            let swept = if stale > 0 { format!(", {} swept up", plural(stale, "stale lock")) } else { String::new() };
            checks.push(Check::good("operations", format!("{under_way} under way{swept}")));
        } else {
            let fact = format!("{} can't be finished: {}", plural(dead.len(), "operation"), dead.join("; "));
            checks.push(Check::bad("operations", fact, "fix the cause; the next command tries again"));
        }
        Ok(checks)
    }

    fn is_abandoned(&self, id: &OperationId) -> bool {
        !self.ownership.is_owned(&Ownable::Operation(id.clone())).unwrap_or(false)
    }

    /// Rows without directories, directories without rows, repositories that moved.
    async fn check_repositories(&self) -> Result<Vec<Check>> {
        let mut checks = Vec::new();
        let repositories = self.repositories().await?;
        let mut count = 0;
        for repository in repositories {
            let name = repository.name.clone();
            let place = repository.root.clone().unwrap_or_else(|| repository.common_dir.clone());
            let context = match self.known_repository(repository).await {
                Ok(context) => context,
                Err(error) => {
                    let fact = format!("{name} at {}: {error}", place.display());
                    let found = "run any spinney command where it stands now, and it is found by its id";
                    let fix = match error {
                        Error::RepositoryAway { .. } | Error::Replaced { .. } => found,
                        _ => "put it back",
                    };
                    checks.push(Check::bad("repository", fact, format!("{fix}; or spinney repo rm {name}")));
                    continue;
                }
            };
            for workspace in self.workspaces(Some(&context.repository.id), Among::Live).await? {
                count += 1;
                let id = &workspace.id;
                let (fault, fix) = match (workspace.status, open(&context, &workspace)) {
                    (WorkspaceStatus::Broken, _) => {
                        (workspace.error.clone().unwrap_or_else(|| "broken".to_owned()), format!("spinney show {id}"))
                    }
                    (WorkspaceStatus::Active | WorkspaceStatus::Lost, Opened::Missing) => {
                        match check_not_moved(&context, &workspace) {
                            Err(error) => {
                                let fact = format!("{} of {name}: {error}", workspace.name);
                                checks.push(Check::advised(Mark::Notice, "workspace", fact, error.advice()));
                                continue;
                            }
                            Ok(()) => (
                                "its directory is gone".to_owned(),
                                format!(
                                    "spinney rm {id}, or `spinney new` for the same work makes it again from its branch"
                                ),
                            ),
                        }
                    }
                    (WorkspaceStatus::Active | WorkspaceStatus::Lost, Opened::RootMissing) => {
                        ("its disk is not mounted".to_owned(), "mount it".to_owned())
                    }
                    (WorkspaceStatus::Active | WorkspaceStatus::Lost, Opened::Hidden(error)) => {
                        let fact = format!("{} of {name}: {error}", workspace.name);
                        checks.push(Check::advised(Mark::Notice, "workspace", fact, Error::from(error).advice()));
                        continue;
                    }
                    (WorkspaceStatus::Active, Opened::Damaged(error)) if is_of_other_home(&context, &workspace) => {
                        (error.to_string(), format!("spinney --repo {name} cleanup orphans forgets it here"))
                    }
                    (WorkspaceStatus::Active, Opened::Damaged(error)) => {
                        let path = workspace.path.display();
                        (error.to_string(), format!("git -C {} worktree repair {path}", place.display()))
                    }
                    (WorkspaceStatus::Active, Opened::Whole(tree)) => match tree.check_index().await {
                        Err(error @ spinney_git::Error::DamagedIndex { .. }) => {
                            (error.to_string(), mend_index(&workspace.path))
                        }
                        _ => continue,
                    },
                    _ => continue,
                };
                checks.push(Check::notice("workspace", format!("{} of {name}: {fault}", workspace.name), fix));
            }
            checks.extend(self.check_other_homes(&context).await?);
            checks.extend(self.check_refs(&context).await?);
            let hidden = self.hidden_worktrees(&context).await?;
            if let Some((_, first)) = hidden.first() {
                let fact = format!("{} of {name} that you may not look at: {first}", plural(hidden.len(), "worktree"));
                checks.push(Check::advised(Mark::Notice, "worktrees", fact, vec![Advice::AskOwner]));
            }
            let unknown = self.unknown_worktrees(&context).await?;
            if !unknown.is_empty() {
                let fact = format!("{} of {name} that the store does not know", plural(unknown.len(), "worktree"));
                checks.push(Check::notice("orphans", fact, format!("spinney --repo {name} adopt --all")));
            }
        }
        if !checks.iter().any(|check| check.name == "workspace") {
            checks.push(Check::good(
                "workspaces",
                format!("{} live, all where they should be", plural(count, "workspace")),
            ));
        }
        Ok(checks)
    }
}

/// Tries whether a directory can be written.
fn tempfile_in(directory: &std::path::Path) -> std::io::Result<()> {
    let probe = directory.join(format!(".probe-{}", std::process::id()));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(probe)
}
