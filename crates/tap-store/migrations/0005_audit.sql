-- The calls that a host of ours made (`route`, `agent`), and who allowed them. It stays when sessions are deleted.
-- This file has landed: it is frozen (a test holds its hash). Change the schema with a new migration.

CREATE TABLE audit (
    id            INTEGER PRIMARY KEY,
    run           TEXT    NOT NULL,                 -- the uuid of the session with the host, by which a run is told from others
    kind          TEXT    NOT NULL,                 -- the command: route, agent
    began_unix_ns INTEGER NOT NULL,
    server        TEXT    NOT NULL,
    tool          TEXT    NOT NULL,                 -- as its server calls it
    arguments     TEXT    NOT NULL,                 -- a JSON object, as it was sent
    allowed       INTEGER,                          -- 1 or 0; NULL: given up while somebody was asked
    decided_by    TEXT    NOT NULL,                 -- rule 2, a person, no rule
    asked_ns      INTEGER NOT NULL,                 -- how long a person was asked
    took_ns       INTEGER,                          -- NULL: it was not made
    outcome       TEXT    NOT NULL,                 -- result, tool error, error, no answer, not made, given up
    answer        TEXT                              -- the result, or what was said in its place; cut at 64 KiB
) STRICT;

CREATE INDEX audit_by_time ON audit (began_unix_ns);
