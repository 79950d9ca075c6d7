-- Jobs, and the sessions of their runtimes. Their record outlives the workspaces that they name.

CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (name),
    node TEXT NOT NULL REFERENCES nodes (id),
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    title TEXT,
    prompt TEXT NOT NULL,
    trigger_platform TEXT NOT NULL,
    status TEXT NOT NULL,
    waits_for TEXT,
    cancel TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    place TEXT,
    workspace_id TEXT,
    request TEXT NOT NULL,
    outcome TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT
);

CREATE INDEX jobs_unfinished ON jobs (node, created_at) WHERE status IN ('pending', 'running');
CREATE INDEX jobs_by_account ON jobs (account, created_at);
CREATE INDEX jobs_by_repository ON jobs (repository_id, created_at);
CREATE INDEX jobs_by_workspace ON jobs (workspace_id, created_at);

-- Jobs in one place run one after the other.
CREATE UNIQUE INDEX jobs_running_place ON jobs (node, place) WHERE status = 'running' AND place IS NOT NULL;

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs (id),
    workspace_id TEXT,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    runtime TEXT NOT NULL,
    conversation TEXT,
    resumed BIGINT NOT NULL,
    status TEXT NOT NULL,
    usage TEXT NOT NULL,
    context_tokens BIGINT,
    context_window BIGINT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT
);

CREATE INDEX sessions_by_job ON sessions (job_id, started_at);
CREATE INDEX sessions_by_workspace ON sessions (workspace_id, agent, started_at);
CREATE INDEX sessions_by_conversation ON sessions (conversation);
