//! Findings as JUnit's XML, which test reports read: a suite a session, a case a rule.

use std::io::Write;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use tap_session::rules;

use super::{Broken, Verdict, sentence};
use crate::failure::Failure;
use crate::output::Output;
use crate::text::shown;

pub(super) fn write(out: &mut Output, verdicts: &[Verdict]) -> Result<(), Failure> {
    let mut writer = Writer::new_with_indent(&mut *out, b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let n_failures: usize = verdicts.iter().map(|verdict| verdict.rules.len()).sum();
    let n_rules = rules().count();
    writer
        .create_element("testsuites")
        .with_attribute(("name", "mcp-tap check"))
        .with_attribute(("tests", (n_rules * verdicts.len()).to_string().as_str()))
        .with_attribute(("failures", n_failures.to_string().as_str()))
        .write_inner_content(|writer| verdicts.iter().try_for_each(|verdict| suite(writer, verdict, n_rules)))?;
    writeln!(out)?;
    Ok(())
}

fn suite(writer: &mut Writer<&mut Output>, verdict: &Verdict, n_rules: usize) -> std::io::Result<()> {
    writer
        .create_element("testsuite")
        .with_attribute(("name", verdict.name().as_str()))
        .with_attribute(("tests", n_rules.to_string().as_str()))
        .with_attribute(("failures", verdict.rules.len().to_string().as_str()))
        .write_inner_content(|writer| {
            for rule in rules() {
                let case = writer
                    .create_element("testcase")
                    .with_attribute(("classname", "mcp"))
                    .with_attribute(("name", format!("{} {}", rule.id, rule.name).as_str()));
                match verdict.rules.get(rule.id) {
                    None => drop(case.write_empty()?),
                    Some(broken) => drop(case.write_inner_content(|writer| failure(writer, verdict, broken))?),
                }
            }
            Ok(())
        })?;
    Ok(())
}

fn failure(writer: &mut Writer<&mut Output>, verdict: &Verdict, broken: &Broken) -> std::io::Result<()> {
    let findings = broken
        .findings
        .iter()
        .map(|found| format!("{} {} {}", verdict.at(found.finding.at), found.what, sentence(&found.finding)));
    let mut said = vec![broken.rule.advice.to_owned()];
    said.extend(findings);
    writer
        .create_element("failure")
        .with_attribute(("type", broken.worst.name()))
        .with_attribute(("message", broken.rule.title))
        // Characters that XML cannot hold are escaped as on a terminal.
        .write_text_content(BytesText::new(&shown(&said.join("\n"), true)))?;
    Ok(())
}
