//! The database of another tool on a server of PostgreSQL: all that is told, nothing written, and no password shown.

use spinney_store::{Archon, Error, StoreUrl};

use crate::backend::Backend;

/// The tables of today, as far as they matter.
const TODAY: &str = "
    CREATE TABLE remote_agent_isolation_environments (id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
        codebase_id UUID, workflow_type TEXT NOT NULL, workflow_id TEXT NOT NULL,
        provider TEXT NOT NULL DEFAULT 'worktree', working_path TEXT NOT NULL, branch_name TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'active', created_at TIMESTAMP WITH TIME ZONE DEFAULT NOW(),
        created_by_platform TEXT, metadata JSONB DEFAULT '{}');
    CREATE TABLE remote_agent_conversations (id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
        platform_type VARCHAR(20) NOT NULL, platform_conversation_id VARCHAR(255) NOT NULL, cwd VARCHAR(500),
        isolation_env_id UUID REFERENCES remote_agent_isolation_environments(id), title VARCHAR(255),
        deleted_at TIMESTAMP WITH TIME ZONE, hidden BOOLEAN DEFAULT FALSE,
        UNIQUE (platform_type, platform_conversation_id));";
const NEW: &str = "00000000-0000-0000-0000-000000000003";
const ROWS: &str = "
    INSERT INTO remote_agent_isolation_environments
        (id, workflow_type, workflow_id, working_path, branch_name, status, created_at, metadata) VALUES
        ('00000000-0000-0000-0000-000000000001', 'issue', '42', '/gone', 'b', 'destroyed', '2026-01-03', NULL),
        ('00000000-0000-0000-0000-000000000002', 'issue', '42', '/old', 'b', 'active', '2026-01-01', '{}'),
        ('00000000-0000-0000-0000-000000000003', 'pr', 'pr-9', '/new', 'b', 'active', '2026-01-02', '{\"related_issues\":[42]}');
    INSERT INTO remote_agent_conversations (platform_type, platform_conversation_id, cwd, isolation_env_id, title, deleted_at)
        VALUES ('github', 'acme/app#42', '/app', '00000000-0000-0000-0000-000000000003', 'Dark mode', NULL),
        ('slack', 'C1:17.5', NULL, NULL, NULL, NULL), ('slack', 'C1:18.5', NULL, NULL, NULL, '2026-01-01');";

fn url_of(backend: &Backend) -> String {
    let StoreUrl::Postgres(url) = &backend.url else { panic!("it is PostgreSQL's") };
    url.clone()
}

async fn load(url: &str) -> Result<Archon, Error> {
    Archon::load(&StoreUrl::parse(url).unwrap()).await
}

#[tokio::test]
async fn a_server_tells_what_a_file_tells() {
    let server = Backend::postgres().await;
    server.run(format!("{TODAY}{ROWS}")).await;
    let archon = load(&url_of(&server)).await.unwrap();
    let told: Vec<_> = archon.environments.iter().map(|found| (found.path.as_str(), found.active)).collect();
    assert_eq!(told, [("/new", true), ("/old", true), ("/gone", false)]);
    let new = &archon.environments[0];
    assert_eq!((new.id.as_str(), new.workflow_type.as_str(), new.workflow_id.as_str()), (NEW, "pr", "pr-9"));
    assert_eq!((new.provider.as_str(), new.metadata.as_deref()), ("worktree", Some("{\"related_issues\": [42]}")));
    let talks: Vec<_> =
        archon.conversations.iter().map(|talk| (talk.id.as_str(), talk.environment.as_deref())).collect();
    assert_eq!(talks, [("acme/app#42", Some(NEW)), ("C1:17.5", None)]);
    assert_eq!(archon.conversations[0].title.as_deref(), Some("Dark mode"));
    assert!(archon.broken.is_empty());
}

#[tokio::test]
async fn the_oldest_tables_have_only_paths() {
    let server = Backend::postgres().await;
    server
        .run(
            "CREATE TABLE remote_agent_conversations (id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
                platform_type VARCHAR(20) NOT NULL, platform_conversation_id VARCHAR(255) NOT NULL, worktree_path VARCHAR(500));
            INSERT INTO remote_agent_conversations (platform_type, platform_conversation_id, worktree_path)
                VALUES ('github', 'a/b#1', '/t')",
        )
        .await;
    let archon = load(&url_of(&server)).await.unwrap();
    assert!(archon.environments.is_empty());
    assert_eq!(archon.conversations[0].worktree.as_deref(), Some("/t"));
}

#[tokio::test]
async fn what_is_read_can_write_nothing() {
    let server = Backend::postgres().await;
    // Who reads the view writes into the other table, if that is possible at all.
    server
        .run(
            "CREATE TABLE written (at TIMESTAMP);
            CREATE FUNCTION write() RETURNS TEXT LANGUAGE sql VOLATILE AS
                $$ INSERT INTO written VALUES (now()) RETURNING 'slack' $$;
            CREATE VIEW remote_agent_conversations AS
                SELECT write() AS platform_type, 'C1' AS platform_conversation_id, '/x' AS cwd",
        )
        .await;
    let error = load(&url_of(&server)).await.unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
    assert_eq!(server.number("SELECT COUNT(*) FROM written").await, 0);
}

#[tokio::test]
async fn what_is_not_archons_is_told_apart() {
    let server = Backend::postgres().await;
    let url = url_of(&server);
    let message = load(&url).await.unwrap_err().to_string();
    assert!(message.ends_with("is no database of Archon: it has none of its tables"), "{message}");

    server.run("CREATE SCHEMA archon; CREATE TABLE archon.remote_agent_conversations (platform_type TEXT)").await;
    let message = load(&url).await.unwrap_err().to_string();
    assert!(message.ends_with("but there is one in `archon` (`?options[search_path]=archon`)"), "{message}");
    let join = if url.contains('?') { '&' } else { '?' };
    assert!(load(&format!("{url}{join}options[search_path]=archon")).await.unwrap().conversations.is_empty());
}

#[tokio::test]
async fn what_can_not_be_reached_or_read_is_told_without_the_password() {
    let server = Backend::postgres().await;
    server.run(format!("{TODAY}{ROWS}")).await;
    let (url, number) = (url_of(&server), std::process::id());
    let named = |user: &str| url.replacen("//postgres@", &format!("//{user}@"), 1);
    server.run(format!("CREATE ROLE reader_{number} LOGIN PASSWORD 'sec-ret'")).await;
    let denied = load(&named(&format!("reader_{number}:sec-ret"))).await;
    server.run(format!("DROP ROLE reader_{number}")).await;
    let no_database =
        url.replacen("/spinney_test_", "/not_there_", 1).replacen("//postgres@", "//postgres:sec-ret@", 1);
    let outcomes = [
        (denied, "denies access"),
        (load(&named("nobody-of-this-name:sec-ret")).await, "denies access"),
        (load(&no_database).await, "denies access"),
        (load("postgres://u:sec-ret@127.0.0.1:1/archon").await, "can't be reached"),
        (load("postgres://u:sec-ret@h:no-port/archon").await, "is not the place of a store"),
    ];
    for (outcome, words) in outcomes {
        let error = outcome.unwrap_err();
        let told = format!("{error} {error:?}");
        assert!(error.to_string().contains(words) && !told.contains("sec-ret"), "{words}: {told}");
        assert!(error.to_string().contains(":***@"), "{error}");
    }
}
