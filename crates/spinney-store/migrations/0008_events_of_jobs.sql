-- Events tell which job they are about; the audit log is looked at by workspace and by job.

ALTER TABLE events ADD COLUMN job_id TEXT;

CREATE INDEX events_by_workspace ON events (workspace_id, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX events_by_job ON events (job_id, id) WHERE job_id IS NOT NULL;
