//! `mcp-tap diff`: what is different between two sessions, call by call, and in what the servers offer.
//!
//! Recordings are read and held against each other in `comparing.rs`; here that is written down (`text.rs`, `json.rs`,
//! `junit.rs`).

pub(super) mod json;
pub(super) mod junit;
pub(super) mod text;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;
use tap_compare::{Rules, ToolRules};

use crate::arguments::{Comparing, Diff, DiffFormat, Global};
use crate::comparing::gather::gather;
use crate::comparing::report::{Both, Report};
use crate::failure::{Failure, NO};
use crate::filtering;
use crate::new_file::{NewFile, Readers};
use crate::output::Output;
use crate::reference::{Found, must_not_be_read};

/// What a header or a file of rules may be long, bytes.
const RULES_LIMIT_BYTES: u64 = 1 << 20;

pub(crate) fn diff(global: &Global, diff: &Diff) -> Result<u8, Failure> {
    let filter = filtering::read(&diff.filter)?;
    let (found_a, found_b) = (diff.a.resolve(global)?, diff.b.resolve(global)?);
    let rules = rules(diff, &[&found_a, &found_b])?;
    let output = diff.output.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(path) = output {
        must_not_be_read(global, path, [&diff.a, &diff.b].into_iter())?;
    }
    let format = match (diff.format, output.and_then(format_of)) {
        _ if diff.json => DiffFormat::Json,
        (Some(format), _) | (None, Some(format)) => format,
        (None, None) => DiffFormat::Text,
    };
    let a = gather(global, &found_a, &rules, filter.as_ref(), |_| true)?;
    let b = gather(global, &found_b, &rules, filter.as_ref(), |_| true)?;
    let both = Both { found: (&found_a, &found_b), gathered: (&a, &b) };
    let report = Report::new(both, &rules, diff.comparing.hide_volatile, || true)?;
    let mut out = match output {
        Some(path) => Output::file(NewFile::create(path, Readers::Usual)?)?,
        None if format == DiffFormat::Text => Output::paged(global),
        None => Output::new(global),
    };
    match format {
        DiffFormat::Text => text::write(&mut out, &report, diff.limit)?,
        DiffFormat::Json => json::write(&mut out, &report)?,
        DiffFormat::Junit => junit::write(&mut out, &report)?,
    }
    out.finish()?;
    Ok(if diff.exit_code && report.differs() { NO } else { 0 })
}

pub(super) fn format_of(path: &Path) -> Option<DiffFormat> {
    match path.extension()?.to_str()? {
        "xml" => Some(DiffFormat::Junit),
        "json" => Some(DiffFormat::Json),
        "txt" => Some(DiffFormat::Text),
        _ => None,
    }
}

/// The rules of both recordings' headers, of a file, and of the command line: what comes later comes on top.
fn rules(diff: &Diff, found: &[&Found]) -> Result<Rules, Failure> {
    let mut rules = rules_of_headers(found)?;
    add_rules(&diff.comparing, &mut rules)?;
    Ok(rules)
}

/// The rules of recordings' headers.
pub(super) fn rules_of_headers(found: &[&Found]) -> Result<Rules, Failure> {
    let mut rules = Rules::default();
    for path in found.iter().filter_map(|found| found.file.as_deref()) {
        let header = first_value(path).ok();
        if let Some(of_header) = header.as_ref().and_then(|header| header.get("rules")) {
            rules.extend(&read_rules(path, of_header)?);
        }
    }
    Ok(rules)
}

/// Adds the rules of a file and of the command line: what comes later comes on top.
pub(super) fn add_rules(comparing: &Comparing, rules: &mut Rules) -> Result<(), Failure> {
    if let Some(path) = &comparing.rules {
        let value = first_value(path)
            .map_err(|problem| Failure::new(format!("cannot read the rules in {}: {problem}", path.display())))?;
        rules.extend(&read_rules(path, value.get("rules").unwrap_or(&value))?);
    }
    rules.extend(&Rules {
        all: ToolRules {
            ignore: comparing.ignore.clone(),
            loose: comparing.loose.iter().copied().collect(),
            compare: comparing.compare.map(Into::into),
            ..ToolRules::default()
        },
        ..Rules::default()
    });
    Ok(())
}

pub(super) fn read_rules(path: &Path, value: &Value) -> Result<Rules, Failure> {
    Rules::read(value).map_err(|error| {
        Failure::new(format!("the rules in {} cannot be used: {error}", path.display()))
            .hint("docs/diff.md has the rules there are")
    })
}

/// The first JSON value of a file: the header of a recording, or all of a file of rules.
pub(super) fn first_value(path: &Path) -> Result<Value, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut values = serde_json::Deserializer::from_reader(file.take(RULES_LIMIT_BYTES)).into_iter();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("it is empty".into()),
    }
}
