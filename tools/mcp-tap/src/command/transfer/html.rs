//! A report as one file for a browser: no script, nothing from the network, and nothing in it that came from the wire is
//! anything but text.

use std::fmt::Write as _;

use tap_session::Severity;

use super::report::{Body, Entry, Group, Report};
use crate::output::Style;
use crate::text::{duration, shown, size};

/// How much of a message is shown, bytes.
const BODY_BYTES: usize = 64 * 1024;

/// Nothing is loaded, nothing is run: also where an escape of ours were wrong.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const CSS: &str = "
:root{color-scheme:light dark;--line:#8884;--dim:#777;--bad:#c22;--good:#183;--warn:#a60;--bar:#48c8}
@media(prefers-color-scheme:dark){:root{--bad:#f66;--good:#5c7;--warn:#ea5;--dim:#999}}
body{font:14px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}
th{font-weight:normal;color:var(--dim)}.n{text-align:right;font-variant-numeric:tabular-nums}
details,.row{border-top:1px solid var(--line)}summary,.row{display:grid;padding:.2rem 0;gap:.8rem;
grid-template-columns:4rem 6rem 1.5rem minmax(10rem,2fr) minmax(6rem,1fr) 6rem 8rem 6rem}
summary{cursor:pointer;list-style:none}summary::before,.row::before{content:none}
summary:hover{background:#8882}pre{overflow:auto;margin:.3rem 0 .8rem;padding:.6rem;background:#8881;max-height:40rem}
.bad{color:var(--bad)}.good{color:var(--good)}.warn{color:var(--warn)}.dim{color:var(--dim)}
.what{overflow-wrap:anywhere;font-family:ui-monospace,monospace}.bar{height:.5rem;margin-top:.4rem;background:var(--bar)}
";

pub(super) fn write(report: &Report) -> String {
    let mut page = String::new();
    let name = report.facts.first().map(|(_, name)| name.as_str()).unwrap_or_default();
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>MCP session of {name}</title>\n<style>{CSS}</style></head><body>\n<h1>MCP session of {name}</h1>\n",
        name = text(name)
    );
    facts(&mut page, report);
    findings(&mut page, report);
    by_what(&mut page, report);
    let _ = writeln!(page, "<h2>What passed</h2>");
    let longest = report.entries.iter().filter_map(|entry| entry.latency_ns).max().unwrap_or(1).max(1);
    for entry in &report.entries {
        one(&mut page, entry, longest);
    }
    if report.n_more > 0 {
        let _ = writeln!(page, "<p>{} more; export a part of the session, or what fits a filter.</p>", report.n_more);
    }
    let _ = writeln!(page, "<p class=\"dim\">{}</p>\n</body></html>", text(&super::about_secrets(report)));
    page
}

fn facts(page: &mut String, report: &Report) {
    let _ = writeln!(page, "<table>");
    for (name, value) in &report.facts {
        let _ = writeln!(page, "<tr><th>{name}</th><td class=\"what\">{}</td></tr>", text(value));
    }
    let _ = writeln!(page, "</table>");
}

fn findings(page: &mut String, report: &Report) {
    if report.findings.is_empty() {
        return;
    }
    let _ = writeln!(page, "<h2>Broken rules</h2>\n<table>");
    for finding in &report.findings {
        let class = match finding.severity {
            Severity::Error => "bad",
            Severity::Warning => "warn",
            Severity::Note => "dim",
        };
        let _ = writeln!(
            page,
            "<tr><td class=\"{class}\">{}</td><td class=\"n\"><a href=\"#m{number}\">{number}</a></td><td>{}</td>\
             <td>{}<br><span class=\"dim\">{}</span></td></tr>",
            finding.severity.name(),
            finding.rule,
            text(&finding.text),
            text(finding.advice),
            number = finding.number,
        );
    }
    let _ = writeln!(page, "</table>");
}

fn by_what(page: &mut String, report: &Report) {
    let groups = report.by_what();
    if groups.is_empty() {
        return;
    }
    let head = "<tr><th>call</th><th class=\"n\">calls</th><th class=\"n\">failed</th><th class=\"n\">median</th><th class=\"n\">longest</th></tr>";
    let _ = writeln!(page, "<h2>Calls</h2>\n<table>{head}");
    for Group { what, n_calls, n_bad, middle_ns, longest_ns } in groups {
        let time = |ns: Option<u64>| ns.map(duration).unwrap_or_default();
        let class = if n_bad > 0 { "n bad" } else { "n" };
        let _ = writeln!(
            page,
            "<tr><td class=\"what\">{}</td><td class=\"n\">{n_calls}</td><td class=\"{class}\">{n_bad}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            text(&what),
            time(middle_ns),
            time(longest_ns)
        );
    }
    let _ = writeln!(page, "</table>");
}

fn one(page: &mut String, entry: &Entry, longest: u64) {
    let class = match entry.style {
        Style::Good => "good",
        Style::Bad => "bad",
        Style::Warning => "warn",
        Style::Dim => "dim",
        Style::Plain | Style::Bold => "",
    };
    let share = entry.latency_ns.map(|ns| ns as f64 / longest as f64 * 100.0);
    let bar = share.map(|share| format!("<div class=\"bar\" style=\"width:{share:.1}%\"></div>")).unwrap_or_default();
    let cells = format!(
        "<span class=\"n\">{}</span><span class=\"n dim\">{}</span><span>{}</span><span class=\"what\">{}</span>\
         <span class=\"{class}\">{}</span><span class=\"n\">{}</span><span>{bar}</span><span class=\"n dim\">{}</span>",
        entry.number,
        duration(entry.at_ns),
        entry.way(),
        text(&entry.what),
        text(&entry.outcome),
        entry.latency_ns.map(duration).unwrap_or_default(),
        size(entry.bytes + entry.answer_bytes.unwrap_or_default()),
    );
    let number = entry.number;
    if entry.message.text.is_empty() && entry.answer.is_none() {
        let _ = writeln!(page, "<div class=\"row\" id=\"m{number}\">{cells}</div>");
        return;
    }
    let body = |body: &Body| format!("<pre>{}</pre>", escaped(&body.pretty(BODY_BYTES)));
    let _ = writeln!(
        page,
        "<details id=\"m{number}\"><summary>{cells}</summary>{}{}</details>",
        body(&entry.message),
        entry.answer.as_ref().map(body).unwrap_or_default()
    );
}

/// Text on one line.
fn text(text: &str) -> String {
    escaped(&shown(text, false))
}

/// Text that a browser takes for nothing else, also within an attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
