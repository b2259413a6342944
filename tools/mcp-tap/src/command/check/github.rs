//! Findings as workflow commands of GitHub, which shows them beside the lines of a pull request.

use std::io::Write;

use tap_session::Severity;

use super::{Shown, Verdict, relative, sentence};
use crate::failure::Failure;
use crate::output::Output;
use crate::text::shown;

pub(super) fn write(out: &mut Output, verdicts: &[Verdict]) -> Result<(), Failure> {
    for verdict in verdicts {
        for broken in verdict.rules.values() {
            for Shown { finding, .. } in &broken.findings {
                let command = match finding.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Note => "notice",
                };
                let mut properties = format!("title={}", property(&format!("{} {}", broken.rule.id, broken.rule.name)));
                if let Some(file) = &verdict.file {
                    properties += &format!(",file={}", property(&shown(&relative(file).to_string_lossy(), false)));
                    if let Some(line) = verdict.line(finding.at) {
                        properties += &format!(",line={line}");
                    }
                }
                let said = format!("{} {} {}", verdict.at(finding.at), sentence(finding), broken.rule.advice);
                writeln!(out, "::{command} {properties}::{}", text(&said))?;
            }
        }
    }
    Ok(())
}

/// Text, where a line break and a percent sign would end or change the command.
fn text(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property's value, where a colon and a comma separate properties.
fn property(value: &str) -> String {
    text(value).replace(':', "%3A").replace(',', "%2C")
}
