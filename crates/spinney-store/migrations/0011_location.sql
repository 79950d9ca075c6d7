-- An answer that says where to go on says so again.

ALTER TABLE idempotency_keys ADD COLUMN location TEXT;
