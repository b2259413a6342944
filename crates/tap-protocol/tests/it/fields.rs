//! Members that came and went, against each schema.

use std::collections::BTreeMap;

use tap_protocol::{ANY_METHOD, FIELDS, Field, Place, Revisions, method};

use crate::schema::{self, Schema, Steps};

/// Whether the schema has the field, in the method that it names or in any.
fn has(schema: &Schema, field: &Field) -> bool {
    let messages = schema.messages();
    let meant = messages.values().filter(|message| [ANY_METHOD, message.name].contains(&field.method));
    let mut roots = meant.flat_map(|message| match field.place {
        Place::Params => vec![message.params],
        Place::Result => schema.results(message),
    });
    roots.any(|root| !schema.at(root, field.path).is_empty())
}

/// The schemas say nothing about extensions.
fn is_of_extension(schema: &Schema, field: &Field) -> bool {
    method(field.method).is_some_and(|row| row.extension_in(schema.revision).is_some())
}

#[test]
fn a_field_is_in_the_schemas_that_its_row_names_and_in_no_other() {
    let mut wrong = Vec::new();
    for schema in schema::all().into_iter().flatten() {
        for field in FIELDS.iter().filter(|field| !is_of_extension(&schema, field)) {
            let in_table = field.revisions.contains(schema.revision);
            if has(&schema, field) != in_table {
                wrong.push(format!("{} has it: {}; {field:?}", schema.revision, !in_table));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a path needs no row although not every revision has it.
fn needs_no_row(path: &[&str]) -> bool {
    match path {
        // May be in every params and result, although older schemas list it in few.
        ["_meta", ..] => true,
        // Have a table of their own.
        ["capabilities", ..] => true,
        // An object became open, or a value an array: nothing has a name.
        [.., "[]" | "{}"] => true,
        // Any keyword is legal in a schema of the modern era, so its schema names none.
        [.., "inputSchema" | "outputSchema", "properties" | "required" | "type"] => true,
        // A member of a new type of content, as `content_types` tells.
        ["messages", "[]", "content", member] | ["content", "[]", member] | ["content", member] => {
            is_of_new_block(member)
        }
        _ => false,
    }
}

/// Whether a member came with `resource_link`, `tool_use` or `tool_result`.
fn is_of_new_block(member: &str) -> bool {
    let of_link = ["description", "name", "size", "title", "uri"];
    let of_tool_use = ["content", "id", "input", "isError", "structuredContent", "toolUseId"];
    of_link.contains(&member) || of_tool_use.contains(&member)
}

#[test]
fn every_member_that_came_or_went_has_a_row() {
    let Some(schemas) = schema::all() else { return };
    let mut methods: BTreeMap<String, Revisions> = BTreeMap::new();
    let mut members: BTreeMap<(String, Place, Steps), Revisions> = BTreeMap::new();
    for schema in &schemas {
        let here = Revisions::only(schema.revision);
        for message in schema.messages().into_values() {
            let add = |revisions: &mut Revisions| *revisions = revisions.union(here);
            add(methods.entry(message.name.to_owned()).or_insert(here));
            for (place, roots) in [(Place::Params, vec![message.params]), (Place::Result, schema.results(&message))] {
                for path in roots.into_iter().flat_map(|root| schema.paths(root, 7)) {
                    add(members.entry((message.name.to_owned(), place, path)).or_insert(here));
                }
            }
        }
    }
    let is_uneven = |method: &String, place: Place, path: &[String]| {
        let revisions = members.get(&(method.clone(), place, path.to_vec()));
        revisions.is_some_and(|revisions| *revisions != methods[method])
    };
    let mut missing = Vec::new();
    for ((method, place, path), revisions) in &members {
        let came_with_another = (1..path.len()).any(|n_steps| is_uneven(method, *place, &path[..n_steps]));
        if !is_uneven(method, *place, path) || came_with_another {
            continue;
        }
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let mut rows = tap_protocol::fields(method);
        if !needs_no_row(&path) && !rows.any(|row| row.place == *place && row.path == path) {
            missing.push(format!("{method} {place:?} {path:?}: {revisions}"));
        }
    }
    assert!(missing.is_empty(), "no row for:\n{}", missing.join("\n"));
}

#[test]
fn rows_stand_once_and_say_something() {
    let key = |field: &Field| (field.method, field.place, field.path);
    assert!(FIELDS.is_sorted_by(|left, right| key(left) < key(right)));
    for field in FIELDS {
        let of_method = method(field.method).map_or(Revisions::ALL, |row| row.revisions().union(row.embedded));
        assert!(!field.revisions.is_empty() && field.revisions != Revisions::ALL, "{field:?}");
        let is_whole_method = field.revisions == of_method;
        assert!(!is_whole_method, "{field:?} is there whenever its method is");
    }
}
