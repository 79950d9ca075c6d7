-- Who did it, as JSON; none for what older versions wrote.
ALTER TABLE events ADD COLUMN actor TEXT;

-- Readers of the audit log that go on where they stopped: up to which event, and what they made of all before.
CREATE TABLE cursors (
    name TEXT NOT NULL,
    account TEXT NOT NULL REFERENCES accounts (name),
    position BIGINT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (name, account)
);

-- It was prose. Whoever waits writes it anew.
UPDATE jobs SET waits_for = NULL;
