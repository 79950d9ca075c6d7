//! What fronts leave to the use cases, read from their sources: a front finds repositories, workspaces and jobs by what somebody
//! named, and renders; what is done with them, and what is loaded to be shown, is a function here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const FRONTS: [&str; 4] = ["spinney", "spinney-mcp", "spinney-server", "spinney-platforms"];

/// What a front may ask the engine itself: where it is and how it is set up, and what is meant by a name.
const ASKED: &[&str] = &[
    "account",
    "acting_as",
    "clone",
    "config",
    "environment",
    "for_account",
    "free_disk",
    "home",
    "ownership",
    "proxy",
    "texts",
    // By a name, an id, a path.
    "context_of",
    "find_context",
    "find_workspace",
    "find_workspace_in",
    "forge_place",
    "repositories",
    "repositories_of_slug",
    "repository",
    "require_account",
    "require_repository",
    "require_workspace",
    "workspace_around",
    "workspace_at",
    "workspaces",
];

/// What else one front alone asks, and why it is no use case of others.
const ALONE: &[(&str, &str)] = &[
    ("spinney-server/src/api/repositories.rs check_addition", "before an answer of 202"),
    ("spinney-server/src/daemon/loops.rs accounts", "the daemon works for all of them"),
    ("spinney-server/src/daemon/loops.rs recover", "the daemon heals what died under it"),
    ("spinney-server/src/daemon/maintenance.rs accounts", "the daemon works for all of them"),
    ("spinney-server/src/daemon/reload.rs reconfigured", "the daemon reads its configuration again"),
    ("spinney/src/app.rs recover", "each command heals what died before it"),
    ("spinney/src/commands/doctor.rs diagnose", "`doctor`"),
    ("spinney/src/commands/doctor.rs fix_broken_refs", "`doctor --fix`"),
    ("spinney/src/commands/doctor.rs git", "`doctor`"),
    ("spinney/src/commands/exec.rs executor", "`exec` hands its terminal over"),
    ("spinney/src/commands/exec.rs touch", "`exec` hands its terminal over"),
    ("spinney/src/commands/exec.rs workspace_environment", "`exec` hands its terminal over"),
    ("spinney/src/commands/init_claude.rs foresee", "`init --claude` looks at what new workspaces would have"),
    ("spinney/src/commands/init_claude.rs give_to_workspaces", "`init --claude`"),
    ("spinney/src/commands/job_run.rs recover", "a job's process heals what died before it"),
    ("spinney/src/commands/path.rs require_link", "people at a terminal get the readable link"),
    ("spinney/src/commands/restore.rs detached_at", "what the command line says of a detached HEAD"),
    ("spinney/src/follow/ending.rs remote", "what to type next, where there is a remote"),
];

/// Who reads and writes the store by itself: what is a front's own, and nobody else's.
const STORERS: &[(&str, &str)] = &[
    ("spinney-platforms/src/command/carry_out.rs", "what a conversation is about"),
    ("spinney-platforms/src/conversation/desk.rs", "what a conversation is about"),
    ("spinney-platforms/src/conversation/inbox.rs", "what a platform sent"),
    ("spinney-platforms/src/orchestrator/answer.rs", "what a platform sent"),
    ("spinney-platforms/src/orchestrator/close.rs", "what a conversation is about"),
    ("spinney-platforms/src/orchestrator/follow.rs", "what a conversation is about"),
    ("spinney-platforms/src/orchestrator/handle.rs", "what a platform sent"),
    ("spinney-platforms/src/orchestrator/mod.rs", "what a platform sent"),
    ("spinney-server/src/api/health.rs", "whether the store can be reached"),
    ("spinney-server/src/api/metrics.rs", "counts, for programs that watch the daemon"),
    ("spinney-server/src/api/operations.rs", "long answers"),
    ("spinney-server/src/app.rs", "the broadcasting of events"),
    ("spinney-server/src/auth/caller.rs", "who asks"),
    ("spinney-server/src/auth/session.rs", "browsers that are logged in"),
    ("spinney-server/src/daemon/loops.rs", "the daemon's own rows"),
    ("spinney-server/src/daemon/maintenance.rs", "the chores' rows"),
    ("spinney-server/src/daemon/serve.rs", "the daemon's own rows"),
    ("spinney-server/src/idempotency.rs", "answers that were given"),
    ("spinney-server/src/operations.rs", "long answers"),
    ("spinney-server/src/schedules.rs", "the chores' rows"),
];

#[test]
fn fronts_ask_the_engine_for_nothing_but_what_is_meant() {
    let mut asked = BTreeSet::new();
    for (path, text) in sources() {
        let others = methods(&text).filter(|name| !ASKED.contains(name) && *name != "store");
        asked.extend(others.map(|name| format!("{path} {name}")));
    }
    let listed = ALONE.iter().map(|(call, _)| (*call).to_owned()).collect();
    assert_eq!(asked, listed, "make it a use case of `spinney-app`, or list the call here with a reason");
}

#[test]
fn fronts_keep_nothing_in_the_store_but_their_own() {
    let stores = |(path, text): (String, String)| methods(&text).any(|name| name == "store").then_some(path);
    let found: Vec<_> = sources().into_iter().filter_map(stores).collect();
    let listed: Vec<_> = STORERS.iter().map(|(path, _)| *path).collect();
    assert_eq!(found, listed, "make it a use case of `spinney-app`, or list the file here with a reason");
}

/// The methods that a source calls on an engine.
fn methods(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("engine").filter_map(|(start, word)| {
        let mut rest = &text[start + word.len()..];
        // A field or variable, or a function that gives one: `engine()`, `engine_of(&caller)`.
        if let Some(called) = rest.strip_prefix("_of").or_else(|| rest.strip_prefix("_for")) {
            rest = called;
        }
        if rest.starts_with('(') {
            rest = &rest[rest.find(')')? + 1..];
        }
        let name = rest.trim_start().strip_prefix('.')?.trim_start();
        let end = name.find(|letter: char| !(letter.is_ascii_lowercase() || letter == '_'))?;
        name[end..].starts_with('(').then_some(&name[..end])
    })
}

#[test]
fn calls_are_seen_however_they_are_written() {
    let text =
        "engine.one(1); app.engine().two(); app.engine_of(&caller)\n    .three(x); engines.four(); engine.field;";
    assert_eq!(methods(text).collect::<Vec<_>>(), ["one", "two", "three"]);
}

/// The sources of the fronts, without their tests, by their paths below `crates`.
fn sources() -> BTreeMap<String, String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut left: Vec<PathBuf> = FRONTS.iter().map(|front| crates.join(front).join("src")).collect();
    let mut sources = BTreeMap::new();
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned();
                sources.insert(path.strip_prefix(&crates).unwrap().to_str().unwrap().to_owned(), product);
            }
        }
    }
    sources
}
