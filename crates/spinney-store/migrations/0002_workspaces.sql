-- Workspaces, what they are for, and the journal of what is being done to them.

CREATE TABLE workspaces (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (name),
    node TEXT NOT NULL REFERENCES nodes (id),
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    title TEXT,
    provider TEXT NOT NULL,
    populate TEXT NOT NULL,
    path TEXT NOT NULL,
    branch TEXT NOT NULL,
    base_branch TEXT,
    base_commit TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    pushed BIGINT NOT NULL,
    pull_request TEXT,
    platform TEXT NOT NULL,
    pinned BIGINT NOT NULL,
    adopted_from TEXT,
    metadata TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_activity_at BIGINT NOT NULL,
    removed_at BIGINT
);

-- What is in the trash no longer holds its branch or its path.
CREATE UNIQUE INDEX workspaces_live_branch ON workspaces (repository_id, branch)
    WHERE status NOT IN ('trashed', 'purged');
CREATE UNIQUE INDEX workspaces_live_path ON workspaces (node, path)
    WHERE status NOT IN ('trashed', 'purged');

CREATE INDEX workspaces_by_repository ON workspaces (repository_id, status);
CREATE INDEX workspaces_by_account ON workspaces (account, status);

CREATE TABLE works (
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    PRIMARY KEY (repository_id, kind, key)
);

CREATE INDEX works_by_workspace ON works (workspace_id);

CREATE TABLE conversations (
    account TEXT NOT NULL REFERENCES accounts (name),
    platform TEXT NOT NULL,
    id TEXT NOT NULL,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    PRIMARY KEY (account, platform, id)
);

CREATE INDEX conversations_by_workspace ON conversations (workspace_id);

CREATE TABLE operations (
    id TEXT NOT NULL PRIMARY KEY,
    node TEXT NOT NULL REFERENCES nodes (id),
    kind TEXT NOT NULL,
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    status TEXT NOT NULL,
    step TEXT NOT NULL,
    data TEXT NOT NULL,
    error TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX operations_open ON operations (node, created_at) WHERE status = 'open';
CREATE INDEX operations_by_workspace ON operations (workspace_id);
CREATE INDEX operations_by_repository ON operations (repository_id);

-- One change of a workspace at a time: whoever comes second inserts nothing.
CREATE UNIQUE INDEX operations_open_of_workspace ON operations (workspace_id) WHERE status = 'open';
