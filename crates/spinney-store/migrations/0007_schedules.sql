-- Schedules, as far as they have come, and the items of work sources that jobs hold.

-- What a node does for itself has neither a repository nor an agent: both are empty then.
CREATE TABLE schedules (
    account TEXT NOT NULL REFERENCES accounts (name),
    node TEXT NOT NULL REFERENCES nodes (id),
    repository_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    name TEXT NOT NULL,
    timing TEXT NOT NULL,
    planned_at BIGINT,
    asked BIGINT NOT NULL,
    paused BIGINT NOT NULL,
    pause_reason TEXT,
    failures BIGINT NOT NULL,
    last_started_at BIGINT,
    last_job_id TEXT,
    last_status TEXT,
    last_report TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account, node, repository_id, agent, name)
);

-- One holder an item, whatever the account, the node and the schedule.
CREATE TABLE claims (
    source TEXT NOT NULL,
    item TEXT NOT NULL,
    account TEXT NOT NULL REFERENCES accounts (name),
    node TEXT NOT NULL REFERENCES nodes (id),
    repository_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    schedule TEXT NOT NULL,
    job_id TEXT NOT NULL,
    work_source TEXT NOT NULL,
    since BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (source, item)
);

CREATE INDEX claims_by_account ON claims (account, node);
