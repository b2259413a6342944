//! The keys of `_meta`: how they are spelled, which are reserved, and which ones the schemas name.

use std::collections::BTreeSet;

use tap_protocol::meta::{
    META_KEYS, MODEL_IMMEDIATE_RESPONSE, MetaKey, MetaPlace, PROGRESS_TOKEN, RELATED_TASK, key_is_reserved,
    key_is_well_formed, meta_key,
};
use tap_protocol::{MethodKind, Revision};

use crate::schema::{self, assert_same};

#[test]
fn a_key_is_labels_a_slash_and_a_name() {
    for (key, expected) in [
        ("", true),
        ("progressToken", true),
        ("a", true),
        ("a.b_c-d", true),
        ("9lives", true),
        ("-a", false),
        ("a-", false),
        ("_a", false),
        (".a", false),
        ("a b", false),
        ("é", false),
        ("com.example/", true),
        ("com.example/name", true),
        ("com.example/-name", false),
        ("com.example/a/b", false),
        ("example/name", true),
        ("c/name", true),
        ("c-1.d2/name", true),
        ("com.1example/name", false),
        ("1com/name", false),
        ("com-/name", false),
        ("-com/name", false),
        ("com_x/name", false),
        ("com..example/name", false),
        (".com/name", false),
        ("com./name", false),
        ("/name", false),
        ("/", false),
        ("io.modelcontextprotocol/related-task", true),
    ] {
        assert_eq!(key_is_well_formed(key), expected, "{key:?}");
    }
}

#[test]
fn prefixes_are_reserved_by_the_rule_of_their_revision() {
    for (key, in_2025_06_18, later) in [
        ("modelcontextprotocol.io/x", true, false),
        ("mcp.dev/x", true, false),
        ("api.modelcontextprotocol.org/x", true, true),
        ("tools.mcp.com/x", true, true),
        ("io.modelcontextprotocol/x", false, true),
        ("dev.mcp/x", false, true),
        ("org.modelcontextprotocol.api/x", true, true),
        ("com.mcp.tools/x", true, true),
        ("com.example.mcp/x", false, false),
        ("com.example.mcp.org/x", true, false),
        ("mcp/x", false, false),
        ("com.mcpx/x", false, false),
        ("com.example/mcp.dev", false, false),
        ("mcp.dev", false, false),
    ] {
        for (revision, expected) in [
            (Revision::V2024_11_05, false),
            (Revision::V2025_03_26, false),
            (Revision::V2025_06_18, in_2025_06_18),
            (Revision::V2025_11_25, later),
            (Revision::V2026_07_28, later),
        ] {
            assert_eq!(key_is_reserved(key, revision), expected, "{key:?} in {revision}");
        }
    }
}

#[test]
fn bare_keys_are_reserved_where_they_have_a_meaning() {
    for revision in Revision::ALL {
        assert!(key_is_reserved(PROGRESS_TOKEN, revision));
        assert_eq!(key_is_reserved("traceparent", revision), revision == Revision::V2026_07_28);
        assert!(!key_is_reserved("mine", revision));
    }
}

#[test]
fn known_keys_are_well_formed_reserved_and_there_once() {
    for (index, row) in META_KEYS.iter().enumerate() {
        assert!(key_is_well_formed(row.name), "{row:?}");
        assert!(META_KEYS.iter().skip(index + 1).all(|other| other.name != row.name), "{row:?}");
        assert_eq!(meta_key(row.name), Some(row));
        assert!(row.revisions.iter().all(|revision| key_is_reserved(row.name, revision)), "{row:?}");
    }
    assert_eq!(meta_key("com.example/x"), None);
}

/// Keys that the pages define and no schema lists among the members of `_meta`.
fn is_of_pages(row: &MetaKey) -> bool {
    let is_of_task = row.name == RELATED_TASK || row.name == MODEL_IMMEDIATE_RESPONSE;
    is_of_task || ["traceparent", "tracestate", "baggage"].contains(&row.name)
}

#[test]
fn keys_stand_where_the_schemas_have_them() {
    for schema in schema::all().into_iter().flatten() {
        let mut in_schema = BTreeSet::new();
        for message in schema.messages().into_values() {
            let place = match message.kind {
                MethodKind::Request => MetaPlace::Request,
                MethodKind::Notification => MetaPlace::Notification,
            };
            let results = schema.results(&message).into_iter().map(|result| (MetaPlace::Result, result));
            for (place, root) in results.chain([(place, message.params)]) {
                for meta in schema.at(root, &["_meta"]).into_iter().flat_map(|meta| schema.shapes(meta)) {
                    let keys = meta["properties"].as_object().into_iter().flatten();
                    in_schema.extend(keys.map(|(key, _)| (key.clone(), format!("{place:?}"))));
                }
            }
        }
        let rows = META_KEYS.iter().filter(|row| row.revisions.contains(schema.revision) && !is_of_pages(row));
        let in_table = rows.flat_map(|row| row.places.iter().map(|place| (row.name.to_owned(), format!("{place:?}"))));
        assert_same(&in_table.collect(), &in_schema, &format!("keys of _meta in {}", schema.revision));
    }
}
