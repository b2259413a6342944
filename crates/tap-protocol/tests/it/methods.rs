//! Methods: the table in itself, and against the unions of each schema.

use std::collections::BTreeSet;

use tap_protocol::{
    ANY_METHOD, FIELDS, METHODS, Method, MethodKind, Revision, Revisions, Senders, Side, TASKS_EXTENSION, capability,
    method,
};

use crate::schema::{self, assert_same};

/// The methods of the core that `side` may send in `revision`, by the table.
fn sent_by(revision: Revision, side: Side) -> BTreeSet<String> {
    let is_sent = |row: &&Method| row.may_send(revision, side) && row.extension_in(revision).is_none();
    METHODS.iter().filter(is_sent).map(|row| row.name.to_owned()).collect()
}

fn names(is_meant: impl Fn(&Method) -> bool) -> BTreeSet<String> {
    METHODS.iter().filter(|row| is_meant(row)).map(|row| row.name.to_owned()).collect()
}

#[test]
fn each_side_sends_what_its_unions_hold() {
    for schema in schema::all().into_iter().flatten() {
        for side in [Side::Client, Side::Server] {
            let in_schema = schema.sent_by(side);
            assert_same(&sent_by(schema.revision, side), &in_schema, &format!("{side:?} of {}", schema.revision));
        }
    }
}

#[test]
fn every_method_of_a_schema_is_sent_by_a_side_or_embedded() {
    for schema in schema::all().into_iter().flatten() {
        let in_schema: BTreeSet<String> = schema.messages().into_keys().map(str::to_owned).collect();
        let in_table = names(|row| {
            let is_sent = row.revisions().contains(schema.revision) && row.extension_in(schema.revision).is_none();
            is_sent || row.embedded.contains(schema.revision)
        });
        assert_same(&in_table, &in_schema, &format!("methods of {}", schema.revision));
    }
}

#[test]
fn embedded_requests_are_those_of_the_union() {
    for schema in schema::all().into_iter().flatten() {
        let in_table = names(|row| row.embedded.contains(schema.revision));
        assert_same(&in_table, &schema.union("InputRequest"), &format!("InputRequest of {}", schema.revision));
    }
}

#[test]
fn a_method_is_of_the_kind_that_its_definition_says() {
    for schema in schema::all().into_iter().flatten() {
        for message in schema.messages().into_values() {
            assert_eq!(method(message.name).unwrap().kind, message.kind, "{}", message.name);
        }
    }
}

#[test]
fn lists_with_pages_take_a_cursor() {
    for schema in schema::all().into_iter().flatten() {
        for message in schema.messages().into_values() {
            let takes_cursor = !schema.at(message.params, &["cursor"]).is_empty();
            assert_eq!(method(message.name).unwrap().paginated, takes_cursor, "{}", message.name);
        }
    }
}

#[test]
fn results_with_cache_hints_and_further_rounds_are_those_of_the_schema() {
    let Some(schemas) = schema::all() else { return };
    let modern = schemas.iter().filter(|schema| Revisions::MODERN.contains(schema.revision));
    for schema in modern {
        for message in schema.messages().into_values().filter(|message| message.kind == MethodKind::Request) {
            let has_member = |name: &str| schema.results(&message).iter().any(|r| !schema.at(r, &[name]).is_empty());
            let row = method(message.name).unwrap();
            assert_eq!(row.cacheable, has_member("ttlMs") && has_member("cacheScope"), "{}: hints", message.name);
            assert_eq!(row.rounds, has_member("inputRequests"), "{}: rounds", message.name);
            assert_eq!(row.rounds, !schema.at(message.params, &["inputResponses"]).is_empty(), "{}", message.name);
        }
    }
}

#[test]
fn every_name_is_found_and_no_other() {
    assert!(METHODS.is_sorted_by(|left, right| left.name < right.name), "sorted, and each once");
    for row in METHODS {
        assert_eq!(method(row.name), Some(row));
    }
    for name in ["", "tools", "tools/lis", "tools/list/", "Tools/list", "zzz", ANY_METHOD] {
        assert_eq!(method(name), None, "{name:?}");
    }
}

#[test]
fn a_row_is_of_one_piece() {
    for row in METHODS {
        let name = row.name;
        let revisions = row.revisions();
        let n_rows: usize = row.senders.iter().map(|(revisions, _)| revisions.iter().count()).sum();
        assert_eq!(n_rows, revisions.iter().count(), "{name}: one row of senders for a revision");
        assert!(!revisions.is_empty(), "{name} is in no revision");
        assert!(row.embedded.intersection(revisions).is_empty(), "{name} is embedded, or a message of its own");
        assert_eq!(row.kind == MethodKind::Notification, name.starts_with("notifications/"), "{name}");
        assert_eq!(row.cancellable, row.kind == MethodKind::Request && name != "initialize", "{name}");
        assert_eq!(row.replaced_by.is_some(), !revisions.contains(Revision::LATEST), "{name}: what came after it?");
        assert!(row.extension.is_none_or(|extension| extension.revisions.is_subset_of(revisions)), "{name}");
    }
}

#[test]
fn needs_name_capabilities_of_their_revisions_and_hold_where_the_method_is_sent() {
    for row in METHODS {
        for need in row.needs {
            let what = format!("{} needs {:?}", row.name, need.path);
            match need.path {
                ["extensions", extension, ..] => {
                    assert_eq!(row.extension.map(|own| own.name), Some(*extension), "{what}");
                    assert!(need.revisions.is_subset_of(Revisions::MODERN), "{what}");
                }
                path => {
                    let declared = capability(need.declared_by, path).unwrap_or_else(|| panic!("{what}"));
                    assert!(need.revisions.is_subset_of(declared.revisions), "{what}");
                }
            }
            for revision in need.revisions.iter() {
                let is_embedded = row.embedded.contains(revision) && need.sender == Side::Server;
                assert!(row.may_send(revision, need.sender) || is_embedded, "{what} in {revision}");
            }
        }
    }
}

#[test]
fn the_same_name_is_the_cores_in_one_revision_and_an_extensions_in_another() {
    for name in ["tasks/get", "tasks/cancel"] {
        let row = method(name).unwrap();
        assert_eq!(row.extension_in(Revision::V2025_11_25), None);
        assert_eq!(row.extension_in(Revision::V2026_07_28), Some(TASKS_EXTENSION));
        for (revision, side, expected) in [
            (Revision::V2025_06_18, Side::Client, false),
            (Revision::V2025_11_25, Side::Client, true),
            (Revision::V2025_11_25, Side::Server, true),
            (Revision::V2026_07_28, Side::Client, true),
            (Revision::V2026_07_28, Side::Server, false),
        ] {
            assert_eq!(row.may_send(revision, side), expected, "{name}: {side:?} in {revision}");
        }
    }
}

#[test]
fn needs_are_asked_for_one_revision_and_one_sender() {
    let paths = |name: &str, revision, side| {
        let needs = method(name).unwrap().needs(revision, side);
        needs.map(|need| (need.declared_by, need.path.join("."))).collect::<Vec<_>>()
    };
    let extension = format!("extensions.{TASKS_EXTENSION}");
    for (name, revision, side, expected) in [
        ("completion/complete", Revision::V2024_11_05, Side::Client, vec![]),
        ("completion/complete", Revision::V2025_03_26, Side::Client, vec![(Side::Server, "completions")]),
        ("tasks/list", Revision::V2025_11_25, Side::Client, vec![(Side::Server, "tasks.list")]),
        ("tasks/list", Revision::V2025_11_25, Side::Server, vec![(Side::Client, "tasks.list")]),
        ("roots/list", Revision::V2026_07_28, Side::Server, vec![(Side::Client, "roots")]),
        (
            "notifications/roots/list_changed",
            Revision::V2025_06_18,
            Side::Client,
            vec![(Side::Client, "roots.listChanged")],
        ),
        (
            "notifications/tools/list_changed",
            Revision::V2026_07_28,
            Side::Server,
            vec![(Side::Server, "tools.listChanged")],
        ),
        (
            "tasks/get",
            Revision::V2026_07_28,
            Side::Client,
            vec![(Side::Server, extension.as_str()), (Side::Client, extension.as_str())],
        ),
        ("ping", Revision::V2025_06_18, Side::Server, vec![]),
    ] {
        let found = paths(name, revision, side);
        let found: Vec<_> = found.iter().map(|(side, path)| (*side, path.as_str())).collect();
        assert_eq!(found, expected, "{name}: {side:?} in {revision}");
    }
}

#[test]
fn both_senders_include_either_side() {
    for side in [Side::Client, Side::Server] {
        assert!(Senders::Both.include(side));
        assert_eq!(Senders::Client.include(side), side == Side::Client);
        assert_eq!(Senders::Server.include(side), side.other() == Side::Client);
    }
}

#[test]
fn fields_belong_to_methods_that_exist() {
    for field in FIELDS.iter().filter(|field| field.method != ANY_METHOD) {
        let row = method(field.method).unwrap_or_else(|| panic!("{field:?}"));
        assert!(field.revisions.is_subset_of(row.revisions().union(row.embedded)), "{field:?}");
    }
}
