//! The step of the schema that takes repositories and their clones apart: until then each node had rows of its own.
//!
//! Clones of one remote on different nodes become one repository, unless both have the same work or the same live branch:
//! then they stay two. Names are unique in an account from here on; whoever comes second gets a number.

use std::collections::BTreeSet;

use spinney_core::{RepositoryName, canonical_remote, remote_slug};
use sqlx::{AnyConnection, AssertSqlSafe, Row};

pub(crate) const VERSION: i64 = 13;

/// A repository that is there already.
struct Kept {
    id: String,
    account: String,
    name: RepositoryName,
    remote: Option<String>,
    nodes: BTreeSet<String>,
}

/// Every table whose rows belong to a repository; trusts have a key of their own.
const BELONGING: [&str; 8] = ["workspaces", "works", "operations", "jobs", "claims", "schedules", "events", "clones"];

/// Does it, in the upgrade's transaction.
pub(crate) async fn unify(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    let rows = sqlx::query(
        "SELECT r.id, r.account, r.owner, r.name, r.url, c.node
         FROM repositories r JOIN clones c ON c.repository_id = r.id ORDER BY r.created_at, r.id",
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut kept: Vec<Kept> = Vec::new();
    for row in rows {
        let text = |index: usize| row.try_get::<String, _>(index);
        let (id, account, node) = (text(0)?, text(1)?, text(5)?);
        let name = RepositoryName::sanitized(&text(2)?, &text(3)?);
        let remote = row.try_get::<Option<String>, _>(4)?.as_deref().and_then(canonical_remote);
        let mut joined = None;
        for (index, other) in kept.iter().enumerate() {
            let is_same = remote.is_some() && other.remote == remote && other.account == account;
            if is_same && !other.nodes.contains(&node) && !is_in_conflict(connection, &other.id, &id).await? {
                joined = Some(index);
                break;
            }
        }
        if let Some(index) = joined {
            let other = &mut kept[index];
            merge(connection, &id, &name, other).await?;
            other.nodes.insert(node);
            continue;
        }
        let is_taken =
            |wanted: &RepositoryName| kept.iter().any(|other| other.account == account && other.name == *wanted);
        let mut free = name.clone();
        for number in 2.. {
            if !is_taken(&free) {
                break;
            }
            free = name.numbered(number);
        }
        let update = "UPDATE repositories SET owner = $2, name = $3, remote = $4, slug = $5 WHERE id = $1";
        let query = sqlx::query(update).bind(&id).bind(free.owner()).bind(free.name()).bind(remote.as_deref());
        query.bind(remote.as_deref().and_then(remote_slug)).execute(&mut *connection).await?;
        kept.push(Kept { id, account, name: free, remote, nodes: BTreeSet::from([node]) });
    }
    sqlx::query("CREATE UNIQUE INDEX repositories_by_name ON repositories (account, owner, name)")
        .execute(connection)
        .await
        .map(drop)
}

/// Whether two repositories have the same work, or the same branch of a live workspace.
async fn is_in_conflict(connection: &mut AnyConnection, one: &str, other: &str) -> Result<bool, sqlx::Error> {
    for question in [
        "SELECT COUNT(*) FROM works a JOIN works b ON a.kind = b.kind AND a.key = b.key
         WHERE a.repository_id = $1 AND b.repository_id = $2",
        "SELECT COUNT(*) FROM workspaces a JOIN workspaces b ON a.branch = b.branch
         WHERE a.repository_id = $1 AND b.repository_id = $2
           AND a.status NOT IN ('trashed', 'purged') AND b.status NOT IN ('trashed', 'purged')",
    ] {
        let row = sqlx::query(question).bind(one).bind(other).fetch_one(&mut *connection).await?;
        if row.try_get::<i64, _>(0)? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Gives all that belongs to a repository to another, and forgets it.
async fn merge(
    connection: &mut AnyConnection,
    id: &str,
    name: &RepositoryName,
    other: &Kept,
) -> Result<(), sqlx::Error> {
    for table in BELONGING {
        let sql = format!("UPDATE {table} SET repository_id = $2 WHERE repository_id = $1");
        sqlx::query(AssertSqlSafe(sql)).bind(id).bind(&other.id).execute(&mut *connection).await?;
    }
    for statement in [
        "INSERT INTO trusts (repository_id, hash, trusted_at)
         SELECT $2, hash, trusted_at FROM trusts WHERE repository_id = $1
         ON CONFLICT (repository_id, hash) DO NOTHING",
        "DELETE FROM trusts WHERE repository_id = $1 AND repository_id <> $2",
        "DELETE FROM repositories WHERE id = $1 AND id <> $2",
    ] {
        sqlx::query(statement).bind(id).bind(&other.id).execute(&mut *connection).await?;
    }
    sqlx::query("UPDATE conversations SET repository = $3 WHERE account = $1 AND repository = $2")
        .bind(&other.account)
        .bind(name.to_string())
        .bind(other.name.to_string())
        .execute(connection)
        .await
        .map(drop)
}
