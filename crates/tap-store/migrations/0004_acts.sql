-- What a debugger did to the traffic: pieces of a new kind in segments (crates/tap-frame/src/segment.rs, act.rs). No table
-- changes. The version does, because a reader that does not know these pieces would take such a segment for damaged and
-- not show the rest of it.
-- This file has landed: it is frozen (a test holds its hash). Change the schema with a new migration.

SELECT 1;
