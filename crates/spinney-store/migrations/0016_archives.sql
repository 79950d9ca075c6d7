-- What the archives of a workspace take on disk, as far as it was measured; none where it has no archive.
ALTER TABLE workspaces ADD COLUMN archive_bytes BIGINT;
