//! What all servers offer together: names that are unique, mapped back to server and original, and definitions with what
//! the host's rules say in the place of what the server says.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tap_jsonrpc::{Content, Node, scan, splice};
use tap_peer::{Item, ListKind, quoted, with_member};
use tap_schema::{Checked, Schema};

use crate::canonical::canonical;
use crate::naming::{Naming, is_valid};
use crate::rules::ServerRules;

/// How many things that do not fit are told at a time.
const TOLD: usize = 5;

/// How alike a name has to be to be told as what was meant.
const NEAR: f64 = 0.75;

/// What one server offers.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// What the host calls it.
    pub server: String,
    /// What the host's rules say of it.
    pub rules: ServerRules,
    /// Its lists, as it wrote them.
    pub lists: HashMap<ListKindKey, Vec<Item>>,
}

/// A kind of list, as a key of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListKindKey(u8);

impl From<ListKind> for ListKindKey {
    fn from(kind: ListKind) -> Self {
        Self(match kind {
            ListKind::Tools => 0,
            ListKind::Prompts => 1,
            ListKind::Resources => 2,
            ListKind::Templates => 3,
        })
    }
}

impl Offer {
    fn list(&self, kind: ListKind) -> &[Item] {
        self.lists.get(&kind.into()).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Something that is offered.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What it is called: of resources their address, of templates theirs.
    pub name: String,
    /// Whose it is, by the place among the offers.
    pub server: usize,
    /// What the server calls it.
    pub original: String,
    /// Its definition as it is shown, a JSON text.
    pub item: Bytes,
    judged: Arc<Judged>,
}

/// Schemas of a tool, read when they are first needed.
#[derive(Debug, Default)]
struct Judged {
    input: OnceLock<Option<Schema>>,
    output: OnceLock<Option<Schema>>,
}

impl Entry {
    fn new(name: String, server: usize, original: String, item: Bytes) -> Self {
        Self { name, server, original, item, judged: Arc::default() }
    }

    fn schema<'a>(&self, slot: &'a OnceLock<Option<Schema>>, member: &str) -> Option<&'a Schema> {
        let read = || Schema::compile(Node::new(&self.item).get(member)?.bytes()).ok();
        slot.get_or_init(read).as_ref()
    }

    /// What does not fit of a tool's arguments, with the place of each, for a model to act on. A schema that cannot be read
    /// takes everything.
    #[must_use]
    pub fn unfit_arguments(&self, arguments: &[u8]) -> Vec<String> {
        unfit(self.schema(&self.judged.input, "inputSchema"), arguments)
    }

    /// What does not fit of a tool's result.
    #[must_use]
    pub fn unfit_result(&self, result: Node<'_>) -> Vec<String> {
        let has_failed = result.get("isError").and_then(Node::as_bool) == Some(true);
        let Some(schema) = self.schema(&self.judged.output, "outputSchema").filter(|_| !has_failed) else {
            return Vec::new();
        };
        match result.get("structuredContent") {
            Some(structured) => unfit(Some(schema), structured.bytes()),
            None => vec!["there is an `outputSchema`, and no structured content".into()],
        }
    }
}

fn unfit(schema: Option<&Schema>, value: &[u8]) -> Vec<String> {
    let Some(Checked::Invalid(violations)) = schema.map(|schema| schema.check(value)) else {
        return Vec::new();
    };
    let mut told: Vec<String> = violations
        .iter()
        .take(TOLD)
        .map(|violation| match violation.instance.as_str() {
            "" => violation.message.clone(),
            place => format!("{place}: {}", violation.message),
        })
        .collect();
    if violations.len() > TOLD {
        told.push(format!("and {} more", violations.len() - TOLD));
    }
    told
}

/// What all servers offer.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    lists: [Vec<Entry>; 4],
    /// Places by name, and for resources by address.
    places: [HashMap<String, usize>; 4],
    /// What was left out, and why.
    pub problems: Vec<String>,
}

impl Catalog {
    /// Puts offers together, in their order. The same offers make the same catalog.
    #[must_use]
    pub fn new(offers: &[Offer], naming: Naming) -> Self {
        let mut catalog = Self::default();
        for (server, offer) in offers.iter().enumerate() {
            for kind in ListKind::ALL {
                catalog.add(server, offer, kind, naming);
            }
        }
        catalog
    }

    fn add(&mut self, server: usize, offer: &Offer, kind: ListKind, naming: Naming) {
        let mut seen = HashSet::new();
        for item in offer.list(kind) {
            let Some(original) = item.text(kind.key()) else {
                self.problems.push(format!("{}: something in {} has no `{}`", offer.server, kind.member(), kind.key()));
                continue;
            };
            if !seen.insert(original.clone()) {
                self.problems.push(format!("{}: `{original}` is in {} twice", offer.server, kind.member()));
                continue;
            }
            if kind == ListKind::Tools && !offer.rules.uses_tool(&original) {
                continue;
            }
            if let Some(problem) = not_held(offer, kind, &original, item) {
                self.problems.push(problem);
                continue;
            }
            let entry = match kind {
                ListKind::Tools => match tool(server, offer, &original, item, naming) {
                    Ok(entry) => entry,
                    Err(problem) => {
                        self.problems.push(problem);
                        continue;
                    }
                },
                ListKind::Prompts => {
                    let name = naming.name(&offer.server, &original);
                    let item = splice(&item.0.0, &[(&["name"], quoted(&name).as_bytes())]);
                    Entry::new(name, server, original, item.into())
                }
                ListKind::Resources | ListKind::Templates => {
                    Entry::new(original.clone(), server, original, item.0.0.clone())
                }
            };
            self.put(kind, entry, &offer.server);
        }
    }

    fn put(&mut self, kind: ListKind, entry: Entry, server: &str) {
        let (list, places) = self.of(kind);
        if places.contains_key(&entry.name) {
            let problem = format!("{server}: `{}` is called `{}`, as another is", entry.original, entry.name);
            self.problems.push(problem);
            return;
        }
        places.insert(entry.name.clone(), list.len());
        list.push(entry);
    }

    fn of(&mut self, kind: ListKind) -> (&mut Vec<Entry>, &mut HashMap<String, usize>) {
        let [tools, prompts, resources, templates] = &mut self.lists;
        let [by_tool, by_prompt, by_resource, by_template] = &mut self.places;
        match kind {
            ListKind::Tools => (tools, by_tool),
            ListKind::Prompts => (prompts, by_prompt),
            ListKind::Resources => (resources, by_resource),
            ListKind::Templates => (templates, by_template),
        }
    }

    /// A list.
    #[must_use]
    pub fn list(&self, kind: ListKind) -> &[Entry] {
        let [tools, prompts, resources, templates] = &self.lists;
        match kind {
            ListKind::Tools => tools,
            ListKind::Prompts => prompts,
            ListKind::Resources => resources,
            ListKind::Templates => templates,
        }
    }

    /// Something by its name.
    #[must_use]
    pub fn find(&self, kind: ListKind, name: &str) -> Option<&Entry> {
        let [by_tool, by_prompt, by_resource, by_template] = &self.places;
        let places = match kind {
            ListKind::Tools => by_tool,
            ListKind::Prompts => by_prompt,
            ListKind::Resources => by_resource,
            ListKind::Templates => by_template,
        };
        self.list(kind).get(*places.get(name)?)
    }

    /// What is most like a name that nothing has.
    #[must_use]
    pub fn nearest(&self, kind: ListKind, name: &str) -> Option<&str> {
        let near =
            |entry: &Entry| strsim::jaro_winkler(name, &entry.name).max(strsim::jaro_winkler(name, &entry.original));
        let best = self.list(kind).iter().map(|entry| (near(entry), entry)).max_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|(likeness, _)| NEAR < *likeness).map(|(_, entry)| entry.name.as_str())
    }

    /// Which server a resource is of: who lists it, or whose template its address fits the start of. `None` where nobody says.
    #[must_use]
    pub fn server_of_resource(&self, uri: &str) -> Option<usize> {
        if let Some(entry) = self.find(ListKind::Resources, uri) {
            return Some(entry.server);
        }
        // The longest beginning without a variable is the best sign that there is.
        let start = |entry: &Entry| entry.name.split('{').next().unwrap_or_default().len();
        let fits = |entry: &&Entry| {
            let beginning = entry.name.split('{').next().unwrap_or_default();
            !beginning.is_empty() && uri.starts_with(beginning)
        };
        self.list(ListKind::Templates).iter().filter(fits).max_by_key(|entry| start(entry)).map(|entry| entry.server)
    }

    /// Whether two catalogs show the same list.
    #[must_use]
    pub fn is_same(&self, other: &Self, kind: ListKind) -> bool {
        let (ours, theirs) = (self.list(kind), other.list(kind));
        ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(|(a, b)| a.name == b.name && a.server == b.server && a.item == b.item)
    }

    /// A list as the text of a JSON array.
    #[must_use]
    pub fn text(&self, kind: ListKind) -> String {
        let items: Vec<_> = self.list(kind).iter().map(|entry| String::from_utf8_lossy(&entry.item)).collect();
        format!("[{}]", items.join(","))
    }
}

/// Why something is not offered that is held fast, or not among what is.
fn not_held(offer: &Offer, kind: ListKind, original: &str, item: &Item) -> Option<String> {
    let pinned = offer.rules.pinned.as_ref()?;
    match pinned.get(&kind).and_then(|pinned| pinned.get(original)) {
        None => Some(format!("{}: `{original}` is not among the {} that are held fast", offer.server, kind.member())),
        Some(pinned) if *pinned != canonical(item.node()) => {
            Some(format!("{}: `{original}` is not what it was when it was held fast", offer.server))
        }
        Some(_) => None,
    }
}

/// A tool as it is shown.
fn tool(server: usize, offer: &Offer, original: &str, item: &Item, naming: Naming) -> Result<Entry, String> {
    let rules = offer.rules.tools.get(original);
    let renamed = rules.and_then(|rules| rules.rename.clone());
    if let Some(name) = renamed.as_ref().filter(|name| !is_valid(name)) {
        return Err(format!("{}: `{original}` cannot be called `{name}`, which models do not take", offer.server));
    }
    let name = renamed.unwrap_or_else(|| naming.name(&offer.server, original));
    let mut text = splice(&item.0.0, &[(&["name"], quoted(&name).as_bytes())]);
    let mut set = |member: &str, value: &str| {
        text = match Node::new(&text).get(member) {
            Some(_) => splice(&text, &[(&[member], value.as_bytes())]),
            None => with_member(&String::from_utf8_lossy(&text), member, value).into_bytes(),
        };
    };
    if let Some(description) = rules.and_then(|rules| rules.description.as_ref()) {
        set("description", &quoted(description));
    }
    if let Some(schema) = rules.and_then(|rules| rules.input_schema.as_ref()) {
        let is_object = matches!(scan(schema.as_bytes(), &[]).content, Content::Message(_) | Content::NotAMessage(_))
            && Node::new(schema.as_bytes()).is_object();
        if !is_object {
            return Err(format!("{}: the schema that is given for `{original}` is no JSON object", offer.server));
        }
        set("inputSchema", schema);
    }
    Ok(Entry::new(name, server, original.to_owned(), text.into()))
}

#[cfg(test)]
mod tests {
    use tap_session::Kept;

    use super::*;
    use crate::rules::{Pattern, ToolRules};

    fn items(texts: &[&str]) -> Vec<Item> {
        texts.iter().map(|text| Item(Kept(Bytes::copy_from_slice(text.as_bytes())))).collect()
    }

    fn offer(server: &str, kind: ListKind, texts: &[&str]) -> Offer {
        let lists = HashMap::from([(kind.into(), items(texts))]);
        Offer { server: server.into(), lists, ..Offer::default() }
    }

    fn names(catalog: &Catalog, kind: ListKind) -> Vec<&str> {
        catalog.list(kind).iter().map(|entry| entry.name.as_str()).collect()
    }

    const ADD: &str = r#"{"name":"add","x":1e400,"inputSchema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}}}}"#;

    #[test]
    fn tools_are_found_by_their_new_names_and_keep_what_is_theirs() {
        let offers = [offer("a", ListKind::Tools, &[ADD, r#"{"name":"b.c"}"#]), offer("b", ListKind::Tools, &[ADD])];
        let catalog = Catalog::new(&offers, Naming::Prefixed);
        assert_eq!(catalog.list(ListKind::Tools).len(), 3);
        let entry = catalog.find(ListKind::Tools, "b__add").unwrap();
        assert_eq!((entry.server, entry.original.as_str()), (1, "add"));
        assert_eq!(entry.item, ADD.replace("\"add\"", "\"b__add\""));
        assert!(catalog.find(ListKind::Tools, "add").is_none());
        assert_eq!(catalog.nearest(ListKind::Tools, "b_add"), Some("b__add"));
        assert_eq!(catalog.nearest(ListKind::Tools, "zzz"), None);
        let plain = Catalog::new(&offers, Naming::Plain);
        assert_eq!(plain.problems, ["b: `add` is called `add`, as another is"]);
        assert_eq!(plain.find(ListKind::Tools, "add").unwrap().server, 0);
    }

    #[test]
    fn arguments_and_results_are_judged_by_what_is_shown() {
        let mut offers = [offer("a", ListKind::Tools, &[ADD])];
        let judge = |offers: &[Offer], arguments: &str| {
            let catalog = Catalog::new(offers, Naming::Prefixed);
            catalog.list(ListKind::Tools)[0].unfit_arguments(arguments.as_bytes())
        };
        assert_eq!(judge(&offers, r#"{"a":2}"#), [""; 0]);
        assert_eq!(judge(&offers, r#"{"a":"x"}"#), [r#"/a: "x" is not of type "integer""#]);
        assert_eq!(judge(&offers, "{}"), [r#""a" is a required property"#]);
        let schema = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
        let rules = ToolRules {
            rename: Some("plus".into()),
            description: Some("Adds \"two\"".into()),
            input_schema: Some(schema.into()),
        };
        offers[0].rules.tools.insert("add".into(), rules);
        assert_eq!(judge(&offers, r#"{"a":"x"}"#), [""; 0]);
        let catalog = Catalog::new(&offers, Naming::Prefixed);
        let entry = catalog.find(ListKind::Tools, "plus").unwrap();
        let node = Node::new(&entry.item);
        assert!(node.get("description").unwrap().is_text("Adds \"two\""));
        assert_eq!(node.get("inputSchema").unwrap().bytes(), schema.as_bytes());
        assert_eq!(node.get("x").unwrap().bytes(), b"1e400");
        for (result, n_unfit) in [
            (r#"{"content":[],"structuredContent":{"sum":3}}"#, 0),
            (r#"{"content":[],"structuredContent":{"sum":"3"}}"#, 1),
            (r#"{"content":[]}"#, 1),
            (r#"{"content":[],"isError":true}"#, 0),
        ] {
            assert_eq!(entry.unfit_result(Node::new(result.as_bytes())).len(), n_unfit, "{result}");
        }
    }

    #[test]
    fn what_cannot_be_shown_is_told() {
        let mut one = offer(
            "a",
            ListKind::Tools,
            &[ADD, ADD, r#"{"title":"no name"}"#, r#"{"name":"x"}"#, r#"{"name":"y"}"#, r#"{"name":"z"}"#],
        );
        one.rules.deny = vec![Pattern::new("z")];
        one.rules.tools.insert("x".into(), ToolRules { rename: Some("not a name".into()), ..ToolRules::default() });
        one.rules.tools.insert("y".into(), ToolRules { input_schema: Some("[]".into()), ..ToolRules::default() });
        let catalog = Catalog::new(&[one], Naming::Prefixed);
        assert_eq!(names(&catalog, ListKind::Tools), ["a__add"]);
        assert_eq!(
            catalog.problems,
            [
                "a: `add` is in tools twice",
                "a: something in tools has no `name`",
                "a: `x` cannot be called `not a name`, which models do not take",
                "a: the schema that is given for `y` is no JSON object",
            ]
        );
    }

    #[test]
    fn what_is_held_fast_is_used_as_it_was_alone() {
        let mut one = offer("a", ListKind::Tools, &[r#"{"name":"x","description":"Reads."}"#, r#"{"name":"y"}"#, ADD]);
        let pinned =
            [("x", r#"{ "description" : "Reads.", "name":"x" }"#), ("y", r#"{"name":"y","description":"Old."}"#)];
        let pinned = pinned.iter().map(|(name, item)| ((*name).to_owned(), canonical(Node::new(item.as_bytes()))));
        one.rules.pinned = Some([(ListKind::Tools, pinned.collect())].into());
        one.lists.insert(ListKind::Prompts.into(), items(&[r#"{"name":"p"}"#]));
        one.lists.insert(ListKind::Resources.into(), items(&[r#"{"uri":"a:b"}"#]));
        let catalog = Catalog::new(&[one], Naming::Prefixed);
        assert_eq!(names(&catalog, ListKind::Tools), ["a__x"]);
        assert_eq!(
            catalog.problems,
            [
                "a: `y` is not what it was when it was held fast",
                "a: `add` is not among the tools that are held fast",
                "a: `p` is not among the prompts that are held fast",
                "a: `a:b` is not among the resources that are held fast",
            ]
        );
    }

    #[test]
    fn a_resource_is_its_server_s_by_list_or_by_template() {
        let offers = [
            offer("a", ListKind::Resources, &[r#"{"uri":"file:///a"}"#]),
            offer("b", ListKind::Templates, &[r#"{"uriTemplate":"note://{id}"}"#]),
            offer("c", ListKind::Templates, &[r#"{"uriTemplate":"note://secret/{id}"}"#, r#"{"uriTemplate":"{any}"}"#]),
        ];
        let catalog = Catalog::new(&offers, Naming::Prefixed);
        for (uri, expected) in
            [("file:///a", Some(0)), ("note://1", Some(1)), ("note://secret/1", Some(2)), ("else://", None)]
        {
            assert_eq!(catalog.server_of_resource(uri), expected, "{uri}");
        }
        assert!(catalog.is_same(&Catalog::new(&offers, Naming::Prefixed), ListKind::Templates));
        assert!(!catalog.is_same(&Catalog::new(&offers[..2], Naming::Prefixed), ListKind::Templates));
        assert_eq!(catalog.text(ListKind::Resources), r#"[{"uri":"file:///a"}]"#);
    }
}
