//! `mcp-tap explain`: what a rule means, with an example of wrong and of right.

use std::io::Write;

use tap_protocol::Revisions;
use tap_session::{Rule, Severity, rules};

use crate::arguments::{Explain, Global};
use crate::failure::Failure;
use crate::output::{Output, Style};
use crate::text::wrapped;

/// From how many columns on a list of rules has titles beside names.
const ROOM_FOR_TITLES: usize = 120;

pub(crate) fn explain(global: &Global, explain: &Explain) -> Result<u8, Failure> {
    let mut out = Output::paged(global);
    match explain.rule {
        Some(rule) => one(&mut out, rule)?,
        None if explain.markdown => markdown(&mut out)?,
        None => list(&mut out)?,
    }
    out.flush()?;
    Ok(0)
}

fn list(out: &mut Output) -> std::io::Result<()> {
    // Where a title has too little room beside the name, it stands below it.
    let below = out.width().filter(|width| *width < ROOM_FOR_TITLES);
    for rule in rules() {
        let worst = rule.severities.iter().map(|(_, severity)| *severity).max().unwrap_or(Severity::Note);
        let id = out.styled(Style::Bold, &format!("{:<9}", rule.id));
        let severity = out.styled(style(worst), &format!("{worst:<8}"));
        match below {
            None => writeln!(out, "{id}{severity}{:<34} {}", rule.name, rule.title)?,
            Some(_) => writeln!(out, "{id}{severity}{}\n{}", rule.name, wrapped(rule.title, 17, below))?,
        }
    }
    Ok(())
}

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => Style::Bad,
        Severity::Warning => Style::Warning,
        Severity::Note => Style::Dim,
    }
}

/// `error in 2025-06-18 – 2025-11-25, warning in 2024-11-05`.
fn severities(rule: &Rule) -> String {
    let said = rule.severities.iter().map(|(revisions, severity)| {
        if *revisions == Revisions::ALL {
            format!("{severity} in every revision")
        } else {
            format!("{severity} in {revisions}")
        }
    });
    said.collect::<Vec<_>>().join(", ")
}

fn one(out: &mut Output, rule: &Rule) -> std::io::Result<()> {
    writeln!(out, "{}  {}", out.styled(Style::Bold, rule.id), rule.name)?;
    let width = out.width();
    let source = format!("{}; {}", severities(rule), rule.section);
    writeln!(out, "{}\n", out.styled(Style::Dim, &wrapped(&source, 0, width)))?;
    let needs_whole = rule.needs_whole.then_some("Judged only where nothing of the session is missing.");
    for text in [rule.title, rule.advice].into_iter().chain(needs_whole) {
        writeln!(out, "{}", wrapped(text, 0, width))?;
    }
    for (name, style, script) in [("wrong", Style::Bad, rule.wrong), ("right", Style::Good, rule.right)] {
        if script.is_empty() {
            continue;
        }
        writeln!(out, "\n{}", out.styled(style, name))?;
        for line in script.lines() {
            writeln!(out, "  {}", example_line(line))?;
        }
    }
    Ok(())
}

/// A line of an example, as a person reads it.
fn example_line(line: &str) -> String {
    match line.split_once(' ') {
        Some(("#", "2026-07-28")) => "(2026-07-28)".into(),
        Some(("#", "http")) => "(over HTTP)".into(),
        Some(("#", http)) if http.starts_with("http ") => {
            let revision = http.trim_start_matches("http ");
            format!("(over HTTP in a session of {revision}; headers that are not shown are as they should be)")
        }
        Some(("#", revision)) => format!("(after the handshake of {revision}, in which both sides declare everything)"),
        Some(("++", wait)) => format!("({wait} ms later)"),
        Some(("..", bytes)) => format!("({bytes} bytes were not recorded)"),
        _ => line.replace("META", "\"_meta\":{…}"),
    }
}

fn markdown(out: &mut Output) -> std::io::Result<()> {
    writeln!(out, "# Rules\n")?;
    writeln!(
        out,
        "What `mcp-tap check` judges. `mcp-tap explain RULE` prints one of these on a terminal. The lines of the examples go to the\n\
         server (`->`) or to the client (`<-`), `!!` is stderr; `>>` and `<<` are requests and answers of HTTP, without the headers that\n\
         are as they should be; `META` stands for the `_meta` that a request of 2026-07-28 needs.\n\n\
         This page is made by `mcp-tap explain --markdown`; a test keeps it so.\n"
    )?;
    writeln!(out, "| rule | severity | what is wrong |\n| --- | --- | --- |")?;
    for rule in rules() {
        writeln!(
            out,
            "| [{0}](#{1}) {2} | {3} | {4} |",
            rule.id,
            anchor(rule),
            rule.name,
            severities(rule),
            rule.title
        )?;
    }
    for rule in rules() {
        writeln!(out, "\n## {} {}\n", rule.id, rule.name)?;
        writeln!(out, "{} {}\n", rule.title, rule.advice)?;
        writeln!(out, "Severity: {}. Source: {}.", severities(rule), rule.section)?;
        if rule.needs_whole {
            writeln!(out, "Judged only where nothing of the session is missing.")?;
        }
        for (name, script) in [("Wrong", rule.wrong), ("Right", rule.right)] {
            if !script.is_empty() {
                writeln!(out, "\n{name}:\n\n```\n{}\n```", script.trim_end())?;
            }
        }
    }
    Ok(())
}

fn anchor(rule: &Rule) -> String {
    format!("{} {}", rule.id, rule.name).to_lowercase().replace(' ', "-")
}
