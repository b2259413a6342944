-- Recordings over HTTP: `transport` may be 'http', `command` then holds the server's URL or the command behind it,
-- `end_reason` may be 'stopped', and segments may hold pieces of HTTP exchanges (see tap-frame, segment.rs).
-- No table changes; the number of the schema keeps older versions from reading what they do not understand.
SELECT 1;
