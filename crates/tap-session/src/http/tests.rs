//! Tests of HTTP: scripts, races, both eras, and hostile input.
