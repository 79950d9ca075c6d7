//! A workspace is delivered because somebody asks for it.

use async_recursion::async_recursion as boxed;
use spinney_core::{CommitId, Workspace};
use spinney_engine::{Context, Engine};
use spinney_jobs::delivery::{self, Wish};

pub use spinney_jobs::delivery::{Delivered, NoOffer, Offer, OfferWish, PushState};

use crate::{InvalidRequest, Result};

/// How somebody wants a workspace delivered.
#[derive(Debug, Clone, Default)]
pub struct DeliveryRequest {
    /// The message of the commit of what is left; none: the workspace's title, or its name.
    pub message: Option<String>,
    pub pull_request: OfferWish,
    /// The pull request's title; none: the workspace's, the issue's, or that of the newest commit.
    pub title: Option<String>,
    /// The pull request's text; none: what closes the issue that the work is.
    pub body: Option<String>,
    /// Whether a new pull request is a draft.
    pub draft: bool,
    /// The commit that is pushed although it is held for a person, who has looked at it.
    pub accept_held: Option<CommitId>,
    /// Whether it is pushed although the remote leads elsewhere than before the last job.
    pub accept_remote: bool,
    /// Whether what `setup` made is committed too.
    pub all: bool,
    /// Whether nothing is done, and only told.
    pub dry_run: bool,
}

/// Commits what is left in a workspace, pushes its branch, and opens a pull request or finds the open one. What is done
/// already is not done again.
///
/// # Errors
///
/// If the request makes no sense, there is nowhere to push to, a job runs in the workspace, something is held for a person
/// to look at, or the remote refuses.
#[boxed]
pub async fn deliver(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    request: DeliveryRequest,
) -> Result<Delivered> {
    let wish = request.wish(workspace)?;
    Ok(delivery::deliver(engine, context, workspace, &wish).await?)
}

impl DeliveryRequest {
    fn wish(self, workspace: &Workspace) -> Result<Wish, InvalidRequest> {
        let describes_one = self.title.is_some() || self.body.is_some() || self.draft;
        if describes_one && self.pull_request == OfferWish::No {
            return Err(InvalidRequest::NoPullRequestToDescribe);
        }
        for text in [&self.message, &self.title, &self.body].into_iter().flatten() {
            if text.contains('\0') {
                return Err(InvalidRequest::ZeroByteInText);
            }
        }
        for text in [&self.message, &self.title].into_iter().flatten() {
            if text.trim().is_empty() {
                return Err(InvalidRequest::EmptyText);
            }
        }
        let title = workspace.title.clone().filter(|title| !title.trim().is_empty());
        let message = self.message.or(title).unwrap_or_else(|| format!("Work on {}", workspace.name));
        Ok(Wish {
            message,
            offer: self.pull_request,
            title: self.title,
            body: self.body,
            draft: self.draft,
            accept_held: self.accept_held,
            accept_remote: self.accept_remote,
            all: self.all,
            dry_run: self.dry_run,
        })
    }
}
