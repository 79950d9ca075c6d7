//! Worktrees that other tools left: found wherever tools keep or list them, taken over as they are, once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::common::{Story, names, refused};
use serde_json::{Value, json};
use spinney_core::Platform;
use spinney_store::{Store, StoreUrl};
use spinney_testkit::postgres_database;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _};

/// The tables of Archon, as far as they matter, with the columns of its first releases beside today's.
const ARCHON: &str = "
    CREATE TABLE remote_agent_codebases (id TEXT PRIMARY KEY, name TEXT NOT NULL, repository_url TEXT,
        default_cwd TEXT NOT NULL, default_branch TEXT, kind TEXT NOT NULL DEFAULT 'repo');
    CREATE TABLE remote_agent_conversations (id TEXT PRIMARY KEY DEFAULT (lower(hex(randomblob(16)))),
        platform_type TEXT NOT NULL, platform_conversation_id TEXT NOT NULL, codebase_id TEXT, cwd TEXT,
        worktree_path TEXT, isolation_env_id_legacy TEXT, isolation_env_id TEXT, title TEXT, deleted_at TEXT,
        UNIQUE (platform_type, platform_conversation_id));
    CREATE TABLE remote_agent_isolation_environments (id TEXT PRIMARY KEY, codebase_id TEXT NOT NULL DEFAULT 'c',
        workflow_type TEXT NOT NULL, workflow_id TEXT NOT NULL, provider TEXT NOT NULL DEFAULT 'worktree',
        working_path TEXT NOT NULL, branch_name TEXT NOT NULL DEFAULT 'b', created_by_platform TEXT,
        metadata TEXT DEFAULT '{}', status TEXT NOT NULL DEFAULT 'active', created_at TEXT DEFAULT (datetime('now')));";

/// A person's home in which other tools worked, on a repository of that person.
struct Legacy {
    story: Story,
}

impl Legacy {
    fn new() -> Self {
        Self { story: Story::new() }
    }

    fn home(&self) -> PathBuf {
        self.story.sandbox().home()
    }

    /// A linked worktree below the person's home.
    #[track_caller]
    fn tree(&self, place: &str, branch: &str) -> PathBuf {
        let path = self.home().join(place);
        self.story.repository.git(&["worktree", "add", "--quiet", "--no-track", "-b", branch, path.to_str().unwrap()]);
        path
    }

    fn registry(&self, text: &str) -> PathBuf {
        let path = self.home().join(".claude/worktree-registry.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A registry with these entries, as the skill writes it.
    fn registered(&self, entries: &[Value]) -> PathBuf {
        let pool = json!({ "start": 8100, "end": 8199, "allocated": [8100, 8101] });
        self.registry(&json!({ "worktrees": entries, "portPool": pool }).to_string())
    }

    /// A database of Archon with these rows.
    fn archon(&self, rows: &str) -> PathBuf {
        let path = self.home().join(".archon/archon.db");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
            let mut connection = options.connect().await.unwrap();
            let sql = format!("PRAGMA journal_mode = WAL; {ARCHON} {rows}");
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        });
        path
    }

    /// The repository that the store says a conversation is about.
    fn repository_of(&self, platform: Platform, id: &str) -> Option<String> {
        let url = StoreUrl::Sqlite(self.story.sandbox().spinney_home().join("spinney.db"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Store::open(&url).await.unwrap();
            let named = store.read().await.unwrap().repository_of_conversation("local", platform, id).await.unwrap();
            store.close().await.unwrap();
            named.map(|name| name.to_string())
        })
    }

    #[track_caller]
    fn import(&self, arguments: &[&str]) -> Value {
        self.story.cli.run(&[&["import", "--json"], arguments].concat()).ok().json()
    }
}

/// An entry as the skill writes it.
fn entry(path: &Path, branch: &str, task: Option<&str>, pr: Option<u64>) -> Value {
    json!({
        "id": "0b6c1a52-5a8e-4a0e-9a55-2f1f5a0f7f10", "project": "app", "repoPath": "/somewhere/app", "branch": branch,
        "branchSlug": branch.replace('/', "-"), "worktreePath": path, "ports": [8100, 8101],
        "createdAt": "2025-12-04T10:00:00Z", "validatedAt": null, "agentLaunchedAt": null, "task": task,
        "prNumber": pr, "status": "active",
    })
}

/// Name, tool and branch of what was imported, in order.
fn imported(report: &Value) -> Vec<(String, String, String)> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = report["imported"].as_array().unwrap().iter();
    rows.map(|row| (text(row, "name"), text(row, "adopted_from"), text(row, "branch"))).collect()
}

/// Why the directory at a path is where it is in the report.
#[track_caller]
fn reason<'a>(report: &'a Value, list: &str, path: &Path) -> &'a str {
    let left = report[list].as_array().unwrap().iter().find(|left| left["path"] == path.to_str().unwrap());
    left.unwrap_or_else(|| panic!("no {} in {list} of {report:#}", path.display()))["reason"].as_str().unwrap()
}

fn rows(list: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    list.iter().map(|(name, from, branch)| (name.to_string(), from.to_string(), branch.to_string())).collect()
}

#[test]
fn every_place_is_searched_and_a_second_run_finds_nothing_new() {
    let legacy = Legacy::new();
    let (auth, pull) = (legacy.tree("tmp/worktrees/app/feature-auth", "feature/auth"), legacy.tree("trees/x", "fix/x"));
    legacy.tree("tmp/worktrees/app/unlisted", "unlisted");
    legacy.tree(".archon/worktrees/acme/app/archon/issue-7", "archon/issue-7");
    legacy.tree(".archon/workspaces/acme/app/worktrees/archon/pr-8-review", "archon/pr-8-review");
    legacy.tree(".claude/worktrees/agent-1", "worktree-agent-1");
    legacy.story.foreign_worktree("beside", "issue-9");
    legacy.story.change(|app| {
        app.git(&["worktree", "add", "--quiet", "-b", "fix/#10", ".worktrees/ten"]);
        app.git(&["worktree", "add", "--quiet", "-b", "inside", ".claude/worktrees/inside"]);
    });
    let file = legacy.registered(&[
        entry(&auth, "feature/auth", Some("Implement OAuth login"), None),
        entry(&pull, "another/branch", None, Some(99)),
        entry(&legacy.home().join("tmp/worktrees/app/gone"), "gone", None, None),
    ]);
    fs::write(auth.join("untracked.txt"), "work").unwrap();
    let before =
        (fs::read(&file).unwrap(), legacy.story.sandbox().git(&auth, &["status", "--porcelain=v2", "--branch"]));

    let report = legacy.import(&[]);
    let expected = [
        ("task-feature-auth", "claude-worktree-manager", "feature/auth"),
        ("pr-99", "claude-worktree-manager", "fix/x"),
        ("issue-7", "archon", "archon/issue-7"),
        ("pr-8", "archon", "archon/pr-8-review"),
        ("task-unlisted", "claude-worktree-manager", "unlisted"),
        ("task-worktree-agent-1", "claude", "worktree-agent-1"),
        ("issue-10", "git", "fix/#10"),
        ("task-inside", "claude", "inside"),
        ("issue-9", "git", "issue-9"),
    ];
    assert_eq!(imported(&report), rows(&expected));
    assert_eq!(report["imported"][0]["title"], "Implement OAuth login");
    assert_eq!(report["found"].as_array().unwrap().len(), expected.len());
    assert_eq!(reason(&report, "skipped", &legacy.home().join("tmp/worktrees/app/gone")), "it is gone");
    assert_eq!(report["failed"], json!([]));
    for row in report["imported"].as_array().unwrap() {
        assert_eq!(row["metadata"]["migrated"], true, "{row}");
    }
    let now = (fs::read(&file).unwrap(), legacy.story.sandbox().git(&auth, &["status", "--porcelain=v2", "--branch"]));
    assert_eq!(now, before);
    // They are workspaces like any other from here on.
    assert_eq!(legacy.story.make(&["--issue", "7"]).text("method"), "reused");
    assert_eq!(legacy.story.show("issue-7").text("adopted_from"), "archon");

    let own = legacy.story.make(&["--issue", "1"]);
    let again = legacy.import(&[]);
    assert_eq!((&again["found"], &again["imported"]), (&json!([]), &json!([])));
    assert_eq!(reason(&again, "skipped", &auth), "it is a workspace already: task-feature-auth");
    assert!(!again.to_string().contains(own.text("path")), "what Spinney made itself nobody left: {again:#}");
    let told = legacy.story.cli.run(&["import"]).ok();
    assert!(told.stdout.is_empty() && told.stderr.contains("nothing to import"), "{}", told.told());
}

#[test]
fn archons_environments_come_with_their_work_and_conversations() {
    let legacy = Legacy::new();
    let tree = |name: &str, branch: &str| legacy.tree(&format!(".archon/worktrees/acme/app/{name}"), branch);
    let issue = tree("one", "archon/issue-42");
    let (pull, review) = (tree("two", "contributor/fix"), tree("three", "archon/review-7"));
    let (thread, task) = (tree("four", "archon/thread-0a1b2c3d"), tree("five", "archon/task-dark-mode"));
    let (left, box_) = (tree("six", "left"), tree("seven", "boxed"));
    let place = |path: &Path| path.to_str().unwrap().to_owned();
    let database = legacy.archon(&format!(
        "INSERT INTO remote_agent_isolation_environments
            (id, workflow_type, workflow_id, working_path, created_by_platform, metadata, provider, status) VALUES
            ('e1', 'issue', '42', '{}', 'github', '{{\"related_prs\":[57],\"related_issues\":\"none\"}}', 'worktree', 'active'),
            ('e2', 'pr', 'pr-99', '{}', 'github', 'no json', 'worktree', 'active'),
            ('e3', 'review', '7', '{}', 'web', NULL, 'worktree', 'active'),
            ('e4', 'thread', 'C123:17.5', '{}', 'slack', '{{}}', 'worktree', 'active'),
            ('e5', 'task', 'task-Dark mode', '{}', NULL, '{{}}', 'worktree', 'active'),
            ('e6', 'issue', '6', '{}', NULL, '{{}}', 'worktree', 'destroyed'),
            ('e7', 'task', 'seven', '{}', NULL, '{{}}', 'container', 'active'),
            ('e8', 'issue', '8', '/nowhere/gone', NULL, '{{}}', 'worktree', 'active'),
            ('e9', 'issue', '9', '/nowhere/destroyed', NULL, '{{}}', 'worktree', 'destroyed');
        INSERT INTO remote_agent_conversations (platform_type, platform_conversation_id, isolation_env_id, title, deleted_at)
            VALUES ('github', 'acme/app#42', 'e1', 'Log in with OAuth', NULL), ('github', 'acme/app#57', 'e1', NULL, NULL),
            ('slack', 'C123:17.5', 'e4', NULL, NULL), ('web', 'web-1', 'e3', 'Look at it', NULL),
            ('slack', 'C9:9', 'e5', NULL, '2026-01-01'), ('slack', 'C8:8', 'e999', NULL, NULL);",
        place(&issue), place(&pull), place(&review), place(&thread), place(&task), place(&left), place(&box_),
    ));
    let before = fs::read(&database).unwrap();
    let report = legacy.import(&["--from", &place(&database)]);
    let mut taken = imported(&report);
    taken.sort();
    let expected = [
        ("issue-42", "archon", "archon/issue-42"),
        ("issue-6", "archon", "left"),
        ("pr-7-review", "archon", "archon/review-7"),
        ("pr-99", "archon", "contributor/fix"),
        ("task-dark-mode", "archon", "archon/task-dark-mode"),
    ];
    assert_eq!(taken[..5], rows(&expected));
    assert!(taken[5].0.starts_with("thread-") && taken.len() == 6, "{taken:?}");
    assert_eq!(reason(&report, "skipped", &box_), "it is no worktree but a `container`");
    assert_eq!(reason(&report, "skipped", Path::new("/nowhere/gone")), "it is gone");
    assert!(!report.to_string().contains("destroyed"), "what Archon destroyed is no news: {report:#}");
    assert_eq!(fs::read(&database).unwrap(), before);

    let row = |name: &str| legacy.story.show(name).0;
    let first = row("issue-42");
    assert_eq!((&first["platform"], &first["title"]), (&json!("github"), &json!("Log in with OAuth")));
    assert_eq!(first["metadata"], json!({ "migrated": true, "related_prs": [57] }));
    assert_eq!(row("pr-7-review")["title"], "Look at it");
    // A conversation goes on where it was, whatever it asks for next.
    for (platform, id, name) in [
        ("github", "acme/app#42", "issue-42"),
        ("github", "acme/app#57", "issue-42"),
        ("slack", "C123:17.5", &taken[5].0),
    ] {
        let same = legacy.story.make(&["--issue", "1000", "--platform", platform, "--conversation", id]);
        assert_eq!((same.text("name"), same.text("method")), (name, "existing"));
    }
    assert_eq!(legacy.repository_of(Platform::on("slack"), "C123:17.5").as_deref(), Some("local/app"));
    assert_eq!(legacy.repository_of(Platform::on("github"), "acme/app#42"), None);
    let thread = legacy.story.make(&["--thread", "C123:17.5"]);
    assert_eq!(thread.text("method"), "reused");
    let new = legacy.story.make(&["--issue", "1001", "--platform", "slack", "--conversation", "C9:9"]);
    assert_eq!(new.text("method"), "created");
}

/// The tables of Archon on a server, as far as they matter.
const ARCHON_ON_SERVER: &str = "
    CREATE TABLE remote_agent_isolation_environments (id UUID PRIMARY KEY DEFAULT gen_random_uuid(), codebase_id UUID,
        workflow_type TEXT NOT NULL, workflow_id TEXT NOT NULL, provider TEXT NOT NULL DEFAULT 'worktree',
        working_path TEXT NOT NULL, branch_name TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'active',
        created_at TIMESTAMP WITH TIME ZONE DEFAULT NOW(), created_by_platform TEXT, metadata JSONB DEFAULT '{}');
    CREATE TABLE remote_agent_conversations (id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
        platform_type VARCHAR(20) NOT NULL, platform_conversation_id VARCHAR(255) NOT NULL, cwd VARCHAR(500),
        isolation_env_id UUID, title VARCHAR(255), deleted_at TIMESTAMP WITH TIME ZONE);";

#[test]
fn a_database_on_a_server_is_imported_like_a_file() {
    let legacy = Legacy::new();
    let server = postgres_database();
    let url = server.url().replacen("//postgres@", "//postgres:sec-ret@", 1);
    let import = |arguments: &[&str]| legacy.story.cli.run(&[&["import", "--from", &url], arguments].concat());
    let no_archon = import(&[]).exits(2);
    assert!(no_archon.stderr.contains("is no database of Archon: it has none of its tables"), "{}", no_archon.told());

    let tree = legacy.tree(".archon/worktrees/acme/app/one", "archon/issue-42");
    server.query(&format!(
        "{ARCHON_ON_SERVER}
        INSERT INTO remote_agent_isolation_environments
            (id, workflow_type, workflow_id, working_path, branch_name, created_by_platform, metadata) VALUES
            ('00000000-0000-0000-0000-000000000001', 'issue', '42', '{}', 'b', 'github', '{{\"related_prs\": [57]}}'),
            ('00000000-0000-0000-0000-000000000002', 'issue', '8', '/nowhere/gone', 'b', NULL, '{{}}');
        INSERT INTO remote_agent_conversations (platform_type, platform_conversation_id, isolation_env_id, title)
            VALUES ('github', 'acme/app#42', '00000000-0000-0000-0000-000000000001', 'Log in with OAuth')",
        tree.display()
    ));
    let before = server.contents();
    let planned = import(&["--dry-run"]).ok();
    assert!(planned.stdout.contains("would import issue-42 on `archon/issue-42` from archon"), "{}", planned.told());
    let report = import(&["--json"]).ok().json();
    assert_eq!(imported(&report), rows(&[("issue-42", "archon", "archon/issue-42")]));
    assert_eq!(reason(&report, "skipped", Path::new("/nowhere/gone")), "it is gone");
    let row = legacy.story.show("issue-42").0;
    assert_eq!((&row["platform"], &row["title"]), (&json!("github"), &json!("Log in with OAuth")));
    assert_eq!(row["metadata"], json!({ "migrated": true, "related_prs": [57] }));
    let talk = legacy.story.make(&["--issue", "1000", "--platform", "github", "--conversation", "acme/app#42"]);
    assert_eq!((talk.text("name"), talk.text("method")), ("issue-42", "existing"));
    assert_eq!(server.contents(), before);
    let said = [no_archon.stderr, planned.stdout, planned.stderr, report.to_string()].concat();
    assert!(!said.contains("sec-ret"), "{said}");
}

#[test]
fn a_server_that_can_not_be_imported_from_is_told_without_its_password() {
    let legacy = Legacy::new();
    for (url, words) in [
        ("postgres://me:sec-ret@127.0.0.1:1/archon", "can't be reached"),
        ("postgres:/me:sec-ret@localhost/archon", "it is no URL of PostgreSQL"),
        ("postgresql:me:sec-ret@localhost/archon", "it is no URL of PostgreSQL"),
        ("postgres://me:sec-ret@localhost:port/archon", "it is no URL of PostgreSQL"),
        ("mysql://me:sec-ret@localhost/archon", "it is no URL of PostgreSQL"),
    ] {
        for arguments in [&["import", "--from", url][..], &["import", "--json", "-v", "--from", url]] {
            let ran = legacy.story.cli.run(arguments).exits(2);
            assert!(ran.stderr.contains(words) && ran.stderr.contains("***@"), "{url}: {}", ran.told());
            let said = [ran.stdout, ran.stderr].concat();
            assert!(!said.contains("sec-ret"), "{url}: {said}");
        }
    }
}

#[test]
fn old_rows_that_hold_only_a_path_are_understood() {
    let legacy = Legacy::new();
    let tree = |name: &str, branch: &str| legacy.tree(&format!("old/{name}"), branch).to_str().unwrap().to_owned();
    let (issue, pull, unnumbered) = (tree("issue-42", "one"), tree("pr-43-review", "two"), tree("pr-fix", "three"));
    let (by_id, by_path, chat) = (tree("four", "four"), tree("five", "five"), tree("thread-0a1b2c3d", "six"));
    let (merge, command) = (tree("seven", "seven"), tree("eight", "eight"));
    let main = legacy.story.repository.path().to_str().unwrap().to_owned();
    legacy.archon(&format!(
        "INSERT INTO remote_agent_conversations
            (platform_type, platform_conversation_id, worktree_path, isolation_env_id_legacy, isolation_env_id, cwd) VALUES
            ('github', 'acme/app#42', '{issue}', NULL, NULL, '{main}'),
            ('github', 'acme/app#43', NULL, '{pull}', NULL, NULL),
            ('github', 'acme/app#44', '{unnumbered}', NULL, NULL, NULL),
            ('github', 'acme/app#45', NULL, NULL, '{by_id}', NULL),
            ('github', 'acme/app#46', NULL, NULL, NULL, '{by_path}'),
            ('telegram', '123456', '{chat}', NULL, NULL, NULL),
            ('gitea', 'acme/app!47', '{merge}', NULL, NULL, NULL),
            ('cli', 'cli-17', '{command}', NULL, NULL, NULL),
            ('github', 'acme/app#48', NULL, NULL, NULL, '{main}'),
            ('discord', '99', '{issue}', NULL, NULL, NULL);"
    ));
    let report = legacy.import(&[]);
    let work: Vec<(&str, &str)> = report["imported"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["kind"].as_str().unwrap(), row["key"].as_str().unwrap()))
        .collect();
    let expected = [
        ("issue", "42"),
        ("pr", "43"),
        ("pr", "44"),
        ("issue", "45"),
        ("issue", "46"),
        ("thread", "123456"),
        ("pr", "47"),
        ("task", "eight"),
    ];
    assert_eq!(work, expected);
    assert_eq!((&report["skipped"], &report["failed"]), (&json!([]), &json!([])));
    let conversations = &report["found"][0]["conversations"];
    let both = json!([{ "platform": "github", "id": "acme/app#42" }, { "platform": "discord", "id": "99" }]);
    assert_eq!(*conversations, both);
}

#[test]
fn the_other_form_of_the_registry_is_read_too() {
    let legacy = Legacy::new();
    let tree = legacy.tree("code/trees/login", "login");
    let entry = json!({ "branch": "login", "tab_id": "12", "created": "2026-01-01T00:00:00Z" });
    legacy.registry(&json!({ tree.to_str().unwrap(): entry, "~/code/trees/none": entry, "version": 1 }).to_string());
    let report = legacy.import(&[]);
    assert_eq!(imported(&report), rows(&[("task-login", "claude-worktree-manager", "login")]));
    assert_eq!(reason(&report, "skipped", &legacy.home().join("code/trees/none")), "it is gone");
}

#[test]
fn a_dry_run_changes_nothing() {
    let legacy = Legacy::new();
    let tree = legacy.tree("tmp/worktrees/app/issue-1", "issue-1");
    let other = legacy.story.sandbox().repository("other").with_remote();
    let foreign = legacy.home().join("tmp/worktrees/other/fix");
    other.git(&["worktree", "add", "--quiet", "-b", "fix", foreign.to_str().unwrap()]);
    let report = legacy.import(&["--dry-run"]);
    assert_eq!((&report["imported"], &report["dry_run"]), (&json!([]), &json!(true)));
    let found = report["found"].as_array().unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!((&found[0]["kind"], &found[0]["key"], &found[0]["path"]), (&json!("issue"), &json!("1"), &json!(tree)));
    assert_eq!(found[1]["repository"], "local/other");
    assert!(legacy.story.names().is_empty());
    let known = legacy.story.cli.run(&["repo", "ls", "--json"]).ok().json();
    assert_eq!(known["repositories"].as_array().unwrap().len(), 1);
    for repository in [&legacy.story.repository, &other] {
        assert!(!repository.git(&["worktree", "list", "--porcelain"]).contains("locked"));
    }
    let told = legacy.story.cli.run(&["import", "--dry-run"]).ok();
    assert!(
        told.stdout.starts_with("would import issue-1 on `issue-1` from claude-worktree-manager: "),
        "{}",
        told.told()
    );
    assert!(told.stderr.contains("would import 2 worktrees"), "{}", told.told());
}

#[test]
fn worktrees_of_other_repositories_are_taken_with_their_repositories_unless_one_is_named() {
    let legacy = Legacy::new();
    let here = legacy.tree("tmp/worktrees/app/one", "one");
    let other = legacy.story.sandbox().repository("other").with_remote();
    let foreign = legacy.home().join("tmp/worktrees/other/issue-3");
    other.git(&["worktree", "add", "--quiet", "-b", "issue-3", foreign.to_str().unwrap()]);
    legacy.registered(&[entry(&foreign, "issue-3", None, None), entry(&here, "one", None, None)]);
    let only = legacy.import(&["--repo", legacy.story.repository.path().to_str().unwrap()]);
    assert_eq!(imported(&only), rows(&[("task-one", "claude-worktree-manager", "one")]));
    assert_eq!(reason(&only, "skipped", &foreign), "it belongs to another repository");
    let all = legacy.import(&[]);
    assert_eq!(imported(&all), rows(&[("issue-3", "claude-worktree-manager", "issue-3")]));
    assert_eq!(all["imported"][0]["repository"], "local/other");
    // Outside of any repository, and everywhere, the lists of all that are known are looked at.
    let beside = legacy.story.sandbox().path().join("beside");
    other.git(&["worktree", "add", "--quiet", "-b", "issue-4", beside.to_str().unwrap()]);
    let everywhere = legacy.import(&["--everywhere", "--dry-run"]);
    assert_eq!(everywhere["found"][0]["path"], json!(beside));
    let outside = legacy.story.cli.in_directory(legacy.home());
    let report = outside.run(&["import", "--json"]).ok().json();
    assert_eq!(imported(&report), rows(&[("issue-4", "git", "issue-4")]));
}

#[test]
fn what_is_nobodys_to_take_is_left_as_it_is() {
    let legacy = Legacy::new();
    let story = &legacy.story;
    let sandbox = story.sandbox();
    let detached = story.foreign_worktree("detached", "d");
    sandbox.git(&detached, &["switch", "--quiet", "--detach"]);
    let locked = story.foreign_worktree("locked", "locked");
    story.repository.git(&["worktree", "lock", "--reason", "mine", locked.to_str().unwrap()]);
    let gone = story.foreign_worktree("gone", "gone");
    fs::rename(&gone, sandbox.path().join("moved")).unwrap();
    // Another home's workspace, and one of this home.
    let elsewhere = story.cli.with_variable("SPINNEY_HOME", sandbox.path().join("another home"));
    let theirs = crate::support::common::make(&elsewhere, &["--issue", "5"]).path();
    let ours = story.make(&["--issue", "6"]).path();
    // Links to the main checkout, in a root and in the registry; a bare repository; a repository of its own.
    let main = story.repository.path();
    let root = legacy.home().join("tmp/worktrees");
    fs::create_dir_all(&root).unwrap();
    symlink(main, root.join("link")).unwrap();
    let unknown = sandbox.repository("unknown").with_remote();
    let beyond = sandbox.path().join("beyond");
    unknown.git(&["worktree", "add", "--quiet", "-b", "issue-8", beyond.join("tree").to_str().unwrap()]);
    symlink(&beyond, root.join("beyond")).unwrap();
    sandbox.git(&root, &["clone", "--quiet", story.remote().url(), "clone"]);
    let bare = sandbox.path().join("bare.git");
    sandbox.git(sandbox.path(), &["clone", "--quiet", "--bare", story.remote().url(), bare.to_str().unwrap()]);
    let plain = root.join("plain");
    fs::create_dir(&plain).unwrap();
    let dots = main.join("src/../../app");
    let named = [&root.join("link"), &bare, &plain, &dots, &main.join(".git"), &main.join("README.md")];
    legacy.registered(&named.map(|path| entry(path, "main", None, None)));

    let report = legacy.import(&[]);
    assert_eq!(imported(&report), rows(&[("task-locked", "git", "locked")]));
    let listed = story.repository.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains("locked mine"), "{listed}");
    assert_eq!(reason(&report, "skipped", &root.join("link")), "it is a main checkout, or a repository of its own");
    // The same place under another name is told once.
    assert!(!report.to_string().contains("src/../.."), "{report:#}");
    assert!(!report.to_string().contains(ours.to_str().unwrap()), "{report:#}");
    for (path, words) in [
        (&bare, "no `.git` file"),
        (&plain, "no `.git` file"),
        (&main.join(".git"), "no `.git` file"),
        (&main.join("README.md"), "no directory"),
        (&detached, "HEAD is detached"),
        (&gone, "gone"),
        (&theirs, "another Spinney home"),
    ] {
        let reason = reason(&report, "skipped", path);
        assert!(reason.contains(words), "{}: {reason}", path.display());
    }
    assert_eq!(report["failed"], json!([]));
    assert_eq!(names(&elsewhere), ["issue-5"]);
}

#[test]
fn a_submodule_is_left_alone() {
    let sandbox = spinney_testkit::Sandbox::new();
    let repository = sandbox.repository("app").with_remote();
    repository.add_submodule("libs/one", &sandbox.repository("library"));
    let legacy = Legacy { story: Story::of(repository) };
    let submodule = legacy.story.repository.path().join("libs/one");
    legacy.registered(&[entry(&submodule, "main", None, None)]);
    let report = legacy.import(&[]);
    assert!(reason(&report, "skipped", &submodule).contains("submodule"), "{report:#}");
}

#[test]
fn what_is_broken_is_told_and_stops_nothing() {
    let legacy = Legacy::new();
    let story = &legacy.story;
    let (good, twin) = (story.foreign_worktree("good", "issue-1"), story.foreign_worktree("twin", "other"));
    story.sandbox().git(&twin, &["checkout", "--quiet", "--ignore-other-worktrees", "issue-1"]);
    let same_work = story.foreign_worktree("same work", "fix-issue-1");
    let newline = story.foreign_worktree("two\nlines", "lines");
    let (dangling, unreadable) = (story.foreign_worktree("dangling", "x"), story.foreign_worktree("unreadable", "y"));
    fs::write(dangling.join(".git"), "gitdir: /nowhere/at/all\n").unwrap();
    fs::write(unreadable.join(".git"), [0xff, 0xfe, 0x00]).unwrap();
    let registry = legacy.registered(&[
        json!("text"),
        json!({ "branch": "no path" }),
        json!({ "worktreePath": 7 }),
        entry(Path::new("relative/path"), "x", None, None),
        entry(Path::new("/dev/null/x"), "x", None, None),
        entry(Path::new("/nowhere/\u{1b}[31mred\nand\u{202e}more"), "x", None, None),
        entry(Path::new(&format!("/{}", "long/".repeat(2000))), "x", Some("x"), Some(0)),
        entry(Path::new("/nul\0byte"), "x", None, None),
        entry(&good, "issue-1", Some("\n  \u{1b}[31mA title\u{7}  \nand more"), None),
    ]);
    fs::create_dir_all(legacy.home().join(".archon")).unwrap();
    fs::write(legacy.home().join(".archon/archon.db"), "no database").unwrap();
    let report = legacy.import(&[]);
    let taken = imported(&report);
    assert_eq!(taken[0], ("issue-1".into(), "claude-worktree-manager".into(), "issue-1".into()));
    assert_eq!(report["imported"][0]["title"], "[31mA title");
    assert!(taken[1].0.starts_with("task-fix-issue-1-") && taken.len() == 2, "{taken:?}");
    assert_eq!(report["imported"][1]["path"], json!(same_work));
    for (path, words) in [
        (registry.as_path(), "entry 1 names no worktree"),
        (Path::new("relative/path"), "no path from the root"),
        (Path::new("/nul\0byte"), "nul"),
        (&legacy.home().join(".archon/archon.db"), "no database"),
        (&twin, "branch `issue-1` belongs to issue-1"),
        (&dangling, "leads to no repository"),
        (&unreadable, "leads to no repository"),
    ] {
        let reason = reason(&report, "failed", path);
        assert!(reason.to_lowercase().contains(&words.to_lowercase()), "{}: {reason}", path.display());
    }
    assert_eq!(reason(&report, "skipped", &newline), "its path has control characters");
    assert_eq!(reason(&report, "skipped", Path::new("/dev/null/x")), "it is gone");
    let told = story.cli.run(&["import"]).ok();
    assert!(!told.stderr.contains(['\u{1b}', '\u{202e}']) && told.stderr.contains("\\nand"), "{}", told.told());
}

#[test]
fn a_registry_that_is_none_is_told() {
    let legacy = Legacy::new();
    let tree = legacy.tree("tmp/worktrees/app/one", "one");
    for (text, words) in [
        ("", "not JSON"),
        ("{\"worktrees\": [", "not JSON"),
        ("\u{0}\u{1}", "not JSON"),
        ("[]", "no registry"),
        ("{\"worktrees\": {}}", "no list"),
        (&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), "not JSON"),
    ] {
        let file = legacy.registry(text);
        let report = legacy.import(&["--dry-run"]);
        assert!(reason(&report, "failed", &file).contains(words), "{report:#}");
        assert_eq!(report["found"][0]["path"], json!(tree));
        // What a person named must be readable.
        let place = file.to_str().unwrap();
        refused(&legacy.story.cli, 2, &["import", "--from", place]).says(&[place, words]);
    }
    refused(&legacy.story.cli, 2, &["import", "--from", "nope"]).says(&["nope", "No such file"]);
    refused(&legacy.story.cli, 2, &["import", "--from", "."]).says(&["can't be imported from"]);
    let own = legacy.story.sandbox().spinney_home().join("spinney.db");
    refused(&legacy.story.cli, 2, &["import", "--from", own.to_str().unwrap()]).says(&["nothing that another tool"]);
}

#[test]
fn ten_thousand_entries_are_looked_at_in_seconds_and_told_in_a_line() {
    let legacy = Legacy::new();
    let tree = legacy.tree("trees/one", "issue-1");
    let gone = |number: u32| legacy.home().join(format!("tmp/worktrees/app/gone-{number}"));
    let mut entries: Vec<Value> = (0..10_000).map(|number| entry(&gone(number), "x", Some("x"), None)).collect();
    entries.push(entry(&tree, "issue-1", None, None));
    legacy.registered(&entries);
    let places: Vec<String> = (0..10_000).map(|n| format!("('e{n}', 'issue', '{n}', '/nowhere/{n}')")).collect();
    legacy.archon(&format!(
        "INSERT INTO remote_agent_isolation_environments (id, workflow_type, workflow_id, working_path) VALUES {};",
        places.join(", ")
    ));
    let start = Instant::now();
    let told = legacy.story.cli.run(&["import"]).ok();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(told.stderr.contains("skipped 20000: it is gone") && told.stderr.lines().count() < 5, "{}", told.stderr);
    assert_eq!(legacy.story.names(), ["issue-1"]);
}

#[test]
fn a_base_that_is_missing_can_be_named() {
    let legacy = Legacy { story: Story::of(spinney_testkit::Sandbox::new().repository("app")) };
    let tree = legacy.story.foreign_worktree("foreign", "issue-1");
    for arguments in [&["--dry-run"][..], &[]] {
        let report = legacy.import(arguments);
        assert!(reason(&report, "failed", &tree).contains("--base BRANCH"), "{report:#}");
    }
    assert_eq!(legacy.import(&["--base", "main"])["imported"][0]["base_branch"], "main");
}

#[test]
fn another_account_imports_nothing() {
    let legacy = Legacy::new();
    legacy.story.foreign_worktree("foreign", "issue-1");
    legacy.story.cli.run(&["account", "add", "team"]).ok();
    refused(&legacy.story.cli, 2, &["import", "--account", "team"]).says(&["account `team`"]);
}
