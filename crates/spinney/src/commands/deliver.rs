//! `spinney deliver`: commits what is left in a workspace, pushes its branch, opens a pull request.

use clap::Args;
use spinney_app::workspaces::deliver::{DeliveryRequest, Offer, OfferWish};
use spinney_app::{Front, document, workspaces};
use spinney_core::CommitId;
use spinney_engine::Among;

use crate::app::App;
use crate::completion::workspace_names;
use crate::error::Result;
use crate::ui::words;

/// Commit what is left, push, open a pull request
///
/// Files that Spinney copied are never committed. A branch is overwritten only where this workspace pushed it before. A pull
/// request that is open already is found, not opened again. Without a forge or its token, the branch is pushed all the same.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney deliver issue-42\n  spinney deliver issue-42 --message \"Fix the login\" --draft\n  \
    spinney deliver issue-42 --no-pr --dry-run"
)]
pub struct DeliverArgs {
    /// The workspace: see `spinney ls --help`
    #[arg(add = workspace_names())]
    name: String,
    /// The message of the commit [default: the workspace's title]
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Fail where no pull request can be opened
    #[arg(long, conflicts_with = "no_pr")]
    pr: bool,
    /// Only commit and push
    #[arg(long)]
    no_pr: bool,
    /// The pull request's title [default: the workspace's, the issue's, or that of the newest commit]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The pull request's text [default: `Fixes #42` for issue 42]
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// Open it as a draft
    #[arg(long)]
    draft: bool,
    /// Commit what `setup` made, too
    #[arg(long)]
    all: bool,
    /// Push this very commit, which was held for you: it has files that Spinney copied, or its branch lost commits
    #[arg(long, value_name = "COMMIT")]
    accept_held: Option<CommitId>,
    /// Push although the remote leads elsewhere than before the last job
    #[arg(long)]
    accept_remote: bool,
    /// Only say what would happen
    #[arg(long)]
    dry_run: bool,
}

pub async fn run(app: &App, args: DeliverArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let (context, workspace) = app.workspace(&engine, &args.name, Among::Live).await?;
    let pull_request = match (args.pr, args.no_pr) {
        (true, _) => OfferWish::Required,
        (_, true) => OfferWish::No,
        _ => OfferWish::IfPossible,
    };
    let request = DeliveryRequest {
        message: args.message,
        pull_request,
        title: args.title,
        body: args.body,
        draft: args.draft,
        accept_held: args.accept_held,
        accept_remote: args.accept_remote,
        all: args.all,
        dry_run: args.dry_run,
    };
    let delivered = workspaces::deliver(&engine, &context, &workspace, request).await?;
    if app.ui.json {
        app.ui.print_json(&document::Delivery::of(&engine, &delivered, Front::CommandLine));
        return Ok(0);
    }
    words::delivery(&delivered, Front::CommandLine).into_iter().for_each(|line| app.ui.say(line));
    if let Offer::Opened(url) | Offer::Found(url) = &delivered.offer {
        app.ui.print(url);
    }
    Ok(0)
}
