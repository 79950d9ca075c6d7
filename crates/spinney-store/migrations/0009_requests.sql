-- What requests to the daemon leave: long work that they began, and what was answered to those that may come again.

CREATE TABLE long_operations (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (name),
    node TEXT NOT NULL REFERENCES nodes (id),
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    result TEXT,
    created_at BIGINT NOT NULL,
    ended_at BIGINT
);

CREATE INDEX long_operations_by_time ON long_operations (created_at);
CREATE INDEX long_operations_running ON long_operations (node) WHERE status = 'running';

CREATE TABLE idempotency_keys (
    account TEXT NOT NULL REFERENCES accounts (name),
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    boot TEXT NOT NULL,
    subject TEXT NOT NULL,
    status BIGINT,
    answer TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, key)
);

CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);
