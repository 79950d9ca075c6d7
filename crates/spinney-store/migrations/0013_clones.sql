-- A repository is what people work on; a clone of it is a directory on one machine. Nodes and jobs are told apart from what
-- they were before.

CREATE TABLE clones (
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    account TEXT NOT NULL REFERENCES accounts (name),
    node TEXT NOT NULL REFERENCES nodes (id),
    -- What the clone's own git dir says that it is; none until it is next used.
    id TEXT,
    common_dir TEXT NOT NULL,
    root TEXT,
    managed BIGINT NOT NULL,
    tree_bytes BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (repository_id, node)
);

INSERT INTO clones (repository_id, account, node, id, common_dir, root, managed, tree_bytes, created_at)
    SELECT id, account, node, NULL, common_dir, root, managed, tree_bytes, created_at FROM repositories;

CREATE UNIQUE INDEX clones_by_id ON clones (account, node, id);
CREATE INDEX clones_by_place ON clones (account, node, common_dir);

-- only SQLite: it can't drop a column that is part of a constraint, and keeps the references by their text.
CREATE TABLE repositories_after (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (name),
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    url TEXT,
    token_env TEXT,
    created_at BIGINT NOT NULL
);
INSERT INTO repositories_after (id, account, owner, name, url, token_env, created_at)
    SELECT id, account, owner, name, url, token_env, created_at FROM repositories;
DROP TABLE repositories;
ALTER TABLE repositories_after RENAME TO repositories;

-- only PostgreSQL
ALTER TABLE repositories DROP COLUMN node;
ALTER TABLE repositories DROP COLUMN common_dir;
ALTER TABLE repositories DROP COLUMN root;
ALTER TABLE repositories DROP COLUMN managed;
ALTER TABLE repositories DROP COLUMN tree_bytes;

-- both
-- `host/path` of the remote, by which clones on different machines are one repository.
ALTER TABLE repositories ADD COLUMN remote TEXT;
CREATE INDEX repositories_by_remote ON repositories (account, remote);

-- Its last two parts, in small letters: what a forge's message names.
ALTER TABLE repositories ADD COLUMN slug TEXT;
CREATE INDEX repositories_by_slug ON repositories (account, slug);

ALTER TABLE nodes ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
ALTER TABLE nodes ADD COLUMN seen_at BIGINT;

-- How often a job was given to somebody: whoever has an older number has lost it.
ALTER TABLE jobs ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
UPDATE jobs SET fence = attempt;
