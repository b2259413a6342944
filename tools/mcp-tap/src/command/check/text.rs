//! Findings for a person: the rules that were broken, the worst first, and the messages that show it.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;

use tap_session::Severity;
use unicode_width::UnicodeWidthStr;

use super::{Broken, Verdict, Wanted, by};
use crate::failure::Failure;
use crate::output::{Output, Style};
use crate::reference::place;
use crate::text::{counted, shown, thousands, wrapped};

/// So many sessions of a recording have a line though nothing was found in them.
const CLEAN: u64 = 5;

pub(super) fn write(out: &mut Output, verdicts: &[Verdict], wanted: &Wanted<'_>, limit: usize) -> Result<(), Failure> {
    let mut n_found = [0; 3];
    let mut n_hidden = [0; 3];
    // Of the sessions of one recording in which nothing was found, only the first have lines.
    let mut clean: HashMap<&str, u64> = HashMap::new();
    for (index, verdict) in verdicts.iter().enumerate() {
        for (sum, n) in n_hidden.iter_mut().zip(verdict.n_hidden) {
            *sum += n;
        }
        let is_last = verdicts.get(index + 1).is_none_or(|next| next.session != verdict.session);
        let n_clean = clean.entry(&verdict.session).or_default();
        if verdict.inside.is_some() && verdict.rules.is_empty() && verdict.incomplete.is_none() {
            *n_clean += 1;
            if *n_clean > CLEAN {
                if is_last {
                    more(out, verdict, *n_clean)?;
                }
                continue;
            }
        }
        let facts = format!("{}, {}{}", verdict.spoken, verdict.messages, if verdict.live { ", live" } else { "" });
        writeln!(out, "{}  {}", out.styled(Style::Bold, &verdict.name()), out.styled(Style::Dim, &facts))?;
        if let Some(why) = &verdict.incomplete {
            writeln!(out, "{}", out.styled(Style::Warning, why))?;
        }
        let mut broken: Vec<&Broken> = verdict.rules.values().collect();
        broken.sort_by_key(|broken| (Reverse(broken.worst), broken.rule.id));
        for broken in broken {
            n_found[broken.worst as usize] += broken.n_findings;
            writeln!(out)?;
            rule(out, verdict, broken, limit)?;
        }
        writeln!(out)?;
        if is_last {
            more(out, verdict, *n_clean)?;
        }
    }
    let below = Severity::ALL.into_iter().filter(|severity| *severity < wanted.level);
    let hidden = count(n_hidden, below);
    let mut summary = match count(n_found, Severity::ALL) {
        Some(found) => found,
        None => match wanted.level {
            Severity::Error => "no errors".into(),
            Severity::Warning => "no errors and no warnings".into(),
            Severity::Note => "nothing found".into(),
        },
    };
    if let Some(hidden) = hidden {
        let level = if n_hidden[Severity::Warning as usize] > 0 { "warning" } else { "note" };
        summary = format!("{summary}; {hidden} not shown (--level {level})");
    }
    let style = if n_found[Severity::Error as usize] > 0 { Style::Bad } else { Style::Plain };
    writeln!(out, "{}", out.styled(style, &summary))?;
    Ok(())
}

/// Says of how many sessions of a recording there is no line.
fn more(out: &mut Output, verdict: &Verdict, n_clean: u64) -> std::io::Result<()> {
    if n_clean <= CLEAN {
        return Ok(());
    }
    let text = format!("… and {} more of {} with nothing to show", thousands(n_clean - CLEAN), verdict.recording());
    writeln!(out, "{}\n", out.styled(Style::Dim, &text))
}

/// `2 errors, 1 warning`, the worst first.
fn count(n: [u64; 3], severities: impl IntoIterator<Item = Severity>) -> Option<String> {
    let mut severities: Vec<Severity> = severities.into_iter().filter(|severity| n[*severity as usize] > 0).collect();
    severities.sort_unstable_by_key(|severity| Reverse(*severity));
    let words = severities.iter().map(|severity| counted(n[*severity as usize], severity.name()));
    Some(words.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

fn rule(out: &mut Output, verdict: &Verdict, broken: &Broken, limit: usize) -> std::io::Result<()> {
    let style = match broken.worst {
        Severity::Error => Style::Bad,
        Severity::Warning => Style::Warning,
        Severity::Note => Style::Dim,
    };
    let sides = ["client", "server"].map(|side| broken.findings.iter().any(|shown| by(shown.finding.by) == side));
    let who = match sides {
        [true, true] => "by both sides",
        [true, false] => "by the client",
        _ => "by the server",
    };
    let times = match broken.n_findings {
        1 => String::new(),
        n => format!("{n} times, "),
    };
    writeln!(
        out,
        "{} {} {}  {}",
        out.styled(style, &format!("{:<7}", broken.worst)),
        out.styled(Style::Bold, broken.rule.id),
        broken.rule.name,
        out.styled(Style::Dim, &format!("{times}{who}")),
    )?;
    let width = out.width();
    writeln!(out, "{}", wrapped(broken.rule.title, 2, width))?;
    writeln!(out, "{}", out.styled(Style::Good, &wrapped(broken.rule.advice, 2, width)))?;
    for shown_finding in broken.findings.iter().take(limit) {
        let finding = &shown_finding.finding;
        let other = finding.others.first().map(|other| format!("see {}", place("", *other)));
        let detail = Some(shown(&finding.detail, false)).filter(|detail| !detail.is_empty());
        let detail = detail.into_iter().chain(other).collect::<Vec<_>>().join(", ");
        let message = format!("{} {}", verdict.at(finding.at), shown_finding.what);
        let fits = width.is_none_or(|width| 4 + message.width() + 2 + detail.width() <= width);
        match (detail.is_empty(), fits) {
            (true, _) => writeln!(out, "    {message}")?,
            (false, true) => writeln!(out, "    {message}{}", out.styled(Style::Dim, &format!("  {detail}")))?,
            (false, false) => {
                writeln!(out, "    {message}\n{}", out.styled(Style::Dim, &wrapped(&detail, 6, width)))?;
            }
        }
    }
    let more = broken.n_findings.saturating_sub(limit as u64);
    if more > 0 {
        writeln!(out, "    {}", out.styled(Style::Dim, &format!("and {more} more (-n {})", broken.n_findings)))?;
    }
    Ok(())
}
