-- Whose the files of a workspace are: what Spinney put there, and what was there when a job began. Both as JSON.

CREATE TABLE brought (
    workspace_id TEXT NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    record TEXT NOT NULL
);

CREATE TABLE beginnings (
    workspace_id TEXT NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    record TEXT NOT NULL
);
