-- When accounts came to be, and what their callers show.

ALTER TABLE accounts ADD COLUMN created_at BIGINT NOT NULL DEFAULT 0;

UPDATE accounts SET created_at = (SELECT MIN(applied_at) FROM schema_migrations);

-- Never a secret: its hash alone.
CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (name),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT
);

CREATE INDEX tokens_by_account ON tokens (account, kind, created_at);
CREATE INDEX tokens_by_expiry ON tokens (expires_at);

-- A person tells tokens apart by their names.
CREATE UNIQUE INDEX tokens_name ON tokens (account, name) WHERE kind = 'api';
