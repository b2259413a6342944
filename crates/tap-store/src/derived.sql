-- What the frames meant. Built from the segments behind the recording, dropped and built again when this file or the
-- code that fills it changes (then DERIVED_VERSION goes up). Nothing in here is ground truth.
-- {schema} is `main`, or `temp` for a database that cannot be written.

CREATE TABLE {schema}.digest (
    session     INTEGER PRIMARY KEY,
    position    TEXT    NOT NULL,                   -- where the reading stands, JSON
    finished    INTEGER NOT NULL,                   -- 1: the session is over and all of it is in here
    n_frames    INTEGER NOT NULL,
    n_messages  INTEGER NOT NULL,                   -- frames on stdin and stdout; over HTTP, messages of MCP
    n_calls     INTEGER NOT NULL,
    n_errors    INTEGER NOT NULL,                   -- calls answered with an error or a tool error, and lines that are no message
    n_bytes     INTEGER NOT NULL,
    client      TEXT,                               -- name and version as it introduced itself
    server      TEXT,
    revision    TEXT
) STRICT;

CREATE TABLE {schema}.message (
    session     INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    member      INTEGER NOT NULL,                   -- 0: the frame; from 1: a member of a batch
    wall_ns     INTEGER NOT NULL,
    at_ns       INTEGER NOT NULL,
    stream      INTEGER NOT NULL,                   -- 0 to server, 1 to client, 2 stderr
    kind        INTEGER NOT NULL,                   -- tap-session, row.rs
    raw_id      BLOB,                               -- as written
    method      TEXT,                               -- of an answer: of what it answers
    target      TEXT,                               -- name of the tool or prompt, uri of the resource
    status      INTEGER,                            -- tap-session, row.rs
    error_code  TEXT,                               -- as written
    pair_seq    INTEGER,                            -- the answer of a request, the request of an answer
    pair_member INTEGER,
    latency_ns  INTEGER,
    segment     INTEGER NOT NULL,                   -- where the frame's first byte lies
    start       INTEGER NOT NULL,
    length      INTEGER NOT NULL,
    frame_end   INTEGER NOT NULL,
    lost_bytes  INTEGER,                            -- of a gap
    notes       INTEGER NOT NULL,                   -- tap-jsonrpc, Notes
    exchange     INTEGER,                           -- from here on of HTTP alone
    conversation INTEGER,
    raw_part     INTEGER,                           -- tap-frame, HttpPart: what the bytes were made of
    raw_length   INTEGER,                           -- of that many bytes from `start` on
    raw_event    INTEGER,                           -- of an event: its number in the stream
    compressed   INTEGER,
    received     INTEGER,                           -- bytes of its stream that were received before it; not over HTTP
    deed         INTEGER,                           -- from here on where something was done: tap-frame, Deed
    made         INTEGER,                           -- 1: it is what was done, and nobody sent it
    fault        INTEGER,
    held_ns      INTEGER,
    done_seq     INTEGER,                           -- of a message the act, of an act the message
    done_by      TEXT,
    head_bytes   INTEGER,                           -- of an act: bytes of its text before what was sent
    waits        INTEGER,                           -- 1: its answer is that of what it stands for as well
    gone         INTEGER,                           -- 1: it did not get to the other side, so no answer is waited for
    PRIMARY KEY (session, seq, member)
) STRICT, WITHOUT ROWID;

-- What the list of calls shows: requests, what is no message though it should be one, and gaps.
-- Not `kind IN (…)`: for that SQLite makes a table of the five numbers again for each row that is put in, which took
-- longer than all the rest. The list has to say it in the same words, or the index is not used.
CREATE INDEX {schema}.message_call ON message (session, seq, member)
    WHERE (kind = 1 OR kind = 6 OR kind = 7 OR kind = 10 OR kind = 11);
-- Requests that wait for their answer.
CREATE INDEX {schema}.message_waiting ON message (session, seq, member)
    WHERE kind = 1 AND pair_seq IS NULL AND gone IS NULL;
-- What is held, and what was done.
CREATE INDEX {schema}.message_done ON message (session, seq, member) WHERE deed IS NOT NULL;
-- What belongs to an exchange, and to a session of MCP among many.
CREATE INDEX {schema}.message_exchange ON message (session, exchange, seq) WHERE exchange IS NOT NULL;
CREATE INDEX {schema}.message_conversation ON message (session, conversation, seq, member)
    WHERE conversation IS NOT NULL;

-- Exchanges of HTTP.
CREATE TABLE {schema}.exchange (
    session           INTEGER NOT NULL,
    number            INTEGER NOT NULL,
    connection        INTEGER NOT NULL,
    verb              TEXT    NOT NULL,
    target            TEXT    NOT NULL,
    request_version   TEXT    NOT NULL,
    request_fields    BLOB    NOT NULL,             -- a line each, `name: value`
    response_version  TEXT,
    response_fields   BLOB,
    status            INTEGER,
    opened_at_ns      INTEGER NOT NULL,
    request_end_at_ns INTEGER,
    connect_ns        INTEGER,
    server_version    TEXT,
    response_at_ns    INTEGER,
    first_byte_at_ns  INTEGER,
    ended_at_ns       INTEGER,
    end_code          INTEGER,                      -- tap-frame, HttpEnd
    request_bytes     INTEGER NOT NULL,
    response_bytes    INTEGER NOT NULL,
    lost_bytes        INTEGER NOT NULL,
    undecodable       INTEGER NOT NULL,
    conversation      INTEGER,
    request_seq       INTEGER,
    first_segment     INTEGER NOT NULL,
    last_segment      INTEGER NOT NULL,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;

-- Sessions of MCP inside a recording over HTTP.
CREATE TABLE {schema}.conversation (
    session     INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    kind        TEXT    NOT NULL,                   -- 'assigned', 'unassigned', 'endpoint', 'modern'
    held_by     TEXT,                               -- stand-in of its id, or its endpoint
    client      TEXT,
    server      TEXT,
    revision    TEXT,
    era         TEXT,
    first_seq   INTEGER NOT NULL,
    last_seq    INTEGER NOT NULL,
    n_messages  INTEGER NOT NULL,
    n_calls     INTEGER NOT NULL,
    n_errors    INTEGER NOT NULL,
    began_at_ns INTEGER NOT NULL,
    ended_at_ns INTEGER,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;
