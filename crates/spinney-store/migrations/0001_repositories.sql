-- Who works, on which machine, and on which repositories.

CREATE TABLE accounts (
    name TEXT NOT NULL PRIMARY KEY
);

INSERT INTO accounts (name) VALUES ('local');

CREATE TABLE nodes (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE repositories (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (name),
    node TEXT NOT NULL REFERENCES nodes (id),
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    common_dir TEXT NOT NULL,
    root TEXT,
    url TEXT,
    managed BIGINT NOT NULL,
    token_env TEXT,
    tree_bytes BIGINT,
    created_at BIGINT NOT NULL,
    UNIQUE (account, node, common_dir),
    UNIQUE (account, node, owner, name)
);

CREATE TABLE trusts (
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    hash TEXT NOT NULL,
    trusted_at BIGINT NOT NULL,
    PRIMARY KEY (repository_id, hash)
);
