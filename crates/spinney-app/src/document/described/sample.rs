//! One of each thing with all that it can have, and one with as little as it can have.

use spinney_core::workspace::Metadata;
use spinney_core::{
    Cancel, CommitId, Dropped, DroppedCommit, Held, HeldFile, Job, JobId, JobRequest, JobStatus, LeftOut,
    LeftOutReason, MergedPull, NodeId, Outcome, Platform, Populate, Provider, Push, Reason, ReasonCode, Repository,
    RepositoryId, Session, SessionId, SessionStatus, Size, Timestamp, Usage, Warm, Work, Workspace, WorkspaceId,
    WorkspaceStatus,
};
use spinney_engine::Details;

pub fn commit() -> CommitId {
    "0123456789abcdef0123456789abcdef01234567".parse().unwrap()
}

pub fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_700_000_000_000 + second * 1000)
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

pub fn bare_workspace() -> Workspace {
    let work = Work::issue(42);
    Workspace {
        id: WorkspaceId::generate(),
        account: "local".to_owned(),
        node: NodeId::generate(),
        repository_id: RepositoryId::generate(),
        repository: "acme/app".parse().unwrap(),
        name: work.workspace_name(),
        branch: work.default_branch(),
        work,
        title: None,
        provider: Provider::Worktree,
        populate: Populate::Checkout,
        path: "/workspaces/issue-42".into(),
        base_branch: None,
        base_commit: commit(),
        status: WorkspaceStatus::Active,
        error: None,
        pushed: false,
        pull_request: None,
        platform: Platform::Cli,
        pinned: false,
        adopted_from: None,
        metadata: Metadata::default(),
        created_at: at(0),
        last_activity_at: at(1),
        removed_at: None,
        size: None,
    }
}

pub fn full_workspace() -> Workspace {
    let warm = Warm {
        settings: "hash".to_owned(),
        ready: true,
        settled_at_ms: Some(1),
        listing: text("hash"),
        tree: text("tree"),
        error: text("`npm ci` failed"),
        template: true,
        copied: [(".env".to_owned(), "stamps".to_owned())].into(),
    };
    Workspace {
        title: text("the login bug"),
        base_branch: "main".parse().ok(),
        error: text("its directory is gone"),
        pull_request: text("https://forge.example/acme/app/pulls/9"),
        adopted_from: Some("/elsewhere".into()),
        metadata: Metadata {
            related_issues: vec![1],
            related_prs: vec![2],
            migrated: true,
            made_branch: "issue-1".parse().ok(),
            branch_deleted: true,
            merged: Some(MergedPull { number: 9, head: commit() }),
            made_by_job: Some(JobId::generate()),
            pushed_commit: Some(commit()),
            keep_until_ms: Some(1),
            setup_withheld: true,
            erased: Some(spinney_core::Erased { at_ms: 3, by: "anna, command line".to_owned() }),
            warm: Some(warm),
        },
        removed_at: Some(at(2)),
        size: Some(Size { bytes: 1, at: at(1) }),
        ..bare_workspace()
    }
}

pub fn details() -> Details {
    Details {
        fault: text("git failed"),
        changed: Some(1),
        untracked: Some(2),
        distance: Some((3, 4)),
        head: text("detached"),
        ..Details::default()
    }
}

pub fn bare_reason() -> Reason {
    let code = ReasonCode::Dirty;
    Reason { code, count: Some(3), note: None, items: vec![], blocks: true, overridable: true, job: None }
}

pub fn full_reason() -> Reason {
    Reason { items: vec!["a".to_owned()], job: Some(JobId::generate()), ..bare_reason() }
}

pub fn bare_job() -> Job {
    Job {
        id: JobId::generate(),
        account: "local".to_owned(),
        node: NodeId::generate(),
        repository_id: RepositoryId::generate(),
        repository: "acme/app".parse().unwrap(),
        agent: "coder".to_owned(),
        work: Work::issue(42),
        title: None,
        prompt: "fix it".to_owned(),
        trigger: Platform::Api,
        status: JobStatus::Pending,
        waits_for: None,
        cancel: Cancel::No,
        attempt: 0,
        place: None,
        workspace_id: None,
        parent: None,
        awaits_until: None,
        request: JobRequest::default(),
        outcome: Outcome::default(),
        created_at: at(0),
        started_at: None,
        ended_at: None,
    }
}

pub fn full_job() -> Job {
    Job {
        title: text("the login bug"),
        status: JobStatus::TimedOut,
        waits_for: Some(spinney_core::WaitsFor::Record),
        workspace_id: Some(WorkspaceId::generate()),
        outcome: Outcome {
            summary: text("done"),
            error: text("not quite"),
            branch: text("issue-42"),
            base_commit: Some(commit()),
            commit: Some(commit()),
            push: Some(Push::Pushed),
            pull_request: text("https://forge.example/acme/app/pulls/9"),
            escaped: vec!["README.md".to_owned()],
            left_out: vec![LeftOut { path: "notes.txt".to_owned(), reason: LeftOutReason::ThereBefore }],
            shared: vec!["README.md".to_owned()],
            dropped: Some(Dropped {
                refs: vec!["refs/spinney/before/k3v9/0123456".to_owned()],
                count: 1,
                commits: vec![DroppedCommit { commit: commit(), subject: "theirs".to_owned() }],
            }),
            held: Some(Held {
                commit: commit(),
                copied: vec![HeldFile { commit: commit(), path: "secrets.local".to_owned() }],
            }),
            denied: vec!["Bash".to_owned()],
            usage: Usage { cost_micros: Some(1), ..Usage::default() },
            ..Outcome::default()
        },
        started_at: Some(at(1)),
        ended_at: Some(at(3)),
        ..bare_job()
    }
}

pub fn bare_session() -> Session {
    Session {
        id: SessionId::generate(),
        job_id: JobId::generate(),
        workspace_id: None,
        agent: "coder".to_owned(),
        work: Work::issue(42),
        runtime: "claude".to_owned(),
        conversation: None,
        resumed: false,
        status: SessionStatus::Running,
        usage: Usage::default(),
        context_tokens: None,
        context_window: None,
        started_at: at(1),
        ended_at: None,
    }
}

pub fn full_session() -> Session {
    Session {
        conversation: text("its own id"),
        usage: Usage { cost_micros: Some(1), ..Usage::default() },
        context_tokens: Some(1),
        context_window: Some(2),
        ended_at: Some(at(2)),
        ..bare_session()
    }
}

pub fn bare_repository() -> Repository {
    Repository {
        clone: None,
        id: RepositoryId::generate(),
        account: "local".to_owned(),
        node: NodeId::generate(),
        name: "acme/app".parse().unwrap(),
        common_dir: "/app/.git".into(),
        root: None,
        url: None,
        managed: false,
        token_env: None,
        tree_bytes: None,
        created_at: at(0),
    }
}

pub fn full_repository() -> Repository {
    Repository {
        root: Some("/app".into()),
        url: text("https://forge.example/acme/app"),
        token_env: text("TOKEN"),
        tree_bytes: Some(1),
        ..bare_repository()
    }
}
