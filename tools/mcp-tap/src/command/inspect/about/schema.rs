//! Whether arguments and results fit the schemas with which their tool was listed then.

use tap_inspector::{About, AboutLine, AboutPart, Pointed, Tone};
use tap_jsonrpc::Node;
use tap_protocol::{Revision, Revisions};
use tap_schema::Checked;
use tap_session::{At, RowKind, Status, fits_schema};
use tap_store::StoreError;

use super::{Around, Called, LOOKED_BYTES, bytes_of, leading, line};

/// How many pages of a list are looked at for a tool.
const PAGES: usize = 50;

/// A tool as it was listed.
struct Tool {
    /// The answer that lists it.
    at: At,
    /// Its place in that list.
    index: usize,
    input: Option<Vec<u8>>,
    output: Option<Vec<u8>>,
}

impl Around<'_> {
    pub(super) fn schema(&mut self, called: &Called) -> Result<About, StoreError> {
        let at = called.asked.row.at;
        let mut about = About { at, part: AboutPart::Schema, lines: Vec::new(), points: Vec::new(), badge: None };
        let say = |text: &str| vec![line("", text, Tone::Dim)];
        let Some(request) = called.request.as_ref().filter(|it| it.row.method.as_deref() == Some("tools/call")) else {
            about.lines = say("only calls of tools have schemas in a session; rules are told under the message");
            return Ok(about);
        };
        let (store, id) = (self.store(), called.session.id);
        let request_bytes = bytes_of(store, id, request.row.at, LOOKED_BYTES)?;
        let request_node = Node::new(&request_bytes);
        let Some(name) = request_node.at(&["params", "name"]).and_then(Node::text) else {
            about.lines = say("the call names no tool");
            return Ok(about);
        };
        let Some(tool) = self.tool(called, &name, request.row.at)? else {
            about.lines = say("no list of tools before the call has this tool");
            return Ok(about);
        };
        about.lines.push(leading("listed in", format!("#{}", tool.at.seq), Tone::Plain, tool.at));
        let revision = called.session.digest.identity.revision.as_deref().and_then(Revision::nearest);
        let revisions = revision.map_or(Revisions::ALL, Revisions::only);
        let mut judge = |what: &str, schema: &str, text: &[u8], value: Node<'_>, place: (At, &str)| {
            let (lines, points) = judged(what, schema, &tool, text, value.bytes(), place, revisions);
            about.lines.extend(lines);
            about.points.extend(points);
        };
        let arguments = request_node.at(&["params", "arguments"]);
        match (&tool.input, arguments) {
            (Some(text), Some(value)) => {
                judge("arguments", "inputSchema", text, value, (request.row.at, "/params/arguments"));
            }
            // Left out they are the same as an empty object.
            (Some(text), None) => {
                judge("arguments", "inputSchema", text, Node::new(b"{}"), (request.row.at, "/params"));
            }
            (None, _) => {
                about.lines.push(line("arguments", "the tool was listed without an inputSchema", Tone::Warning));
            }
        }
        let answer = called.answer.as_ref().filter(|answer| answer.row.kind == RowKind::Result);
        let Some(answer) = answer else {
            let text = if called.answer.is_some() { "an error has no result" } else { "no answer yet" };
            about.lines.push(line("structuredContent", text, Tone::Dim));
            return Ok(finished(about));
        };
        let answer_bytes = bytes_of(store, id, answer.row.at, LOOKED_BYTES)?;
        let content = Node::new(&answer_bytes).at(&["result", "structuredContent"]);
        let mut say = |text: &str, tone| about.lines.push(line("structuredContent", text, tone));
        match (&tool.output, content) {
            (None, None) => say("none, and no outputSchema", Tone::Dim),
            (None, Some(_)) => say("the tool was listed without an outputSchema", Tone::Dim),
            (Some(_), None) if answer.row.status == Some(Status::ToolError) => {
                say("none: the tool failed, and then none is asked for", Tone::Dim);
            }
            (Some(_), None) => {
                about.lines.push(leading(
                    "structuredContent",
                    "✗ missing, though there is an outputSchema",
                    Tone::Bad,
                    tool.at,
                ));
                about.points.push(Pointed {
                    at: answer.row.at,
                    pointer: "/result".into(),
                    text: format!("✗ structuredContent is missing; #{} has an outputSchema", tool.at.seq),
                    tone: Tone::Bad,
                    goes_to: Some(tool.at),
                });
            }
            (Some(text), Some(value)) => {
                let place = (answer.row.at, "/result/structuredContent");
                let (lines, points) =
                    judged("structuredContent", "outputSchema", &tool, text, value.bytes(), place, revisions);
                about.lines.extend(lines);
                about.points.extend(points);
            }
        }
        Ok(finished(about))
    }

    /// A tool as it was listed last before a call.
    fn tool(&mut self, called: &Called, name: &str, call: At) -> Result<Option<Tool>, StoreError> {
        let (store, id) = (self.store(), called.session.id);
        let mut before = call;
        for _ in 0..PAGES {
            let Some(at) = self.newest_result(id, called.asked.conversation, "tools/list", before)? else {
                return Ok(None);
            };
            let bytes = bytes_of(store, id, at, LOOKED_BYTES)?;
            let tools = Node::new(&bytes).at(&["result", "tools"]);
            let named = |tool: &Node<'_>| tool.get("name").is_some_and(|it| it.is_text(name));
            let mut tools = tools.into_iter().flat_map(Node::elements).enumerate();
            if let Some((index, tool)) = tools.find(|(_, tool)| named(tool)) {
                let text_of = |key: &str| tool.get(key).map(|schema| schema.bytes().to_vec());
                return Ok(Some(Tool { at, index, input: text_of("inputSchema"), output: text_of("outputSchema") }));
            }
            // A list may come in pages; the first of them was asked for without a cursor.
            let request = store.row(id, at)?.and_then(|answer| answer.row.pair);
            let is_first = match request {
                Some(request) => {
                    let bytes = bytes_of(store, id, request, LOOKED_BYTES)?;
                    Node::new(&bytes).at(&["params", "cursor"]).is_none()
                }
                None => false,
            };
            if is_first {
                return Ok(None);
            }
            before = at;
        }
        Ok(None)
    }
}

/// What is to be seen on the tab.
fn finished(mut about: About) -> About {
    about.badge = match about.points.len() {
        0 => None,
        n => Some(format!("{n}✗")),
    };
    about
}

/// Judges a value by a schema: lines, and what is said at places.
fn judged(
    what: &str,
    schema: &str,
    tool: &Tool,
    text: &[u8],
    value: &[u8],
    (at, place): (At, &str),
    revisions: Revisions,
) -> (Vec<AboutLine>, Vec<Pointed>) {
    let seq = tool.at.seq;
    let violations = match fits_schema(text, value, revisions) {
        Ok(Checked::Valid) => {
            let fits = format!("fit {schema}").replace("fit outputSchema", "fits outputSchema");
            return (vec![leading(what, fits, Tone::Good, tool.at)], Vec::new());
        }
        Ok(Checked::Invalid(violations)) => violations,
        Ok(Checked::NotChecked(why)) => {
            return (vec![line(what, format!("not judged by {schema}: {why}"), Tone::Warning)], Vec::new());
        }
        Err(error) => {
            let why = format!("not judged: {schema} in #{seq} cannot be used: {error}");
            return (vec![leading(what, why, Tone::Warning, tool.at)], Vec::new());
        }
    };
    let mut lines = Vec::new();
    let mut points = Vec::new();
    for violation in violations {
        let name = if lines.is_empty() { what } else { "" };
        let inside = violation.instance.trim_start_matches('/').replace('/', ".");
        let inside = if inside.is_empty() { "all of it".to_owned() } else { inside };
        lines.push(leading(name, format!("✗ {inside}: {}", violation.message), Tone::Bad, tool.at));
        lines.push(line("", format!("  by #{seq} tools[{}].{schema}{}", tool.index, violation.keyword), Tone::Dim));
        points.push(Pointed {
            at,
            pointer: format!("{place}{}", violation.instance),
            text: format!("✗ {}", violation.message),
            tone: Tone::Bad,
            goes_to: Some(tool.at),
        });
    }
    (lines, points)
}
