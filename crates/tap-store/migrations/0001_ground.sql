-- What was on the wire. Appended by recorders; nothing here is ever updated but how a session ended.
-- This file has landed: it is frozen (a test holds its hash). Change the schema with a new migration.

CREATE TABLE session (
    id              INTEGER PRIMARY KEY,
    uuid            TEXT    NOT NULL UNIQUE,        -- 32 hexadecimal digits
    name            TEXT    NOT NULL,               -- what a person calls the server
    command         TEXT    NOT NULL,               -- JSON array of strings
    folder          TEXT    NOT NULL,               -- working folder
    environment     TEXT    NOT NULL,               -- JSON array of names; values are never stored
    transport       TEXT    NOT NULL,               -- 'stdio'
    recorded_by     TEXT    NOT NULL,               -- 'mcp-tap 0.1.0'
    tap_pid         INTEGER,
    server_pid      INTEGER,
    opened_unix_ns  INTEGER NOT NULL,
    closed_at_ns    INTEGER,                        -- since it was opened; NULL: still open, or the tap was killed
    end_reason      TEXT,                           -- 'exited', 'killed', 'not started'
    end_code        INTEGER,                        -- exit code, or the signal's number
    end_text        TEXT,                           -- why it was not started
    lost_bytes      INTEGER NOT NULL DEFAULT 0      -- passed, but could not be recorded
) STRICT;

-- A stretch of traffic of all streams, in order; the layout of `pieces` is in tap-frame, segment.rs.
CREATE TABLE segment (
    id       INTEGER PRIMARY KEY,
    session  INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    number   INTEGER NOT NULL,                      -- from 0, without holes
    wall_ns  INTEGER NOT NULL,
    at_ns    INTEGER NOT NULL,
    pieces   BLOB    NOT NULL,
    bytes    BLOB    NOT NULL,
    UNIQUE (session, number)
) STRICT;
