//! Comments on GitHub: made once, found again by their mark, changed from then on.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use spinney_core::forge::{Access, Comment};
use spinney_core::{Forge, ForgeError, Timestamp, Work, WorkKind};
use spinney_forge::{GITHUB, Located};

use super::closing::{Home, closed_issues};
use super::marker::LONGEST_MARK;
use super::parse::one_line;
use super::render::render;
use super::{GithubAdapter, PLATFORM};
use crate::{Author, Event, Inbound, Message, Place, Pull, SendError, Sent};

/// What GitHub takes.
const LONGEST_COMMENT: usize = 65_536;
/// A comment of ours is younger than what it answers; clocks differ.
const CLOCKS_DIFFER: Duration = Duration::from_secs(10 * 60);
/// Repositories whose connections are kept.
const MOST_FORGES: usize = 100;

/// Where a conversation is.
#[derive(Debug, Deserialize)]
struct Address {
    /// As `acme/app`.
    repository: String,
    number: u64,
    /// When it was first heard of, in milliseconds.
    since: i64,
}

/// Comments that were made.
#[derive(Debug, Serialize, Deserialize)]
struct Comments {
    key: String,
    /// Who we are there.
    author: String,
    ids: Vec<u64>,
}

impl Address {
    fn read(place: &Place) -> Result<Self, SendError> {
        serde_json::from_value(place.0.clone()).map_err(|error| refused(format!("the place is none: {error}")))
    }

    fn conversation(&self) -> String {
        format!("{}#{}", self.repository, self.number)
    }
}

impl GithubAdapter {
    /// Says something: what is there already is changed, what is missing is made, what is too much is deleted.
    ///
    /// 1. Each part goes into the comment that is known for it.
    /// 2. Where none is known, or it is gone, one with the part's mark is looked for: its answer may have got lost.
    /// 3. Else it is made.
    pub(super) async fn say(
        &self,
        place: &Place,
        key: &str,
        sent: Option<&Sent>,
        message: &Message,
    ) -> Result<Sent, SendError> {
        let address = Address::read(place)?;
        let forge = self.forge(&address.repository)?;
        let known = sent.map(|sent| serde_json::from_value::<Comments>(sent.0.clone())).transpose();
        let known = known.map_err(|error| refused(format!("what was sent is not known: {error}")))?;
        let key = known.as_ref().map_or(key, |known| &known.key);
        let mut author = known.as_ref().map(|known| known.author.clone());
        let known_ids = known.as_ref().map_or(&[][..], |known| &known.ids);
        let parts = render(message, LONGEST_COMMENT - LONGEST_MARK);
        let mut listed: Option<Vec<Comment>> = None;
        let mut ids = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let marks = self.marker.marks(&address.conversation(), key, index);
            let body = format!("{part}\n\n{}", marks[0]);
            if let Some(id) = known_ids.get(index)
                && forge.edit_comment(*id, &body).await.map_err(failed)?
            {
                ids.push(*id);
                continue;
            }
            let comments = match &mut listed {
                Some(comments) => comments,
                none => {
                    let since = Timestamp::from_millisecond(address.since).minus(CLOCKS_DIFFER);
                    none.insert(forge.fetch_comments_since(address.number, since).await.map_err(failed)?)
                }
            };
            let is_ours = |comment: &&Comment| {
                let is_by_us = author.as_ref().is_none_or(|author| *author == comment.author);
                is_by_us && marks.iter().any(|mark| comment.body.trim_end().ends_with(mark))
            };
            let found = comments.iter().find(is_ours);
            if let Some(found) = found
                && (found.body == body || forge.edit_comment(found.id, &body).await.map_err(failed)?)
            {
                author = Some(found.author.clone());
                ids.push(found.id);
                continue;
            }
            let made = forge.add_comment(address.number, &body).await.map_err(failed)?;
            author = Some(made.author);
            ids.push(made.id);
        }
        for id in known_ids.iter().skip(parts.len()) {
            forge.delete_comment(*id).await.map_err(failed)?;
        }
        let sent = Comments { key: key.to_owned(), author: author.unwrap_or_default(), ids };
        Ok(Sent(json!(sent)))
    }

    /// Whether somebody may write to the repository. A login can have become another's since: the id tells.
    pub(super) async fn may_write(&self, place: &Place, author: &Author) -> Result<bool, SendError> {
        let is_login = |login: &str| {
            (1..=100).contains(&login.len())
                && login.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        if !is_login(&author.name) {
            return Ok(false);
        }
        let forge = self.forge(&Address::read(place)?.repository)?;
        let person = forge.fetch_person(&author.name).await.map_err(failed)?;
        Ok(person.is_some_and(|person| person.id.to_string() == author.id && person.access == Some(Access::Write)))
    }

    /// Asks for the pull request that a comment is on, which the comment itself does not tell.
    pub(super) async fn add_pull(&self, inbound: &mut Inbound) -> Result<(), SendError> {
        let (Event::Asked(request) | Event::Edited { request: Some(request) }) = &mut inbound.event else {
            return Ok(());
        };
        if request.pull.is_some() || request.work.kind != WorkKind::Pr {
            return Ok(());
        }
        let address = Address::read(&inbound.place)?;
        let forge = self.forge(&address.repository)?;
        let Some(found) = forge.fetch_pull_request(address.number).await.map_err(failed)? else { return Ok(()) };
        let url = found.url.rsplit_once("/pull/").map_or("", |(url, _)| url);
        let home = Home { full_name: &address.repository, url };
        let closes: Vec<_> = closed_issues(&found.body, home).into_iter().map(Work::issue).collect();
        request.links.clone_from(&closes);
        request.pull = Some(Pull {
            number: found.number,
            title: one_line(&found.title),
            head: found.head_branch,
            sha: found.head_commit,
            is_fork: found.from_fork,
            closes,
        });
        Ok(())
    }

    /// The repository on the forge.
    fn forge(&self, repository: &str) -> Result<Arc<dyn Forge>, SendError> {
        let (owner, name) = repository.split_once('/').ok_or_else(|| refused("no repository".to_owned()))?;
        let mut forges = self.forges.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(forge) = forges.get(repository) {
            return Ok(Arc::clone(forge));
        }
        let located = Located {
            kind: &GITHUB,
            api_url: self.options.api_url(&GITHUB).to_owned(),
            owner: owner.to_owned(),
            name: name.to_owned(),
        };
        let forge: Arc<dyn Forge> =
            Arc::from(spinney_forge::open(&located, &self.options).map_err(|error| refused(error.to_string()))?);
        if forges.len() >= MOST_FORGES {
            forges.clear();
        }
        forges.insert(repository.to_owned(), Arc::clone(&forge));
        Ok(forge)
    }
}

fn refused(detail: String) -> SendError {
    SendError::Refused { platform: PLATFORM, detail }
}

fn failed(error: ForgeError) -> SendError {
    let platform = PLATFORM;
    match error {
        ForgeError::RateLimited { until, .. } => {
            let ahead = until.as_millisecond() - Timestamp::now().as_millisecond();
            SendError::RateLimited { platform, after: Duration::from_millis(u64::try_from(ahead).unwrap_or(0)) }
        }
        error if error.is_temporary() => SendError::Unreachable { platform, detail: spinney_core::in_full(&error) },
        error => refused(error.to_string()),
    }
}
