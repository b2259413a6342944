//! A report as Markdown, for an issue or a chat.

use std::fmt::Write as _;

use super::report::{Entry, Report};
use crate::text::{duration, shown, size};

/// How much of a message is shown, bytes.
const BODY_BYTES: usize = 4_000;

pub(super) fn write(report: &Report) -> String {
    let mut text = String::new();
    let name = report.facts.first().map(|(_, name)| name.as_str()).unwrap_or_default();
    let _ = writeln!(text, "# MCP session of {}\n", cell(name));
    let _ = writeln!(text, "| | |\n| --- | --- |");
    for (name, value) in &report.facts {
        let _ = writeln!(text, "| {name} | {} |", cell(value));
    }
    if !report.findings.is_empty() {
        let _ = writeln!(text, "\n## Broken rules\n");
        for finding in &report.findings {
            let severity = finding.severity.name();
            let _ = writeln!(
                text,
                "- {severity} at {}: {} (`{}`). {}",
                finding.number,
                cell(&finding.text),
                finding.rule,
                finding.advice
            );
        }
    }
    let _ = writeln!(text, "\n## What passed\n");
    let _ = writeln!(text, "| # | after | | | | took | size |\n| ---: | ---: | --- | --- | --- | ---: | ---: |");
    for entry in &report.entries {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            entry.number,
            duration(entry.at_ns),
            entry.way(),
            cell(&entry.what),
            cell(&entry.outcome),
            entry.latency_ns.map(duration).unwrap_or_default(),
            size(entry.bytes + entry.answer_bytes.unwrap_or_default()),
        );
    }
    if report.n_more > 0 {
        let _ = writeln!(text, "\n{} more; export a part of the session, or what fits a filter.", report.n_more);
    }
    let _ = writeln!(text, "\n## Messages\n");
    for entry in &report.entries {
        messages(&mut text, entry);
    }
    let _ = writeln!(text, "{}", super::about_secrets(report));
    text
}

fn messages(text: &mut String, entry: &Entry) {
    if entry.message.text.is_empty() && entry.answer.is_none() {
        return;
    }
    let head = format!("{} {} {}: {}", entry.number, entry.way(), entry.what, entry.outcome);
    let _ = writeln!(text, "<details><summary>{}</summary>\n", super::html::escaped(&shown(&head, false)));
    for body in std::iter::once(&entry.message).chain(&entry.answer) {
        let shown = body.pretty(BODY_BYTES);
        // Longer than any in it, so that nothing in it ends it.
        let longest = shown.split(|each| each != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        let language = if body.is_json { "json" } else { "" };
        let _ = writeln!(text, "{fence}{language}\n{}\n{fence}\n", shown.trim_end());
    }
    let _ = writeln!(text, "</details>\n");
}

/// Text that stays in its cell, and means nothing to Markdown.
fn cell(text: &str) -> String {
    let mut cell = String::new();
    for character in shown(text, false).chars() {
        match character {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '@' | '!' => cell.extend(['\\', character]),
            '<' => cell.push_str("&lt;"),
            '>' => cell.push_str("&gt;"),
            '&' => cell.push_str("&amp;"),
            other => cell.push(other),
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_cell_stays_there() {
        for (text, expected) in [
            ("tools/call find", "tools/call find"),
            ("a|b <script> [x](y)", "a\\|b &lt;script&gt; \\[x\\](y)"),
            ("`x` & **y**\n", "\\`x\\` &amp; \\*\\*y\\*\\*\\\\u{a}"),
        ] {
            assert_eq!(cell(text), expected);
        }
    }
}
