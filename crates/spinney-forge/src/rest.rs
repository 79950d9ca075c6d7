//! A forge over its REST API: the same questions in every dialect.

use serde_json::Value;
use spinney_core::forge::{
    Access, Answer, Comment, Forge, Issue, NewPullRequest, Person, PullRequest, PullRequestState,
};
use spinney_core::{BranchName, ForgeError, Secret, Timestamp};
use ureq::Proxy;
use ureq::http::HeaderValue;

use crate::answer::Reply;
use crate::client::Client;
use crate::credentials::{self, Credentials};
use crate::dialect::{Call, Dialect, Which};
use crate::patience::Waits;
use crate::tracking::Missing;
use crate::url::Url;
use crate::{ForgeOptions, Located, Patience};

/// More open pull requests than these pages hold are too many to tell that a branch has none.
const MAX_OPEN_PAGES: u32 = 100;
/// Among the closed ones, an older one counts for nothing.
const MAX_DONE_PAGES: u32 = 10;

/// Why a forge can't be spoken to as it is configured.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("`{0}` is not the address of an API")]
    BadUrl(String),
    #[error("`{0}` is not encrypted, and a token does not go there")]
    Unencrypted(String),
    #[error("the token for {0} has characters that no token has")]
    BadToken(String),
    #[error("the proxy's address is not valid")]
    BadProxy,
}

/// Gives the forge that holds a repository. Nothing is asked yet.
pub fn open(located: &Located, options: &ForgeOptions) -> Result<Box<dyn Forge>, OpenError> {
    let Located { kind, api_url, owner, name } = located;
    let api = Url::parse(api_url).filter(|api| matches!(api.scheme.as_str(), "http" | "https"));
    let api = api.ok_or_else(|| OpenError::BadUrl(api_url.clone()))?;
    let forge = format!("{} at {}", kind.title, api.place());
    let app = options.of(kind).app.clone().filter(|_| kind.has_apps);
    let token = options.of(kind).token.clone().filter(|_| app.is_none());
    if (token.is_some() || app.is_some()) && !api.is_safe() {
        return Err(OpenError::Unencrypted(api_url.clone()));
    }
    let dialect = (kind.dialect)(owner, name);
    let headers: Vec<_> =
        dialect.headers().iter().map(|(name, value)| (*name, HeaderValue::from_static(value))).collect();
    let repository = format!("{owner}/{name}");
    let with_token = token.is_some() || app.is_some();
    let credentials = match (&token, app) {
        (_, Some(app)) => Credentials::App { app, repository: repository.clone() },
        (Some(token), None) => {
            let value = credentials::sensitive(&dialect.authorization(token));
            Credentials::Token(value.ok_or_else(|| OpenError::BadToken(forge.clone()))?)
        }
        (None, None) => Credentials::None,
    };
    let proxy = options.proxy.as_ref().map(|proxy| Proxy::new(proxy.expose())).transpose();
    let client = Client::of(api_url, api, proxy.map_err(|_| OpenError::BadProxy)?, headers, credentials);
    Ok(Box::new(RestForge { forge, repository, token, with_token, dialect, client, patience: options.patience }))
}

#[derive(Debug)]
pub(crate) struct RestForge {
    pub(crate) forge: String,
    repository: String,
    token: Option<Secret>,
    with_token: bool,
    pub(crate) dialect: Box<dyn Dialect>,
    pub(crate) client: Client,
    patience: Patience,
}

impl Forge for RestForge {
    fn name(&self) -> &str {
        &self.forge
    }

    fn fetch_pull_request_of<'a>(&'a self, head: &'a BranchName) -> Answer<'a, Option<PullRequest>> {
        Box::pin(async move {
            let mut waits = self.waits();
            if let Some(open) = self.find(head, Which::Open, &mut waits).await? {
                return Ok(Some(open));
            }
            match self.find(head, Which::Done, &mut waits).await? {
                Some(done) => self.with_merged_head(done, &mut waits).await.map(Some),
                None => Ok(None),
            }
        })
    }

    fn open_pull_request<'a>(&'a self, new: &'a NewPullRequest) -> Answer<'a, PullRequest> {
        Box::pin(async move {
            let mut waits = self.waits();
            let call = self.dialect.new_pull_request(new);
            loop {
                // Before each try: the one before may have arrived although its answer did not.
                if let Some(open) = self.find(&new.head, Which::Open, &mut waits).await? {
                    return Ok(open);
                }
                match self.client.ask_once(&call, waits.answer_timeout()).await {
                    Ok(reply) if matches!(reply.status, 409 | 422) => {
                        // Somebody else may have been faster.
                        let open = self.find(&new.head, Which::Open, &mut waits).await?;
                        return open.ok_or_else(|| self.refusal(&reply));
                    }
                    Ok(reply) => return self.pull_request(self.require(&reply)?),
                    Err(failure) => waits.wait(failure.later(&self.forge)?).await?,
                }
            }
        })
    }

    fn fetch_pull_request(&self, number: u64) -> Answer<'_, Option<PullRequest>> {
        Box::pin(async move {
            let mut waits = self.waits();
            match self.ask(&self.dialect.pull_request(number), &mut waits).await? {
                Some(value) => self.with_merged_head(self.pull_request(value)?, &mut waits).await.map(Some),
                None => Ok(None),
            }
        })
    }

    fn fetch_issue(&self, number: u64) -> Answer<'_, Option<Issue>> {
        Box::pin(async move {
            let value = self.ask(&self.dialect.issue(number), &mut self.waits()).await?;
            let issue = value.map(|value| self.dialect.read_issue(value)).transpose();
            Ok(issue.map_err(|error| self.unexpected(&error))?.flatten())
        })
    }

    fn fetch_issues_labelled<'a>(&'a self, label: &'a str) -> Answer<'a, Vec<Issue>> {
        Box::pin(self.list_issues(label))
    }

    fn add_label<'a>(&'a self, issue: u64, label: &'a str) -> Answer<'a, ()> {
        Box::pin(
            async move { self.change(&self.tracker()?.add_label(issue, label), Missing::IsAnError).await.map(drop) },
        )
    }

    fn remove_label<'a>(&'a self, issue: u64, label: &'a str) -> Answer<'a, ()> {
        Box::pin(
            async move { self.change(&self.tracker()?.remove_label(issue, label), Missing::IsFine).await.map(drop) },
        )
    }

    fn fetch_comments(&self, issue: u64) -> Answer<'_, Vec<Comment>> {
        Box::pin(async move { self.list_comments(issue, &mut self.waits()).await })
    }

    fn fetch_comments_since(&self, issue: u64, since: Timestamp) -> Answer<'_, Vec<Comment>> {
        Box::pin(
            async move { self.list_comments_of(self.tracker()?.comments_since(issue, since), &mut self.waits()).await },
        )
    }

    fn add_comment<'a>(&'a self, issue: u64, body: &'a str) -> Answer<'a, Comment> {
        Box::pin(self.write_comment(issue, body))
    }

    fn edit_comment<'a>(&'a self, comment: u64, body: &'a str) -> Answer<'a, bool> {
        Box::pin(async move { self.change(&self.tracker()?.edit_comment(comment, body), Missing::IsFine).await })
    }

    fn delete_comment(&self, comment: u64) -> Answer<'_, ()> {
        Box::pin(async move { self.change(&self.tracker()?.delete_comment(comment), Missing::IsFine).await.map(drop) })
    }

    fn fetch_access(&self) -> Answer<'_, Access> {
        Box::pin(async move {
            let reply = self.client.ask(&self.forge, &self.dialect.repository(), &mut self.waits()).await?;
            Ok(self.dialect.read_access(&self.require(&reply)?))
        })
    }

    fn fetch_person<'a>(&'a self, login: &'a str) -> Answer<'a, Option<Person>> {
        Box::pin(self.find_person(login))
    }
}

impl RestForge {
    pub(crate) fn waits(&self) -> Waits<'_> {
        Waits::new(&self.forge, self.patience)
    }

    /// Asks for one thing; none where the forge has no such thing.
    pub(crate) async fn ask(&self, call: &Call, waits: &mut Waits<'_>) -> Result<Option<Value>, ForgeError> {
        let reply = self.client.ask(&self.forge, call, waits).await?;
        if matches!(reply.status, 404 | 410) { Ok(None) } else { self.require(&reply).map(Some) }
    }

    /// Looks through the list for a pull request of this repository's own branch.
    async fn find(
        &self,
        head: &BranchName,
        which: Which,
        waits: &mut Waits<'_>,
    ) -> Result<Option<PullRequest>, ForgeError> {
        let pages = if which == Which::Open { MAX_OPEN_PAGES } else { MAX_DONE_PAGES };
        for page in 1..=pages {
            let call = self.dialect.pull_requests(head, which).query("page", page.to_string());
            let reply = self.client.ask(&self.forge, &call, waits).await?;
            let Value::Array(listed) = self.require(&reply)? else {
                return Err(ForgeError::unexpected(&self.forge, "no list of pull requests"));
            };
            for value in listed {
                let found = self.pull_request(value)?;
                // Whatever the forge filtered by: it ignores what it does not understand.
                if !found.from_fork && found.head_branch.as_ref() == Some(head) {
                    return Ok(Some(found));
                }
            }
            if !reply.has_next_page() {
                return Ok(None);
            }
        }
        match which {
            Which::Open => {
                Err(ForgeError::unexpected(&self.forge, "more open pull requests than can be looked through"))
            }
            Which::Done => Ok(None),
        }
    }

    /// Replaces the head's commit of one that was merged, where the forge tells the branch's tip of today instead.
    async fn with_merged_head(&self, mut found: PullRequest, waits: &mut Waits<'_>) -> Result<PullRequest, ForgeError> {
        if found.state == PullRequestState::Merged
            && let Some(call) = self.dialect.merged_head(found.number)
        {
            let value = self.ask(&call, waits).await?;
            found.head_commit = value.and_then(|value| self.dialect.read_merged_head(found.number, value));
        }
        Ok(found)
    }

    fn pull_request(&self, value: Value) -> Result<PullRequest, ForgeError> {
        self.dialect.read_pull_request(value).map_err(|error| self.unexpected(&error))
    }

    /// The content of an answer that is no refusal.
    pub(crate) fn require(&self, reply: &Reply) -> Result<Value, ForgeError> {
        if reply.is_success() {
            reply.json().map_err(|error| self.unexpected(&error))
        } else {
            Err(self.refusal(reply))
        }
    }

    pub(crate) fn refusal(&self, reply: &Reply) -> ForgeError {
        let (forge, with_token) = (self.forge.clone(), self.with_token);
        match reply.status {
            401 => ForgeError::Unauthorised { forge, with_token },
            404 => ForgeError::NotFound { forge, what: self.repository.clone(), with_token },
            status => ForgeError::refused(&forge, status, &reply.said(self.token.as_ref())),
        }
    }

    pub(crate) fn unexpected(&self, error: &serde_json::Error) -> ForgeError {
        let detail = error.to_string();
        let detail = self.token.as_ref().map_or_else(|| detail.clone(), |token| token.redact(&detail));
        ForgeError::unexpected(&self.forge, &detail)
    }
}
