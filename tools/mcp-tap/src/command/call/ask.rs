//! What a server may ask while a tool is called: for the folders that were named, and for a form that is filled in on the
//! command line or on the terminal.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use tap_jsonrpc::Node;
use tap_peer::{Answers, Asked, Cannot, Handler, Notified, Reply};
use tap_protocol::INVALID_PARAMS;
use tap_schema::{Checked, Schema};
use tap_session::ErrorReply;

use super::typed;
use crate::arguments::{Call, Global};
use crate::failure::Failure;
use crate::recording::say;
use crate::text::shown;

/// The schema of a form that asks for nothing.
const NOTHING: &[u8] = b"{\"type\":\"object\"}";

/// Who answers.
pub(super) fn handler(global: &Global, call: &Call) -> Result<Arc<dyn Handler>, Failure> {
    let mut answers = Answers::default();
    if !call.root.is_empty() {
        let roots: Result<Vec<_>, Failure> = call.root.iter().map(|folder| root(folder)).collect();
        answers = answers.roots(roots?);
    }
    let words = call.answer.clone();
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !words.is_empty() {
        answers = answers.elicitation_by_form(move |asked| {
            let reply = filled_in(&asked, &words);
            Box::pin(std::future::ready(reply))
        });
    } else if is_terminal {
        answers = answers.elicitation_by_form_and_url(on_the_terminal);
    }
    let quiet = global.quiet;
    Ok(Arc::new(answers.heard(move |notified| {
        if !quiet {
            hear(&notified);
        }
    })))
}

/// A folder as a server is told of it.
pub(in crate::command) fn root(folder: &Path) -> Result<(String, Option<String>), Failure> {
    let name = shown(&folder.to_string_lossy(), false);
    let path = folder.canonicalize().map_err(|error| Failure::new(format!("cannot find {name}: {error}")))?;
    let text = path.to_string_lossy();
    let mut uri = String::from("file://");
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok((uri, path.file_name().map(|name| name.to_string_lossy().into_owned())))
}

/// A form, filled in with words of the command line: those that it asks for.
fn filled_in(asked: &Asked, words: &[String]) -> Result<String, Cannot> {
    let params = asked.params.as_ref().map(|params| params.node());
    let schema = params.and_then(|params| params.get("requestedSchema")).unwrap_or(Node::new(NOTHING));
    let names: Vec<String> = property_names(schema);
    let asks = |word: &&String| {
        let name = word.split('=').next().unwrap_or_default().trim_end_matches(':');
        names.is_empty() || names.iter().any(|known| known == name)
    };
    let words: Vec<String> = words.iter().filter(asks).cloned().collect();
    let content = with_defaults(typed::object(None, &words, Some(schema)).map_err(invalid)?, schema);
    fitting(schema, &content).map_err(|what| {
        say(&format!("the server asks for a form that --answer does not fill in: {}", shown(&what, false)));
        invalid(what)
    })?;
    Ok(accepted(Some(&content)))
}

/// What a form holds where nobody said something else, as a host shows it filled in already (MCP 2025-11-25,
/// client/elicitation, Requested Schema). `content` is the text of a JSON object.
fn with_defaults(mut content: String, schema: Node<'_>) -> String {
    for (name, property) in schema.get("properties").into_iter().flat_map(Node::members) {
        let node = Node::new(content.as_bytes());
        let (is_there, is_first) = (node.get(&name.text()).is_some(), node.members().next().is_none());
        if let (false, Some(default)) = (is_there, property.get("default")) {
            let member = format!("{}:{}", tap_peer::quoted(&name.text()), String::from_utf8_lossy(default.bytes()));
            let Some(end) = content.rfind('}') else { return content };
            content.insert_str(end, &format!("{}{member}", if is_first { "" } else { "," }));
        }
    }
    content
}

fn property_names(schema: Node<'_>) -> Vec<String> {
    schema.get("properties").into_iter().flat_map(Node::members).map(|(name, _)| name.text().into_owned()).collect()
}

fn invalid(what: String) -> Cannot {
    Cannot(ErrorReply::new(INVALID_PARAMS, what))
}

fn fitting(schema: Node<'_>, content: &str) -> Result<(), String> {
    match Schema::compile(schema.bytes()).map(|schema| schema.check(content.as_bytes())) {
        Ok(Checked::Invalid(violations)) => Err(violations
            .first()
            .map(|violation| format!("{} {}", violation.instance.trim_start_matches('/'), violation.message))
            .unwrap_or_default()),
        _ => Ok(()),
    }
}

fn accepted(content: Option<&str>) -> String {
    match content {
        Some(content) => format!("{{\"action\":\"accept\",\"content\":{content}}}"),
        None => "{\"action\":\"accept\"}".into(),
    }
}

const DECLINED: &str = "{\"action\":\"decline\"}";
const CANCELLED: &str = "{\"action\":\"cancel\"}";

/// A person is asked. Reading a line waits, so that it is done by a thread that may.
pub(in crate::command) fn on_the_terminal(asked: Asked) -> Reply {
    Box::pin(async move {
        let answered = tokio::task::spawn_blocking(move || {
            let _turn = crate::confirm::turn();
            ask_a_person(&asked)
        })
        .await;
        answered.unwrap_or_else(|_| Err(Cannot::declined()))
    })
}

fn ask_a_person(asked: &Asked) -> Result<String, Cannot> {
    let Some(params) = asked.params.as_ref().map(|params| params.node()) else {
        return Ok(DECLINED.into());
    };
    let text = |member: &str| params.get(member).and_then(Node::text).map(|text| shown(&text, true));
    let mut stderr = std::io::stderr();
    let _ = writeln!(stderr, "the server asks: {}", text("message").unwrap_or_default());
    if params.get("mode").is_some_and(|mode| mode.is_text("url")) {
        let _ = writeln!(stderr, "  it wants this page to be opened: {}", text("url").unwrap_or_default());
        return Ok(match line("  opened it? [y/N] ").as_deref() {
            Some("y" | "yes") => accepted(None),
            Some(_) => DECLINED.into(),
            None => CANCELLED.into(),
        });
    }
    let schema = params.get("requestedSchema").unwrap_or(Node::new(NOTHING));
    let required: Vec<String> = schema
        .get("required")
        .into_iter()
        .flat_map(Node::elements)
        .filter_map(|name| Some(name.text()?.into_owned()))
        .collect();
    loop {
        let mut words = Vec::new();
        for (name, property) in schema.get("properties").into_iter().flat_map(Node::members) {
            let name = name.text().into_owned();
            let about = ["title", "description"].iter().filter_map(|key| Some(property.get(key)?.text()?.into_owned()));
            let about = shown(&about.collect::<Vec<_>>().join(": "), false);
            let optional = if required.contains(&name) { "" } else { " (may be empty)" };
            match line(&format!("  {}{optional}  {about}\n  = ", shown(&name, false))) {
                None => return Ok(CANCELLED.into()),
                Some(value) if value.is_empty() && !required.contains(&name) => {}
                Some(value) => words.push(format!("{name}={value}")),
            }
        }
        let content = typed::object(None, &words, Some(schema)).map_err(invalid)?;
        match fitting(schema, &content) {
            Ok(()) => {
                return Ok(match line("  send this? [y/N] ").as_deref() {
                    Some("y" | "yes") => accepted(Some(&content)),
                    Some(_) => DECLINED.into(),
                    None => CANCELLED.into(),
                });
            }
            Err(what) => {
                let _ = writeln!(
                    stderr,
                    "  that does not fit: {}; once more (the end of input gives up)",
                    shown(&what, false)
                );
            }
        }
    }
}

/// A line of stdin; `None` at its end.
fn line(prompt: &str) -> Option<String> {
    let mut stderr = std::io::stderr();
    let _ = write!(stderr, "{prompt}");
    let _ = stderr.flush();
    let mut text = String::new();
    match std::io::stdin().lock().read_line(&mut text) {
        Ok(n) if n > 0 => Some(text.trim_end_matches(['\n', '\r']).to_owned()),
        _ => None,
    }
}

/// What a server says of itself: log messages.
fn hear(notified: &Notified) {
    if notified.method != "notifications/message" {
        return;
    }
    let Some(params) = notified.params.as_ref().map(|params| params.node()) else {
        return;
    };
    let [level, data] = params.pick(["level", "data"]);
    let level = level.and_then(Node::text).unwrap_or_default();
    let data = data.map(|data| match data.text() {
        Some(text) => text.into_owned(),
        None => String::from_utf8_lossy(data.bytes()).into_owned(),
    });
    say(&format!("{}: {}", shown(&level, false), shown(&data.unwrap_or_default(), false)));
}

#[cfg(test)]
mod tests {
    use tap_protocol::Revision;
    use tap_session::Kept;

    use super::*;

    #[test]
    fn a_form_is_filled_in_with_what_it_asks_for() {
        let params = r#"{"message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"},"d":{"type":"string","default":"a } b"}},"required":["n"]}}"#;
        let asked = Asked {
            method: "elicitation/create".into(),
            params: Some(Kept(params.into())),
            revision: Revision::LATEST,
            tag: None,
            key: None,
            together: 1,
        };
        for (words, expected) in [
            (&["n=7", "s=8"][..], Ok(r#"{"action":"accept","content":{"n":7,"s":"8","d":"a } b"}}"#)),
            (&["n=7", "of-another-form=8"], Ok(r#"{"action":"accept","content":{"n":7,"d":"a } b"}}"#)),
            (&["s=8"], Err(r#" "n" is a required property"#)),
            (&["n=x"], Err(r#"n "x" is not of type "integer""#)),
            (&["n=7", "d=mine"], Ok(r#"{"action":"accept","content":{"n":7,"d":"mine"}}"#)),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let filled = filled_in(&asked, &words).map_err(|Cannot(reply)| reply.message);
            assert_eq!(filled.as_deref().map_err(String::as_str), expected);
        }
    }

    #[test]
    fn a_folder_is_told_as_an_address() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("a b%");
        std::fs::create_dir(&folder).unwrap();
        let (uri, name) = root(&folder).unwrap();
        assert!(uri.starts_with("file:///") && uri.ends_with("/a%20b%25"), "{uri}");
        assert_eq!(name.as_deref(), Some("a b%"));
        assert!(root(&scratch.path().join("none")).is_err());
    }
}
