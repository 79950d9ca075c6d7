-- Conversations outlive their workspaces, and deliveries are what platforms sent, until it is answered and for a while after.

ALTER TABLE conversations RENAME TO conversations_before;

CREATE TABLE conversations (
    account TEXT NOT NULL REFERENCES accounts (name),
    platform TEXT NOT NULL,
    id TEXT NOT NULL,
    workspace_id TEXT REFERENCES workspaces (id),
    repository TEXT,
    last_activity_at BIGINT NOT NULL,
    PRIMARY KEY (account, platform, id)
);

INSERT INTO conversations (account, platform, id, workspace_id, repository, last_activity_at)
    SELECT c.account, c.platform, c.id, c.workspace_id, NULL, w.last_activity_at
    FROM conversations_before c JOIN workspaces w ON w.id = c.workspace_id;

DROP TABLE conversations_before;

CREATE INDEX conversations_by_workspace ON conversations (workspace_id);

CREATE TABLE deliveries (
    number {identity},
    platform TEXT NOT NULL,
    id TEXT NOT NULL,
    account TEXT NOT NULL REFERENCES accounts (name),
    node TEXT NOT NULL REFERENCES nodes (id),
    conversation TEXT NOT NULL,
    subject TEXT,
    author TEXT NOT NULL,
    event TEXT NOT NULL,
    status TEXT NOT NULL,
    job_id TEXT,
    answer TEXT,
    received_at BIGINT NOT NULL,
    ended_at BIGINT,
    UNIQUE (platform, id)
);

CREATE INDEX deliveries_open ON deliveries (node, number) WHERE ended_at IS NULL;
CREATE INDEX deliveries_by_conversation ON deliveries (platform, conversation);
CREATE INDEX deliveries_by_end ON deliveries (ended_at);
