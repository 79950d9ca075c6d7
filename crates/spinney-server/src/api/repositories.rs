//! Repositories: cloned, fetched, forgotten.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use spinney_app::{document, repositories};
use spinney_core::account::LOCAL;
use spinney_core::{Repository, RepositoryId, RepositoryName, Scope};
use spinney_engine::{AddRepository, Engine};
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, Path, Query};
use super::named;
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, Result};
use crate::operations::{Answer, begin};

pub(crate) async fn list(State(app): State<App>, caller: Caller) -> Result<Json<document::Repositories>> {
    let engine = app.engine_of(&caller);
    let known = repositories::list(&engine).await?;
    Ok(Json(document::Repositories { repositories: known.iter().map(document::Repository::populated).collect() }))
}

pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<document::Repository>> {
    let engine = app.engine_of(&caller);
    let row = by_id(&engine, &id).await?;
    Ok(Json(document::Repository::populated(&repositories::populated(&engine, row).await?)))
}

/// Loads a repository by the id of its address.
async fn by_id(engine: &Engine, id: &str) -> Result<Repository> {
    match id.parse::<RepositoryId>() {
        Ok(_) => Ok(repositories::find(engine, id).await?),
        Err(_) => Err(named::unknown("repository", id)),
    }
}

/// A repository to be known: a URL that is cloned, or a path that is used as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRepository {
    url: Option<String>,
    /// On the machine of the daemon; of the account `local` alone.
    path: Option<String>,
    /// `owner/name`.
    #[schema(value_type = Option<String>)]
    name: Option<RepositoryName>,
    /// The variable of the daemon's environment that holds the token; needs the scope `admin`.
    token_env: Option<String>,
}

impl NewRepository {
    /// At a place that a person named.
    pub(crate) fn at(place: &str, name: Option<RepositoryName>) -> Self {
        let (url, path) = if is_url(place) { (Some(place), None) } else { (None, Some(place)) };
        Self { url: url.map(ToOwned::to_owned), path: path.map(ToOwned::to_owned), name, token_env: None }
    }

    /// Where it is and how it is to be added, if whoever asks may do that.
    pub(crate) fn checked(self, engine: &Engine, caller: &Caller) -> Result<(String, AddRepository)> {
        // A clone is made with the owner's own keys and helpers: which place another account may have is the owner's to say.
        if !caller.account.is_local() {
            let account = &caller.account;
            return Err(ApiError::forbidden(format!("repositories of `{account}` are added by the owner of the home")));
        }
        let place = self.place(engine, caller)?;
        let add = AddRepository { name: self.name, token_env: self.token_env, depth: 0 };
        engine.check_addition(&place, &add)?;
        Ok((place, add))
    }

    /// Where it is.
    fn place(&self, engine: &Engine, caller: &Caller) -> Result<String> {
        if self.token_env.is_some() {
            caller.require(Scope::Admin)?;
        }
        match (&self.url, &self.path) {
            (Some(url), None) if is_url(url) => Ok(url.clone()),
            (Some(_), None) => Err(ApiError::usage("`url` is not a URL, as `https://…` or `git@host:path`")),
            (None, Some(_)) if engine.account() != LOCAL => {
                Err(ApiError::forbidden("`path` is of the account `local` alone"))
            }
            (None, Some(path)) if path.starts_with('/') && std::path::Path::new(path).is_dir() => Ok(path.clone()),
            (None, Some(_)) => Err(ApiError::usage("`path` is not the absolute path of a directory")),
            _ => Err(ApiError::usage("either `url` or `path` says where it is")),
        }
    }
}

/// Whether a text is a URL, or has a host before a colon: nothing that could be a path.
fn is_url(text: &str) -> bool {
    let has_host = || text.split_once(':').is_some_and(|(host, rest)| !host.contains(['/', '.']) || !rest.is_empty());
    !text.starts_with(['/', '.', '-', '~']) && !text.contains(char::is_control) && (text.contains("://") || has_host())
}

pub(crate) async fn create(State(app): State<App>, caller: Caller, Body(new): Body<NewRepository>) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let (place, add) = new.checked(&engine, &caller)?;
    begin(&app, &caller, "repository.create", async move {
        let context = repositories::add(&engine, &place, engine.home().root(), &add, &|_| {}).await?;
        let added = repositories::populated(&engine, context.repository).await?;
        Answer::new(StatusCode::CREATED, document::Repository::populated(&added))
    })
    .await
}

pub(crate) async fn sync(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = by_id(&engine, &id).await?;
    begin(&app, &caller, "repository.sync", async move {
        let context = engine.require_repository(&row.id).await?;
        let known = repositories::sync(&engine, &context, &|_| {}).await?;
        Answer::ok(document::FetchedRepository::of(&context.repository.name, &known))
    })
    .await
}

/// How a repository is forgotten.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RemoveRepository {
    /// Where its git dir is gone for good: whether its workspaces are forgotten, too. Their trees stay.
    #[serde(default)]
    force: bool,
}

pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(asked): Query<RemoveRepository>,
) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = by_id(&engine, &id).await?;
    begin(&app, &caller, "repository.remove", async move {
        let name = row.name.to_string();
        repositories::forget(&engine, Some(&name), engine.home().root(), asked.force).await?;
        Answer::ok(document::Repository::of(&row, 0))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_paths() {
        for url in ["https://forge.example/acme/app.git", "ssh://git@host/x", "git@host.example:acme/app", "host:app"] {
            assert!(is_url(url), "{url}");
        }
        for path in ["", "/srv/app", "app", "./a:b", "~/app", "-u:x", "https", "a\n:b"] {
            assert!(!is_url(path), "{path}");
        }
    }
}
