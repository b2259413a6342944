//! Capabilities, against each schema.

use std::collections::BTreeSet;

use tap_protocol::{CAPABILITIES, Side, capability};

use crate::schema::{self, Steps, assert_same, owned};

#[test]
fn capabilities_are_those_of_the_schema() {
    for schema in schema::all().into_iter().flatten() {
        for (side, definition) in [(Side::Client, "ClientCapabilities"), (Side::Server, "ServerCapabilities")] {
            let rows = CAPABILITIES.iter().filter(|row| row.side == side && row.revisions.contains(schema.revision));
            let in_table: BTreeSet<Steps> = rows.map(|row| owned(row.path)).collect();
            let in_schema = schema.member_paths(schema.definition(definition));
            assert_same(&in_table, &in_schema, &format!("{definition} of {}", schema.revision));
        }
    }
}

#[test]
fn each_capability_stands_once_and_after_the_one_it_refines() {
    assert!(CAPABILITIES.is_sorted_by(|left, right| (left.side, left.path) < (right.side, right.path)));
    for row in CAPABILITIES {
        assert_eq!(capability(row.side, row.path), Some(row));
        let Some((_, above @ [_, ..])) = row.path.split_last() else { continue };
        let above = capability(row.side, above).unwrap_or_else(|| panic!("{row:?} refines nothing"));
        assert!(row.revisions.is_subset_of(above.revisions), "{row:?}");
    }
}
