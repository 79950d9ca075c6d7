-- What workspaces take on disk, and when that was measured.

ALTER TABLE workspaces ADD COLUMN size_bytes BIGINT;
ALTER TABLE workspaces ADD COLUMN size_at BIGINT;
