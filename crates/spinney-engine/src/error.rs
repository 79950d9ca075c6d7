//! Everything that can go wrong in the engine, what kind of failure it is, and what helps.

use std::io;
use std::path::PathBuf;

use spinney_core::config::ConfigError;
use spinney_core::names::for_message;
use spinney_core::{
    AccountName, Advice, BranchName, JobId, NodeId, Reason, RepositoryName, Timestamp, TokenName, WorkspaceName,
};
use spinney_store::OwnershipError;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a failure means to whoever asked; decides the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    Failed,
    Usage,
    Blocked,
    NotFound,
    Held,
}

impl ErrorKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Blocked => "blocked",
            Self::NotFound => "not_found",
            Self::Held => "held",
        }
    }
}

/// How full a repository is, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Census {
    pub limit: u64,
    pub merged: Vec<WorkspaceName>,
    pub stale: Vec<WorkspaceName>,
    pub active: usize,
    /// For instance `14d`.
    pub stale_after: String,
    /// When one of the active ones may make room, if nothing happens in it until then.
    pub again_at: Option<Timestamp>,
}

impl Census {
    #[must_use]
    pub fn total(&self) -> usize {
        self.merged.len() + self.stale.len() + self.active
    }

    fn advice(&self) -> Vec<Advice> {
        let first = |names: &[WorkspaceName], is_stale| {
            names.first().map(|workspace| Advice::MakeRoom { workspace: workspace.clone(), is_stale })
        };
        let some = [first(&self.merged, false), first(&self.stale, true)];
        some.into_iter().flatten().chain([Advice::RaiseLimit]).collect()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Git(#[from] spinney_git::Error),
    #[error(transparent)]
    Store(#[from] spinney_store::Error),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("`{}` can't be used as Spinney's home", .path.display())]
    HomeUnusable { path: PathBuf, source: io::Error },
    #[error("`{}` can't be {doing}", .path.display())]
    Files { path: PathBuf, doing: &'static str, source: io::Error },
    #[error("`{}` was changed after it was copied, and so was what it was copied from", .path.display())]
    CopyChanged { path: PathBuf },
    #[error("`{}` is no plain file, so that files can't be shared one by one", .path.display())]
    Unshareable { path: PathBuf },
    #[error("no space left on the disk of `{}`", .path.display())]
    DiskFull { path: PathBuf },
    #[error("`{}` is neither a repository that Spinney knows nor a directory in one", for_message(.name))]
    UnknownRepository { name: String },
    #[error("another repository stands where {name} was: `{}`", .place.display())]
    Replaced { name: RepositoryName, place: PathBuf },
    #[error("the repository {name} is no longer at `{}`", .place.display())]
    RepositoryAway { name: RepositoryName, place: PathBuf },
    #[error("this home is a copy of `{}`, which still exists: two homes can't own the same workspaces", .of.display())]
    HomeCopied { of: PathBuf },
    #[error("this home was at `{}`, and its daemon still runs", .was.display())]
    HomeInUse { was: PathBuf },
    #[error("the work has a workspace, {name}, on another machine (`{node}`)")]
    OnOtherNode { name: WorkspaceName, node: NodeId },
    #[error("`{}` lies in the workspace {name}, whose agents could have made it", .place.display())]
    InWorkspace { place: PathBuf, name: WorkspaceName, workspace: spinney_core::WorkspaceId },
    #[error("{name} is known already, at `{}`", .place.display())]
    RepositoryNameTaken { name: RepositoryName, place: PathBuf },
    #[error("{name} has {count} live {}", if *.count == 1 { "workspace" } else { "workspaces" })]
    RepositoryInUse { name: RepositoryName, count: u64, missing: bool },
    #[error("{name} has {count} {} in the trash, which could not come back without it", if *.count == 1 { "workspace" } else { "workspaces" })]
    RepositoryHasTrash { name: RepositoryName, count: u64, missing: bool },
    #[error("{name} has no commit yet")]
    EmptyRepository { name: RepositoryName },
    #[error("`{}` is not a remote of {repository}, which has {}", for_message(.remote), list(.known, "none"))]
    UnknownRemote { repository: RepositoryName, remote: String, known: Vec<String> },
    #[error("{repository} has several remotes and none is called `origin`: {}", list(.known, "none"))]
    AmbiguousRemote { repository: RepositoryName, known: Vec<String> },
    #[error("{repository} has no remote, and its main checkout is on no branch: there is no base to start from")]
    NoBase { repository: RepositoryName },
    #[error("the base `{}` does not exist; looked for {}", for_message(.base), list(.looked_for, "nothing"))]
    MissingBase { base: String, looked_for: Vec<String> },
    #[error("{what} does not exist; looked for {}", list(.looked_for, "nothing"))]
    MissingHead { what: String, looked_for: Vec<String> },
    #[error("could not clone `{}`", for_message(.url))]
    Clone { url: String, source: spinney_git::Error },
    #[error("`{}` can't be cloned: {reason}", for_message(.url))]
    UnusableUrl { url: String, reason: &'static str },
    #[error("`{}` is another account's", .path.display())]
    OfAnotherAccount { path: PathBuf },
    #[error("account `{account}` can't use the variable `{}`: only the owner of the home may name variables", for_message(.variable))]
    VariableOfOwner { variable: String, account: String },
    #[error("there is no account `{name}`")]
    UnknownAccount { name: AccountName },
    #[error("account `{name}` exists already")]
    AccountTaken { name: AccountName },
    #[error("account `{account}` has no token `{}`", for_message(.name))]
    UnknownToken { account: AccountName, name: String },
    #[error("account `{account}` has a token `{name}` already")]
    TokenTaken { account: AccountName, name: TokenName },
    #[error("{repository} has no remote to fetch from")]
    NoRemote { repository: RepositoryName },
    #[error("could not fetch from `{remote}`")]
    Fetch { remote: String, source: spinney_git::Error },
    #[error("branch `{branch}` can't be made beside `{existing}`: one would be a directory of the other")]
    BranchConflict { branch: BranchName, existing: String },
    #[error("no name like `{pattern}` is free for a branch")]
    NoFreeBranch { pattern: BranchName },
    #[error("branch `{branch}` is checked out in the main checkout at `{}`", .path.display())]
    BranchInMainCheckout { branch: BranchName, path: PathBuf },
    #[error("branch `{branch}` is checked out at `{}`, {reason}", .path.display())]
    BranchHeld { branch: BranchName, path: PathBuf, reason: String },
    #[error("branch `{branch}` is checked out at `{}`, which is missing", .path.display())]
    BranchInMissingWorktree { branch: BranchName, path: PathBuf },
    #[error("branch `{branch}` is checked out where you may not look")]
    BranchHidden { branch: BranchName, source: spinney_git::Error },
    #[error("branch `{branch}` belongs to {name}, which is {status}")]
    BranchOfWorkspace { branch: BranchName, name: WorkspaceName, status: spinney_core::WorkspaceStatus },
    #[error("no workspace is called `{}`", for_message(.name))]
    UnknownWorkspace { name: String, nearest: Option<String> },
    #[error("no workspace of this repository is called `{}`", for_message(.name))]
    InOtherRepository { name: String, workspace: WorkspaceName, repository: RepositoryName },
    #[error("{name} is not a workspace of this caller")]
    OfOthers { name: WorkspaceName },
    #[error("`{}` is not inside a workspace", .path.display())]
    OutsideWorkspaces { path: PathBuf },
    #[error("{name} is in the trash")]
    InTrash { name: WorkspaceName, id: spinney_core::WorkspaceId },
    #[error("{name} is not in the trash: it is {status}")]
    NotInTrash { name: WorkspaceName, status: spinney_core::WorkspaceStatus },
    #[error("`{}` could be any of {}", for_message(.name), list(.candidates, "none"))]
    AmbiguousWorkspace { name: String, candidates: Vec<String> },
    #[error("{name} is {status}, not {needed}")]
    WrongStatus { name: WorkspaceName, status: spinney_core::WorkspaceStatus, needed: &'static str },
    #[error("job {job} (`{agent}`) runs in {name}")]
    JobRuns { name: WorkspaceName, job: JobId, agent: String },
    #[error("{name} is being worked on by another Spinney process")]
    Busy { name: WorkspaceName },
    #[error(
        "{repository} has {} active workspaces (limit {}): {} merged, {} stale for {}, {} active",
        .census.total(), .census.limit, .census.merged.len(), .census.stale.len(), days(&.census.stale_after), .census.active
    )]
    Limit { repository: RepositoryName, census: Box<Census> },
    #[error("only {} free where the workspace would go: its files need {}, and {} must stay free", size(*.free), size(*.needed), size(*.kept))]
    LowDisk { free: u64, needed: u64, kept: u64 },
    #[error("{name} would not be removed: {}", codes(.reasons))]
    Refused { name: WorkspaceName, reasons: Vec<Reason> },
    #[error("the files of {name} are not there: `{}`", .path.display())]
    TreeMissing { name: WorkspaceName, path: PathBuf },
    #[error("{name} was moved from `{}` to `{}`", .from.display(), .to.display())]
    MovedAway { name: WorkspaceName, from: PathBuf, to: PathBuf },
    #[error("`{}` has no `{}` file: is its disk mounted?", .path.display(), crate::home::layout::MARKER)]
    TreeRootMissing { path: PathBuf },
    #[error("`{}` is no linked worktree of {repository}: {reason}", .path.display())]
    NotAdoptable { path: PathBuf, repository: RepositoryName, reason: String },
    #[error("`{}` is a workspace of another Spinney home{}", .path.display(), home(.node, .place.as_deref()))]
    OtherHome { path: PathBuf, node: NodeId, place: Option<PathBuf> },
    #[error("`{}` is a workspace of another account", .path.display())]
    OtherAccount { path: PathBuf },
    #[error("`{}` has Spinney's lock but no marker: Spinney is creating it, or its marker was deleted", .path.display())]
    Unmarked { path: PathBuf },
    #[error("home `{node}` is there still, at `{}`", .place.display())]
    HomeExists { node: NodeId, place: PathBuf },
    #[error("`{node}` is this home: nothing has to be taken over from it")]
    OwnHome { node: NodeId },
    #[error("`{place}` can't be imported from: {reason}")]
    ImportUnreadable { place: String, reason: String },
    #[error("account `{account}` can't import: worktrees of other tools belong to the owner of the home")]
    ImportOfAccount { account: String },
    #[error("the workspace directory `{}` would lie in the main checkout, where git does not ignore it", .path.display())]
    PathNotIgnored { path: PathBuf },
    #[error("`{}` exists already", .path.display())]
    PathTaken { path: PathBuf },
    #[error("{name} can't be restored on `{branch}`: {reason}")]
    RestoreBranchTaken { name: WorkspaceName, branch: BranchName, reason: String },
    #[error("{name} can't be restored: {reason}")]
    NotRestorable { name: WorkspaceName, reason: String },
    #[error("{name} was erased at {at}{}: neither the trash nor an archive has anything of it", erased_by(.by))]
    Erased { name: WorkspaceName, at: Timestamp, by: String },
    /// Files in the trash are in use, or change while they are archived.
    #[error("{name} stays in the trash: {by} still works in its files")]
    StillUsed { name: WorkspaceName, by: String },
    #[error("{name} holds the repository {repository}, which has live workspaces: {live}")]
    RepositoryInside { name: WorkspaceName, repository: RepositoryName, live: WorkspaceName },
    /// A linked worktree lies in the tree: without a lock, a prune in its repository would take its work.
    #[error("{name} holds the worktree `{}`, which can't be locked in its repository", .worktree.display())]
    WorktreeInside { name: WorkspaceName, worktree: PathBuf, source: io::Error },
    #[error("`{}` is mounted inside {name}", .mount.display())]
    MountInside { name: WorkspaceName, mount: PathBuf },
    #[error(
        "`{branch}` exists on `{remote}` already and was not pushed from this workspace: Spinney does not overwrite it"
    )]
    ForeignBranch { branch: BranchName, remote: String },
    #[error("Spinney can't use {}: {reason}", .kind.title)]
    Forge { kind: spinney_forge::ForgeKind, reason: String },
    #[error("Spinney can't use Linear: {reason}")]
    Linear { reason: String },
    #[error("setup command `{}` {outcome}", for_message(.line))]
    Setup { line: String, outcome: String },
    #[error("no checkout to read in can be made: {why}")]
    Unreadable { why: String },
    #[error("no free port is left for `{name}`")]
    NoFreePort { name: String },
    #[error("the variable `{variable}`, which holds the token for {repository}, is not set")]
    TokenMissing { variable: String, repository: String },
    #[error(
        "the remote wants credentials; git has none that it takes, and `{variable}`, for its forge's token, is not set"
    )]
    TokenWanted { variable: String, source: spinney_git::Error },
    #[error("{what}")]
    Internal { what: String },
}

impl From<OwnershipError> for Error {
    fn from(OwnershipError { path, doing, source }: OwnershipError) -> Self {
        Self::files(&path, doing)(source)
    }
}

impl Error {
    pub(crate) fn files(path: &std::path::Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            _ => Self::Files { path, doing, source },
        }
    }

    /// The message with its causes, for where only a text is kept.
    #[must_use]
    pub fn in_full(&self) -> String {
        spinney_core::in_full(self)
    }

    /// Whether the database's server went away in the middle: done again, all of it may succeed, or turn out to be done.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_cut_off())
    }

    /// Whether a remote took nothing that was shown to it.
    #[must_use]
    pub fn wants_credentials(&self) -> bool {
        matches!(
            self,
            Self::TokenWanted { .. } | Self::TokenMissing { .. } | Self::Git(spinney_git::Error::Auth { .. })
        )
    }

    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        use spinney_git::Error as Git;
        match self {
            Self::Config(_)
            | Self::UnusableUrl { .. }
            | Self::NoRemote { .. }
            | Self::NoBase { .. }
            | Self::UnknownRemote { .. }
            | Self::AmbiguousRemote { .. }
            | Self::EmptyRepository { .. }
            | Self::BranchConflict { .. }
            | Self::NoFreeBranch { .. }
            | Self::PathNotIgnored { .. }
            | Self::RepositoryNameTaken { .. }
            | Self::InWorkspace { .. }
            | Self::NotAdoptable { .. }
            | Self::OwnHome { .. }
            | Self::ImportUnreadable { .. }
            | Self::ImportOfAccount { .. }
            | Self::VariableOfOwner { .. }
            | Self::AccountTaken { .. }
            | Self::TokenTaken { .. }
            | Self::TokenMissing { .. } => ErrorKind::Usage,
            Self::Refused { reasons, .. } if reasons.iter().any(|reason| reason.code.is_held()) => ErrorKind::Held,
            Self::Replaced { .. } => ErrorKind::NotFound,
            Self::HomeCopied { .. } => ErrorKind::Usage,
            Self::HomeInUse { .. } | Self::OnOtherNode { .. } => ErrorKind::Held,
            Self::Limit { .. }
            | Self::LowDisk { .. }
            | Self::Refused { .. }
            | Self::WorktreeInside { .. }
            | Self::RepositoryInUse { .. }
            | Self::RepositoryHasTrash { .. } => ErrorKind::Blocked,
            Self::UnknownRepository { .. }
            | Self::OfAnotherAccount { .. }
            | Self::UnknownAccount { .. }
            | Self::UnknownToken { .. }
            | Self::MissingBase { .. }
            | Self::MissingHead { .. }
            | Self::UnknownWorkspace { .. }
            | Self::InOtherRepository { .. }
            | Self::OfOthers { .. }
            | Self::OutsideWorkspaces { .. }
            | Self::InTrash { .. }
            | Self::NotInTrash { .. }
            | Self::Erased { .. }
            | Self::AmbiguousWorkspace { .. } => ErrorKind::NotFound,
            Self::Clone { source: Git::RemoteNotFound { .. }, .. } => ErrorKind::NotFound,
            Self::RestoreBranchTaken { .. } => ErrorKind::Held,
            Self::BranchInMainCheckout { .. }
            | Self::BranchInMissingWorktree { .. }
            | Self::BranchHidden { .. }
            | Self::MovedAway { .. }
            | Self::BranchOfWorkspace { .. }
            | Self::BranchHeld { .. }
            | Self::StillUsed { .. }
            | Self::RepositoryInside { .. }
            | Self::OtherHome { .. }
            | Self::OtherAccount { .. }
            | Self::Unmarked { .. }
            | Self::HomeExists { .. }
            | Self::JobRuns { .. }
            | Self::Busy { .. } => ErrorKind::Held,
            Self::Git(Git::LockTimeout { .. } | Git::BranchInUse { .. })
            | Self::Fetch { source: Git::LockTimeout { .. }, .. } => ErrorKind::Held,
            Self::Git(Git::MissingObjects { .. }) => ErrorKind::Blocked,
            Self::Git(Git::NotARepository { .. }) => ErrorKind::NotFound,
            Self::Git(Git::GitMissing { .. } | Git::GitTooOld { .. }) => ErrorKind::Usage,
            _ => ErrorKind::Failed,
        }
    }

    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        match self {
            Self::Refused { reasons, .. } => reasons,
            _ => &[],
        }
    }

    /// What helps, as sentences with the command in backticks.
    #[must_use]
    pub fn advice(&self) -> Vec<Advice> {
        match self {
            Self::Config(error) => vec![error.advice()],
            Self::Store(error) => error.advice().into_iter().collect(),
            Self::Git(error) => of_git(error).into_iter().collect(),
            Self::OtherHome { node, place, .. } => {
                let own = place.as_ref().map(|place| Advice::UseOtherHome { place: text(place) });
                own.into_iter().chain([Advice::TakeOverHome { node: node.clone() }]).collect()
            }
            Self::TreeRootMissing { path } => vec![
                Advice::MountTreeRoot,
                Advice::DeclareTreesGone { path: text(path), marker: crate::home::layout::MARKER.to_owned() },
            ],
            Self::Limit { census, .. } => census.advice(),
            error => error.one_advice().into_iter().collect(),
        }
    }

    /// The advice for what has one at most.
    fn one_advice(&self) -> Option<Advice> {
        use spinney_git::Error as Git;
        Some(match self {
            Self::HomeUnusable { .. } => Advice::ChooseHome,
            Self::Files { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => Advice::MountForWriting,
            Self::Files { .. } => Advice::SeeWhoOwnsPlace,
            Self::UnusableUrl { .. } => Advice::GiveUsableUrl,
            Self::Clone { source: Git::Auth { .. }, .. } => Advice::SetUpCredentialsForClone,
            Self::Clone { .. } => Advice::CheckAddress,
            Self::NoRemote { .. } => Advice::AddRemote,
            Self::InTrash { name, id } => Advice::Restore { workspace: name.clone(), id: id.clone() },
            Self::RestoreBranchTaken { name, .. } => Advice::RestoreOnBranch { workspace: name.clone() },
            Self::NotInTrash { name, .. }
            | Self::NotRestorable { name, .. }
            | Self::BranchOfWorkspace { name, .. }
            | Self::WrongStatus { name, .. }
            | Self::TreeMissing { name, .. } => Advice::ShowWorkspace { workspace: name.clone() },
            Self::NotAdoptable { .. } => Advice::ListAdoptable,
            Self::Unmarked { path } => Advice::UnlockToAdopt { path: text(path) },
            Self::HomeExists { place, .. } => Advice::RemoveInHome { place: text(place) },
            Self::PathTaken { .. } => Advice::MoveAwayOrChangePath,
            Self::BranchConflict { .. } => Advice::ChooseBranch,
            Self::NoFreeBranch { .. } => Advice::ChooseBranchOrPattern,
            Self::MissingHead { .. } => Advice::SyncBranchesOrNameCommit,
            Self::StillUsed { .. } => Advice::EndProcessAndRepeat,
            Self::RepositoryInside { repository, .. } => {
                Advice::EmptyRepositoryFirst { repository: repository.clone() }
            }
            Self::WorktreeInside { worktree, .. } => Advice::LockWorktree { path: text(worktree) },
            Self::Busy { .. } => Advice::WaitAndRepeat,
            Self::JobRuns { job, .. } => Advice::Cancel { job: job.clone() },
            Self::DiskFull { .. } => Advice::FreeSpace,
            Self::UnknownRepository { .. } => Advice::ListRepositories,
            Self::VariableOfOwner { .. } => Advice::SetUpCredentials,
            Self::UnknownAccount { name } => Advice::AddAccount { account: name.clone() },
            Self::AccountTaken { .. } => Advice::ListAccounts,
            Self::UnknownToken { account, .. } => Advice::ListTokens { account: account.clone() },
            Self::TokenTaken { name, .. } => Advice::RenameOrRevokeToken { token: name.clone() },
            Self::RepositoryNameTaken { .. } => Advice::GiveRepositoryAnotherName,
            Self::RepositoryInUse { name, missing: true, .. }
            | Self::RepositoryHasTrash { name, missing: true, .. } => {
                Advice::PutBackOrForget { repository: name.clone() }
            }
            Self::RepositoryInUse { name, .. } => Advice::EmptyRepositoryFirst { repository: name.clone() },
            Self::RepositoryHasTrash { name, .. } => Advice::EmptyTrashFirst { repository: name.clone() },
            Self::EmptyRepository { .. } => Advice::CommitFirst,
            Self::UnknownRemote { .. } | Self::AmbiguousRemote { .. } => Advice::SetRemote,
            Self::ImportUnreadable { .. } => Advice::NameImportSource,
            Self::ImportOfAccount { .. } => Advice::LeaveAccountOut,
            Self::NoBase { .. } => Advice::NameBase,
            Self::MissingBase { .. } => Advice::SyncBranches,
            Self::Fetch { source: Git::LockTimeout { holder: Some(holder), .. }, .. } if holder.is_stopped() => {
                Advice::LetGoOnOrKill { pid: holder.pid }
            }
            Self::Fetch { source: Git::NotTrusted { .. }, .. } => Advice::Trust,
            Self::Fetch { .. } => Advice::FetchFromWhatIsKnown,
            Self::BranchInMainCheckout { .. } => Advice::SwitchMainCheckout,
            Self::Replaced { .. } => Advice::RunWhereItStands,
            Self::RepositoryAway { name, .. } => Advice::FindAgainOrForget { repository: name.clone() },
            Self::HomeCopied { .. } => Advice::UseTheOtherHome,
            Self::HomeInUse { .. } => Advice::StopTheDaemon,
            Self::OnOtherNode { .. } => Advice::WorkOnItThere,
            Self::MovedAway { from, to, .. } => Advice::NoteTheMove { from: text(from), to: text(to) },
            Self::BranchInMissingWorktree { path, .. } => Advice::RepairOrPrune { path: text(path) },
            Self::BranchHidden { .. } => Advice::AskOwnerOrChooseBranch,
            Self::BranchHeld { path, .. } => Advice::SeeStatus { path: text(path) },
            Self::UnknownWorkspace { nearest: Some(name), .. } => Advice::DidYouMean { name: name.clone() },
            Self::InOtherRepository { workspace, repository, .. } => {
                Advice::NameOtherRepository { workspace: workspace.clone(), repository: repository.clone() }
            }
            Self::OutsideWorkspaces { .. } => Advice::NameOrEnterWorkspace,
            Self::UnknownWorkspace { .. } => Advice::ListWorkspaces,
            Self::AmbiguousWorkspace { .. } => Advice::NameWorkspaceById,
            Self::LowDisk { .. } => Advice::FreeSpaceOrLowerLimit,
            Self::PathNotIgnored { .. } => Advice::IgnoreDirectory,
            Self::Setup { .. } => Advice::FixSetup,
            Self::InWorkspace { .. } => Advice::AddCloneElsewhere,
            Self::TokenMissing { variable, .. } => Advice::ExportVariable { variable: variable.clone() },
            Self::TokenWanted { variable, .. } => Advice::SetForgeTokenOrCredentials { variable: variable.clone() },
            Self::Refused { .. } => Advice::AllowReasons,
            _ => return None,
        })
    }
}

/// What helps when git fails.
fn of_git(error: &spinney_git::Error) -> Option<Advice> {
    use spinney_git::Error as Git;
    Some(match error {
        Git::MissingObjects { .. } => Advice::CheckObjects,
        Git::LockTimeout { holder: Some(holder), .. } if holder.is_stopped() => {
            Advice::LetGoOnOrKill { pid: holder.pid }
        }
        Git::LockTimeout { .. } => Advice::WaitOrEndAndRepeat,
        Git::NotTrusted { .. } => Advice::Trust,
        Git::NotARepository { .. } => Advice::RunInRepository,
        Git::GitMissing { .. } | Git::GitTooOld { .. } => Advice::InstallGit,
        Git::Auth { .. } => Advice::SetUpCredentialsOrNameToken,
        Git::BranchInUse { .. } => Advice::TakeInOrphans,
        Git::OperationInProgress { path, .. } => Advice::SeeWhatIsLeft { path: text(path) },
        Git::Conflicted { .. } => Advice::ResolveConflicts,
        Git::PushRejected { .. } => Advice::TakeInRemoteCommits,
        Git::DamagedWorktree { .. } | Git::ForeignWorktree { .. } | Git::WorktreeMissing { .. } => Advice::RepairLinks,
        Git::DamagedIndex { path, .. } => Advice::MakeIndexAnew { path: text(path) },
        Git::TransportNotAllowed { transport } => Advice::AllowTransport { transport: transport.clone() },
        Git::UnsafeOwnership { path } => Advice::DeclareSafe { path: text(path) },
        Git::Network { .. } | Git::NoAnswer { .. } | Git::RemoteNotFound { .. } => Advice::CheckNetwork,
        Git::PermissionDenied { .. } => Advice::SeeWhoOwnsFile,
        Git::ReadOnly { .. } => Advice::MountForWriting,
        Git::NoSpace { .. } => Advice::FreeSpace,
        _ => return None,
    })
}

fn text(path: &std::path::Path) -> String {
    path.display().to_string()
}

/// What makes a damaged index anew: the files stay as they are, and what was staged is staged no more.
pub(crate) fn mend_index(tree: &std::path::Path) -> String {
    format!(
        "`git -C {} read-tree HEAD` creates a new index: files stay as they are, staged changes become unstaged",
        tree.display()
    )
}

fn erased_by(by: &str) -> String {
    if by.is_empty() { String::new() } else { format!(" by {}", for_message(by)) }
}

fn list(items: &[String], none: &str) -> String {
    if items.is_empty() {
        return none.to_owned();
    }
    items.iter().map(|item| format!("`{}`", for_message(item))).collect::<Vec<_>>().join(", ")
}

fn codes(reasons: &[Reason]) -> String {
    reasons.iter().map(|reason| format!("{} ({})", reason.code, reason.detail())).collect::<Vec<_>>().join(", ")
}

/// Which home, for a sentence.
fn home(node: &NodeId, place: Option<&std::path::Path>) -> String {
    match place {
        Some(place) => format!(", `{node}` at `{}`", place.display()),
        None => format!(", `{node}`"),
    }
}

/// `14d` as `14+ days`, for a sentence.
fn days(span: &str) -> String {
    match span.strip_suffix('d') {
        Some(days) => format!("{days}+ days"),
        None => format!("{span}+"),
    }
}

/// An amount of bytes for a sentence.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes;
    let mut rest = 0;
    let mut unit = 0;
    while value >= 1000 && unit < UNITS.len() - 1 {
        rest = value % 1000 / 100;
        value /= 1000;
        unit += 1;
    }
    if value < 10 && unit > 0 { format!("{value}.{rest} {}", UNITS[unit]) } else { format!("{value} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_reads_as_a_sentence() {
        let census = Census {
            limit: 25,
            merged: vec![WorkspaceName::new("a"); 3],
            stale: vec![WorkspaceName::new("b"); 2],
            active: 20,
            stale_after: "14d".to_owned(),
            again_at: None,
        };
        let error = Error::Limit { repository: "acme/app".parse().unwrap(), census: Box::new(census) };
        assert_eq!(
            error.to_string(),
            "acme/app has 25 active workspaces (limit 25): 3 merged, 2 stale for 14+ days, 20 active"
        );
        assert_eq!(error.kind(), ErrorKind::Blocked);
    }

    #[test]
    fn advice_knows_a_disk_from_its_owner() {
        let place = std::path::Path::new("/srv/x");
        let full = Error::files(place, "written")(io::ErrorKind::StorageFull.into());
        assert_eq!(full.advice(), [Advice::FreeSpace]);
        let read_only = Error::files(place, "written")(io::ErrorKind::ReadOnlyFilesystem.into());
        assert_eq!(read_only.advice(), [Advice::MountForWriting]);
        let denied = Error::files(place, "written")(io::ErrorKind::PermissionDenied.into());
        assert_eq!(denied.advice(), [Advice::SeeWhoOwnsPlace]);
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1_250_000_000), "1.2 GB");
        assert_eq!(size(66_000_000_000), "66 GB");
    }
}
