//! The database of another tool, as it was at different times: all that is told, and nothing written.

use std::path::{Path, PathBuf};

use spinney_store::{Archon, ArchonConversation, Error, StoreUrl};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _};
use tempfile::TempDir;

/// The tables of today, as far as they matter.
const TODAY: &str = "
    CREATE TABLE remote_agent_conversations (id TEXT PRIMARY KEY, platform_type TEXT NOT NULL,
        platform_conversation_id TEXT NOT NULL, cwd TEXT, isolation_env_id TEXT, title TEXT, deleted_at TEXT,
        hidden INTEGER DEFAULT 0, UNIQUE (platform_type, platform_conversation_id));
    CREATE TABLE remote_agent_isolation_environments (id TEXT PRIMARY KEY, codebase_id TEXT NOT NULL,
        workflow_type TEXT NOT NULL, workflow_id TEXT NOT NULL, provider TEXT NOT NULL DEFAULT 'worktree',
        working_path TEXT NOT NULL, branch_name TEXT NOT NULL, created_by_platform TEXT, metadata TEXT DEFAULT '{}',
        status TEXT NOT NULL DEFAULT 'active', created_at TEXT DEFAULT (datetime('now')));";

struct Database {
    directory: TempDir,
}

impl Database {
    async fn new(sql: &str) -> Self {
        let database = Self { directory: tempfile::tempdir().unwrap() };
        let options = SqliteConnectOptions::new().filename(database.path()).create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("PRAGMA journal_mode = WAL; {sql}")))
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
        database
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("archon.db")
    }

    fn url(&self) -> StoreUrl {
        file(&self.path())
    }
}

fn file(path: &Path) -> StoreUrl {
    StoreUrl::Sqlite(path.to_owned())
}

fn paths(archon: &Archon) -> Vec<&str> {
    archon.environments.iter().map(|environment| environment.path.as_str()).collect()
}

#[tokio::test]
async fn environments_in_use_come_first_and_conversations_that_were_deleted_not_at_all() {
    let rows = "
        INSERT INTO remote_agent_isolation_environments
            (id, codebase_id, workflow_type, workflow_id, working_path, branch_name, status, created_at, metadata) VALUES
            ('1', 'c', 'issue', '42', '/gone', 'b', 'destroyed', '2026-01-03', NULL),
            ('2', 'c', 'issue', '42', '/old', 'b', 'active', '2026-01-01', '{}'),
            ('3', 'c', 'pr', 'pr-9', '/new', 'b', 'active', '2026-01-02', '{\"related_issues\":[42]}');
        INSERT INTO remote_agent_conversations
            (id, platform_type, platform_conversation_id, cwd, isolation_env_id, title, deleted_at) VALUES
            ('1', 'github', 'acme/app#42', '/app', '2', 'Dark mode', NULL),
            ('2', 'slack', 'C1:17.5', NULL, '', NULL, NULL),
            ('3', 'slack', 'C1:18.5', NULL, '3', NULL, '2026-01-01');";
    let database = Database::new(&format!("{TODAY}{rows}")).await;
    let before = std::fs::read(database.path()).unwrap();
    let archon = Archon::load(&database.url()).await.unwrap();
    assert_eq!(paths(&archon), ["/new", "/old", "/gone"]);
    let active: Vec<bool> = archon.environments.iter().map(|environment| environment.active).collect();
    assert_eq!(active, [true, true, false]);
    assert_eq!(archon.environments[0].metadata.as_deref(), Some("{\"related_issues\":[42]}"));
    let talk = |id: &str, platform: &str| ArchonConversation {
        platform: platform.into(),
        id: id.into(),
        environment: None,
        worktree: None,
        directory: None,
        title: None,
    };
    let first = ArchonConversation {
        environment: Some("2".into()),
        directory: Some("/app".into()),
        title: Some("Dark mode".into()),
        ..talk("acme/app#42", "github")
    };
    assert_eq!(archon.conversations, [first, talk("C1:17.5", "slack")]);
    assert!(archon.broken.is_empty());
    assert_eq!(std::fs::read(database.path()).unwrap(), before);
}

#[tokio::test]
async fn the_oldest_databases_have_only_paths() {
    let start = "CREATE TABLE remote_agent_conversations (id TEXT PRIMARY KEY, platform_type VARCHAR(20) NOT NULL,
        platform_conversation_id VARCHAR(255) NOT NULL, cwd VARCHAR(500)";
    let row = "INSERT INTO remote_agent_conversations (id, platform_type, platform_conversation_id";
    for (columns, insert, environment, worktree) in [
        ("", ") VALUES ('1', 'github', 'a/b#1')", None, None),
        (", worktree_path VARCHAR(500)", ", worktree_path) VALUES ('1', 'github', 'a/b#1', '/t')", None, Some("/t")),
        (
            ", worktree_path TEXT, isolation_env_id TEXT, isolation_provider TEXT",
            ", isolation_env_id) VALUES ('1', 'github', 'a/b#1', '/t')",
            Some("/t"),
            None,
        ),
        (
            ", isolation_env_id_legacy TEXT, isolation_env_id TEXT",
            ", isolation_env_id_legacy) VALUES ('1', 'github', 'a/b#1', '/t')",
            None,
            Some("/t"),
        ),
    ] {
        let database = Database::new(&format!("{start}{columns}); {row}{insert};")).await;
        let archon = Archon::load(&database.url()).await.unwrap();
        assert!(archon.environments.is_empty());
        let talk = &archon.conversations[0];
        assert_eq!((talk.environment.as_deref(), talk.worktree.as_deref()), (environment, worktree), "{columns}");
    }
}

#[tokio::test]
async fn a_row_that_is_no_text_is_told_and_the_others_are_read() {
    let rows = "INSERT INTO remote_agent_isolation_environments
        (id, codebase_id, workflow_type, workflow_id, working_path, branch_name) VALUES
        ('1', 'c', 'issue', '1', x'ff00fe', 'b'), ('2', 'c', 'issue', 2, '/two', 'b'), ('3', 'c', 'task', 'x', 3, 'b');";
    let database = Database::new(&format!("{TODAY}{rows}")).await;
    let archon = Archon::load(&database.url()).await.unwrap();
    assert_eq!(archon.broken, ["row 1 of `remote_agent_isolation_environments` holds what is no text"]);
    assert_eq!(paths(&archon), ["/two", "3"]);
}

#[tokio::test]
async fn what_is_not_archons_is_refused_and_nothing_is_made() {
    let other = Database::new("CREATE TABLE things (id TEXT)").await;
    assert!(matches!(Archon::load(&other.url()).await, Err(Error::NotArchon { .. })));
    let missing = other.directory.path().join("missing.db");
    Archon::load(&file(&missing)).await.unwrap_err();
    assert!(!missing.exists());
    std::fs::write(&missing, [b"SQLite format 3\0".as_slice(), &[7; 4000]].concat()).unwrap();
    assert!(matches!(Archon::load(&file(&missing)).await, Err(Error::Corrupt { .. })));
    assert!(Archon::load(&file(Path::new("/"))).await.is_err());
}

#[tokio::test]
async fn a_table_without_end_is_read_in_part() {
    let endless = "CREATE TABLE remote_agent_conversations (platform_type, platform_conversation_id, cwd);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= 100001)
        INSERT INTO remote_agent_conversations SELECT 'slack', 'C' || i, printf('%.20000c', '/') FROM n WHERE i > 100000
        UNION ALL SELECT 'slack', 'C' || i, NULL FROM n WHERE i <= 100000;";
    let database = Database::new(endless).await;
    let archon = Archon::load(&database.url()).await.unwrap();
    assert_eq!(archon.conversations.len(), 100_000);
    assert!(archon.broken[0].contains("more than 100000 rows"), "{:?}", archon.broken);
    let longest = archon.conversations.iter().filter_map(|talk| talk.directory.as_ref()).map(String::len).max();
    assert_eq!(longest, Some(16 << 10));
}
