//! `spinney repo`: the repositories that Spinney knows.

use clap::{Args, Subcommand};
use spinney_app::repositories::{Forgotten, Populated};
use spinney_app::{document, repositories};
use spinney_core::RepositoryName;
use spinney_engine::AddRepository;

use crate::app::{App, current_directory};
use crate::error::Result;
use crate::ui::style;
use crate::ui::table::{Cell, Table};

/// List, add, fetch and forget repositories
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney repo add https://github.com/acme/app.git\n  spinney repo sync acme/app")]
pub struct RepoArgs {
    #[command(subcommand)]
    command: Option<RepoCommand>,
}

#[derive(Debug, Subcommand)]
enum RepoCommand {
    /// Add a repository: a URL is cloned bare into the home, a path is used as it is
    #[command(after_help = "Credentials come from git's own helpers, or from the variable that --token-env names; \
        they are never written down.\n\nExample: spinney repo add https://github.com/acme/app.git --token-env GITHUB_TOKEN")]
    Add {
        /// Where it is
        #[arg(value_name = "URL|PATH")]
        place: String,
        /// The name to give it
        #[arg(long, value_name = "OWNER/NAME")]
        name: Option<RepositoryName>,
        /// The environment variable that holds the token
        #[arg(long, value_name = "NAME")]
        token_env: Option<String>,
    },
    /// List the known repositories
    #[command(after_help = "Example: spinney repo ls")]
    Ls,
    /// Fetch all branches from the remote, and drop those that are gone there
    #[command(after_help = "Example: spinney repo sync acme/app")]
    Sync {
        /// A name or path [default: the repository of the current directory]
        repository: Option<String>,
    },
    /// Forget a repository; refused while it has live workspaces
    #[command(after_help = "A clone that Spinney made goes to the trash.\n\nExample: spinney repo rm acme/app")]
    Rm {
        /// A name or path [default: the repository of the current directory]
        repository: Option<String>,
        /// Where its git dir is gone for good: forget its workspaces too; their trees stay
        #[arg(long)]
        force: bool,
    },
}

pub async fn run(app: &App, args: RepoArgs) -> Result<u8> {
    match args.command.unwrap_or(RepoCommand::Ls) {
        RepoCommand::Add { place, name, token_env } => {
            add(app, &place, AddRepository { name, token_env, depth: 0 }).await
        }
        RepoCommand::Ls => ls(app).await,
        RepoCommand::Sync { repository } => sync(app, repository).await,
        RepoCommand::Rm { repository, force } => rm(app, repository, force).await,
    }
}

async fn add(app: &App, place: &str, add: AddRepository) -> Result<u8> {
    let engine = app.engine().await?;
    let context = repositories::add(&engine, place, &current_directory()?, &add, &app.observer()).await?;
    app.ui.progress.clear();
    let repository = &context.repository;
    if app.ui.json {
        app.ui.print_json(&document::Repository::of(repository, 0));
    } else {
        let how = if repository.managed { "cloned" } else { "known" };
        app.ui.say(format!(
            "{}: {how}; next: spinney new --repo {} --issue 42",
            style::paint(style::NAME, &repository.name),
            repository.name
        ));
        app.ui.print_path(repository.root.as_ref().unwrap_or(&repository.common_dir));
    }
    Ok(0)
}

async fn ls(app: &App) -> Result<u8> {
    let engine = app.engine().await?;
    let known = repositories::list(&engine).await?;
    if app.ui.json {
        let repositories = known.iter().map(document::Repository::populated).collect();
        app.ui.print_json(&document::Repositories { repositories });
        return Ok(0);
    }
    if known.is_empty() {
        app.ui.say(match app.global.is_other_account() {
            true => "none yet: `spinney repo add URL` adds one",
            false => "none yet: run `spinney new --issue 42` in one, or `spinney repo add URL`",
        });
        return Ok(0);
    }
    let mut table = Table::with_header(&["NAME", "WORKSPACES", "WHERE", "REMOTE"]);
    for Populated { repository, live } in &known {
        let place = repository.root.as_ref().unwrap_or(&repository.common_dir);
        table.row([
            Cell::styled(repository.name.to_string(), style::NAME),
            Cell::from(live.to_string()),
            Cell::from(place.display().to_string()),
            Cell::from(repository.url.clone().unwrap_or_else(|| "–".to_owned())),
        ]);
    }
    app.ui.print_table(&table);
    Ok(0)
}

async fn sync(app: &App, repository: Option<String>) -> Result<u8> {
    let engine = app.engine().await?;
    let selector = repository.or_else(|| app.global.repo.clone());
    let context = engine.find_context(selector.as_deref(), &current_directory()?).await?;
    let known = repositories::sync(&engine, &context, &app.observer()).await?;
    app.ui.progress.clear();
    let name = &context.repository.name;
    if app.ui.json {
        app.ui.print_json(&document::FetchedRepository::of(name, &known));
    } else {
        let head = known.default_branch.map(|branch| format!(", its HEAD is `{branch}`")).unwrap_or_default();
        app.ui.say(format!("{name}: fetched{head}"));
    }
    Ok(0)
}

async fn rm(app: &App, repository: Option<String>, force: bool) -> Result<u8> {
    let engine = app.engine().await?;
    let selector = repository.or_else(|| app.global.repo.clone());
    let Forgotten { repository, kept } =
        repositories::forget(&engine, selector.as_deref(), &current_directory()?, force).await?;
    let name = &repository.name;
    if app.ui.json {
        app.ui.print_json(&document::Repository::of(&repository, 0));
    } else {
        app.ui.say(match kept {
            Some(place) => format!("{name}: forgotten; its clone is kept at `{}`", place.display()),
            None => format!("{name}: forgotten; nothing on disk was touched"),
        });
    }
    Ok(0)
}
