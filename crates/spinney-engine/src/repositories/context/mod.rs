//! A repository as a request sees it: its row, its git, and the configuration that holds for it.

mod merges;
mod repository;

use std::path::Path;

use async_recursion::async_recursion as boxed;
use spinney_core::config::{Config, ConfigError, Layers, Resolved, TrustRequest, WorkspaceConfig, needs_trust};
use spinney_core::{AgentName, CommitId, NodeId, Repository};
use spinney_git::{Credential, Remote, SETTINGS_BYTES, read_regular_text};

use self::merges::Merges;
use crate::{Engine, Error, Result};

/// The repository's own configuration file, at the top of its main checkout.
pub const REPOSITORY_FILE: &str = "spinney.toml";

#[derive(Debug)]
pub struct Context {
    pub repository: Repository,
    git: spinney_git::Repository,
    pub resolved: Resolved,
    /// The home that asks: what another one made is not touched.
    pub(crate) node: NodeId,
    /// What a person must still agree to before it counts.
    pub untrusted: Option<TrustRequest>,
    /// The agent that asks, and what it has instead of the configured `[workspace]`.
    agent: Option<(AgentName, WorkspaceConfig)>,
    /// How commits were found to stand to each other, which never changes.
    merges: Merges,
}

impl Context {
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.resolved.config
    }

    /// The same as an agent sees it, which has settings of its own for its workspaces.
    #[must_use]
    pub fn for_agent(mut self, agent: AgentName, settings: WorkspaceConfig) -> Self {
        self.git = self.git.with_silence(settings.fetch_timeout.0);
        self.resolved.config.workspace = settings.clone();
        self.agent = Some((agent, settings));
        self
    }

    /// The repository's git: for `tree/` alone, which tests hold to it.
    pub(crate) fn git(&self) -> &spinney_git::Repository {
        &self.git
    }

    /// The agent that asks.
    pub(crate) fn agent(&self) -> Option<&AgentName> {
        self.agent.as_ref().map(|(agent, _)| agent)
    }

    /// Whether a directory lies in the main checkout, and so is as present as the checkout itself.
    pub(crate) fn is_in_checkout(&self, directory: &Path) -> bool {
        self.git.root().is_some_and(|root| directory.starts_with(root))
    }
}

/// The text of the repository's file, and where it was read.
struct RepositoryFile {
    place: String,
    text: String,
}

impl Engine {
    /// Puts a repository's row, git and configuration together.
    pub(crate) async fn context(&self, repository: Repository, git: spinney_git::Repository) -> Result<Context> {
        let git = self.guard_settings(&repository, git).await?;
        let file = self.load_repository_file(&git, None).await?;
        self.context_with(repository, git, file).await
    }

    /// Reads a bare repository's configuration again, now that its base commit is known.
    pub(crate) async fn refresh_context(&self, context: Context, base: &CommitId) -> Result<Context> {
        if !context.is_bare() {
            return Ok(context);
        }
        let Context { repository, git, agent, .. } = context;
        let file = self.load_repository_file(&git, Some(base)).await?;
        let refreshed = self.context_with(repository, git, file).await?;
        Ok(match agent {
            Some((agent, settings)) => refreshed.for_agent(agent, settings),
            None => refreshed,
        })
    }

    async fn context_with(
        &self,
        repository: Repository,
        git: spinney_git::Repository,
        file: Option<RepositoryFile>,
    ) -> Result<Context> {
        let mut layers = Layers::clone(&self.layers);
        let mut untrusted = None;
        if let Some(RepositoryFile { place, text }) = file {
            let request = needs_trust(layers.schema(), &place, &text)?;
            let trusted = match &request {
                Some(request) => self.store.read().await?.is_trusted(&repository.id, &request.hash).await?,
                None => true,
            };
            layers.repository(&place, &text, trusted)?;
            untrusted = request.filter(|_| !trusted);
        }
        let resolved = layers.resolve()?;
        let git = git.with_known_url(repository.url.as_deref());
        let git = git.with_silence(resolved.config.workspace.fetch_timeout.0);
        let context = Context {
            repository,
            git,
            resolved,
            node: self.home.node().clone(),
            untrusted,
            agent: None,
            merges: Merges::default(),
        };
        if context.state_dir().exists() {
            self.note_home(&context);
        }
        Ok(context)
    }

    /// Reads the file from the main checkout; for a bare repository from its base commit; never from a workspace.
    async fn load_repository_file(
        &self,
        git: &spinney_git::Repository,
        base: Option<&CommitId>,
    ) -> Result<Option<RepositoryFile>> {
        if let Some(root) = git.root() {
            let path = root.join(REPOSITORY_FILE);
            return match read_regular_text(&path, SETTINGS_BYTES) {
                Ok(text) => Ok(Some(RepositoryFile { place: path.display().to_string(), text })),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => {
                    let place = path.display().to_string();
                    Err(ConfigError::Unreadable { place, message: error.to_string() }.into())
                }
            };
        }
        let known = match base {
            Some(base) => Some(base.clone()),
            None => bare_base(git, &self.config).await?,
        };
        let Some(commit) = known else { return Ok(None) };
        let Some(bytes) = git.load_file(&commit, REPOSITORY_FILE).await? else { return Ok(None) };
        let place = format!("{}:{REPOSITORY_FILE}", commit.short());
        Ok(Some(RepositoryFile { place, text: String::from_utf8_lossy(&bytes).into_owned() }))
    }

    /// The remote that requests use: the configured one, else `origin`, else the only one; none where there is none.
    #[boxed]
    pub async fn remote(&self, context: &Context) -> Result<Option<Remote>> {
        let remotes = context.load_remotes().await?;
        let names = || remotes.iter().map(|remote| remote.name.clone()).collect::<Vec<_>>();
        let repository = || context.repository.name.clone();
        let wanted = context.config().workspace.remote.as_deref();
        let found = |name: &str| remotes.iter().find(|remote| remote.name == name).cloned();
        match (wanted, remotes.as_slice()) {
            (None, []) => Ok(None),
            (None, [only]) => Ok(Some(only.clone())),
            (None, _) => match found("origin") {
                Some(remote) => Ok(Some(remote)),
                None => Err(Error::AmbiguousRemote { repository: repository(), known: names() }),
            },
            (Some(name), _) => match found(name) {
                Some(remote) => Ok(Some(remote)),
                None => Err(Error::UnknownRemote { repository: repository(), remote: name.to_owned(), known: names() }),
            },
        }
    }

    /// The credential that a repository names, read from the environment each time and never written down.
    pub fn credential(&self, repository: &Repository) -> Result<Option<Credential>> {
        let Some(variable) = &repository.token_env else { return Ok(None) };
        match self.variable(variable) {
            Some(secret) => Ok(Some(Credential::token(secret))),
            None => Err(Error::TokenMissing { variable: variable.clone(), repository: repository.name.to_string() }),
        }
    }
}

/// The commit whose `spinney.toml` holds for a bare repository before anything was fetched.
async fn bare_base(git: &spinney_git::Repository, config: &Config) -> Result<Option<CommitId>> {
    let branch = match &config.workspace.base {
        None => git.load_head_branch().await?,
        Some(base) => Some(base.clone()),
    };
    let Some(branch) = branch else { return Ok(None) };
    let remote = config.workspace.remote.as_deref().unwrap_or("origin");
    match git.load_remote_branch(remote, &branch).await? {
        Some(commit) => Ok(Some(commit)),
        None => Ok(git.load_branch(&branch).await?),
    }
}

/// The tree root that a workspace path lies in.
pub(crate) fn tree_root(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}
