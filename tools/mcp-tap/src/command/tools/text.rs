//! What a server offers, for a person.

use std::io::Write;

use tap_jsonrpc::Node;
use tap_peer::{Item, ListKind};

use super::Offered;
use crate::output::{Output, Style};
use crate::text::{counted, cut, pretty, shown, wrapped};

/// As wide as a line gets where there is no terminal that says so, columns.
const WIDTH: usize = 100;

/// How much of a signature is shown, columns.
const SIGNATURE_COLUMNS: usize = 200;

pub(super) fn write(out: &mut Output, offered: &Offered, verbose: bool) -> std::io::Result<()> {
    let opened = &offered.opened;
    let mut head = shown(&offered.name, false);
    if let Some(name) = &opened.name {
        head.push_str(&format!("   {}", shown(name, false)));
    }
    if let Some(version) = &opened.version {
        head.push_str(&format!(" {}", shown(version, false)));
    }
    head.push_str(&format!("   MCP {}", opened.revision.as_str()));
    writeln!(out, "{}", out.styled(Style::Bold, &head))?;
    if let Some(instructions) = &opened.instructions {
        paragraph(out, instructions, 2, verbose)?;
    }
    for (kind, listing) in offered.lists.iter().filter(|(_, listing)| !listing.items.is_empty()) {
        writeln!(out)?;
        let what = match kind {
            ListKind::Tools => "tool",
            ListKind::Prompts => "prompt",
            ListKind::Resources => "resource",
            ListKind::Templates => "template",
        };
        writeln!(out, "{}", out.styled(Style::Dim, &counted(listing.items.len() as u64, what)))?;
        for item in &listing.items {
            write_item(out, *kind, item, verbose)?;
        }
    }
    for problem in &offered.problems {
        writeln!(out, "{}", out.styled(Style::Warning, &shown(problem, false)))?;
    }
    if offered.lists.iter().all(|(_, listing)| listing.items.is_empty()) && offered.problems.is_empty() {
        writeln!(out, "  it offers neither tools nor prompts nor resources")?;
    }
    writeln!(out)
}

fn write_item(out: &mut Output, kind: ListKind, item: &Item, verbose: bool) -> std::io::Result<()> {
    let key = item.text(kind.key()).unwrap_or_else(|| "(without a name)".into());
    let mut line = out.styled(Style::Good, &shown(&key, false));
    let signature = match kind {
        ListKind::Tools => item.node().get("inputSchema").map(of_schema),
        ListKind::Prompts => item.node().get("arguments").map(of_arguments),
        ListKind::Resources | ListKind::Templates => item.text("mimeType"),
    };
    if let Some(signature) = signature.filter(|signature| !signature.is_empty()) {
        line.push_str(&format!("  {}", out.styled(Style::Dim, &cut(&shown(&signature, false), SIGNATURE_COLUMNS))));
    }
    writeln!(out, "  {line}")?;
    let title = item.text("title").filter(|title| *title != key);
    let title = title.or_else(|| match kind {
        ListKind::Resources | ListKind::Templates => item.text("name").filter(|name| *name != key),
        ListKind::Tools | ListKind::Prompts => None,
    });
    if let Some(title) = title {
        writeln!(out, "      {}", shown(&title, false))?;
    }
    if let Some(description) = item.text("description") {
        paragraph(out, &description, 6, verbose)?;
    }
    let hints = hints(item);
    if !hints.is_empty() {
        writeln!(out, "      {}", out.styled(Style::Dim, &hints.join(", ")))?;
    }
    if verbose {
        for member in ["inputSchema", "outputSchema"] {
            if let Some(schema) = item.node().get(member) {
                writeln!(out, "      {member}")?;
                let text = shown(&pretty(&String::from_utf8_lossy(schema.bytes())), true);
                for line in text.lines() {
                    writeln!(out, "        {line}")?;
                }
            }
        }
    }
    Ok(())
}

/// A text: all of it, or its first line.
fn paragraph(out: &mut Output, text: &str, indent: usize, verbose: bool) -> std::io::Result<()> {
    let width = out.width().unwrap_or(WIDTH);
    if verbose {
        for line in text.lines() {
            writeln!(out, "{}", wrapped(&shown(line, false), indent, Some(width)))?;
        }
        return Ok(());
    }
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let room = width.saturating_sub(indent).max(20);
    writeln!(out, "{}{}", " ".repeat(indent), cut(&shown(first.trim(), false), room))
}

/// `a: integer, b?: string`, from a schema of an object.
fn of_schema(schema: Node<'_>) -> String {
    let required: Vec<String> = schema
        .get("required")
        .into_iter()
        .flat_map(Node::elements)
        .filter_map(|name| Some(name.text()?.into_owned()))
        .collect();
    let properties = schema.get("properties").into_iter().flat_map(Node::members);
    let parts = properties.map(|(name, property)| {
        let name = name.text().into_owned();
        let mark = if required.contains(&name) { "" } else { "?" };
        format!("{name}{mark}: {}", type_of(property))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// What a schema says of the type, in a word or two.
fn type_of(schema: Node<'_>) -> String {
    let [kind, choices, any_of, one_of] = schema.pick(["type", "enum", "anyOf", "oneOf"]);
    if let Some(choices) = choices.filter(|choices| choices.is_array()) {
        let choices: Vec<String> =
            choices.elements().map(|choice| String::from_utf8_lossy(choice.bytes()).into_owned()).collect();
        return choices.join(" | ");
    }
    match kind {
        Some(kind) if kind.is_string() => {
            let kind = kind.text().unwrap_or_default().into_owned();
            match schema.get("items").filter(|_| kind == "array") {
                Some(items) => format!("{}[]", type_of(items)),
                None => kind,
            }
        }
        Some(kinds) if kinds.is_array() => {
            kinds.elements().filter_map(|kind| Some(kind.text()?.into_owned())).collect::<Vec<_>>().join(" | ")
        }
        _ => match any_of.or(one_of) {
            Some(choices) => choices.elements().map(type_of).collect::<Vec<_>>().join(" | "),
            None => "any".into(),
        },
    }
}

/// `city, country?`, from the arguments of a prompt.
fn of_arguments(arguments: Node<'_>) -> String {
    let parts = arguments.elements().filter_map(|argument| {
        let name = argument.get("name")?.text()?.into_owned();
        let is_required = argument.get("required").and_then(Node::as_bool) == Some(true);
        Some(format!("{name}{}", if is_required { "" } else { "?" }))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// What a tool says of itself that it does. Hints of the server's, and no more than that.
fn hints(item: &Item) -> Vec<String> {
    let Some(annotations) = item.node().get("annotations") else {
        return Vec::new();
    };
    let says = |hint: &str| annotations.get(hint).and_then(Node::as_bool);
    let words = [("readOnlyHint", "says that it only reads"), ("destructiveHint", "says that it may destroy")];
    let told = words.iter().filter(|(hint, _)| says(hint) == Some(true));
    told.map(|(_, word)| (*word).to_owned()).collect()
}
