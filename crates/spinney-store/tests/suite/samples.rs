//! Rows to tell stories with.

use spinney_core::workspace::Metadata;
use spinney_core::{
    CloneId, MergedPull, NodeId, Operation, OperationId, OperationStatus, Platform, Populate, Provider, RemoveStep,
    Repository, RepositoryId, Step, Timestamp, Work, Workspace, WorkspaceId, WorkspaceStatus,
};
use spinney_store::{Store, WorkspaceFilter};

/// What fills every optional column.
pub fn repository(node: &NodeId, name: &str) -> Repository {
    Repository {
        id: RepositoryId::generate(),
        account: "local".into(),
        node: node.clone(),
        clone: Some(CloneId::generate()),
        name: name.parse().unwrap(),
        common_dir: format!("/srv/größe/{name}/.git").into(),
        root: Some(format!("/srv/größe/{name}").into()),
        url: Some(format!("https://example.org/{name}.git")),
        managed: true,
        token_env: Some("EXAMPLE_TOKEN".into()),
        tree_bytes: Some(123_456_789_012),
        created_at: Timestamp::from_millisecond(1_700_000_000_123),
    }
}

/// A workspace on the branch of its work.
pub fn workspace(repository: &Repository, work: Work) -> Workspace {
    let id = WorkspaceId::generate();
    Workspace {
        account: repository.account.clone(),
        node: repository.node.clone(),
        repository_id: repository.id.clone(),
        repository: repository.name.clone(),
        name: work.workspace_name(),
        title: Some("It's \"broken\"; größer 🎉".into()),
        provider: Provider::Worktree,
        populate: Populate::Checkout,
        path: format!("/home/trees/{id}").into(),
        branch: work.default_branch(),
        base_branch: Some("main".parse().unwrap()),
        base_commit: "0123456789abcdef0123456789abcdef01234567".parse().unwrap(),
        status: WorkspaceStatus::Active,
        error: Some("it failed once".into()),
        pushed: true,
        pull_request: Some("https://example.org/pull/9".into()),
        platform: Platform::Cli,
        pinned: true,
        adopted_from: Some("/elsewhere/tree".into()),
        metadata: Metadata {
            related_issues: vec![42],
            related_prs: vec![9],
            migrated: true,
            made_by_job: Some("k3v9k3v9k3".parse().unwrap()),
            made_branch: Some("mine".parse().unwrap()),
            branch_deleted: true,
            merged: Some(MergedPull { number: 9, head: "e".repeat(40).parse().unwrap() }),
            pushed_commit: Some("f".repeat(40).parse().unwrap()),
            keep_until_ms: Some(1_800_000_000_000),
            setup_withheld: true,
            erased: Some(spinney_core::Erased { at_ms: 3, by: "anna, command line".to_owned() }),
            warm: None,
        },
        created_at: Timestamp::from_millisecond(1_700_000_000_001),
        last_activity_at: Timestamp::from_millisecond(1_700_000_000_002),
        removed_at: Some(Timestamp::from_millisecond(1_700_000_000_003)),
        size: None,
        work,
        id,
    }
}

pub fn operation(workspace: &Workspace) -> Operation {
    Operation {
        id: OperationId::generate(),
        node: workspace.node.clone(),
        repository_id: workspace.repository_id.clone(),
        workspace_id: workspace.id.clone(),
        status: OperationStatus::Open,
        step: Step::Remove(RemoveStep::Pinning),
        data: serde_json::json!({ "branch": "issue-42", "made": [1, 2] }),
        error: None,
        created_at: Timestamp::from_millisecond(1_700_000_000_000),
        updated_at: Timestamp::from_millisecond(1_700_000_000_000),
    }
}

/// Every workspace of the account.
pub fn everything() -> WorkspaceFilter {
    WorkspaceFilter { account: "local".into(), node: None, repository: None, statuses: WorkspaceStatus::ALL.to_vec() }
}

/// A node with one repository.
pub async fn one_repository(store: &Store) -> Repository {
    one_repository_named(store, "acme/app").await
}

pub async fn one_repository_named(store: &Store, name: &str) -> Repository {
    let node = NodeId::generate();
    let repository = repository(&node, name);
    let mut connection = store.write().await.unwrap();
    connection.ensure_node(&node, "laptop").await.unwrap();
    assert!(connection.insert_repository(&repository).await.unwrap());
    connection.commit().await.unwrap();
    repository
}

/// A node with one repository that has one workspace.
pub async fn one_workspace(store: &Store) -> (Repository, Workspace) {
    let repository = one_repository(store).await;
    let workspace = workspace(&repository, Work::issue(42));
    assert!(store.read().await.unwrap().insert_workspace(&workspace).await.unwrap());
    (repository, workspace)
}
