//! Delivers a workspace because somebody asks for it.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use spinney_app::workspaces::deliver::{DeliveryRequest, OfferWish};
use spinney_app::{Front, document, workspaces};
use spinney_core::CommitId;
use utoipa::ToSchema;

use super::extract::{OptionalBody, Path};
use crate::app::App;
use crate::auth::Caller;
use crate::error::Result;
use crate::operations::{Answer, begin};

/// How a workspace is delivered.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeliverWorkspace {
    /// The message of the commit of what is left; without: the workspace's title.
    message: Option<String>,
    /// `true`: an error where there can be none; `false`: only commit and push. Without: one where there is a forge that
    /// takes it.
    pull_request: Option<bool>,
    /// The pull request's title; without: the workspace's, the issue's, or that of the newest commit.
    title: Option<String>,
    /// The pull request's text; without: what closes the issue.
    body: Option<String>,
    /// Whether a new pull request is a draft.
    #[serde(default)]
    draft: bool,
    /// The commit that is pushed although it is held for a person, who has looked at it.
    #[schema(value_type = Option<String>)]
    accept_held: Option<CommitId>,
    /// Whether it is pushed although the remote leads elsewhere than before the last job.
    #[serde(default)]
    accept_remote: bool,
    /// Whether what `setup` made is committed too.
    #[serde(default)]
    all: bool,
    /// Whether nothing is done, and only told.
    #[serde(default)]
    dry_run: bool,
}

impl DeliverWorkspace {
    fn request(self) -> DeliveryRequest {
        DeliveryRequest {
            message: self.message,
            pull_request: match self.pull_request {
                None => OfferWish::IfPossible,
                Some(true) => OfferWish::Required,
                Some(false) => OfferWish::No,
            },
            title: self.title,
            body: self.body,
            draft: self.draft,
            accept_held: self.accept_held,
            accept_remote: self.accept_remote,
            all: self.all,
            dry_run: self.dry_run,
        }
    }
}

pub(crate) async fn deliver(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    OptionalBody(asked): OptionalBody<DeliverWorkspace>,
) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = workspaces::find(&engine, &id).await?;
    begin(&app, &caller, "workspace.deliver", async move {
        let context = engine.context_of(&row).await?;
        let delivered = workspaces::deliver(&engine, &context, &row, asked.request()).await?;
        Answer::ok(document::Delivery::of(&engine, &delivered, Front::Api))
    })
    .await
}
