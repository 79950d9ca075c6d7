//! `spinney new`: resolves a piece of work to its workspace.

use std::time::Instant;

use clap::Args;
use spinney_app::workspaces::{self, Created};
use spinney_app::{InvalidRequest, WorkRequest, document};
use spinney_core::work::{parse_conversation, parse_number};
use spinney_core::workspace::UnknownWord;
use spinney_core::{BranchName, CommitId, Method, Platform, Work};
use spinney_engine::{Continued, Engine, Resolution};

use crate::app::App;
use crate::background;
use crate::commands::path::readable_path;
use crate::commands::said::{self, Said};
use crate::error::Result;
use crate::ui::{style, words};

/// Give a piece of work its workspace
///
/// The same work always gets the same workspace. The path alone goes to stdout.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cd \"$(spinney new --issue 42)\"\n  spinney new \"Add dark mode\"\n  \
    spinney new https://github.com/acme/app/issues/42\n  spinney new --pr 99 --head feature/auth\n  \
    spinney new --branch feature/search --base develop --json")]
pub struct NewArgs {
    /// A task in words, or the address of an issue or pull request
    #[arg(value_name = "TASK|URL", conflicts_with_all = ["issue", "pr", "review", "thread", "task", "branch"])]
    what: Option<String>,
    #[command(flatten)]
    work: WorkArgs,
    /// A title for people
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Start from this branch, tag or commit [default: `workspace.base`, the remote's HEAD, or the current branch]
    #[arg(long, value_name = "BRANCH")]
    base: Option<BranchName>,
    /// Issues and pull requests of this repository that this belongs to: their workspace is shared
    #[arg(long, value_name = "42,pr:9", value_delimiter = ',', value_parser = Work::link)]
    links: Vec<Work>,
    /// Adopt the worktree that has this branch, if there is one
    #[arg(long, value_name = "BRANCH")]
    suggest: Option<BranchName>,
    /// The conversation that asks: it gets the same workspace again, whatever it asks for
    #[arg(long, value_name = "ID", value_parser = parse_conversation)]
    conversation: Option<String>,
    /// The platform that asks
    #[arg(long, default_value = "cli", value_parser = platform)]
    platform: Platform,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The work (one of these)")]
pub struct WorkArgs {
    /// An issue
    #[arg(long, value_name = "N", value_parser = parse_number, conflicts_with_all = ["pr", "review", "thread", "task", "branch"])]
    issue: Option<u64>,
    /// A pull request, on its own branch (with --head) or on a branch for review
    #[arg(long, value_name = "N", value_parser = parse_number, conflicts_with_all = ["review", "thread", "task", "branch"])]
    pr: Option<u64>,
    /// A pull request's own branch in this repository
    #[arg(long, value_name = "BRANCH", requires = "pr")]
    pub head: Option<BranchName>,
    /// A pull request's commit, in full
    #[arg(long, value_name = "SHA")]
    pub sha: Option<CommitId>,
    /// The pull request comes from a fork
    #[arg(long, requires = "pr")]
    pub fork: bool,
    /// Run `setup` although the work is from a fork or a review: it can run scripts that a stranger wrote
    #[arg(long)]
    pub setup: bool,
    /// A review of a pull request
    #[arg(long, value_name = "N", value_parser = parse_number, conflicts_with_all = ["thread", "task", "branch"])]
    review: Option<u64>,
    /// A conversation's thread
    #[arg(long, value_name = "ID", conflicts_with_all = ["task", "branch"])]
    thread: Option<String>,
    /// A task in words
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["branch"])]
    pub task: Option<String>,
    /// A task on exactly this branch
    #[arg(long, value_name = "NAME")]
    pub branch: Option<BranchName>,
}

/// One of the platforms that there are, or what stands for none.
fn platform(text: &str) -> Result<Platform, UnknownWord> {
    let declared = spinney_platforms::PLATFORMS.iter().map(|row| row.platform);
    let known: Vec<_> = Platform::OWN.into_iter().chain(declared).collect();
    known.iter().copied().find(|platform| platform.as_str() == text).ok_or_else(|| {
        let words: Vec<_> = known.iter().map(Platform::to_string).collect();
        UnknownWord { word: text.to_owned(), known: words.join("`, `") }
    })
}

impl WorkArgs {
    /// The work that is named; none when no flag names any.
    pub fn work_if_any(&self) -> Result<Option<Work>> {
        Ok(Some(match self {
            Self { issue: Some(number), .. } => Work::issue(*number),
            Self { pr: Some(number), .. } => Work::pr(*number),
            Self { review: Some(number), .. } => Work::review(*number),
            Self { thread: Some(id), .. } => Work::thread(id).map_err(InvalidRequest::Key)?,
            Self { task: Some(text), .. } => Work::task(text).map_err(InvalidRequest::Key)?,
            Self { branch: Some(branch), .. } => Work::branch(branch),
            _ => return Ok(None),
        }))
    }

    /// What is asked for by these flags.
    pub fn request(&self, platform: Platform) -> Result<WorkRequest> {
        let request = WorkRequest {
            work: self.work_if_any()?,
            title: self.task.clone(),
            branch: self.branch.clone(),
            head: self.head.clone(),
            sha: self.sha.clone(),
            fork: self.fork,
            setup: self.setup,
            ..WorkRequest::from(platform)
        };
        request.check()?;
        Ok(request)
    }
}

pub async fn run(app: &App, args: NewArgs) -> Result<u8> {
    let started = Instant::now();
    let mut request = args.work.request(args.platform)?;
    let said = args.what.as_deref().map(Said::read).transpose()?;
    match &said {
        Some(said) => said.write_to(&mut request),
        None if request.work.is_none() => return Err(InvalidRequest::NoWork.into()),
        None => {}
    }
    request.title = args.title.or(request.title);
    request.base = args.base;
    request.links = args.links;
    request.suggest = args.suggest;
    request.conversation = args.conversation;

    let engine = app.engine().await?;
    let context = match &said {
        Some(Said::At(address)) => said::repository_of(app, &engine, address).await?,
        _ => app.context(&engine).await?,
    };
    let created = workspaces::create(&engine, context, request, &app.observer()).await?;
    // A job's agent works by the directory itself, as its set-up did.
    let for_people = app.environment.value("SPINNEY_JOB_ID").is_none();
    hand_over(app, &engine, &created, started, for_people).await?;
    Ok(0)
}

/// Gives the workspace to whoever asked, people by its readable link, and lets the pool be filled up for the next.
pub async fn hand_over(
    app: &App,
    engine: &Engine,
    created: &Created,
    started: Instant,
    for_people: bool,
) -> Result<()> {
    let resolution = &created.resolution;
    app.ui.progress.clear();
    if app.ui.json {
        app.ui.print_json(&document::ResolvedWorkspace::of(engine, resolution));
    } else {
        app.ui.say(format!("{}, {}", sentence(resolution), words::took(started.elapsed())));
        let path = match for_people {
            true => readable_path(engine, &resolution.workspace),
            false => resolution.workspace.path.clone(),
        };
        app.ui.print_path(&path);
    }
    if created.is_made() {
        background::fill_pool(app, engine, &created.context).await?;
    }
    Ok(())
}

/// Whether it came from the pool, and how far its set-up lies back.
fn warmth(resolution: &Resolution) -> String {
    match &resolution.set_up_at {
        None => String::new(),
        Some(commit) if *commit == resolution.workspace.base_commit => ", warm".to_owned(),
        Some(commit) => format!(", warm, set up at {}", commit.short()),
    }
}

/// How the workspace came to be the answer.
pub fn sentence(resolution: &Resolution) -> String {
    let Resolution { workspace, method, .. } = resolution;
    let name = style::paint(style::NAME, &workspace.name);
    let branch = &workspace.branch;
    let touched = words::ago(workspace.last_activity_at);
    match method {
        Method::Existing => format!("{name}: this conversation's, on `{branch}`, last touched {touched}"),
        Method::Reused => format!("{name}: already here on `{branch}`, last touched {touched}"),
        Method::Shared => format!("{name}: shared, on `{branch}`, last touched {touched}"),
        Method::Adopted => format!("{name}: adopted on `{branch}`, as it is"),
        Method::Created => {
            let fetched = resolution.fetched.map(|at| format!(" (fetched {})", words::ago(at))).unwrap_or_default();
            let from = resolution.started_from.as_deref().unwrap_or_default();
            let short = resolution.start.as_ref().unwrap_or(&workspace.base_commit).short();
            let warm = warmth(resolution);
            match resolution.continued {
                None if resolution.on_current => {
                    format!(
                        "{name}: new on `{branch}` from `{from}` {short} (the current branch: there is no remote){warm}"
                    )
                }
                None => format!("{name}: new on `{branch}` from `{from}` {short}{fetched}{warm}"),
                Some(Continued::Local) => {
                    format!("{name}: continues the branch `{branch}` that was here{fetched}{warm}")
                }
                Some(Continued::Remote) => format!("{name}: continues `{from}`{fetched}{warm}"),
            }
        }
    }
}
