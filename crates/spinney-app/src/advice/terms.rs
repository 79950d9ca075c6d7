//! The table: every advice, as each front says it.

use spinney_core::Advice;

use super::Terms;

/// An advice in the terms of all fronts.
pub(super) fn terms(advice: &Advice) -> Terms {
    match advice {
        // The machine and the home.
        Advice::ChooseHome => Terms::command_line("choose another with `--home DIR` or `SPINNEY_HOME`"),
        Advice::ChooseHomeOrMoveAway => Terms::command_line("move it away, or choose another home with `--home DIR`"),
        Advice::ChoosePlaceOfHome => Terms::each(
            "see who owns it; `--home DIR` or `SPINNEY_HOME` choose another place",
            "see who owns it, on the machine of the daemon",
        ),
        Advice::ChooseHomeOrMount => Terms::each(
            "see whether its disk is mounted for writing, and who owns it; `--home DIR` or `SPINNEY_HOME` choose another place",
            "see whether its disk is mounted for writing, and who owns it, on the machine of the daemon",
        ),
        Advice::MountForWriting => Terms::each(
            "mount it for writing; `--home DIR` and `workspace.path` decide where things go",
            "mount it for writing; the daemon's home and `workspace.path` decide where things go",
        ),
        Advice::SeeWhoOwnsPlace => Terms::each(
            "see who owns it and what stands there; `--home DIR` and `workspace.path` decide where things go",
            "see who owns it and what stands there; the daemon's home and `workspace.path` decide where things go",
        ),
        Advice::AskOwner => Terms::same("ask its owner, who alone can say what it holds"),
        Advice::AskOwnerOrChooseBranch => Terms::each(
            "ask its owner, or work on another branch: `spinney new --branch NAME`",
            "ask its owner, or work on another `branch`",
        ),
        Advice::SeeWhoOwnsFile => {
            Terms::each("see who owns it, and run the same command again", "see who owns it, and try again")
        }
        Advice::FreeSpace => {
            Terms::each("free some space, then run the same command again", "free some space, then try again")
        }
        Advice::FreeSpaceOrLowerLimit => Terms::same("free some space, or lower `limits.min_free_disk`"),
        Advice::UseTheOtherHome => Terms::command_line(
            "use that one; to make this a home of its own, delete `node`, `place` and all `spinney.db*` in it",
        ),
        Advice::StopTheDaemon => Terms::command_line("stop the daemon, and run the same command again"),
        Advice::UseOtherHome { place } => Terms::command_line(format!("`spinney --home {place}` works with it")),
        Advice::TakeOverHome { node } => Terms::command_line(format!(
            "where that home is gone for good, `spinney adopt --from-home {node}` takes it over"
        )),
        Advice::RemoveInHome { place } => {
            Terms::command_line(format!("`spinney --home {place} rm NAME` removes its workspaces"))
        }
        Advice::MountTreeRoot => Terms::each(
            "mount it and run the same command again; nothing was changed",
            "mount it and try again; nothing was changed",
        ),
        Advice::DeclareTreesGone { path, marker } => {
            Terms::same(format!("if its trees are gone for good, `mkdir -p {path} && touch {path}/{marker}` says so"))
        }
        Advice::InstallProgram { agent, command } => match command {
            Some(command) => Terms::same(format!("`{command}` installs it; or set `agents.{agent}.command`")),
            None => Terms::same(format!("install it, or set `agents.{agent}.command`")),
        },
        Advice::InstallGit => Terms::same("install git 2.38 or newer"),
        Advice::CheckStoreUrl => {
            Terms::same("check `store.url` or `SPINNEY_DATABASE_URL`; without either it is SQLite in the home")
        }
        Advice::WaitForStore => Terms::each(
            "wait for the other process, and run the same command again",
            "wait for the other process, and try again",
        ),
        Advice::PutBackupInPlace => Terms::each(
            "move it away with its `-wal` and `-shm` files, and put a backup (`spinney.db.backup-…`) in its place; without one, \
             `spinney adopt --all` finds the workspaces",
            "move it away with its `-wal` and `-shm` files, and put a backup (`spinney.db.backup-…`) in its place",
        ),
        Advice::PutStoreTogether { store, files } => {
            let files = files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(" and ");
            Terms::each(
                format!(
                    "put `{store}` back, or move {files} to where it is: they have its last changes; then a new store begins, \
                     and `spinney adopt --all` finds the workspaces"
                ),
                format!("put `{store}` back, or move {files} to where it is: they have its last changes"),
            )
        }
        Advice::SeeVersion => Terms::command_line("`spinney --version` tells which one this is"),

        // Configuration.
        Advice::Configuration(text) => Terms::same(text),
        Advice::SetAgentInFile => Terms::each(
            "an agent is set by `[agents.NAME]` in a file; see `spinney config show`",
            "an agent is set by `[agents.NAME]` in a file",
        ),
        Advice::ValidateConfiguration => {
            Terms::each("fix the file; `spinney config validate` checks it", "fix the file, and try again")
        }
        Advice::SetRemote => Terms::same("set `workspace.remote` to the one that is meant"),
        Advice::NameBase => Terms::each(
            "name the base: `--base BRANCH`, or `workspace.base` in `spinney.toml`",
            "name the base with `base`, or set `workspace.base` in `spinney.toml`",
        ),
        Advice::IgnoreDirectory => Terms::same("add that directory to `.gitignore`, or change `workspace.path`"),
        Advice::MoveAwayOrChangePath => Terms::same("move it away, or change `workspace.path`"),
        Advice::FixSetup => Terms::each(
            "nothing was left behind; fix `workspace.setup` and run the same command again",
            "nothing was left behind; fix `workspace.setup` and try again",
        ),
        Advice::FetchFromWhatIsKnown => Terms::each(
            "`SPINNEY_WORKSPACE__FETCH=auto` continues with what was fetched before",
            "`workspace.fetch = \"auto\"` continues with what was fetched before",
        ),
        Advice::Trust => Terms::each(
            "`spinney trust` shows what it would run, and agrees to it; `git config --unset KEY` takes it out",
            "the owner of the home looks at what it would run, and agrees to it; `git config --unset KEY` takes it out",
        ),
        Advice::TrustAgent => Terms::each(
            "`spinney trust` shows it, and asks",
            "the owner of the home looks at it, and trusts it on the machine of the daemon",
        )
        .in_chat("the operator of this daemon has to review and trust it"),

        Advice::TrustSetup => Terms::each("see `spinney trust`", "the owner of the home looks at it, and trusts it"),
        Advice::TrustForeignSetup { flag, commit } => Terms::each(
            format!(
                "review those files; then `spinney new {flag} --setup` runs `setup`, or `spinney trust --commit {commit}` allows it \
                 for that commit"
            ),
            format!("the owner of the home has to review those files and trust the commit {commit}; then send the request again"),
        ),

        // Waiting, and doing it again.
        Advice::WaitAndRepeat => {
            Terms::each("wait for it, and run the same command again", "wait for it, and try again")
        }
        Advice::WaitOrEndAndRepeat => Terms::each(
            "wait for it, or end it, and run the same command again",
            "wait for it, or end it, and try again",
        ),
        Advice::EndProcessAndRepeat => {
            Terms::each("end that process, and run the same command again", "end that process, and try again")
        }
        Advice::LetGoOnOrKill { pid } => {
            Terms::same(format!("`kill -CONT {pid}` lets it go on, `kill -9 {pid}` ends it"))
        }
        Advice::WorkOnItThere => Terms::same("continue on that machine"),
        Advice::BeginAtNewest => Terms::same("leave it out to begin again"),
        Advice::LeaveExpiryOut => {
            Terms::each("leave `--expires` out to make a token that never expires", "leave `expires` out to make a token that never expires")
        }

        // Repositories and remotes.
        Advice::ListRepositories => Terms::each(
            "`spinney repo ls` shows the known ones, `spinney repo add URL|PATH` adds one",
            "`GET /api/v1/repositories` lists them",
        )
        .in_chat("`/repo` tells which one this is about"),
        Advice::RunInRepository => Terms::each(
            "run it inside a repository, or name one with `--repo PATH|NAME`",
            "`path` is the directory of a repository",
        ),
        Advice::RunWhereItStands => Terms::each(
            "run any `spinney` command where it stands now, and it is found by its id",
            "add it again by `POST /api/v1/repositories` with the `path` where it stands now: it is found by its id",
        ),
        Advice::FindAgainOrForget { repository } => Terms::each(
            format!(
                "run any `spinney` command where it stands now, and it is found by its id; mount its disk, if that is missing; \
                 `spinney repo rm {repository}` forgets it"
            ),
            "add it again by `POST /api/v1/repositories` with the `path` where it stands now: it is found by its id; mount \
             its disk, if that is missing; `DELETE /api/v1/repositories/{id}` forgets it",
        ),
        Advice::GiveRepositoryAnotherName => {
            Terms::each("give it another with `--name OWNER/NAME`", "give it another with `name`")
        }
        Advice::PutBackOrForget { repository } => Terms::each(
            format!(
                "put the repository back; where it is gone for good, `spinney repo rm {repository} --force` forgets them"
            ),
            "put the repository back; where it is gone for good, `force` forgets them",
        ),
        Advice::EmptyRepositoryFirst { repository } => Terms::each(
            format!("`spinney ls --repo {repository}` shows them, `spinney rm NAME` removes one"),
            format!(
                "`GET /api/v1/workspaces?repository={repository}` lists them, `DELETE /api/v1/workspaces/{{id}}` lets one go"
            ),
        ),
        Advice::EmptyTrashFirst { repository } => Terms::each(
            format!(
                "`spinney ls --all --repo {repository}` shows them; `spinney restore` brings one back, `spinney trash purge` deletes it"
            ),
            "`GET /api/v1/trash` lists them; `POST /api/v1/workspaces/{id}/restore` brings one back, \
             `POST /api/v1/trash/purge` lets it go",
        ),
        Advice::CommitFirst => Terms::same("commit something first (`git commit --allow-empty -m start`), or push a branch to it"),
        Advice::AddRemote => Terms::same("`git remote add origin URL` gives it one"),
        Advice::GiveUsableUrl => Terms::same("give a URL that starts with `https://`, `ssh://` or `git@host:`"),
        Advice::CheckAddress => Terms::same("check the address; `git ls-remote URL` asks the same question by hand"),
        Advice::CheckNetwork => Terms::each(
            "check the network and `git remote -v`; `spinney new` works without the remote under `SPINNEY_WORKSPACE__FETCH=never`",
            "check the network and `git remote -v`; `workspace.fetch = \"never\"` works without the remote",
        ),
        Advice::SetUpCredentials => Terms::same("set up git's credential helper for this host"),
        Advice::SetUpCredentialsOrNameToken => Terms::each(
            "set up git's credential helper for this host, or name a token: `spinney repo add URL --token-env NAME`",
            TOKEN_BY_VARIABLE,
        ),
        Advice::SetForgeTokenOrCredentials { variable } => Terms::each(
            format!("export {variable} with a token that may push, or set up git's credential helper for this host"),
            format!(
                "set {variable} for the daemon to a token that may push, and start it again; or set up git's credential helper \
                 for this host"
            ),
        ),
        Advice::SetUpCredentialsForClone => Terms::each(
            "set up git's credential helper for this host, or name a token with `--token-env NAME`",
            TOKEN_BY_VARIABLE,
        ),
        Advice::ExportVariable { variable } => Terms::each(
            format!("export {variable}, and run the same command again"),
            format!("set {variable} for the daemon, and start it again"),
        ),
        Advice::SyncBranches => Terms::each(
            "`git branch -a` shows what there is; `spinney repo sync` fetches it all",
            "`POST /api/v1/repositories/{id}/sync` fetches all branches",
        ),
        Advice::SyncBranchesOrNameCommit => Terms::each(
            "`spinney repo sync` fetches all branches; `--sha SHA` names a commit",
            "`POST /api/v1/repositories/{id}/sync` fetches all branches; `sha` names a commit",
        ),

        // Accounts and tokens.
        Advice::ListAccounts => Terms::each("`spinney account ls` shows them", "`GET /api/v1/accounts` lists them"),
        Advice::AddAccount { account } => Terms::each(
            format!("`spinney account ls` shows them, `spinney account add {account}` adds it"),
            "`GET /api/v1/accounts` lists them, `POST /api/v1/accounts` adds one",
        ),
        Advice::ListTokens { account } => {
            Terms::each(format!("`spinney token ls --account {account}` shows them"), "`GET /api/v1/tokens` lists them")
        }
        Advice::RenameOrRevokeToken { token } => Terms::each(
            format!("give it another name; `spinney token revoke '{token}'` revokes the old one"),
            "give it another name, or let the old one go: `DELETE /api/v1/tokens/{id}`",
        ),
        Advice::LeaveAccountOut => Terms::command_line("leave `--account` out"),

        // Workspaces and branches.
        Advice::ListWorkspaces => Terms::each(
            "`spinney ls` shows them, `spinney ls --all` the trash too",
            "`GET /api/v1/workspaces` lists them",
        )
        .in_chat("`/worktree list` shows them"),
        Advice::NameOrEnterWorkspace => {
            Terms::command_line("name one of those that `spinney ls` lists, or run it inside of one")
        }
        Advice::DidYouMean { name } => Terms::same(format!("did you mean `{name}`?")),
        Advice::NameWorkspaceById => {
            Terms::each("use the whole name or the id; of several repositories `--repo` means one", "use its id")
                .in_chat("use its id")
        }
        Advice::NameOtherRepository { workspace, repository } => Terms::each(
            format!("{workspace} of {repository} is meant with `--repo {repository}`"),
            format!("{workspace} of {repository} is meant by its id"),
        ),
        Advice::ShowWorkspace { workspace } => Terms::each(
            format!("`spinney show {workspace}` tells more"),
            "`GET /api/v1/workspaces/{id}?details=true` tells more",
        ),
        Advice::Restore { workspace, id } => Terms::each(
            format!("`spinney restore {id}` brings it back"),
            format!("`POST /api/v1/workspaces/{id}/restore` brings it back"),
        )
        .in_chat(format!("`/worktree restore {workspace}` brings it back")),
        Advice::RestoreOnBranch { workspace } => Terms::each(
            format!("`spinney restore {workspace} --branch NAME` restores it on a new branch"),
            "`branch` names a new one to restore it on",
        ),
        Advice::AllowReasons => Terms {
            api: Some(
                "`allow` names the codes of the reasons to override; `force` overrides every reason that can be overridden"
                    .into(),
            ),
            ..Terms::default()
        },
        Advice::MakeRoom { workspace, is_stale } => {
            let what = if *is_stale { "a stale one" } else { "a merged one" };
            let kind = if *is_stale { "stale" } else { "merged" };
            Terms::each(
                format!("`spinney why {workspace}` shows why {what} is kept, `spinney rm {workspace}` removes it"),
                format!(
                    "`{workspace}` is {what}: `GET /api/v1/workspaces/{{id}}/verdict` tells what keeps it, \
                     `DELETE /api/v1/workspaces/{{id}}` lets it go"
                ),
            )
            .in_chat(format!("`/worktree cleanup {kind}` makes room"))
        }
        Advice::RaiseLimit => Terms::each(
            "`spinney ls -l` shows all; `limits.max_workspaces` raises the limit",
            "`GET /api/v1/workspaces` lists all; `limits.max_workspaces` raises the limit",
        )
        .in_chat("`/worktree list` shows all"),
        Advice::ChooseBranch => Terms::each(
            "choose another with `--branch NAME`, or rename the one that is there",
            "choose another with `branch`, or rename the one that is there",
        ),
        Advice::ChooseBranchOrPattern => Terms::each(
            "choose one with `--branch NAME`, or change the agent's `branch_pattern`",
            "choose one with `branch`, or change the agent's `branch_pattern`",
        ),
        Advice::SwitchMainCheckout => Terms::each(
            "switch the main checkout to another branch, or choose another with `--branch NAME`",
            "switch the main checkout to another branch, or choose another with `branch`",
        ),
        Advice::UnlockToAdopt { path } => {
            Terms::same(format!("if no Spinney process is creating it, `git worktree unlock {path}` allows it to be adopted"))
        }
        Advice::LockWorktree { path } => Terms::same(format!(
            "`git worktree lock {path}`, by a user who may write in its repository, keeps its work; then it can be removed"
        )),
        Advice::ListAdoptable => Terms::same("`git worktree list` shows the linked worktrees that can be adopted"),
        Advice::NoteTheMove { from, to } => Terms::each(
            format!(
                "`spinney cleanup orphans` takes note of that; `git worktree move --force --force {to} {from}` brings it back"
            ),
            format!(
                "`POST /api/v1/cleanup` with `orphans` takes note of that; `git worktree move --force --force {to} {from}` \
                 brings it back"
            ),
        ),
        Advice::RepairOrPrune { path } => Terms::same(format!(
            "if it was moved, `git worktree repair NEW-PLACE` tells git so; if it is gone for good, \
             `git worktree prune` forgets it (after `git worktree unlock {path}`, where it is locked)"
        )),
        Advice::RepairLinks => Terms::each(
            "`git worktree repair PATH` in the main checkout, with the workspace's path, mends a broken link; `spinney doctor` \
             shows them all",
            "`git worktree repair PATH` in the main checkout, with the workspace's path, mends a broken link",
        ),
        Advice::TakeInOrphans => Terms::each(
            "if that is a workspace the store does not know, `spinney cleanup orphans` registers it",
            "if that is a workspace the store does not know, `POST /api/v1/cleanup` with `orphans` registers it",
        ),
        Advice::Adopt => Terms::command_line("`spinney adopt` registers it"),
        Advice::SeeStatus { path } => Terms::same(format!("`git -C {path} status` shows its state")),
        Advice::SeeWhatIsLeft { path } => Terms::same(format!("`git -C {path} status` shows what is left to do")),
        Advice::ResolveConflicts => Terms::same("resolve its conflicts in the workspace, and commit that"),
        Advice::TakeInRemoteCommits => {
            Terms::same("take them in, in the workspace: `git pull --rebase REMOTE BRANCH`; then deliver again")
        }
        Advice::CheckObjects => Terms::each(
            "`git fsck` tells what is missing; `spinney rm NAME --force` removes it and keeps what is left",
            "`git fsck` tells what is missing; `DELETE /api/v1/workspaces/{id}?force=true` removes it and keeps what is left",
        ),
        Advice::MakeIndexAnew { path } => {
            Terms::same(format!("`git -C {path} read-tree HEAD` creates a new index: files stay as they are, staged changes become unstaged"))
        }
        Advice::DeclareSafe { path } => {
            Terms::same(format!("if you trust it: `git config --global --add safe.directory {path}`"))
        }
        Advice::AllowTransport { transport } => Terms::same(format!(
            "if you trust where it leads: `git config --global protocol.{transport}.allow always`; \
             `workspace.submodules = false` leaves submodules out"
        )),
        Advice::NameImportSource => Terms::command_line(
            "name a database of Archon (`archon.db`, or `postgres://…`) or a `worktree-registry.json`; without `--from`, all places are looked at",
        ),

        // Jobs, agents and schedules.
        Advice::ListJobs => Terms::each("`spinney jobs` lists them", "`GET /api/v1/jobs` lists them"),
        Advice::ConfigureAgent => Terms::same(
            "write one into `$XDG_CONFIG_HOME/spinney/config.toml`: `[agents.coder]` with `runtime = \"claude\"`",
        ),
        Advice::NameAgent => Terms::each("`spinney run --agent NAME …`", "`agent` names one"),
        Advice::ChooseAgentOf { repository } => {
            Terms::same(format!("choose an agent whose `working_directory` is `{repository}` or is not set"))
        }
        Advice::NameRepositoryOfAgent => Terms::each(
            "or name the repository that it works on: `spinney repo ls` lists them",
            "or name the repository that it works on: `GET /api/v1/repositories` lists them",
        ),
        Advice::GiveAgentOwnWorkspaces => {
            Terms::same("`strategy = \"git_worktree\"` gives its jobs workspaces of their own")
        }
        Advice::WaitBehind { job } => Terms::each(
            format!("`spinney run --wait …` takes the place behind it; `spinney logs {job} -f` shows it"),
            format!("`GET /api/v1/jobs/{job}` shows it"),
        ),
        Advice::Cancel { job } => {
            Terms::each(format!("`spinney cancel {job}` ends it"), format!("`POST /api/v1/jobs/{job}/cancel` ends it"))
                .in_chat("`/cancel` ends this conversation's job")
        }
        Advice::Retry { job } => Terms::each(
            format!("`spinney retry {job}` runs it again"),
            format!("`POST /api/v1/jobs/{job}/retry` runs it again"),
        ),
        Advice::AcceptHeld { job, without_lost } => {
            let does = if *without_lost { "delivers without them" } else { "pushes it as it is" };
            Terms::each(
                format!("`spinney retry {job} --accept-held` {does}"),
                format!("`POST /api/v1/jobs/{job}/retry` with `accept_held` {does}"),
            )
        }
        Advice::TakeOutAndRetry { job } => Terms::each(
            format!("take them out of its history and `spinney retry {job}` delivers it"),
            format!("take them out of its history and `POST /api/v1/jobs/{job}/retry` delivers it"),
        ),
        Advice::DeliverHeld { workspace, commit } => Terms::each(
            format!("`spinney deliver {workspace} --accept-held {commit}` pushes it as it is"),
            format!("`POST /api/v1/workspaces/{{id}}/deliver` with `accept_held` = `{commit}` pushes it as it is"),
        ),
        Advice::TakeOutCopied => Terms::same("take the files out of the branch's history, and deliver again"),
        Advice::AcceptRemote => Terms::each(
            "`git remote -v` shows it; if that is right, `--accept-remote` pushes there",
            "`git remote -v` shows it; if that is right, `accept_remote` pushes there",
        ),
        Advice::NameForge => {
            Terms::same("set `api_url` in `[forge.github]`, `[forge.gitlab]` or `[forge.forgejo]` of the configuration")
        }
        Advice::AddCloneElsewhere => Terms::each(
            "add a clone of it that stands elsewhere: `spinney repo add URL|PATH`",
            "add a clone of it that stands elsewhere: `POST /api/v1/repositories`",
        ),
        Advice::MergeBack { workspace, refs } => Terms::each(
            format!("`spinney exec {workspace} -- git merge {refs}` brings back what was lost"),
            format!("`git merge {refs}` in the workspace brings back what was lost"),
        ),
        Advice::SeeStatusOf { workspace } => Terms::each(
            format!("`spinney exec {workspace} -- git status` shows it"),
            "`git status` in the workspace shows it",
        ),
        Advice::DaemonClones => Terms::same("start the daemon: it clones the repository"),
        Advice::CloneForAgent { url } => Terms::each(
            format!("`spinney repo add {url}` clones it; `auto_clone = true` lets its jobs do so"),
            "`POST /api/v1/repositories` with its `url` clones it; `auto_clone = true` lets its jobs do so",
        ),
        Advice::NameRepositoryOfSchedule => {
            Terms::each("name its repository too", "`repository` names the one that is meant")
        }
        Advice::PutPromptIntoFile => Terms::same("put it into a file, and name that in the prompt"),
    }
}

const TOKEN_BY_VARIABLE: &str =
    "set up git's credential helper for this host, or name the variable that holds a token with `token_env`";
