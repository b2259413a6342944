//! Tests that the JSON Schema of the format is right: all that exports write fits it, and it names all that they write.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const SCHEMA: &str = include_str!("../../../../../docs/recording.schema.json");

/// The names of all members that the schema knows.
fn known(schema: &Value, names: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        names.extend(properties.keys().cloned());
    }
    for definition in schema.get("$defs").and_then(Value::as_object).into_iter().flat_map(Map::values) {
        known(definition, names);
    }
}

fn must_fit(text: &str) {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut names = BTreeSet::new();
    known(&schema, &mut names);
    for record in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        // A lone surrogate is no text for this reader; nothing of a record of ours.
        let Ok(record) = record else { return };
        if let Err(error) = validator.validate(&record) {
            panic!("{record}: {error}");
        }
        let unnamed: Vec<_> = record.as_object().unwrap().keys().filter(|name| !names.contains(*name)).collect();
        assert!(unnamed.is_empty(), "{unnamed:?} of {record}");
    }
}

fn all_forms(store: &Store) {
    for profile in [Profile::Lossless, Profile::Fixture] {
        for fold_columns in [0, FOLD_COLUMNS] {
            must_fit(&exported_as(
                store,
                &ExportOptions { profile, fold_columns, stderr: true, ..ExportOptions::default() },
            ));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn all_that_is_written_fits(segments in any_segments(), end in any_end()) {
        all_forms(&stored(&segments, end).0);
    }

    #[test]
    fn all_that_is_written_over_http_fits(pieces in crate::http_traffic::pieces(true)) {
        all_forms(&crate::traffic::http_stored(&crate::http_traffic::pack(&pieces, &[])).0);
    }
}

#[test]
fn recordings_of_the_project_fit_and_so_does_what_is_made_of_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    let mut n_read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.extension().is_some_and(|extension| extension == "jsonl" || extension == "mcprec") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        must_fit(&text);
        let (store, done) = imported(&text).unwrap();
        store.catch_up(done.session, |_| {}).unwrap();
        all_forms(&store);
        n_read += 1;
    }
    assert!(n_read >= 3, "{n_read}");
}

#[test]
fn what_is_no_record_does_not_fit() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for text in [
        r#"{"mcp-tap":"recording/4"}"#,
        r#"{"to":"nobody","msg":{}}"#,
        r#"{"to":"client"}"#,
        r#"{"to":"client","msg":1}"#,
        r#"{"to":"client","msg":{},"raw":""}"#,
        r#"{"to":"client","msg":{},"at":"1.0"}"#,
        r#"{"request":"POST /"}"#,
        r#"{"gaps_us":[-1]}"#,
        "[]",
    ] {
        assert!(!validator.is_valid(&serde_json::from_str(text).unwrap()), "{text}");
    }
}
