//! Words with a fixed meaning, against each schema.

use std::collections::BTreeSet;

use serde_json::Value;
use tap_protocol::{CACHE_SCOPES, ContentPlace, LOG_LEVELS, Revision, TASK_STATUSES, content_types};

use crate::schema::{self, Schema, assert_same};

fn set<const N: usize>(words: [&str; N]) -> BTreeSet<String> {
    words.into_iter().map(str::to_owned).collect()
}

/// The definitions of all content that may stand in a place.
fn contents(schema: &Schema, place: ContentPlace) -> Vec<&Value> {
    let below = |definition: &str, path: &[&str]| schema.at(schema.definition(definition), path);
    match place {
        ContentPlace::ToolOrPrompt => {
            [below("CallToolResult", &["content", "[]"]), below("PromptMessage", &["content"])].concat()
        }
        ContentPlace::Sampling => {
            [below("SamplingMessage", &["content"]), below("CreateMessageResult", &["content"])].concat()
        }
    }
}

#[test]
fn blocks_of_content_have_the_types_of_the_schema() {
    for schema in schema::all().into_iter().flatten() {
        for place in [ContentPlace::ToolOrPrompt, ContentPlace::Sampling] {
            let in_table = content_types(place, schema.revision).iter().map(|name| (*name).to_owned()).collect();
            for content in contents(&schema, place) {
                let in_schema = schema.constants(content, "type");
                assert_same(&in_table, &in_schema, &format!("{place:?} of {}", schema.revision));
            }
        }
    }
}

#[test]
fn content_inside_a_tool_result_block_is_that_of_tools() {
    for schema in schema::all().into_iter().flatten() {
        let Some(block) = schema.find("ToolResultContent") else { continue };
        for content in schema.at(block, &["content", "[]"]) {
            let types = content_types(ContentPlace::ToolOrPrompt, schema.revision);
            let in_table = types.iter().map(|name| (*name).to_owned()).collect();
            assert_same(&in_table, &schema.constants(content, "type"), &schema.revision.to_string());
        }
    }
}

#[test]
fn levels_are_those_of_the_schema() {
    for schema in schema::all().into_iter().flatten() {
        let in_schema = schema.choices(schema.definition("LoggingLevel")).into_iter().collect();
        assert_same(&set(LOG_LEVELS), &in_schema, &format!("levels of {}", schema.revision));
    }
}

#[test]
fn statuses_of_tasks_are_those_of_the_schema() {
    let n_found = schema::all().into_iter().flatten().filter(|schema| {
        let statuses = schema.find("TaskStatus");
        if let Some(statuses) = statuses {
            assert_eq!(schema.revision, Revision::V2025_11_25);
            assert_same(&set(TASK_STATUSES), &schema.choices(statuses).into_iter().collect(), "statuses");
        }
        statuses.is_some()
    });
    assert!(n_found.count() <= 1);
}

#[test]
fn scopes_of_caches_are_those_of_the_schema() {
    for schema in schema::all().into_iter().flatten() {
        let Some(cacheable) = schema.find("CacheableResult") else { continue };
        for scope in schema.at(cacheable, &["cacheScope"]) {
            let in_schema: BTreeSet<String> = schema.choices(scope).into_iter().collect();
            assert_same(&set(CACHE_SCOPES), &in_schema, "cacheScope");
        }
    }
}
