//! What a database of Archon tells: environments with their conversations, and old conversations that hold only a path.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use spinney_core::config::PlatformsConfig;
use spinney_core::{Platform, Work};
use spinney_store::{Archon, ArchonConversation, ArchonEnvironment};

use super::candidate::{Candidate, Collected, expanded, title, tool};
use super::guess::{guess, number};

const FROM: &str = tool::ARCHON;

/// Turns a database's rows into candidates.
pub(super) fn collect(
    archon: Archon,
    database: &Path,
    user_home: Option<&Path>,
    platforms: &PlatformsConfig,
    collected: &mut Collected,
) {
    let Archon { environments, conversations, broken } = archon;
    for reason in broken {
        collected.fail(database, FROM, reason);
    }
    let mut places = Places::default();
    let mut ids = HashMap::new();
    for environment in environments {
        let path = expanded(&environment.path, user_home);
        if !environment.active && !path.exists() {
            continue;
        }
        if environment.provider != "worktree" {
            collected.skip(path, FROM, format!("it is no worktree but a `{}`", environment.provider));
            continue;
        }
        // Archon may think that it destroyed what is in use again: those in use come first.
        let index = places.find_or_insert(path, |path| of_environment(&environment, path, platforms));
        ids.insert(environment.id, index);
    }
    for conversation in conversations {
        let known = conversation.environment.as_ref().and_then(|id| ids.get(id)).copied();
        let index = known.or_else(|| {
            let path = path_of(&conversation, user_home)?;
            Some(places.find_or_insert(path, |path| Candidate::new(path, FROM)))
        });
        if let Some(candidate) = index.and_then(|index| places.candidates.get_mut(index)) {
            join(candidate, &conversation, platforms);
        }
    }
    collected.candidates.append(&mut places.candidates);
}

/// Candidates, one a path.
#[derive(Default)]
struct Places {
    candidates: Vec<Candidate>,
    by_path: HashMap<PathBuf, usize>,
}

impl Places {
    fn find_or_insert(&mut self, path: PathBuf, make: impl FnOnce(PathBuf) -> Candidate) -> usize {
        *self.by_path.entry(path).or_insert_with_key(|path| {
            self.candidates.push(make(path.clone()));
            self.candidates.len() - 1
        })
    }
}

fn of_environment(environment: &ArchonEnvironment, path: PathBuf, platforms: &PlatformsConfig) -> Candidate {
    let metadata: Value = serde_json::from_str(environment.metadata.as_deref().unwrap_or("{}")).unwrap_or_default();
    let numbers = |key: &str| {
        let list = metadata.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_u64).filter(|number| *number > 0).collect::<Vec<_>>()
    };
    Candidate {
        work: work_of(&environment.workflow_type, &environment.workflow_id),
        platform: environment.platform.as_deref().and_then(|word| platforms.origin(word)).unwrap_or(Platform::Cli),
        related_issues: numbers("related_issues"),
        related_prs: numbers("related_prs"),
        ..Candidate::new(path, FROM)
    }
}

/// A workflow as work: `issue` and `42`, or `issue-42`.
fn work_of(kind: &str, id: &str) -> Option<Work> {
    let own = |prefix: &str| id.strip_prefix(prefix).unwrap_or(id).to_owned();
    match kind {
        "issue" => number(own("issue-").trim_start_matches('#')).map(Work::issue),
        "pr" => number(own("pr-").trim_end_matches("-review")).map(Work::pr),
        "review" => number(own("review-").trim_start_matches("pr-").trim_end_matches("-review")).map(Work::review),
        "thread" => Work::thread(&own("thread-")).ok(),
        "task" => Work::task(&own("task-")).ok(),
        _ => None,
    }
    .or_else(|| guess(id))
}

/// The worktree of a conversation that names no environment by its id.
fn path_of(conversation: &ArchonConversation, user_home: Option<&Path>) -> Option<PathBuf> {
    let named = conversation.environment.as_deref().filter(|text| text.starts_with(['/', '~']));
    let old = named.or(conversation.worktree.as_deref()).map(|path| expanded(path, user_home));
    // Its directory is the main checkout, unless it says otherwise.
    let directory = conversation.directory.as_deref().map(|path| expanded(path, user_home));
    old.or_else(|| directory.filter(|path| path.join(".git").is_file()))
}

/// What a conversation is about, by its own name: `acme/app#42` is an issue, or a pull request where the directory says so.
fn likely(conversation: &ArchonConversation, path: &Path, platforms: &PlatformsConfig) -> Option<Work> {
    if let Some((before, text)) = conversation.id.rsplit_once(['#', '!'])
        && let Some(number) = number(text)
    {
        let directory = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_pull_request = conversation.id[before.len()..].starts_with('!') || directory.contains("pr-");
        return Some(if is_pull_request { Work::pr(number) } else { Work::issue(number) });
    }
    let is_chat = platforms.origin(&conversation.platform).is_some_and(|platform| platforms.is_chat(platform));
    is_chat.then(|| Work::thread(&conversation.id).ok()).flatten()
}

fn join(candidate: &mut Candidate, conversation: &ArchonConversation, platforms: &PlatformsConfig) {
    candidate.likely = candidate.likely.take().or_else(|| likely(conversation, &candidate.path, platforms));
    candidate.title = candidate.title.take().or_else(|| conversation.title.as_deref().and_then(title));
    let Some(platform) = platforms.origin(&conversation.platform) else { return };
    if candidate.platform == Platform::Cli {
        candidate.platform = platform;
    }
    if let Ok(id) = spinney_core::work::parse_conversation(&conversation.id) {
        candidate.conversations.push((platform, id));
    }
}
