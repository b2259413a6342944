//! Findings as SARIF 2.1.0, which code scanning tools read.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Value, json};
use tap_session::{Rule, Severity, rules};

use super::{Shown, Verdict, relative, sentence};
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn write(out: &mut Output, verdicts: &[Verdict]) -> Result<(), Failure> {
    let all: Vec<&'static Rule> = rules().collect();
    let mut results = Vec::new();
    for verdict in verdicts {
        for broken in verdict.rules.values() {
            let index = all.iter().position(|rule| *rule == broken.rule);
            results.extend(broken.findings.iter().map(|shown| result(verdict, shown, index)));
        }
    }
    let sarif = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "mcp-tap",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": all.iter().map(|rule| described(rule)).collect::<Vec<_>>(),
            }},
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &sarif).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn level(severity: Severity) -> &'static str {
    severity.name()
}

fn described(rule: &Rule) -> Value {
    let worst = rule.severities.iter().map(|(_, severity)| *severity).max().unwrap_or(Severity::Note);
    json!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": format!("{} {} ({})", rule.title, rule.advice, rule.section) },
        "help": { "text": rule.advice },
        "defaultConfiguration": { "level": level(worst) },
    })
}

/// The URI of a file: relative to where the command runs, if it was named so.
fn uri(file: &Path) -> String {
    let mut uri = String::from(if file.is_absolute() { "file://" } else { "" });
    for byte in relative(file).as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

fn result(verdict: &Verdict, shown: &Shown, rule_index: Option<usize>) -> Value {
    let finding = &shown.finding;
    let mut location = json!({
        "logicalLocations": [{ "fullyQualifiedName": verdict.at(finding.at), "kind": "message" }],
    });
    if let Some(file) = &verdict.file {
        location["physicalLocation"] = json!({ "artifactLocation": { "uri": uri(file) } });
        if let Some(line) = verdict.line(finding.at) {
            location["physicalLocation"]["region"] = json!({ "startLine": line });
        }
    }
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": rule_index,
        "level": level(finding.severity),
        "message": { "text": format!("{} {}", sentence(finding), finding.rule.advice) },
        "locations": [location],
        "properties": { "by": super::by(finding.by), "session": verdict.session, "message": shown.what },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_as_a_uri() {
        for (file, expected) in [
            ("a.jsonl", "a.jsonl"),
            ("./recordings/a.jsonl", "recordings/a.jsonl"),
            ("././a.jsonl", "a.jsonl"),
            ("../a.jsonl", "../a.jsonl"),
            ("my files/50%#é.jsonl", "my%20files/50%25%23%C3%A9.jsonl"),
            ("a:b.jsonl", "a%3Ab.jsonl"),
            ("/tmp/a.jsonl", "file:///tmp/a.jsonl"),
        ] {
            assert_eq!(uri(Path::new(file)), expected);
        }
    }
}
