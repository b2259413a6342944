//! What can be taken out of a message: copied, written, opened elsewhere.

use std::fmt::Write;

use tap_jsonrpc::{Node, NodeKind};
use tap_session::RowKind;
use tap_text::duration;

use super::shell;
use crate::data::{SessionLine, Whole};
use crate::effect::Effect;
use crate::keymap::Action;
use crate::model::Detail;
use crate::tree::{Content, Step, decoded, quoted};

/// In a filter a longer text is asked for as being there, not as being this one, bytes.
const FILTER_BYTES: usize = 200;

/// How much of each message is put into Markdown, bytes.
const MARKDOWN_BYTES: usize = 64 * 1024;

/// What can be copied, with the key in the menu and what is said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copied {
    Message,
    Value,
    Path,
    Filter,
    Request,
    Response,
    Raw,
    Call,
    Curl,
    Markdown,
    Reference,
}

impl Copied {
    pub(crate) const ALL: [(char, Self, &'static str); 11] = [
        ('y', Self::Message, "this message"),
        ('v', Self::Value, "the value under the cursor"),
        ('p', Self::Path, "its path"),
        ('f', Self::Filter, "a filter for it, to be changed and used"),
        ('r', Self::Request, "the request, JSON"),
        ('a', Self::Response, "the answer, JSON"),
        ('b', Self::Raw, "the bytes of this message as they were"),
        ('c', Self::Call, "a mcp-tap call that makes it again"),
        ('u', Self::Curl, "a curl that sends it again"),
        ('m', Self::Markdown, "Markdown for an issue; nothing is left out"),
        ('n', Self::Reference, "how the command line names it"),
    ];
}

/// What is known around a message when it is copied for people.
pub(crate) struct Facts<'a> {
    pub(crate) session: &'a SessionLine,
    /// Which rules the call broke, a line each.
    pub(crate) findings: Vec<String>,
}

impl Detail {
    /// What is copied, and what the file is called if it is too much for that. `None` where there is no such thing.
    pub(crate) fn copied(&self, what: Copied, facts: &Facts<'_>) -> Option<(Vec<u8>, String)> {
        let half = self.half();
        let reference = &facts.session.reference;
        let name = |extension: &str| file_name(reference, half, extension);
        let whole = |whole: &Whole| {
            let text = String::from_utf8_lossy(&whole.bytes).trim_end().to_owned();
            (text.into_bytes(), file_name(reference, whole, "json"))
        };
        let text = |text: String, extension: &str| (text.into_bytes(), name(extension));
        Some(match what {
            Copied::Message => whole(half),
            Copied::Raw => (half.bytes.to_vec(), name("raw")),
            Copied::Request => whole(self.request()?),
            Copied::Response => whole(self.response()?),
            Copied::Value => (self.value()?.0, name("txt")),
            Copied::Path => text(self.path_shown()?, "txt"),
            Copied::Filter => text(self.as_filter()?, "txt"),
            Copied::Call => text(self.as_call(reference)?, "sh"),
            Copied::Curl => text(shell::curl(self.parts.request.as_ref()?)?, "sh"),
            Copied::Markdown => text(self.as_markdown(facts), "md"),
            Copied::Reference => text(format!("{reference}:{}", half.row.row.at.seq), "txt"),
        })
    }

    /// What of the menu there is.
    pub(crate) fn copies<'a>(
        &'a self,
        facts: &'a Facts<'a>,
    ) -> impl Iterator<Item = (char, Copied, &'static str)> + 'a {
        let is_there = |what: Copied| match what {
            // These cost much to make, and are always there.
            Copied::Message | Copied::Raw | Copied::Markdown | Copied::Reference => true,
            Copied::Request => self.request().is_some(),
            Copied::Response => self.response().is_some(),
            Copied::Value | Copied::Path | Copied::Filter => self.path_shown().is_some(),
            Copied::Call => self.as_call(&facts.session.reference).is_some(),
            Copied::Curl => self.copied(what, facts).is_some(),
        };
        Copied::ALL.into_iter().filter(move |(_, what, _)| is_there(*what))
    }

    pub(crate) fn out(&self, action: Action, reference: &str) -> Option<Effect> {
        let this = self.half();
        let name = file_name(reference, this, "json");
        Some(match action {
            Action::WriteFile => Effect::Write { bytes: this.bytes.to_vec(), name },
            Action::WriteValue => {
                let (bytes, extension) = self.value()?;
                Effect::Write { bytes, name: file_name(reference, this, &extension) }
            }
            Action::CopyAsCall => Effect::Copy(self.as_call(reference)?),
            _ => {
                let text = String::from_utf8_lossy(&this.bytes).trim_end().to_owned();
                Effect::Open { bytes: tap_text::pretty(&text).into_bytes(), name, edit: action == Action::Editor }
            }
        })
    }

    /// The half of the call that is a request.
    fn request(&self) -> Option<&Whole> {
        self.halves().find(|whole| whole.row.row.kind == RowKind::Request)
    }

    fn response(&self) -> Option<&Whole> {
        self.halves().find(|whole| matches!(whole.row.row.kind, RowKind::Result | RowKind::Error))
    }

    fn halves(&self) -> impl Iterator<Item = &Whole> {
        std::iter::once(&self.parts.this).chain(&self.parts.other)
    }

    /// The value under the cursor: of a string its text, of bytes in base64 these; and what a file with it ends in.
    fn value(&self) -> Option<(Vec<u8>, String)> {
        let (tree, line) = self.tree_line()?;
        let value = tree.value(line)?;
        let node = Node::new(&value);
        if let Some(Content::Blob(blob)) = tree.lines().get(line).map(|line| &line.content) {
            return Some((decoded(node)?, blob.extension()));
        }
        Some(match node.text() {
            Some(text) => (text.into_owned().into_bytes(), "txt".into()),
            None => (value.clone(), "value.json".into()),
        })
    }

    /// The image under the cursor: what it is, and its bytes in base64.
    pub(crate) fn image(&self) -> Option<(String, String)> {
        let (tree, line) = self.tree_line()?;
        let Content::Blob(blob) = &tree.lines().get(line)?.content else {
            return None;
        };
        let value = tree.value(line)?;
        let base64 = Node::new(&value).text()?.into_owned();
        let pixels = blob.size.map(|(columns, rows)| format!("  {columns}x{rows}")).unwrap_or_default();
        blob.is_image().then(|| (format!("{}{pixels}", blob.mime_type), base64))
    }

    fn path_shown(&self) -> Option<String> {
        let (tree, line) = self.tree_line()?;
        Some(tree.path(line).shown())
    }

    /// A filter that finds messages with the same value at the same place.
    fn as_filter(&self) -> Option<String> {
        let (tree, line) = self.tree_line()?;
        let path = tree.path(line);
        let root = match self.half().row.row.kind {
            RowKind::Request => "req",
            RowKind::Result | RowKind::Error => "resp",
            _ => "",
        };
        let written = path.in_filter();
        let short = [("req.params.arguments", "arg"), ("resp.result", "result")];
        let full = format!("{root}{written}");
        let full = short
            .into_iter()
            .find_map(|(long, short)| {
                let rest = full.strip_prefix(long).filter(|rest| rest.starts_with(['.', '[']))?;
                Some(format!("{short}{rest}"))
            })
            .unwrap_or(full);
        if written.is_empty() {
            return None;
        }
        let value = tree.value(line)?;
        let node = Node::new(&value);
        let is_inside = path.0.contains(&Step::Inside);
        Some(match (node.kind(), node.text()) {
            _ if is_inside => format!("has:{full}"),
            (_, Some(text)) if text.len() <= FILTER_BYTES => format!("{full}={}", quoted(&text)),
            (NodeKind::Number | NodeKind::True | NodeKind::False | NodeKind::Null, _) => {
                format!("{full}={}", String::from_utf8_lossy(&value))
            }
            _ => format!("has:{full}"),
        })
    }

    /// The call as a command line that makes it again, on the server of the same session.
    fn as_call(&self, session: &str) -> Option<String> {
        let request = self.request()?;
        let node = Node::new(&request.bytes);
        if !node.get("method")?.is_text("tools/call") {
            return None;
        }
        let name = node.at(&["params", "name"])?.text()?.into_owned();
        let arguments =
            node.at(&["params", "arguments"]).map_or("{}".into(), |node| String::from_utf8_lossy(node.bytes()));
        shell::call(session, &name, &arguments)
    }

    /// The call as a section of an issue.
    fn as_markdown(&self, facts: &Facts<'_>) -> String {
        let session = facts.session;
        let row = &self.parts.this.row;
        let what = row.row.target.as_deref().or(row.row.method.as_deref()).unwrap_or(row.row.kind.name());
        let took = row.row.latency_ns.map(|ns| format!(" after {}", duration(ns))).unwrap_or_default();
        let mut out =
            String::from("<!-- Nothing was left out or replaced: look through it before it is posted. -->\n\n");
        let status = &row.status.1;
        let _ = writeln!(out, "### {}: {}{took}\n", in_line(what), in_line(status));
        let unknown = || "unknown".to_owned();
        let facts_of_session = [
            ("Server", session.server.clone().unwrap_or_else(unknown)),
            ("Client", session.client.clone().unwrap_or_else(unknown)),
            ("Revision", format!("{} over {}", session.revision.clone().unwrap_or_else(unknown), session.transport)),
            ("Message", format!("{}:{}", session.reference, row.row.at.seq)),
        ];
        for (name, text) in facts_of_session {
            let _ = writeln!(out, "- {name}: {}", in_line(&text));
        }
        let mut halves: Vec<&Whole> = self.halves().collect();
        halves.sort_by_key(|whole| whole.row.at());
        for whole in halves {
            let row = &whole.row.row;
            let _ = writeln!(out, "\n#{} {}:\n", row.at.seq, row.kind.name());
            let shown = whole.bytes.get(..MARKDOWN_BYTES).unwrap_or(&whole.bytes);
            let is_json = row.kind.is_message();
            let text = String::from_utf8_lossy(shown);
            let text = if is_json { tap_text::pretty(&text) } else { text.into_owned() };
            let text = tap_text::shown(text.trim_end(), true);
            let _ = writeln!(out, "{}", fenced(&text, if is_json { "json" } else { "" }));
            if shown.len() < whole.bytes.len() {
                let _ = writeln!(out, "\nThe first {} bytes of it.", shown.len());
            }
        }
        if !facts.findings.is_empty() {
            out.push_str("\nRules that were broken:\n\n");
            for finding in &facts.findings {
                let _ = writeln!(out, "- {}", in_line(finding));
            }
        }
        out
    }
}

/// A text in a block of code, between fences that are longer than any in it.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{text}\n{fence}")
}

/// A text in a line of Markdown, as code: so it means nothing there, and nobody is called by it.
fn in_line(text: &str) -> String {
    let text = tap_text::shown(text, false);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // What begins or ends with a fence of its own needs a blank there, which is not shown.
    let blank = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// How a file with a message, or with a part of it, is called.
fn file_name(reference: &str, whole: &Whole, extension: &str) -> String {
    format!("{}-{}.{extension}", reference.replace(['/', '.'], "-"), whole.row.row.at.seq)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_not_left() {
        assert_eq!(fenced("a", "json"), "```json\na\n```");
        assert_eq!(fenced("x ```` y", ""), "`````\nx ```` y\n`````");
        assert_eq!(in_line("a <b> @me #1\n![y](z)"), "`a <b> @me #1\\u{a}![y](z)`");
        assert_eq!(in_line("`x``"), "``` `x`` ```");
    }
}
