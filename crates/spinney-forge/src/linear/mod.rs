//! Issues of one team on Linear, over its GraphQL API.
//!
//! Linear is no forge: there is no repository there. Issues are known by their numbers in the team, and labels by their
//! names; Linear's own ids stay in here. What is not there is an empty list, so that no message must be understood.

mod documents;
mod read;

use serde_json::{Value, json};
use spinney_core::config::Section;
use spinney_core::{ForgeError, Secret};
use ureq::Proxy;
use ureq::http::HeaderValue;

use crate::answer::Reply;
use crate::client::Client;
use crate::dialect::Call;
use crate::kind::section;
use crate::patience::Waits;
use crate::url::Url;
use crate::{OpenError, Patience};

pub use read::{LinearComment, LinearIssue};

/// More than these pages hold is too much to look through.
const MAX_PAGES: u32 = 100;
/// How a key of a person begins; it stands for itself, where an app's token is a bearer's.
const KEY_PREFIX: &str = "lin_api_";

/// What the configuration says of Linear.
pub(crate) const SECTION: Section = section(
    "forge.linear",
    "\
# Linear, whose issues a schedule may work on. Empty: none.
api_url = \"https://api.linear.app/graphql\"

# The variable with the key or token. Empty: none.
token_env = \"LINEAR_API_KEY\"
",
);

/// Where Linear is, and how it is spoken to.
#[derive(Debug, Clone)]
pub struct LinearOptions {
    pub api_url: String,
    pub token: Secret,
    pub patience: Patience,
    pub proxy: Option<Secret>,
}

/// A team's issues.
#[derive(Debug)]
pub struct Linear {
    /// For messages, as `Linear at api.linear.app`.
    name: String,
    team: String,
    token: Secret,
    client: Client,
    patience: Patience,
}

impl Linear {
    /// Gives the issues of a team. Nothing is asked yet.
    pub fn open(team: &str, options: &LinearOptions) -> Result<Self, OpenError> {
        let LinearOptions { api_url, token, patience, proxy } = options;
        let api = Url::parse(api_url).filter(|api| matches!(api.scheme.as_str(), "http" | "https"));
        let api = api.ok_or_else(|| OpenError::BadUrl(api_url.clone()))?;
        if !api.is_safe() {
            return Err(OpenError::Unencrypted(api_url.clone()));
        }
        let name = format!("Linear at {}", api.place());
        let is_key = token.expose().starts_with(KEY_PREFIX);
        let value = if is_key { token.expose().to_owned() } else { format!("Bearer {}", token.expose()) };
        let mut value = HeaderValue::from_str(&value).map_err(|_| OpenError::BadToken(name.clone()))?;
        value.set_sensitive(true);
        let proxy = proxy.as_ref().map(|proxy| Proxy::new(proxy.expose())).transpose();
        let proxy = proxy.map_err(|_| OpenError::BadProxy)?;
        let client = Client::new(api_url, api, proxy, vec![("authorization", value)]);
        Ok(Self { name, team: team.to_owned(), token: token.clone(), client, patience: *patience })
    }

    /// The open issues that have a label, oldest first.
    pub async fn fetch_issues_labelled(&self, label: &str) -> Result<Vec<LinearIssue>, ForgeError> {
        let filter = json!({
            "team": { "key": { "eq": self.team } },
            "labels": { "some": { "name": { "eqIgnoreCase": label } } },
            "state": { "type": { "nin": read::CLOSED } },
        });
        let listed = self.list("issues", documents::ISSUES, &filter, &mut self.waits()).await?;
        let mut issues = self.read_all(listed, read::issue)?;
        issues.sort_by_key(|issue| issue.number);
        Ok(issues)
    }

    pub async fn fetch_issue(&self, number: u64) -> Result<Option<LinearIssue>, ForgeError> {
        let listed = self.list("issues", documents::ISSUES, &self.is_issue(number), &mut self.waits()).await?;
        Ok(self.read_all(listed, read::issue)?.pop())
    }

    /// Gives an issue a label of the team or of the workspace, if it has not got it.
    pub async fn add_label(&self, number: u64, label: &str) -> Result<(), ForgeError> {
        let issue = self.require_issue(number).await?;
        if issue.label_id(label).is_some() {
            return Ok(());
        }
        let filter = json!({
            "name": { "eqIgnoreCase": label },
            "or": [{ "team": { "key": { "eq": self.team } } }, { "team": { "null": true } }],
        });
        let listed = self.list("issueLabels", documents::LABELS, &filter, &mut self.waits()).await?;
        let mut labels: Vec<_> = listed.iter().filter(|label| label["isGroup"] != true).collect();
        // The team's own before the workspace's.
        labels.sort_by_key(|label| label["team"].is_null());
        let id = labels.first().and_then(|label| label["id"].as_str());
        let missing = || ForgeError::refused(&self.name, 200, &format!("team {} has no label `{label}`", self.team));
        let variables = json!({ "id": issue.id, "labelId": id.ok_or_else(missing)? });
        self.change("issueAddLabel", documents::ADD_LABEL, &variables).await
    }

    /// Takes a label off an issue, if it has it.
    pub async fn remove_label(&self, number: u64, label: &str) -> Result<(), ForgeError> {
        let issue = self.require_issue(number).await?;
        let Some(id) = issue.label_id(label) else { return Ok(()) };
        self.change("issueRemoveLabel", documents::REMOVE_LABEL, &json!({ "id": issue.id, "labelId": id })).await
    }

    /// Moves an issue to the first of the team's states that mean that it is done, unless it is closed.
    pub async fn complete(&self, number: u64) -> Result<(), ForgeError> {
        let issue = self.require_issue(number).await?;
        if !issue.is_open {
            return Ok(());
        }
        let filter = json!({ "team": { "key": { "eq": self.team } }, "type": { "eq": "completed" } });
        let mut states = self.list("workflowStates", documents::STATES, &filter, &mut self.waits()).await?;
        let position = |state: &Value| state["position"].as_f64().unwrap_or(f64::MAX);
        states.sort_by(|a, b| position(a).total_cmp(&position(b)));
        let missing = || ForgeError::unexpected(&self.name, "the team has no state that means that it is done");
        let state = states.first().and_then(|state| state["id"].as_str()).ok_or_else(missing)?;
        self.change("issueUpdate", documents::MOVE, &json!({ "id": issue.id, "stateId": state })).await
    }

    /// All comments on an issue, in the order in which they were made.
    pub async fn fetch_comments(&self, number: u64) -> Result<Vec<LinearComment>, ForgeError> {
        let filter = json!({ "issue": self.is_issue(number) });
        let listed = self.list("comments", documents::COMMENTS, &filter, &mut self.waits()).await?;
        let mut comments = self.read_all(listed, read::comment)?;
        comments.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
        Ok(comments)
    }

    /// Adds a comment under an id that the caller made up, a version 4 UUID: it is looked for before each further try.
    pub async fn add_comment(&self, number: u64, id: &str, body: &str) -> Result<LinearComment, ForgeError> {
        let issue = self.require_issue(number).await?;
        let mut waits = self.waits();
        let call = call(documents::ADD_COMMENT, &json!({ "id": id, "issueId": issue.id, "body": body }));
        loop {
            match self.client.ask_once(&call, waits.answer_timeout()).await {
                Ok(reply) => {
                    let comment = self.data(&reply)?["commentCreate"]["comment"].take();
                    return read::comment(comment).map_err(|error| self.unexpected(&error));
                }
                Err(failure) => waits.wait(failure.later(&self.name)?).await?,
            }
            if let Some(found) = self.find_comment(id, &mut waits).await? {
                return Ok(found);
            }
        }
    }

    /// Changes a comment, if it is still there.
    pub async fn edit_comment(&self, id: &str, body: &str) -> Result<(), ForgeError> {
        let changed = self.change("commentUpdate", documents::EDIT_COMMENT, &json!({ "id": id, "body": body })).await;
        self.unless_gone(id, changed).await
    }

    /// Deletes a comment, if it is still there.
    pub async fn delete_comment(&self, id: &str) -> Result<(), ForgeError> {
        let changed = self.change("commentDelete", documents::DELETE_COMMENT, &json!({ "id": id })).await;
        self.unless_gone(id, changed).await
    }

    /// What a change of a comment came to; fine where it was refused because there is no such comment.
    async fn unless_gone(&self, id: &str, changed: Result<(), ForgeError>) -> Result<(), ForgeError> {
        match changed {
            Err(ForgeError::Refused { .. }) if self.find_comment(id, &mut self.waits()).await?.is_none() => Ok(()),
            changed => changed,
        }
    }

    async fn find_comment(&self, id: &str, waits: &mut Waits<'_>) -> Result<Option<LinearComment>, ForgeError> {
        let listed = self.list("comments", documents::COMMENTS, &json!({ "id": { "eq": id } }), waits).await?;
        Ok(self.read_all(listed, read::comment)?.pop())
    }

    async fn require_issue(&self, number: u64) -> Result<LinearIssue, ForgeError> {
        let what = format!("{}-{number}", self.team);
        let missing = || ForgeError::NotFound { forge: self.name.clone(), what, with_token: true };
        self.fetch_issue(number).await?.ok_or_else(missing)
    }

    fn is_issue(&self, number: u64) -> Value {
        json!({ "team": { "key": { "eq": self.team } }, "number": { "eq": number } })
    }

    fn waits(&self) -> Waits<'_> {
        Waits::new(&self.name, self.patience)
    }

    /// Makes a change that leaves what it finds done.
    async fn change(&self, field: &str, document: &str, variables: &Value) -> Result<(), ForgeError> {
        let reply = self.client.ask(&self.name, &call(document, variables), &mut self.waits()).await?;
        match self.data(&reply)?[field]["success"] == true {
            true => Ok(()),
            false => Err(ForgeError::unexpected(&self.name, &format!("`{field}` had no success"))),
        }
    }

    /// All pages of a list.
    async fn list(
        &self,
        field: &str,
        document: &str,
        filter: &Value,
        waits: &mut Waits<'_>,
    ) -> Result<Vec<Value>, ForgeError> {
        let (mut all, mut after) = (Vec::new(), Value::Null);
        for _ in 0..MAX_PAGES {
            let call = call(document, &json!({ "filter": filter, "after": after }));
            let reply = self.client.ask(&self.name, &call, waits).await?;
            let mut page = self.data(&reply)?[field].take();
            let Value::Array(nodes) = page["nodes"].take() else {
                return Err(ForgeError::unexpected(&self.name, &format!("`{field}` is no list")));
            };
            all.extend(nodes);
            after = page["pageInfo"]["endCursor"].take();
            if page["pageInfo"]["hasNextPage"] != true || after.is_null() {
                return Ok(all);
            }
        }
        Err(ForgeError::unexpected(&self.name, "a list longer than can be looked through"))
    }

    /// The data of an answer without errors.
    fn data(&self, reply: &Reply) -> Result<Value, ForgeError> {
        let forge = || self.name.clone();
        let value = reply.json();
        let errors = value.as_ref().ok().and_then(|value| value["errors"].as_array()).cloned().unwrap_or_default();
        let is_unauthorised = |error: &Value| error["extensions"]["code"] == "AUTHENTICATION_ERROR";
        if reply.status == 401 || errors.iter().any(is_unauthorised) {
            return Err(ForgeError::Unauthorised { forge: forge(), with_token: true });
        }
        if !errors.is_empty() || !reply.is_success() {
            return Err(ForgeError::refused(&self.name, reply.status, &reply.said(Some(&self.token))));
        }
        Ok(value.map_err(|error| self.unexpected(&error))?["data"].take())
    }

    fn read_all<T>(
        &self,
        values: Vec<Value>,
        read: impl Fn(Value) -> Result<T, serde_json::Error>,
    ) -> Result<Vec<T>, ForgeError> {
        values.into_iter().map(read).collect::<Result<_, _>>().map_err(|error| self.unexpected(&error))
    }

    fn unexpected(&self, error: &serde_json::Error) -> ForgeError {
        ForgeError::unexpected(&self.name, &self.token.redact(&error.to_string()))
    }
}

fn call(document: &str, variables: &Value) -> Call {
    Call::post(String::new(), json!({ "query": document, "variables": variables }))
}
