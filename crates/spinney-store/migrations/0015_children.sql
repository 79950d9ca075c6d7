-- The job whose agent asked for a job; and until when a job counts as waiting for those that it asked for.
ALTER TABLE jobs ADD COLUMN parent TEXT;
ALTER TABLE jobs ADD COLUMN awaits_until BIGINT;

CREATE INDEX jobs_of_parent ON jobs (parent);
