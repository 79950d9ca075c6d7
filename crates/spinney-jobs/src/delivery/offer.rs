//! The pull request of a branch: the open one, or a new one.

use spinney_core::forge::{NewPullRequest, PullRequestState};
use spinney_core::names::cut_for_message;
use spinney_core::{BranchName, Forge, ForgeError, Work, WorkKind};

/// What of a text makes a commit's or a pull request's title.
pub(super) const TITLE_BYTES: usize = 72;

/// Gives the open pull request of a branch; without one, opens what `describe` says.
pub(crate) async fn offer(
    forge: &dyn Forge,
    branch: &BranchName,
    describe: impl AsyncFnOnce() -> NewPullRequest,
) -> Result<Offered, ForgeError> {
    if let Some(existing) = forge.fetch_pull_request_of(branch).await?
        && existing.state == PullRequestState::Open
    {
        return Ok(Offered { url: existing.url, is_new: false });
    }
    let new = describe().await;
    let opened = forge.open_pull_request(&new).await?;
    Ok(Offered { url: opened.url, is_new: true })
}

/// A pull request that is open.
#[derive(Debug)]
pub(crate) struct Offered {
    pub url: String,
    pub is_new: bool,
}

/// The title of the issue that the work is; none for other work. It is nice to have: something else will do without it.
pub(crate) async fn issue_title(forge: &dyn Forge, work: &Work) -> Option<String> {
    let number = (work.kind == WorkKind::Issue).then(|| work.key.parse().ok()).flatten()?;
    forge.fetch_issue(number).await.ok().flatten().map(|issue| issue.title)
}

/// What closes the issue that the work is, when the pull request is merged.
pub(crate) fn closes(work: &Work) -> String {
    match work.kind {
        WorkKind::Issue => format!("Fixes #{}", work.key),
        _ => String::new(),
    }
}

/// The first line that says something, cut to a title's length.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    cut_for_message(line, TITLE_BYTES)
}
