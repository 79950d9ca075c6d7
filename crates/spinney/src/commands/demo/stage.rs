//! Where the demo plays: a repository with a local remote, and a home, a configuration and an environment of its own.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use spinney_core::Workspace;
use spinney_git::{Git, GitOptions};
use tempfile::TempDir;

use super::failed;
use crate::app::App;
use crate::cli::Global;
use crate::environment::Environment;
use crate::error::Result;

const AGENT: &str = include_str!("agent.sh");
const LIBRARY: &str = "pub fn answer() -> u32 {\n    42\n}\n";
/// What of the person's environment matters to the demo: nothing that Spinney is configured by.
const VARIABLES: [&str; 6] = ["PATH", "LANG", "TERM", "NO_COLOR", "CI", "TMPDIR"];
/// A job's process that has just ended closes its store, in a directory that is to go.
const REMOVE_AGAIN_AFTER: Duration = Duration::from_millis(20);
const REMOVE_TIMES: usize = 250;

#[derive(Debug)]
pub struct Stage {
    directory: TempDir,
    pub git: Git,
    /// What the main checkout looked like before: HEAD, status, index and configuration.
    before: String,
}

impl Stage {
    /// Makes a repository with a remote, and the configuration of an agent.
    pub async fn set(app: &App) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("spinney-demo-").tempdir().map_err(failed)?;
        let place = |name: &str| directory.path().join(name);
        for name in ["app/src", "acme/app.git", "home"] {
            fs::create_dir_all(place(name)).map_err(failed)?;
        }
        let write = |name: &str, text: &str| fs::write(place(name), text).map_err(failed);
        write("home/.gitconfig", "[user]\n\tname = Demo\n\temail = demo@localhost\n[init]\n\tdefaultBranch = main\n")?;
        write("agent.sh", AGENT)?;
        write("config.toml", &configuration(&place("agent.sh")))?;
        write("app/src/lib.rs", LIBRARY)?;
        write("app/.gitignore", ".env\ntarget\n")?;
        write("app/.env", "API_KEY=local\n")?;
        write("app/.worktreeinclude", ".env\n")?;

        let git = Git::open(GitOptions::new(environment(app, directory.path()))).await?;
        let (checkout, remote) = (place("app"), place("acme/app.git"));
        git.command(&remote).args(["init", "--quiet", "--bare"]).run().await?;
        git.command(&checkout).args(["init", "--quiet"]).run().await?;
        git.command(&checkout).args(["add", "--all"]).run().await?;
        git.command(&checkout).args(["commit", "--quiet", "-m", "start"]).run().await?;
        git.command(&checkout).args(["remote", "add", "origin"]).arg(&remote).run().await?;
        git.command(&checkout).args(["push", "--quiet", "origin", "main"]).run().await?;
        let mut stage = Self { directory, git, before: String::new() };
        stage.before = stage.fingerprint().await?;
        Ok(stage)
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn checkout(&self) -> PathBuf {
        self.directory().join("app")
    }

    fn remote(&self) -> PathBuf {
        self.directory().join("acme/app.git")
    }

    pub fn home(&self) -> PathBuf {
        self.directory().join("home")
    }

    pub fn config(&self) -> PathBuf {
        self.directory().join("config.toml")
    }

    /// The command line as it is on this stage: another home, configuration and environment, the same voice.
    pub fn app(&self, app: &App) -> App {
        let global = Global {
            repo: Some(self.checkout().to_string_lossy().into_owned()),
            home: Some(self.home()),
            config: Some(self.config()),
            // The story is told on a terminal; elsewhere what it comes to is enough.
            quiet: !app.ui.progress.is_live(),
            verbose: false,
            ..app.global.clone()
        };
        App::new(global, Environment::of(environment(app, self.directory())))
    }

    /// The branches of the remote, without `main`.
    pub async fn pushed_branches(&self) -> Result<usize> {
        let listed = self.git.command(&self.remote()).args(["for-each-ref", "--format=%(refname)", "refs/heads/agent"]);
        Ok(listed.text().await?.lines().count())
    }

    /// Does what a forge does when somebody presses "squash and merge".
    pub async fn squash_on_remote(&self, workspace: &Workspace) -> Result<()> {
        let (remote, branch) = (self.remote(), workspace.branch.as_str());
        let tree = self.git.command(&remote).args(["rev-parse", &format!("{branch}^{{tree}}")]).text().await?;
        let squash = self.git.command(&remote).args(["commit-tree", &tree, "-p", "main", "-m", "squashed (#9)"]);
        let commit = squash.text().await?;
        self.git.command(&remote).args(["update-ref", "refs/heads/main", &commit]).run().await?;
        self.git.command(&remote).args(["update-ref", "-d", &format!("refs/heads/{branch}")]).run().await?;
        Ok(())
    }

    pub async fn is_checkout_unchanged(&self) -> Result<bool> {
        Ok(self.fingerprint().await? == self.before)
    }

    async fn fingerprint(&self) -> Result<String> {
        let checkout = self.checkout();
        let head = self.git.command(&checkout).args(["rev-parse", "HEAD"]).text().await?;
        let status = self.git.command(&checkout).args(["status", "--porcelain"]).text().await?;
        let index = fs::read(checkout.join(".git/index")).map_err(failed)?;
        let config = fs::read_to_string(checkout.join(".git/config")).map_err(failed)?;
        Ok(format!("{head}\n{status}\n{}\n{config}", spinney_core::names::content_hash(&index)))
    }

    /// Leaves everything where it is, for a person to look at.
    pub fn keep(self) -> PathBuf {
        self.directory.keep()
    }

    /// Takes everything away.
    pub async fn clear(self) -> Result<()> {
        let place = self.directory.path().to_owned();
        for _ in 0..REMOVE_TIMES {
            #[expect(clippy::disallowed_methods, reason = "the demo's own directory, workspaces and all")]
            if fs::remove_dir_all(&place).is_ok() {
                return Ok(());
            }
            tokio::time::sleep(REMOVE_AGAIN_AFTER).await;
        }
        self.directory.close().map_err(failed)
    }
}

fn configuration(agent: &Path) -> String {
    let agent = toml::Value::String(agent.to_string_lossy().into_owned());
    format!(
        "[limits]\nmax_workers = 8\nmin_free_disk = \"0\"\n\n\
         [agents.coder]\nruntime = \"command\"\ncommand = [\"sh\", {agent}]\n"
    )
}

fn environment(app: &App, directory: &Path) -> Vec<(OsString, OsString)> {
    let known = VARIABLES.iter().filter_map(|name| Some((OsString::from(name), app.environment.value(name)?.clone())));
    known.chain([("HOME".into(), directory.join("home").into())]).collect()
}
