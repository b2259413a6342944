//! Error codes, against each schema.

use std::collections::BTreeSet;

use serde_json::Value;
use tap_protocol::{
    ERROR_CODES, ErrorCode, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR,
    RESOURCE_NOT_FOUND, Revision, USER_REJECTED, error_code, is_json_rpc_range, is_reserved_for_specification,
};

use crate::schema::{self, assert_same};

/// What JSON-RPC itself defines. Schemas before 2026-07-28 leave these out; their TypeScript has them.
const OF_JSON_RPC: [i64; 5] = [PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR];

/// What only the pages of the specification name.
const OF_PAGES: [i64; 2] = [RESOURCE_NOT_FOUND, USER_REJECTED];

/// Every integer that a `code` member must be, anywhere below.
fn codes(node: &Value, found: &mut BTreeSet<i64>) {
    found.extend(node["properties"]["code"]["const"].as_i64());
    match node {
        Value::Array(items) => items.iter().for_each(|item| codes(item, found)),
        Value::Object(members) => members.values().for_each(|member| codes(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn codes_are_those_of_the_schema_of_json_rpc_and_of_the_pages() {
    for schema in schema::all().into_iter().flatten() {
        let mut in_schema = BTreeSet::from(OF_JSON_RPC);
        schema.definitions().for_each(|(_, definition)| codes(definition, &mut in_schema));
        let is_here = |row: &&ErrorCode| row.revisions.contains(schema.revision) && !OF_PAGES.contains(&row.code);
        let in_table: BTreeSet<i64> = ERROR_CODES.iter().filter(is_here).map(|row| row.code).collect();
        assert_same(&in_table, &in_schema, &format!("error codes of {}", schema.revision));
    }
}

#[test]
fn the_latest_schema_names_the_errors_as_the_table_does() {
    let Some(schema) = schema::all().and_then(|mut schemas| schemas.pop()) else { return };
    for (name, definition) in schema.definitions().filter(|(name, _)| name.ends_with("Error")) {
        let mut found = BTreeSet::new();
        codes(definition, &mut found);
        for code in found {
            let row = error_code(code, schema.revision).unwrap_or_else(|| panic!("{name}: {code}"));
            let in_table = row.name.strip_suffix("Error").unwrap_or(row.name);
            assert_eq!(name.strip_suffix("Error"), Some(in_table));
        }
    }
}

#[test]
fn json_rpcs_codes_are_in_every_revision() {
    for (code, revision) in OF_JSON_RPC.into_iter().flat_map(|code| Revision::ALL.map(|revision| (code, revision))) {
        assert!(error_code(code, revision).is_some(), "{code} in {revision}");
    }
}

#[test]
fn modern_codes_come_from_the_ranges_that_allow_them() {
    for row in ERROR_CODES.iter().filter(|row| row.revisions.contains(Revision::LATEST)) {
        let is_allowed = OF_JSON_RPC.contains(&row.code) || is_reserved_for_specification(row.code);
        assert!(is_allowed && is_json_rpc_range(row.code), "{row:?}");
    }
}
