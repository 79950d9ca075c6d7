//! The whole table of routes: who may ask for what. The router, the OpenAPI document and the tests are made from it, so
//! that nothing is served that is not here, with its access.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};
use spinney_app::document;
use spinney_core::Scope;
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::auth::gate::{self, Gate, MAX_BODY_BYTES};
use crate::openapi::{AnyJson, Description};
use crate::{api, observe, pages};

/// Who may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody: it says nothing about the work.
    Open,
    /// A token, the owner at the socket, or a session (with its CSRF token for a write), with at least this scope.
    Api(Scope),
    /// The same for a person: without a session, they are sent to where they log in.
    Page(Scope),
}

use Access::{Api, Open, Page};
use Scope::{Admin, Read, Write};

/// One line of the table.
#[derive(Debug, Clone)]
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    handler: MethodRouter<App>,
    /// None: not a part of the API.
    pub(crate) description: Option<Description>,
}

/// All routes.
#[must_use]
pub fn table() -> Vec<Route> {
    vec![
        get("/health", Open, api::health::health),
        get("/ready", Open, api::health::ready),
        get("/metrics", Api(Read), api::metrics::metrics),
        get("/login", Open, pages::login::show),
        post("/login", Open, pages::login::log_in),
        post("/logout", Page(Read), pages::login::log_out),
        get("/assets/{name}", Open, pages::assets::show),
        get("/", Page(Read), pages::home::home),
        get("/repositories", Page(Read), pages::repositories::list),
        post("/repositories", Page(Write), pages::repositories::add),
        get("/repositories/{id}", Page(Read), pages::repositories::show),
        post("/repositories/{id}/workspaces", Page(Write), pages::repositories::create_workspace),
        post("/repositories/{id}/jobs", Page(Write), pages::repositories::start_job),
        get("/jobs", Page(Read), pages::jobs::list),
        get("/jobs/{id}", Page(Read), pages::jobs::show),
        post("/jobs/{id}/cancel", Page(Write), pages::jobs::cancel),
        post("/jobs/{id}/retry", Page(Write), pages::jobs::retry),
        get("/workspaces/{id}", Page(Read), pages::workspaces::show),
        get("/workspaces/{id}/standing", Page(Read), pages::workspaces::standing),
        post("/workspaces/{id}/remove", Page(Write), pages::workspaces::remove),
        post("/workspaces/{id}/restore", Page(Write), pages::workspaces::restore),
        post("/workspaces/{id}/purge", Page(Admin), pages::trash::purge_workspace),
        post("/workspaces/{id}/deliver", Page(Write), pages::workspaces::deliver),
        post("/workspaces/{id}/pin", Page(Write), pages::workspaces::pin),
        post("/workspaces/{id}/unpin", Page(Write), pages::workspaces::unpin),
        get("/fleet", Page(Read), pages::fleet::show),
        get("/conflicts", Page(Read), pages::conflicts::show),
        get("/schedules", Page(Read), pages::schedules::list),
        post("/schedules/run", Page(Write), pages::schedules::run),
        post("/schedules/pause", Page(Write), pages::schedules::pause),
        post("/schedules/resume", Page(Write), pages::schedules::resume),
        get("/trash", Page(Read), pages::trash::list),
        post("/trash/purge", Page(Admin), pages::trash::empty),
        get("/inbox", Page(Read), pages::inbox::show),
        get("/audit", Page(Read), pages::audit::show),
        get("/tokens", Page(Admin), pages::tokens::list),
        post("/tokens", Page(Admin), pages::tokens::create),
        post("/tokens/{id}/revoke", Page(Admin), pages::tokens::revoke),
        post("/webhooks/{platform}", Open, api::webhooks::receive),
        // What each tool needs is in the table of `spinney-mcp`.
        post("/mcp", Api(Read), api::mcp::ask),
        get("/api", Page(Read), pages::reference::show),
        get("/api/v1/openapi.json", Api(Read), api::openapi::document).tells("This document").gives::<AnyJson>(200),
        get("/api/v1/accounts", Api(Admin), api::accounts::list)
            .tells("Accounts: all for the owner of the home, for others their own")
            .gives::<document::Accounts>(200),
        post("/api/v1/accounts", Api(Admin), api::accounts::create)
            .tells("Makes an account; for the account `local` alone")
            .body::<api::accounts::NewAccount>()
            .gives::<document::Account>(201),
        get("/api/v1/agents", Api(Read), api::overview::agents)
            .tells("The agents of a repository's configuration")
            .query::<api::overview::InRepository>()
            .gives::<document::Agents>(200),
        get("/api/v1/audit", Api(Read), api::overview::audit)
            .tells("What happened, newest first")
            .query::<api::overview::ListEvents>()
            .gives::<document::EventPage>(200),
        post("/api/v1/cleanup", Api(Write), api::housekeeping::cleanup)
            .tells("Moves to the trash what is merged or stale, and repairs what is out of step")
            .optional_body::<api::housekeeping::AskForCleanup>()
            .gives::<document::Cleanup>(200)
            .gives::<document::Operation>(202),
        get("/api/v1/conflicts", Api(Read), api::overview::conflicts)
            .tells("Which live workspaces of a repository would conflict, were they merged now")
            .query::<api::overview::InRepository>()
            .gives::<document::Conflicts>(200)
            .gives::<document::Operation>(202),
        get("/api/v1/events", Api(Read), api::streams::events)
            .tells("What happens, as it happens; goes on behind `Last-Event-ID`")
            .query::<api::streams::EventsQuery>()
            .streams("text/event-stream"),
        get("/api/v1/inbox", Api(Read), api::overview::inbox)
            .tells("What platforms sent, newest first, and why nothing was done about some of it")
            .query::<api::overview::ListInbox>()
            .gives::<document::InboxPage>(200),
        get("/api/v1/jobs", Api(Read), api::jobs::list)
            .tells("Jobs, newest first; of a long prompt, the beginning")
            .query::<api::jobs::ListJobs>()
            .gives::<document::JobPage>(200),
        post("/api/v1/jobs", Api(Write), api::jobs::create)
            .tells("Lets an agent do something, once it is its turn")
            .body::<api::jobs::AskForJob>()
            .gives::<document::Job>(202),
        get("/api/v1/jobs/{id}", Api(Read), api::jobs::show)
            .tells("A job with its sessions")
            .gives::<document::Job>(200),
        post("/api/v1/jobs/{id}/cancel", Api(Write), api::jobs::cancel)
            .tells("Asks a job to end; its work stays where it is")
            .optional_body::<api::jobs::CancelJob>()
            .gives::<document::Job>(202),
        post("/api/v1/jobs/{id}/retry", Api(Write), api::jobs::retry)
            .tells("Runs a job that has ended again, where it stopped")
            .optional_body::<api::jobs::RetryJob>()
            .gives::<document::Job>(202),
        get("/api/v1/jobs/{id}/diff", Api(Read), api::diff::of_job)
            .tells("What a job changed")
            .gives::<document::Diff>(200)
            .gives::<document::Operation>(202),
        get("/api/v1/jobs/{id}/log", Api(Read), api::streams::log)
            .tells("A job's log, an entry a line; as events, it goes on until the job is over")
            .query::<api::streams::LogQuery>()
            .streams("application/x-ndjson"),
        get("/api/v1/nodes", Api(Read), api::overview::nodes)
            .tells("The machines that work on this store")
            .gives::<document::Nodes>(200),
        get("/api/v1/operations/{id}", Api(Read), api::operations::show)
            .tells("How far the work is that a request began")
            .gives::<document::Operation>(200),
        get("/api/v1/pool", Api(Read), api::housekeeping::pools)
            .tells("The workspaces that are prepared ahead of any work")
            .query::<api::housekeeping::OfRepository>()
            .gives::<document::Pools>(200)
            .gives::<document::Operation>(202),
        post("/api/v1/pool/fill", Api(Write), api::housekeeping::fill_pool)
            .tells("Makes what a pool misses, and brings up to date what is behind")
            .body::<api::housekeeping::ThePool>()
            .gives::<document::Filled>(200)
            .gives::<document::Operation>(202),
        post("/api/v1/pool/drain", Api(Write), api::housekeeping::drain_pool)
            .tells("Gives up a pool; what somebody touched goes to the trash")
            .body::<api::housekeeping::ThePool>()
            .gives::<document::Drained>(200)
            .gives::<document::Operation>(202),
        get("/api/v1/repositories", Api(Read), api::repositories::list)
            .tells("Repositories, by name")
            .gives::<document::Repositories>(200),
        post("/api/v1/repositories", Api(Write), api::repositories::create)
            .tells("Makes a repository known: clones a URL, or takes a path as it is")
            .body::<api::repositories::NewRepository>()
            .gives::<document::Repository>(201)
            .gives::<document::Operation>(202),
        get("/api/v1/repositories/{id}", Api(Read), api::repositories::show)
            .tells("A repository")
            .gives::<document::Repository>(200),
        delete("/api/v1/repositories/{id}", Api(Admin), api::repositories::remove)
            .tells("Forgets a repository without workspaces; a clone of ours goes to the trash")
            .query::<api::repositories::RemoveRepository>()
            .gives::<document::Repository>(200)
            .gives::<document::Operation>(202),
        post("/api/v1/repositories/{id}/sync", Api(Write), api::repositories::sync)
            .tells("Fetches all branches, and drops those that are gone at the remote")
            .gives::<document::FetchedRepository>(200)
            .gives::<document::Operation>(202),
        get("/api/v1/schedules", Api(Read), api::schedules::list)
            .tells("Schedules of agents, and chores of the daemon")
            .gives::<document::Schedules>(200),
        post("/api/v1/schedules/{agent}/{name}/run", Api(Write), api::schedules::run_now)
            .tells("Starts it now, paused or not; a chore's agent is `-`")
            .query::<api::schedules::WhichSchedule>()
            .gives::<document::Schedule>(200),
        post("/api/v1/schedules/{agent}/{name}/pause", Api(Write), api::schedules::pause)
            .tells("Pauses it")
            .query::<api::schedules::WhichSchedule>()
            .gives::<document::Schedule>(200),
        post("/api/v1/schedules/{agent}/{name}/resume", Api(Write), api::schedules::resume)
            .tells("Resumes it")
            .query::<api::schedules::WhichSchedule>()
            .gives::<document::Schedule>(200),
        get("/api/v1/sessions", Api(Read), api::overview::sessions)
            .tells("Sessions of agents, newest first")
            .query::<api::overview::ListSessions>()
            .gives::<document::SessionPage>(200),
        get("/api/v1/status", Api(Read), api::overview::status)
            .tells("Counts, limits and free disk space")
            .gives::<document::Status>(200),
        get("/api/v1/tokens", Api(Admin), api::accounts::tokens)
            .tells("The account's tokens, without their secrets")
            .gives::<document::Tokens>(200),
        post("/api/v1/tokens", Api(Admin), api::accounts::create_token)
            .tells("Makes a token, and shows it this once")
            .body::<api::accounts::AskForToken>()
            .gives::<document::CreatedToken>(201),
        delete("/api/v1/tokens/{id}", Api(Admin), api::accounts::revoke_token)
            .tells("Revokes a token")
            .gives::<document::Token>(200),
        get("/api/v1/trash", Api(Read), api::housekeeping::trash)
            .tells("What is in the trash, and until when")
            .gives::<document::Trash>(200),
        post("/api/v1/trash/erase", Api(Admin), api::housekeeping::erase)
            .tells("Deletes for good what is left of removed workspaces: trash, archive, and what keeps their commits")
            .body::<api::housekeeping::EraseTrash>()
            .gives::<document::Erase>(200)
            .gives::<document::Operation>(202),
        post("/api/v1/trash/purge", Api(Admin), api::housekeeping::purge)
            .tells("Frees the disk of what is in the trash; what only a tree held is archived first")
            .optional_body::<api::housekeeping::PurgeTrash>()
            .gives::<document::Purge>(200)
            .gives::<document::Operation>(202),
        get("/api/v1/workspaces", Api(Read), api::workspaces::list)
            .tells("Workspaces, newest first")
            .query::<api::workspaces::ListWorkspaces>()
            .gives::<document::WorkspacePage>(200),
        post("/api/v1/workspaces", Api(Write), api::workspaces::create)
            .tells("Gives a piece of work its workspace: the one that it has, a warm one, or a new one")
            .body::<api::workspaces::NewWorkspace>()
            .gives::<document::ResolvedWorkspace>(200)
            .gives::<document::ResolvedWorkspace>(201)
            .gives::<document::Operation>(202),
        get("/api/v1/workspaces/{id}", Api(Read), api::workspaces::show)
            .tells("A workspace with all that belongs to it")
            .query::<api::workspaces::ShowWorkspace>()
            .gives::<document::ShownWorkspace>(200)
            .gives::<document::Operation>(202),
        delete("/api/v1/workspaces/{id}", Api(Write), api::workspaces::remove)
            .tells("Moves a workspace to the trash, or refuses with every reason")
            .query::<api::workspaces::RemoveWorkspace>()
            .gives::<document::Workspace>(200)
            .gives::<document::Operation>(202),
        get("/api/v1/workspaces/{id}/verdict", Api(Read), api::workspaces::verdict)
            .tells("Whether a workspace may go, with every reason")
            .gives::<document::Verdict>(200)
            .gives::<document::Operation>(202),
        get("/api/v1/workspaces/{id}/diff", Api(Read), api::diff::of_workspace)
            .tells("What the commits of a workspace's branch changed")
            .gives::<document::Diff>(200)
            .gives::<document::Operation>(202),
        post("/api/v1/workspaces/{id}/deliver", Api(Write), api::deliver::deliver)
            .tells("Commits what is left in a workspace, pushes its branch, and opens a pull request or finds the open one")
            .optional_body::<api::deliver::DeliverWorkspace>()
            .gives::<document::Delivery>(200)
            .gives::<document::Operation>(202),
        post("/api/v1/workspaces/{id}/restore", Api(Write), api::workspaces::restore)
            .tells("Brings a workspace back from the trash")
            .optional_body::<api::workspaces::RestoreWorkspace>()
            .gives::<document::Workspace>(200)
            .gives::<document::Operation>(202),
        post("/api/v1/workspaces/{id}/pin", Api(Write), api::workspaces::pin)
            .tells("Keeps a workspace from every sweep")
            .gives::<document::Workspace>(200),
        post("/api/v1/workspaces/{id}/unpin", Api(Write), api::workspaces::unpin)
            .tells("Lets sweeps take a workspace again")
            .gives::<document::Workspace>(200),
    ]
}

fn get<H: Handler<T, App>, T: 'static>(path: &'static str, access: Access, handler: H) -> Route {
    Route { method: Method::GET, path, access, handler: on(MethodFilter::GET, handler), description: None }
}

fn post<H: Handler<T, App>, T: 'static>(path: &'static str, access: Access, handler: H) -> Route {
    Route { method: Method::POST, path, access, handler: on(MethodFilter::POST, handler), description: None }
}

fn delete<H: Handler<T, App>, T: 'static>(path: &'static str, access: Access, handler: H) -> Route {
    Route { method: Method::DELETE, path, access, handler: on(MethodFilter::DELETE, handler), description: None }
}

impl Route {
    /// What it does, in a line: makes it a part of the API's document.
    fn tells(mut self, summary: &'static str) -> Self {
        self.description = Some(Description::new(&self.method, self.path, self.access, summary));
        self
    }

    fn query<Q: IntoParams>(self) -> Self {
        self.described(Description::query::<Q>)
    }

    fn body<B: ToSchema>(self) -> Self {
        self.described(Description::body::<B>)
    }

    fn optional_body<B: ToSchema>(self) -> Self {
        self.described(Description::optional_body::<B>)
    }

    /// What it answers with this status; errors need not be told.
    fn gives<T: ToSchema>(self, status: u16) -> Self {
        self.described(|description| description.gives::<T>(status))
    }

    /// Answers with a stream of another type than JSON.
    fn streams(self, content_type: &'static str) -> Self {
        self.described(|description| description.streams(content_type))
    }

    fn described(mut self, change: impl FnOnce(Description) -> Description) -> Self {
        self.description = self.description.map(change);
        self
    }
}

/// The router of the table.
pub(crate) fn router(app: &App) -> Router {
    let mut router = Router::new();
    for Route { path, access, handler, .. } in table() {
        let gate = Gate { app: app.clone(), access };
        router = router.route(path, handler.layer(from_fn_with_state(gate, gate::pass)));
    }
    router
        .fallback(api::unknown)
        .method_not_allowed_fallback(api::wrong_method)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(from_fn_with_state(app.clone(), observe::observe))
        .with_state(app.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is advised to callers of the API, as it is written.
    const ADVICE: &str = include_str!("../../spinney-app/src/advice/terms.rs");

    /// A path without the names of what stands in its braces.
    fn shape(path: &str) -> Vec<&str> {
        path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect()
    }

    #[test]
    fn every_endpoint_that_is_advised_is_served() {
        let routes = table();
        let mut found = 0;
        for quoted in ADVICE.split('`').skip(1) {
            let Some((method, address)) = quoted.split_once(' ') else { continue };
            if !address.starts_with("/api/") {
                continue;
            }
            let path = address.split(['?', ' ']).next().unwrap_or_default();
            let is_it = |route: &Route| route.method == method && shape(route.path) == shape(path);
            assert!(routes.iter().any(is_it), "`{quoted}` leads nowhere");
            found += 1;
        }
        assert!(found > 25, "only {found} were found");
    }
}
