//! The report as JUnit's XML: a suite for each list and one for the calls; a case an item or call.

use std::io::Write;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use tap_compare::{Difference, Drift, Side};

use crate::comparing::report::{Listed, Pair, Report, State};
use crate::failure::Failure;
use crate::output::Output;
use crate::text::{cut, shown};

/// Differences that are told of one call.
const TOLD: usize = 50;

/// A value on one line, columns.
const VALUE_COLUMNS: usize = 200;

/// A case: its name, and what is wrong with it.
pub(in crate::command) struct Case {
    pub(in crate::command) name: String,
    /// In a few words, and in many.
    pub(in crate::command) failure: Option<(String, String)>,
}

pub(super) fn write(out: &mut Output, report: &Report) -> Result<(), Failure> {
    let mut suites: Vec<(String, Vec<Case>)> = Vec::new();
    for listed in &report.lists {
        suites.push((format!("{}s", listed.kind.one()), items(listed)));
    }
    suites.push(("calls".into(), report.calls.iter().map(call).collect()));
    write_suites(out, "mcp-tap diff", &suites)
}

/// Suites of cases.
pub(in crate::command) fn write_suites(
    out: &mut Output,
    title: &str,
    suites: &[(String, Vec<Case>)],
) -> Result<(), Failure> {
    let n_tests: usize = suites.iter().map(|(_, cases)| cases.len()).sum();
    let failures = |cases: &[Case]| cases.iter().filter(|case| case.failure.is_some()).count();
    let n_failures: usize = suites.iter().map(|(_, cases)| failures(cases)).sum();
    let mut writer = Writer::new_with_indent(&mut *out, b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuites")
        .with_attribute(("name", title))
        .with_attribute(("tests", n_tests.to_string().as_str()))
        .with_attribute(("failures", n_failures.to_string().as_str()))
        .write_inner_content(|writer| {
            for (name, cases) in suites {
                writer
                    .create_element("testsuite")
                    .with_attribute(("name", name.as_str()))
                    .with_attribute(("tests", cases.len().to_string().as_str()))
                    .with_attribute(("failures", failures(cases).to_string().as_str()))
                    .write_inner_content(|writer| cases.iter().try_for_each(|case| write_case(writer, name, case)))?;
            }
            Ok(())
        })?;
    writeln!(out)?;
    Ok(())
}

fn write_case(writer: &mut Writer<&mut Output>, suite: &str, case: &Case) -> std::io::Result<()> {
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", suite))
        .with_attribute(("name", case.name.as_str()));
    match &case.failure {
        None => drop(element.write_empty()?),
        Some((message, text)) => {
            element.write_inner_content(|writer| {
                writer
                    .create_element("failure")
                    .with_attribute(("message", message.as_str()))
                    .write_text_content(BytesText::new(text))?;
                Ok(())
            })?;
        }
    }
    Ok(())
}

fn items(listed: &Listed) -> Vec<Case> {
    listed.what.as_ref().map_or_else(|_| Vec::new(), drifted)
}

/// A case for each item of a list that has changed, and one for the rest.
pub(in crate::command) fn drifted(drift: &Drift) -> Vec<Case> {
    let changed = drift.items.iter().map(|item| {
        let lines = item.changes.iter().take(TOLD).map(|change| {
            let dotted = change.path.dotted(Side::Response);
            let place = dotted.strip_prefix("resp.").unwrap_or(&dotted).to_owned();
            format!("{place}: {} ({})", change.words, change.class.name())
        });
        let state = match item.state {
            tap_compare::ItemState::Added => "added",
            tap_compare::ItemState::Removed => "removed",
            tap_compare::ItemState::Changed => "changed",
        };
        let text = shown(&lines.collect::<Vec<_>>().join("\n"), true);
        Case { name: shown(&item.name, false), failure: Some((format!("{state}, {}", item.class.name()), text)) }
    });
    let mut cases: Vec<Case> = changed.collect();
    if drift.n_same > 0 {
        cases.push(Case { name: format!("{} that are the same", drift.n_same), failure: None });
    }
    cases
}

fn call(pair: &Pair) -> Case {
    let name = match &pair.name {
        Some(name) => format!("{} {name} {}", pair.method, pair.digest),
        None => format!("{} {}", pair.method, pair.digest),
    };
    let places = [("A", &pair.a), ("B", &pair.b)].into_iter();
    let places = places.filter_map(|(which, end)| Some(format!("{which} {}", end.as_ref()?.place)));
    let name = shown(&format!("{} ({})", name.trim_end(), places.collect::<Vec<_>>().join(", ")), false);
    let failure = match pair.state {
        State::Same => None,
        State::OnlyA => Some(("only in A".to_owned(), String::new())),
        State::OnlyB => Some(("only in B".to_owned(), String::new())),
        State::Changed => {
            let mut lines = Vec::new();
            if let Some((a, b)) = pair.statuses() {
                lines.push(format!("{a} became {b}"));
            }
            if let Some((a, b)) = pair.rounds() {
                lines.push(format!("{a} rounds became {b}"));
            }
            lines.extend(pair.differences().take(TOLD).map(|(side, this)| told(side, this)));
            if pair.n_differences() > TOLD {
                lines.push(format!("and {} more", pair.n_differences() - TOLD));
            }
            // Characters that XML cannot hold are escaped as on a terminal.
            Some((format!("{} differences", pair.n_differences()), shown(&lines.join("\n"), true)))
        }
    };
    Case { name, failure }
}

/// A difference on one line.
pub(in crate::command) fn told(side: Side, difference: &Difference) -> String {
    let value = |json: &Option<Box<[u8]>>| match json {
        Some(json) => cut(&String::from_utf8_lossy(json.get(..2_000).unwrap_or(json)), VALUE_COLUMNS),
        None => "nothing".into(),
    };
    let (a, b) = (value(&difference.a), value(&difference.b));
    format!("{}: {}: {a} became {b}", difference.path.dotted(side), difference.change.name())
}
