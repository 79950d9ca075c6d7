//! Repositories: found by path or name, registered on first use, added by URL, synced, forgotten.

use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::account::LOCAL;
use spinney_core::{Event, Repository, RepositoryId, RepositoryName, Timestamp, Workspace, WorkspaceStatus};
use spinney_git::{Credential, Presence, without_credentials};
use spinney_store::Connection;

use crate::inspect::doctor::mirror_warning;
use crate::journal::events;
use crate::notice::{Notice, Observer, Phase, Warning};
use crate::repositories::context::Context;
use crate::repositories::{identity, relocate};
use crate::resolve::lookup::Among;
use crate::tree::marker::Marker;
use crate::{Engine, Error, Result};

/// How many repositories of one name are told apart by a number before something is plainly wrong.
const MOST_NAMESAKES: u32 = 1000;

/// What `repo add` is told beside the place.
#[derive(Debug, Default, Clone)]
pub struct AddRepository {
    pub name: Option<RepositoryName>,
    /// The name of the variable that holds the token.
    pub token_env: Option<String>,
    /// How many commits of each branch a clone has; zero: all.
    pub depth: u32,
}

impl Engine {
    /// Finds a repository by `owner/name` or by a path in it, registering it when it is new. By a path only for the owner of
    /// the home.
    #[boxed]
    pub async fn find_context(&self, selector: Option<&str>, directory: &Path) -> Result<Context> {
        let Some(selector) = selector else { return self.repository_at(directory).await };
        if selector.is_empty() {
            return Err(Error::UnknownRepository { name: String::new() });
        }
        if let Ok(name) = selector.parse::<RepositoryName>() {
            let found = self.store.read().await?.repository_named(&self.account, self.home.node(), &name).await?;
            if let Some(repository) = found {
                return self.known_repository(repository).await;
            }
        }
        let path = directory.join(selector);
        // Nobody else learns what there is on the disk.
        if self.account != LOCAL || !is_directory(&path)? {
            return Err(Error::UnknownRepository { name: selector.to_owned() });
        }
        self.repository_at(&path).await
    }

    /// Opens a repository that has a row.
    pub(crate) async fn known_repository(&self, repository: Repository) -> Result<Context> {
        let found = identity::read(&repository.common_dir);
        if found.is_some() && repository.clone.is_some() && found != repository.clone {
            return Err(Error::Replaced { name: repository.name, place: repository.common_dir });
        }
        let git = match self.open_unmoved(&repository).await? {
            Some(git) => git,
            None => {
                let place = repository.root.as_deref().unwrap_or(&repository.common_dir);
                match Presence::of(place) {
                    Presence::There => {}
                    Presence::Gone => {
                        let place = place.to_owned();
                        return Err(Error::RepositoryAway { name: repository.name, place });
                    }
                    Presence::Hidden(error) => return Err(spinney_git::Error::io("open", place, error).into()),
                }
                spinney_git::Repository::discover(self.git().await?, place).await?
            }
        };
        self.context(repository, git).await
    }

    /// Opens a repository that stands where its row says, without asking git where it is.
    async fn open_unmoved(&self, repository: &Repository) -> Result<Option<spinney_git::Repository>> {
        let Repository { common_dir, root, .. } = repository;
        let unmoved = root.as_deref().is_some_and(|root| {
            *common_dir == root.join(".git") && spinney_git::Repository::locate(root).as_ref() == Some(common_dir)
        });
        if !unmoved {
            return Ok(None);
        }
        Ok(spinney_git::Repository::open_known(self.git().await?, common_dir, root.as_deref()).ok())
    }

    async fn repository_at(&self, path: &Path) -> Result<Context> {
        if self.account != LOCAL {
            return Err(Error::UnknownRepository { name: path.display().to_string() });
        }
        if let Some(common_dir) = spinney_git::Repository::locate(path) {
            let known = self.known_at(&common_dir).await?.filter(|row| row.clone.is_some());
            if let Some(repository) = known
                && let Some(git) = self.open_unmoved(&repository).await?
            {
                return self.context(repository, git).await;
            }
        }
        let git = spinney_git::Repository::discover(self.git().await?, path).await?;
        match self.register(&git, &AddRepository::default(), false).await {
            // Who stands in a repository that an agent may have made means the workspace around it.
            Err(Error::InWorkspace { workspace, .. }) => {
                let row = self.require_workspace(&workspace).await?;
                self.require_repository(&row.repository_id).await
            }
            registered => self.context(registered?, git).await,
        }
    }

    /// Refuses a repository inside of a workspace: whatever works there could have made it, and what its settings name would run.
    async fn check_outside_workspaces(&self, git: &spinney_git::Repository) -> Result<()> {
        for among in [Among::Live, Among::Trashed] {
            match self.workspace_around(git.common_dir(), among).await {
                Ok(Workspace { id, name, .. }) | Err(Error::InTrash { name, id }) => {
                    let place = git.common_dir().to_owned();
                    return Err(Error::InWorkspace { place, name, workspace: id });
                }
                Err(Error::OutsideWorkspaces { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The row of the clone that stands in a directory: the one whose id it carries. One that carries none, and stands where
    /// a clone was last seen, is that one.
    async fn known_at(&self, common_dir: &Path) -> Result<Option<Repository>> {
        let rows = self.store.read().await?.repositories_at(&self.account, self.home.node(), common_dir).await?;
        let found = identity::read(common_dir);
        let is_it = |row: &Repository| row.clone.is_none() || row.clone == found;
        Ok(rows.into_iter().find(is_it))
    }

    /// Gives a repository its row. Its identity is the id in its git dir, so that a second registration finds the first, from
    /// wherever it was moved to.
    async fn register(&self, git: &spinney_git::Repository, add: &AddRepository, managed: bool) -> Result<Repository> {
        self.check_owner(git.common_dir())?;
        let node = self.home.node();
        if let Some(known) = self.recognise(git).await? {
            return Ok(known);
        }
        self.check_outside_workspaces(git).await?;
        let mut repository = self.new_repository(git, add, managed).await?;
        repository.clone = identity::read_or_make(git.common_dir());
        let name = repository.name.clone();
        for number in 2..MOST_NAMESAKES {
            let mut db = self.store.write().await?;
            db.ensure_node(node, &host_name()).await?;
            if add.name.is_none()
                && let Some(remote) = repository.remote()
                && let Some((id, name)) = db.repository_to_join(&self.account, node, &remote).await?
            {
                // Another machine's clone of the same remote: it is one repository.
                let joined = Repository { id, name, ..repository.clone() };
                if db.insert_clone(&joined).await? {
                    events::record_repository(&mut db, &joined, Event::RepositoryAdded)?;
                    db.commit().await?;
                    return Ok(joined);
                }
            } else if db.insert_repository(&repository).await? {
                events::record_repository(&mut db, &repository, Event::RepositoryAdded)?;
                db.commit().await?;
                return Ok(repository);
            }
            drop(db);
            // Somebody else may have been faster.
            if let Some(known) = self.recognise(git).await? {
                return Ok(known);
            }
            if add.name.is_some() {
                let other = self.store.read().await?.repository_named(&self.account, node, &name).await?;
                let place = other.map(|other| other.common_dir).unwrap_or_default();
                return Err(Error::RepositoryNameTaken { name, place });
            }
            repository.name = name.numbered(number);
        }
        Err(Error::Internal { what: format!("no free name like `{name}` is left") })
    }

    /// Finds the row of a clone that is known already, and takes note of where it is now. A copy of one gets an id of its own.
    async fn recognise(&self, git: &spinney_git::Repository) -> Result<Option<Repository>> {
        let (node, here) = (self.home.node(), git.common_dir());
        if let Some(id) = identity::read(here) {
            let known = self.store.read().await?.repository_of_clone(&self.account, node, &id).await?;
            match known {
                Some(known) if known.common_dir == here => return self.refresh_row(known, git).await.map(Some),
                // Whether it was moved or copied, nobody can tell who may not look there.
                Some(known) if let Presence::Hidden(error) = Presence::of(&known.common_dir) => {
                    return Err(spinney_git::Error::io("open", &known.common_dir, error).into());
                }
                Some(known) if identity::stands_elsewhere(&id, &known.common_dir, here) => {
                    relocate::retire_copied(here)?;
                    identity::renew(here)?;
                    return Ok(None);
                }
                Some(known) => return self.follow_clone(known, git).await.map(Some),
                None => {}
            }
        }
        let rows = self.store.read().await?.repositories_at(&self.account, node, here).await?;
        for row in rows {
            let is_it = row.clone.is_none() || (identity::read(here).is_none() && !self.is_another(&row).await?);
            if is_it {
                let known = Repository { clone: identity::read_or_make(here), ..row.clone() };
                if known != row {
                    let mut db = self.store.write().await?;
                    db.update_repository(&known).await?;
                    db.commit().await?;
                }
                return self.refresh_row(known, git).await.map(Some);
            }
        }
        Ok(None)
    }

    /// Whether what stands in a clone's place, and does not say what it is, is another: workspaces need the clone, and nothing
    /// of them is there.
    async fn is_another(&self, repository: &Repository) -> Result<bool> {
        let mut workspaces = self.workspaces(Some(&repository.id), Among::All).await?;
        workspaces.retain(|workspace| workspace.status != WorkspaceStatus::Purged);
        let worktrees = std::fs::read_dir(repository.common_dir.join("worktrees")).into_iter().flatten().flatten();
        let marked: Vec<_> =
            worktrees.filter_map(|entry| Marker::load(&entry.path())).map(|marker| marker.id).collect();
        let state_dir = repository.common_dir.join("spinney");
        let is_there =
            |workspace: &Workspace| marked.contains(&workspace.id) || state_dir.join(workspace.id.as_str()).is_dir();
        Ok(!workspaces.is_empty() && !workspaces.iter().any(is_there))
    }

    /// A row for a repository that has none.
    async fn new_repository(
        &self,
        git: &spinney_git::Repository,
        add: &AddRepository,
        managed: bool,
    ) -> Result<Repository> {
        let url = self.load_url(git).await?;
        Ok(Repository {
            id: RepositoryId::generate(),
            account: self.account.clone(),
            node: self.home.node().clone(),
            name: add.name.clone().unwrap_or_else(|| suggest_name(git, url.as_deref())),
            common_dir: git.common_dir().to_owned(),
            root: git.root().map(Path::to_owned),
            url,
            managed,
            clone: None,
            token_env: add.token_env.clone(),
            tree_bytes: None,
            created_at: Timestamp::now(),
        })
    }

    /// Opens a repository by its common git dir, and tells whether it has a row: a new one gets none.
    pub(crate) async fn repository_unregistered(&self, common_dir: &Path) -> Result<(Context, bool)> {
        if let Some(repository) = self.known_at(common_dir).await? {
            return Ok((self.known_repository(repository).await?, true));
        }
        let git = spinney_git::Repository::discover(self.git().await?, common_dir).await?;
        self.check_owner(git.common_dir())?;
        let repository = self.new_repository(&git, &AddRepository::default(), false).await?;
        Ok((self.context(repository, git).await?, false))
    }

    /// Keeps the main checkout's place up to date: a worktree's root can change while the git dir stays.
    async fn refresh_row(&self, mut known: Repository, git: &spinney_git::Repository) -> Result<Repository> {
        if known.root.as_deref() != git.root() {
            known.root = git.root().map(Path::to_owned);
            let mut db = self.store.write().await?;
            db.update_repository(&known).await?;
            db.commit().await?;
        }
        Ok(known)
    }

    /// Notes where a known repository's remote is by now, and what its token is in: a person says so by adding it again.
    async fn renew_row(
        &self,
        known: Repository,
        git: &spinney_git::Repository,
        add: &AddRepository,
    ) -> Result<Repository> {
        let token_env = add.token_env.clone().or_else(|| known.token_env.clone());
        let renewed = Repository { url: self.load_url(git).await?, token_env, ..known.clone() };
        if renewed != known {
            let mut db = self.store.write().await?;
            db.update_repository(&renewed).await?;
            db.commit().await?;
        }
        Ok(renewed)
    }

    /// The URL, without credentials, of the remote that the person's configuration names, else of `origin`, else of the
    /// only one.
    async fn load_url(&self, git: &spinney_git::Repository) -> Result<Option<String>> {
        let remotes = git.load_remotes().await?;
        let name = self.config.workspace.remote.as_deref().unwrap_or("origin");
        let named = remotes.iter().find(|remote| remote.name == name);
        Ok(named.or(remotes.first().filter(|_| remotes.len() == 1)).map(|remote| remote.url.clone()))
    }

    /// Adds a repository by path (as it is) or by URL (one bare clone in the home); see [`Engine::check_addition`].
    #[boxed]
    pub async fn add_repository(
        &self,
        place: &str,
        directory: &Path,
        add: &AddRepository,
        observer: &dyn Observer,
    ) -> Result<Context> {
        if place.is_empty() {
            return Err(Error::UnknownRepository { name: String::new() });
        }
        self.check_addition(place, add)?;
        let path = directory.join(place);
        if self.account == LOCAL && !place.contains("://") && is_directory(&path)? {
            let git = spinney_git::Repository::discover(self.git().await?, &path).await?;
            let repository = self.register(&git, add, false).await?;
            let repository = self.renew_row(repository, &git, add).await?;
            let context = self.context(repository, git).await?;
            if let Some(what) = mirror_warning(&context).await? {
                observer(Notice::Warning(Warning::Minor { what }));
            }
            return Ok(context);
        }
        self.clone_repository(place, add, observer).await
    }

    async fn clone_repository(&self, url: &str, add: &AddRepository, observer: &dyn Observer) -> Result<Context> {
        let clean_url = without_credentials(url);
        if let Some(reason) = url_fault(url) {
            return Err(Error::UnusableUrl { url: clean_url, reason });
        }
        let wanted = match &add.name {
            Some(name) => name.clone(),
            None => RepositoryName::from_url(url)
                .or_else(|| name_from_path(url))
                .ok_or_else(|| Error::UnknownRepository { name: clean_url.clone() })?,
        };
        let credential = match &add.token_env {
            None => None,
            Some(variable) => {
                let secret = self.variable(variable).ok_or_else(|| Error::TokenMissing {
                    variable: variable.clone(),
                    repository: wanted.to_string(),
                })?;
                Some(Credential::token(secret))
            }
        };
        observer(Notice::Phase(Phase::Cloning { url: clean_url.clone() }));
        for number in 1..MOST_NAMESAKES {
            let name = if number == 1 { wanted.clone() } else { wanted.numbered(number) };
            let destination = self.home.managed_clone(&self.account, &name);
            let known = self.store.read().await?.repository_named(&self.account, self.home.node(), &name).await?;
            if known.is_none_or(|known| known.common_dir == destination) {
                let directory = crate::repositories::context::tree_root(&destination);
                crate::home::layout::make_private_directory(directory).map_err(Error::files(&destination, "made"))?;
                let git = self.git().await?;
                if let Err(source) = git.clone_bare(url, &destination, add.depth, credential.as_ref()).await {
                    // The directories of its owner and account, where they hold nothing else.
                    let _ = std::fs::remove_dir(directory)
                        .and_then(|()| std::fs::remove_dir(directory.parent().unwrap_or(directory)));
                    return Err(Error::Clone { url: clean_url, source });
                }
                let git = spinney_git::Repository::discover(git, &destination).await?;
                // Another URL's clone may stand here: two owners' repositories of one name never mix.
                if git.load_remotes().await?.iter().any(|remote| remote.url == clean_url) {
                    let add = AddRepository { name: Some(name), ..add.clone() };
                    let repository = self.register(&git, &add, true).await?;
                    return self.context(repository, git).await;
                }
            }
            if add.name.is_some() {
                return Err(Error::RepositoryNameTaken { name, place: destination });
            }
        }
        Err(Error::Internal { what: format!("no free name like `{wanted}` is left") })
    }

    #[boxed]
    pub async fn repositories(&self) -> Result<Vec<Repository>> {
        Ok(self.store.read().await?.repositories(&self.account, self.home.node()).await?)
    }

    /// Those whose remote, as it was when they were added, ends in `owner/name`, in any case.
    #[boxed]
    pub async fn repositories_of_slug(&self, slug: &str) -> Result<Vec<Repository>> {
        Ok(self.store.read().await?.repositories_of_slug(&self.account, self.home.node(), slug).await?)
    }

    /// Fetches all branches of a repository's remote and drops those that are gone there.
    #[boxed]
    pub async fn sync_repository(&self, context: &Context, observer: &dyn Observer) -> Result<spinney_git::Known> {
        let remote = self
            .remote(context)
            .await?
            .ok_or_else(|| Error::NoRemote { repository: context.repository.name.clone() })?;
        observer(Notice::Phase(Phase::Fetching { remote: remote.name.clone() }));
        let mut asking = self.asking(context)?;
        loop {
            let error = match context.sync(&remote.name, asking.credential()).await {
                Ok(known) => return Ok(known),
                Err(error) => error,
            };
            match self.ask_with_more(context, &mut asking, error.into()).await {
                Ok(()) => {}
                Err(Error::Git(source)) => return Err(Error::Fetch { remote: remote.name, source }),
                Err(error) => return Err(error),
            }
        }
    }

    /// Forgets a repository. Nothing on disk is touched but a clone that Spinney made, which moves to the trash: its
    /// branches may hold commits that are nowhere else. Gives its new place.
    #[boxed]
    pub async fn remove_repository(&self, context: &Context) -> Result<Option<PathBuf>> {
        let repository = &context.repository;
        // Its pool and what is there to read in go with it, but not before it is sure that it goes.
        let mut db = self.store.read().await?;
        check_unused(&mut db, repository, WorkspaceStatus::is_of_work).await?;
        drop(db);
        self.drain_pool(context, &|_| {}).await?;
        self.drain_reading(context).await?;
        let lock = context.lock("repo rm").await?;
        self.forget(repository).await?;
        drop(lock);
        if !repository.managed {
            return Ok(None);
        }
        let aside = self.home.root().join("trash").join(format!("repository-{}", repository.id));
        std::fs::rename(&repository.common_dir, &aside)
            .map_err(Error::files(&repository.common_dir, "moved to the trash"))?;
        Ok(Some(aside))
    }

    /// Forgets a repository whose git dir is gone; none where the name is unknown, or it is still there.
    ///
    /// Its workspaces can't be judged, moved or restored without it: `force` forgets them too, and leaves their trees.
    #[boxed]
    pub async fn remove_missing_repository(&self, selector: &str, force: bool) -> Result<Option<Repository>> {
        let Ok(name) = selector.parse::<RepositoryName>() else { return Ok(None) };
        let found = self.store.read().await?.repository_named(&self.account, self.home.node(), &name).await?;
        let Some(repository) = found.filter(|repository| Presence::of(&repository.common_dir).is_gone()) else {
            return Ok(None);
        };
        if force {
            let mut db = self.store.write().await?;
            for workspace in self.workspaces(Some(&repository.id), Among::All).await? {
                db.delete_workspace(&workspace.id).await?;
            }
            db.commit().await?;
        }
        self.forget(&repository).await?;
        Ok(Some(repository))
    }

    /// Drops a repository's row, unless a workspace still needs it.
    async fn forget(&self, repository: &Repository) -> Result<()> {
        let mut db = self.store.write().await?;
        check_unused(&mut db, repository, |_| true).await?;
        self.forget_settings(&repository.id);
        if db.delete_repository(&repository.node, &repository.id).await? {
            events::record_repository(&mut db, repository, Event::RepositoryRemoved)?;
        }
        Ok(db.commit().await?)
    }
}

/// Refuses where a workspace that counts still needs the repository.
async fn check_unused(
    db: &mut Connection,
    repository: &Repository,
    counts: impl Fn(WorkspaceStatus) -> bool,
) -> Result<()> {
    let missing = Presence::of(&repository.common_dir).is_gone();
    let live = WorkspaceStatus::ALL.iter().copied().filter(|status| status.is_live() && counts(*status));
    let count = db.count_workspaces(&repository.id, &repository.node, &live.collect::<Vec<_>>()).await?;
    if count > 0 {
        return Err(Error::RepositoryInUse { name: repository.name.clone(), count, missing });
    }
    let count = db.count_workspaces(&repository.id, &repository.node, &[WorkspaceStatus::Trashed]).await?;
    if count > 0 {
        return Err(Error::RepositoryHasTrash { name: repository.name.clone(), count, missing });
    }
    Ok(())
}

/// Whether a path is a directory's; an error where this user may not look.
fn is_directory(path: &Path) -> Result<bool> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(found.is_dir()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(spinney_git::Error::io("open", path, error).into())
        }
        Err(_) => Ok(false),
    }
}

/// `owner/name` from the remote's URL, else `local/<directory>`.
fn suggest_name(git: &spinney_git::Repository, url: Option<&str>) -> RepositoryName {
    url.and_then(RepositoryName::from_url).unwrap_or_else(|| {
        let place = git.root().unwrap_or_else(|| git.common_dir());
        let directory = place.file_name().and_then(|name| name.to_str()).unwrap_or("repository");
        RepositoryName::sanitized("local", directory)
    })
}

/// What keeps a text from being handed to git as the place of a remote.
fn url_fault(url: &str) -> Option<&'static str> {
    const SCHEMES: [&str; 5] = ["https", "http", "ssh", "git", "file"];
    if url.starts_with('-') {
        return Some("it starts with a dash");
    }
    if url.contains(char::is_control) {
        return Some("it contains a control character");
    }
    match url.split_once("://") {
        Some((scheme, _)) if !SCHEMES.contains(&scheme) => Some("its scheme is unknown"),
        Some((_, rest)) if rest.starts_with('-') => Some("its host starts with a dash"),
        // `ext::`, `fd::` and their like run or read whatever they name.
        None if url.split_once("::").is_some_and(|(helper, _)| !helper.contains('/')) => {
            Some("it names a transport that Spinney does not use")
        }
        _ => None,
    }
}

fn name_from_path(url: &str) -> Option<RepositoryName> {
    let path = url.strip_prefix("file://").unwrap_or(url);
    let name = Path::new(path).file_name()?.to_str()?;
    path.contains('/').then(|| RepositoryName::sanitized("local", name))
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
