-- Ports that workspaces hold on their machine, and the audit log.

CREATE TABLE ports (
    node TEXT NOT NULL REFERENCES nodes (id),
    port BIGINT NOT NULL,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    PRIMARY KEY (node, port)
);

CREATE INDEX ports_by_workspace ON ports (workspace_id);

-- The log outlives what it tells about, so it references neither workspaces nor repositories.
CREATE TABLE events (
    id {identity},
    account TEXT NOT NULL REFERENCES accounts (name),
    kind TEXT NOT NULL,
    workspace_id TEXT,
    repository_id TEXT,
    detail TEXT NOT NULL,
    at BIGINT NOT NULL
);

CREATE INDEX events_by_account ON events (account, id);
