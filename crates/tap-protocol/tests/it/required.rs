//! Required members and their kinds, against each schema.

use std::collections::BTreeSet;

use serde_json::Value;
use tap_protocol::{
    Kind, METHODS, Member, MethodKind, Place, Revision, method, optional_members, required_params, required_result,
};

use crate::schema::{self, Schema, assert_same};

/// Compares the paths of the table with the `required` lists of a definition: at the top, and at each object below it
/// that the table has rows for.
#[track_caller]
fn check(schema: &Schema, definition: &Value, table: &[Member], what: &str) {
    check_kinds(schema, definition, table, what);
    let table: Vec<_> = table.iter().map(|member| member.path).collect();
    let parents = table.iter().filter_map(|path| path.split_last()).map(|(_, parent)| parent);
    let parents: BTreeSet<&[&str]> = parents.chain([&[][..]]).collect();
    for parent in parents {
        let below = table.iter().filter_map(|path| path.split_last()).filter(|(_, above)| *above == parent);
        let in_table: BTreeSet<String> = below.map(|(last, _)| (*last).to_owned()).collect();
        let objects = schema.at(definition, parent);
        assert!(!objects.is_empty(), "{what}: the schema has no {parent:?}");
        let required = objects.into_iter().map(|object| schema.required(object));
        let in_schema = required.reduce(|left, right| &left & &right).unwrap_or_default();
        assert_same(&in_table, &in_schema, &format!("{what} {parent:?} in {}", schema.revision));
    }
}

/// Compares the kinds of the table with the types of a definition.
#[track_caller]
fn check_kinds(schema: &Schema, definition: &Value, table: &[Member], what: &str) {
    for member in table {
        if member.kind == Kind::Any {
            continue;
        }
        let found = schema.at(definition, member.path);
        let types: BTreeSet<&str> = found.into_iter().flat_map(|node| schema.types(node)).collect();
        let types: Vec<_> = types.into_iter().collect();
        let kind = match *types {
            ["string"] => Kind::Text,
            ["number"] | ["integer"] => Kind::Number,
            ["integer" | "null", "null" | "number"] => Kind::NumberOrNull,
            ["boolean"] => Kind::Boolean,
            ["array"] => Kind::List,
            ["object"] => Kind::Object,
            _ => Kind::Any,
        };
        assert_eq!(member.kind, kind, "{what} {:?} in {}: {types:?}", member.path, schema.revision);
    }
}

#[test]
fn optional_members_are_of_the_kind_that_the_schema_says() {
    for schema in schema::all().into_iter().flatten() {
        for message in schema.messages().into_values() {
            let what = format!("optional of {}", message.name);
            check_kinds(&schema, message.params, optional_members(message.name, Place::Params), &what);
            if let Some(definition) = schema.plain_result(&message) {
                check_kinds(&schema, definition, optional_members(message.name, Place::Result), &what);
            }
        }
    }
    for row in METHODS {
        for place in [Place::Params, Place::Result] {
            for member in optional_members(row.name, place) {
                let required = |revision| match place {
                    Place::Params => required_params(row.name, revision),
                    Place::Result => required_result(row.name, revision),
                };
                let is_required = |revision| required(revision).iter().any(|required| required.path == member.path);
                assert!(!Revision::ALL.into_iter().any(is_required), "{} {member:?}", row.name);
            }
        }
    }
}

#[test]
fn required_params_are_those_of_the_schema() {
    for schema in schema::all().into_iter().flatten() {
        for message in schema.messages().into_values() {
            let table = required_params(message.name, schema.revision);
            check(&schema, message.params, table, &format!("params of {}", message.name));
        }
    }
}

#[test]
fn required_results_are_those_of_the_schema() {
    for schema in schema::all().into_iter().flatten() {
        for message in schema.messages().into_values() {
            let table = required_result(message.name, schema.revision);
            let what = format!("result of {}", message.name);
            match schema.plain_result(&message) {
                Some(definition) => check(&schema, definition, table, &what),
                None => assert_eq!(table, <&[Member]>::default(), "{what}: a notification has none"),
            }
        }
    }
}

#[test]
fn nothing_is_required_of_a_method_where_it_is_not() {
    for revision in Revision::ALL {
        for row in METHODS {
            let is_here = row.revisions().union(row.embedded).contains(revision);
            let n_required = required_params(row.name, revision).len() + required_result(row.name, revision).len();
            assert!(is_here || n_required == 0, "{} in {revision}", row.name);
        }
        assert!(required_params("unknown", revision).is_empty());
        assert!(required_result("", revision).is_empty());
    }
}

#[test]
fn every_modern_request_carries_its_version_and_every_modern_result_its_type() {
    let revision = Revision::LATEST;
    for row in METHODS.iter().filter(|row| row.kind == MethodKind::Request && row.revisions().contains(revision)) {
        let has = |table: &[Member], path: &[&str]| table.iter().any(|member| member.path == path);
        let (params, result) = (required_params(row.name, revision), required_result(row.name, revision));
        assert!(has(params, &["_meta", tap_protocol::meta::PROTOCOL_VERSION]), "{}", row.name);
        assert!(has(result, &["resultType"]), "{}", row.name);
        let has_hints = has(result, &["ttlMs"]);
        let is_task = row.name == "tasks/get";
        assert_eq!(has_hints, row.cacheable || is_task, "{}", row.name);
    }
    assert!(method("roots/list").is_some_and(|row| row.embedded.contains(revision)));
    assert_eq!(required_params("roots/list", revision), <&[Member]>::default(), "embedded requests have no `_meta`");
}
