//! Tests of HTTP: captured traffic, scripts with races and both eras, hostile input.

mod captures;
mod reader;
