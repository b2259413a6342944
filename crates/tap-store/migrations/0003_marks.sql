-- What people say about recordings. Nothing of it was on the wire.
-- This file has landed: it is frozen (a test holds its hash). Change the schema with a new migration.

-- The one name by which a person calls a session.
CREATE TABLE label (
    session  INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
    label    TEXT    NOT NULL UNIQUE                -- letters, digits, '-', '_', '.'
) STRICT;

-- Marks on messages: some have a name, some a note.
CREATE TABLE mark (
    session  INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    seq      INTEGER NOT NULL,
    member   INTEGER NOT NULL,                      -- 0: the frame; from 1: a member of a batch
    name     TEXT,                                  -- letters, digits, '-', '_', '.'
    note     TEXT,
    PRIMARY KEY (session, seq, member),
    UNIQUE (session, name)
) STRICT, WITHOUT ROWID;

-- Sessions that were deleted: their numbers are never given again, and what is left of them is to go.
CREATE TABLE deleted (
    session  INTEGER PRIMARY KEY
) STRICT;
