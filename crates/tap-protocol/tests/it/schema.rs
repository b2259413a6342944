//! The JSON Schemas of the revisions, where they are at hand, and ways to walk them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use tap_protocol::{MethodKind, Revision, Side};

/// Names from a schema down, with `[]` for the elements of an array and `{}` for the members of an open object.
pub(crate) type Steps = Vec<String>;

/// The schema of one revision.
pub(crate) struct Schema {
    pub(crate) revision: Revision,
    definitions: Value,
}

/// A method as a schema has it.
pub(crate) struct Message<'a> {
    pub(crate) name: &'a str,
    /// The name of its definition, such as `CallToolRequest`.
    pub(crate) definition: &'a str,
    pub(crate) kind: MethodKind,
    /// The definition of its params; null where it has none.
    pub(crate) params: &'a Value,
}

/// Every schema, oldest first; `None`, with the reason printed, where the folder is not there.
pub(crate) fn all() -> Option<Vec<Schema>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/schema");
    if !folder.is_dir() {
        println!("skipped: no schemas at {}", folder.display());
        return None;
    }
    let read = |revision: Revision| {
        let text = std::fs::read_to_string(folder.join(format!("{revision}.json"))).unwrap();
        let mut schema: Value = serde_json::from_str(&text).unwrap();
        let key = if schema["$defs"].is_object() { "$defs" } else { "definitions" };
        Schema { revision, definitions: schema[key].take() }
    };
    Some(Revision::ALL.into_iter().map(read).collect())
}

impl Schema {
    /// The definition of that name.
    #[track_caller]
    pub(crate) fn definition(&self, name: &str) -> &Value {
        self.find(name).unwrap_or_else(|| panic!("no definition {name} in {}", self.revision))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Value> {
        self.definitions.get(name)
    }

    /// Every definition, by name.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.definitions.as_object().unwrap().iter().map(|(name, definition)| (name.as_str(), definition))
    }

    /// What a definition is in the end: one shape, or each that it may have. Parts of an `allOf` count as shapes too.
    pub(crate) fn shapes<'a>(&'a self, node: &'a Value) -> Vec<&'a Value> {
        if let Some(reference) = node["$ref"].as_str() {
            return self.shapes(self.definition(reference.rsplit('/').next().unwrap()));
        }
        let parts = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| node[key].as_array()).flatten();
        let mut shapes: Vec<&Value> = parts.flat_map(|part| self.shapes(part)).collect();
        if shapes.is_empty() || node["properties"].is_object() {
            shapes.push(node);
        }
        shapes
    }

    /// The types that a value of a definition may have; none where it says nothing.
    pub(crate) fn types<'a>(&'a self, node: &'a Value) -> BTreeSet<&'a str> {
        let shapes = self.shapes(node).into_iter();
        let types = shapes
            .flat_map(|shape| shape["type"].as_array().map_or(vec![&shape["type"]], |types| types.iter().collect()));
        types.filter_map(Value::as_str).collect()
    }

    /// The members that every shape of a definition requires.
    pub(crate) fn required(&self, node: &Value) -> BTreeSet<String> {
        if let Some(reference) = node["$ref"].as_str() {
            return self.required(self.definition(reference.rsplit('/').next().unwrap()));
        }
        let of_all = node["allOf"].as_array().into_iter().flatten().flat_map(|part| self.required(part));
        let alternatives = ["anyOf", "oneOf"].into_iter().filter_map(|key| node[key].as_array()).flatten();
        let of_each = alternatives.map(|part| self.required(part)).reduce(|left, right| &left & &right);
        let own = node["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned());
        own.chain(of_all).chain(of_each.unwrap_or_default()).collect()
    }

    /// The definitions at `path` below `node`, in whichever shape has them.
    pub(crate) fn at<'a>(&'a self, node: &'a Value, path: &[&str]) -> Vec<&'a Value> {
        let Some((step, rest)) = path.split_first() else { return vec![node] };
        let mut found = Vec::new();
        for shape in self.shapes(node) {
            let child = match *step {
                "[]" => &shape["items"],
                "{}" => &shape["additionalProperties"],
                name => &shape["properties"][name],
            };
            if !child.is_null() {
                found.extend(self.at(child, rest));
            }
        }
        found
    }

    /// Every path of named members below `node`; open objects and arrays are not entered.
    pub(crate) fn member_paths(&self, node: &Value) -> BTreeSet<Steps> {
        let mut paths = BTreeSet::new();
        for shape in self.shapes(node) {
            for (name, child) in shape["properties"].as_object().into_iter().flatten() {
                paths.insert(vec![name.clone()]);
                let below = self.member_paths(child).into_iter();
                paths.extend(below.map(|path| [vec![name.clone()], path].concat()));
            }
        }
        paths
    }

    /// Every path of at most `n_steps` below `node`, through arrays and open objects too.
    pub(crate) fn paths(&self, node: &Value, n_steps: usize) -> BTreeSet<Steps> {
        let mut paths = BTreeSet::new();
        let shapes = if n_steps == 0 { Vec::new() } else { self.shapes(node) };
        for shape in shapes {
            let named = shape["properties"].as_object().into_iter().flatten();
            let named = named.map(|(name, child)| (name.as_str(), child));
            let open = [("[]", &shape["items"]), ("{}", &shape["additionalProperties"])];
            for (step, child) in named.chain(open.into_iter().filter(|(_, child)| child.is_object())) {
                paths.insert(vec![step.to_owned()]);
                let below = self.paths(child, n_steps - 1).into_iter();
                paths.extend(below.map(|path| [vec![step.to_owned()], path].concat()));
            }
        }
        paths
    }

    /// Every string that `type`, or another member with a fixed value, has in the shapes of a definition.
    pub(crate) fn constants(&self, node: &Value, member: &str) -> BTreeSet<String> {
        let constant = |shape: &Value| shape["properties"][member]["const"].as_str().map(str::to_owned);
        self.shapes(node).into_iter().filter_map(constant).collect()
    }

    /// The strings of an `enum`.
    pub(crate) fn choices(&self, node: &Value) -> Vec<String> {
        let choices = node["enum"].as_array().into_iter().flatten();
        choices.map(|choice| choice.as_str().unwrap().to_owned()).collect()
    }

    /// Every request and notification of the revision, by name.
    pub(crate) fn messages(&self) -> BTreeMap<&str, Message<'_>> {
        // A union of one is the notification itself, under the name of the union.
        let definitions = self.definitions().filter(|(definition, _)| *definition != "ClientNotification");
        let messages = definitions.filter_map(|(definition, node)| {
            let name = node["properties"]["method"]["const"].as_str()?;
            let is_request = definition.ends_with("Request");
            let kind = if is_request { MethodKind::Request } else { MethodKind::Notification };
            Some((name, Message { name, definition, kind, params: &node["properties"]["params"] }))
        });
        messages.collect()
    }

    /// The names of the methods in one of the unions, such as `ClientRequest`; none where the union does not exist.
    pub(crate) fn union(&self, name: &str) -> BTreeSet<String> {
        self.find(name).map(|node| self.constants(node, "method")).unwrap_or_default()
    }

    /// The names of all methods that a side sends as messages of their own.
    pub(crate) fn sent_by(&self, side: Side) -> BTreeSet<String> {
        let (requests, notifications) = match side {
            Side::Client => ("ClientRequest", "ClientNotification"),
            Side::Server => ("ServerRequest", "ServerNotification"),
        };
        &self.union(requests) | &self.union(notifications)
    }

    /// The result of a request when it is what the method is for.
    pub(crate) fn plain_result(&self, request: &Message<'_>) -> Option<&Value> {
        let name = match request.definition.replace("Request", "Result").as_str() {
            // These answer with nothing.
            "PingResult" | "SetLevelResult" | "SubscribeResult" | "UnsubscribeResult" => "EmptyResult".to_owned(),
            name => name.to_owned(),
        };
        (request.kind == MethodKind::Request).then(|| self.definition(&name))
    }

    /// Every result that a request may have: [`Self::plain_result`], a request for input, a task.
    pub(crate) fn results(&self, request: &Message<'_>) -> Vec<&Value> {
        let response = request.definition.replace("Request", "ResultResponse");
        let in_response = self.find(&response).map(|response| &response["properties"]["result"]);
        let can_be_task = !self.at(request.params, &["task"]).is_empty();
        let task = can_be_task.then(|| self.definition("CreateTaskResult"));
        self.plain_result(request).into_iter().chain(in_response).chain(task).collect()
    }
}

/// Asserts that a table and a schema name the same things, and names those that only one of them has.
#[track_caller]
pub(crate) fn assert_same<T: Ord + std::fmt::Debug>(table: &BTreeSet<T>, schema: &BTreeSet<T>, what: &str) {
    let only_table: Vec<&T> = table.difference(schema).collect();
    let only_schema: Vec<&T> = schema.difference(table).collect();
    assert!(
        only_table.is_empty() && only_schema.is_empty(),
        "{what}:\n  only in the table: {only_table:?}\n  only in the schema: {only_schema:?}"
    );
}

/// Steps as owned names, so that they can be compared.
pub(crate) fn owned(path: &[&str]) -> Steps {
    path.iter().map(|step| (*step).to_owned()).collect()
}
