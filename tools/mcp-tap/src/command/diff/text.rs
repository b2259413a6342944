//! The report for a person.

use std::collections::BTreeMap;
use std::io::Write;

use tap_compare::{
    Change, Difference, Drift, DriftChange, DriftClass, ItemState, PairedBy, Piece, PieceOf, Side, compare_lines,
    compare_words,
};
use tap_jsonrpc::Node;

use crate::comparing::report::{Counts, Half, LISTED_A_CALL, Listed, Pair, Report, State};
use crate::output::{Output, Style};
use crate::text::{counted, cut, shown, thousands};

/// A value on one line, columns.
const VALUE_COLUMNS: usize = 100;

/// So many bytes of a value are enough for that.
const VALUE_BYTES: usize = 600;

/// Lines of a text that are shown where it differs.
const TEXT_LINES: usize = 12;

/// A subject's columns, so that what follows lines up.
const SUBJECT_COLUMNS: usize = 44;

pub(in crate::command) fn write(out: &mut Output, report: &Report, limit: usize) -> std::io::Result<()> {
    head(out, report)?;
    for listed in &report.lists {
        list(out, listed, limit)?;
    }
    calls(out, report, limit)?;
    let mut left = Vec::new();
    left.extend(report.bounds.iter().map(|bound| bound.says().to_owned()));
    if report.n_by_order > 0 {
        left.push(format!(
            "{} stand side by side by their order alone: too many to look for the nearest",
            counted(report.n_by_order as u64, "call")
        ));
    }
    for line in left {
        writeln!(out, "{}", out.styled(Style::Warning, &line))?;
    }
    if !report.differs() {
        writeln!(out, "{}", out.styled(Style::Good, "no differences"))?;
    }
    Ok(())
}

fn head(out: &mut Output, report: &Report) -> std::io::Result<()> {
    let name = |name: &str| shown(name, false);
    let servers = server(report).map_or(String::new(), |text| format!("   {text}"));
    let line = format!("A {}   B {}{servers}", name(&report.a.name), name(&report.b.name));
    writeln!(out, "{}", out.styled(Style::Bold, &line))?;
    let mut parts = Vec::new();
    for listed in &report.lists {
        if let Some([added, removed, changed]) = listed.counts() {
            let mut classes = Vec::new();
            for class in [DriftClass::Breaking, DriftClass::Prompt] {
                let items = listed.what.iter().flat_map(|drift| &drift.items);
                let n = items.filter(|item| item.class == class).count();
                if n > 0 {
                    classes.push(format!("{n} {}", class.name().to_lowercase()));
                }
            }
            let classes = if classes.is_empty() { String::new() } else { format!(" ({})", classes.join(", ")) };
            parts.push(format!("{}s +{added} -{removed} ~{changed}{classes}", listed.kind.one()));
        }
    }
    let Counts { same, changed, only_a, only_b } = report.counts;
    parts.push(format!("calls ={same} ~{changed} +{only_b} -{only_a}"));
    let n_hidden: usize = report.hidden.values().sum();
    if n_hidden > 0 {
        let each = report.hidden.iter().map(|(by, n)| format!("{n} {}", by.name()));
        parts.push(format!("hidden {n_hidden}: {}", each.collect::<Vec<_>>().join(", ")));
    }
    writeln!(out, "{}", parts.join("   "))
}

/// The servers' names and versions, as far as they differ.
fn server(report: &Report) -> Option<String> {
    let of = |half: &Half| {
        let (name, version) = &half.server;
        let text = [name, version].into_iter().flatten().map(|text| shown(text, false)).collect::<Vec<_>>();
        (!text.is_empty()).then(|| text.join(" "))
    };
    match (of(&report.a), of(&report.b)) {
        (Some(a), Some(b)) if a == b => Some(format!("server {a}")),
        (a, b) if a.is_some() || b.is_some() => {
            let unknown = || "unknown".to_owned();
            Some(format!("server {} → {}", a.unwrap_or_else(unknown), b.unwrap_or_else(unknown)))
        }
        _ => None,
    }
}

pub(in crate::command) fn sign(out: &Output, sign: char) -> String {
    let style = match sign {
        '+' => Style::Good,
        '-' => Style::Bad,
        '~' => Style::Warning,
        _ => Style::Dim,
    };
    out.styled(style, &sign.to_string())
}

fn list(out: &mut Output, listed: &Listed, limit: usize) -> std::io::Result<()> {
    let one = listed.kind.one();
    let drift = match &listed.what {
        Ok(drift) => drift,
        Err((a, b)) => {
            let (where_, n) = if a.is_some() { ("A", a) } else { ("B", b) };
            let text = format!("{one}s were listed only in {where_} ({})", n.unwrap_or_default());
            return writeln!(out, "\n{}", out.styled(Style::Dim, &text));
        }
    };
    if drift.items.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    drift_items(out, one, drift, limit)
}

/// What has changed of a list, an item at a time.
pub(in crate::command) fn drift_items(out: &mut Output, one: &str, drift: &Drift, limit: usize) -> std::io::Result<()> {
    for item in &drift.items {
        let mark = match item.state {
            ItemState::Added => '+',
            ItemState::Removed => '-',
            ItemState::Changed => '~',
        };
        let style = match item.class {
            DriftClass::Breaking => Style::Bad,
            DriftClass::Prompt => Style::Warning,
            DriftClass::Compatible => Style::Dim,
        };
        let class = out.styled(style, item.class.name());
        let what = match item.changes.first() {
            Some(change) => change.words.clone(),
            None => item.state_word().to_owned(),
        };
        let subject = padded(&format!("{one:<8} {}", shown(&item.name, false)), SUBJECT_COLUMNS);
        writeln!(out, "{} {subject}  {}  {class}", sign(out, mark), cut(&shown(&what, false), 60))?;
        for change in item.changes.iter().take(limit) {
            drifted(out, change, item.changes.len() > 1)?;
        }
        more(out, item.n_changes, limit)?;
    }
    Ok(())
}

trait Word {
    fn state_word(&self) -> &'static str;
}

impl Word for tap_compare::DriftItem {
    fn state_word(&self) -> &'static str {
        match self.state {
            ItemState::Added => "new",
            ItemState::Removed => "gone",
            ItemState::Changed => "changed",
        }
    }
}

fn drifted(out: &mut Output, change: &DriftChange, with_words: bool) -> std::io::Result<()> {
    let dotted = change.path.dotted(Side::Response);
    let place = shown(dotted.strip_prefix("resp.").unwrap_or(&dotted), false);
    let words = if with_words {
        format!("   {}   {}", shown(&change.words, false), change.class.name())
    } else {
        String::new()
    };
    writeln!(out, "    {place}{}", out.styled(Style::Dim, &cut(&words, 100)))?;
    values(out, change.a.as_deref(), change.b.as_deref())
}

pub(in crate::command) fn more(out: &mut Output, n: usize, limit: usize) -> std::io::Result<()> {
    if n <= limit {
        return Ok(());
    }
    let shows = if n <= LISTED_A_CALL { format!(" (-n {n} shows them)") } else { String::new() };
    let text = format!("    … and {} more{shows}", thousands((n - limit) as u64));
    writeln!(out, "{}", out.styled(Style::Dim, &text))
}

fn calls(out: &mut Output, report: &Report, limit: usize) -> std::io::Result<()> {
    let mut same: BTreeMap<(String, bool), usize> = BTreeMap::new();
    let mut is_first = true;
    for pair in &report.calls {
        if pair.state == State::Same {
            *same.entry((subject(pair), pair.n_hidden() > 0)).or_default() += 1;
            continue;
        }
        if std::mem::take(&mut is_first) {
            writeln!(out)?;
        }
        call(out, pair, limit)?;
    }
    if !same.is_empty() {
        writeln!(out)?;
    }
    for ((subject, has_hidden), n) in same {
        let times = if n > 1 { format!(" ×{}", thousands(n as u64)) } else { String::new() };
        let hidden = if has_hidden { "  with hidden differences" } else { "" };
        writeln!(out, "{} call     {subject}{times}{}", sign(out, '='), out.styled(Style::Dim, hidden))?;
    }
    Ok(())
}

/// What is called: the tool, or the method.
fn subject(pair: &Pair) -> String {
    match &pair.name {
        Some(name) if pair.method == "tools/call" => shown(name, false),
        Some(name) => format!("{} {}", shown(&pair.method, false), shown(name, false)),
        None => shown(&pair.method, false),
    }
}

fn call(out: &mut Output, pair: &Pair, limit: usize) -> std::io::Result<()> {
    let (mark, what) = match pair.state {
        State::OnlyA => ('-', "only in A".to_owned()),
        State::OnlyB => ('+', "only in B".to_owned()),
        State::Same => ('=', String::new()),
        State::Changed => ('~', summary(pair)),
    };
    let name = padded(&format!("{:<8} {} {}", "call", subject(pair), pair.digest), SUBJECT_COLUMNS);
    let places = [("A", &pair.a), ("B", &pair.b)].into_iter().filter_map(|(name, end)| {
        let place = end.as_ref()?.place.rsplit(':').next().unwrap_or_default().to_owned();
        Some(format!("{name}:{place}"))
    });
    let places = places.collect::<Vec<_>>().join(" ");
    writeln!(out, "{} {name}  {what}  {}", sign(out, mark), out.styled(Style::Dim, &places))?;
    for (side, difference) in pair.differences().take(limit) {
        told(out, side, difference)?;
    }
    more(out, pair.n_differences(), limit)
}

/// What differs, in a few words.
fn summary(pair: &Pair) -> String {
    let mut parts = Vec::new();
    if let Some((a, b)) = pair.statuses() {
        parts.push(format!("{} → {}", shown(&a.to_string(), false), shown(&b.to_string(), false)));
    }
    if let Some((a, b)) = pair.rounds() {
        parts.push(format!("{a} → {b} rounds"));
    }
    match (pair.request.n_differences, pair.answer.n_differences) {
        (0, 0) => {}
        (0, n) => parts.push(counted(n as u64, "value")),
        (n, 0) => parts.push(format!("{} of the request", counted(n as u64, "value"))),
        (request, answer) => {
            parts.push(format!("{} of the request, {answer} of the answer", counted(request as u64, "value")));
        }
    }
    if pair.n_hidden() > 0 {
        parts.push(format!("{} hidden", pair.n_hidden()));
    }
    if pair.by == PairedBy::Order {
        parts.push("paired by order".into());
    }
    parts.join(", ")
}

pub(in crate::command) fn told(out: &mut Output, side: Side, difference: &Difference) -> std::io::Result<()> {
    let path = shown(&difference.path.dotted(side), false);
    let from = difference.path_in_a.as_ref().map(|path| format!("   in A {}", shown(&path.dotted(side), false)));
    let word = match difference.change {
        Change::Changed => String::new(),
        other => format!("   {}", other.name()),
    };
    let note = format!("{word}{}", from.unwrap_or_default());
    writeln!(out, "    {path}{}", out.styled(Style::Dim, &note))?;
    values(out, difference.a.as_deref(), difference.b.as_deref())
}

/// Both values: two texts by lines or words, anything else on a line each.
fn values(out: &mut Output, a: Option<&[u8]>, b: Option<&[u8]>) -> std::io::Result<()> {
    if let (Some(a), Some(b)) = (a, b)
        && let (Some(a), Some(b)) = (Node::new(a).text(), Node::new(b).text())
        && let Some(lines) = by_lines(&a, &b)
    {
        for (mark, line) in lines {
            side(out, mark, &line)?;
        }
        return Ok(());
    }
    for (mark, json) in [('-', a), ('+', b)] {
        if let Some(json) = json {
            let start = String::from_utf8_lossy(json.get(..VALUE_BYTES).unwrap_or(json));
            side(out, mark, &cut(&shown(&start, false), VALUE_COLUMNS))?;
        }
    }
    Ok(())
}

fn side(out: &mut Output, mark: char, text: &str) -> std::io::Result<()> {
    let style = match mark {
        '-' => Style::Bad,
        '+' => Style::Good,
        _ => Style::Dim,
    };
    writeln!(out, "      {}", out.styled(style, &format!("{mark} {text}")))
}

/// Two long texts: the lines that differ, or of one line the words around what differs.
fn by_lines(a: &str, b: &str) -> Option<Vec<(char, String)>> {
    let is_short = |text: &str| text.len() < VALUE_COLUMNS && !text.contains('\n');
    if is_short(a) && is_short(b) {
        return None;
    }
    let mut lines = Vec::new();
    if a.contains('\n') || b.contains('\n') {
        for Piece { of, text } in compare_lines(a, b)?.into_iter().filter(|piece| piece.of != PieceOf::Both) {
            let mark = if of == PieceOf::A { '-' } else { '+' };
            lines.push((mark, cut(&shown(text.trim_end_matches('\n'), false), VALUE_COLUMNS)));
        }
    } else {
        for Piece { of, text } in compare_words(a, b)?.into_iter().filter(|piece| piece.of != PieceOf::Both) {
            let mark = if of == PieceOf::A { '-' } else { '+' };
            lines.push((mark, format!("… {} …", cut(&shown(text.trim(), false), VALUE_COLUMNS))));
        }
    }
    let n = lines.len();
    if n > TEXT_LINES {
        lines.truncate(TEXT_LINES);
        lines.push(('…', format!("and {} more", counted((n - TEXT_LINES) as u64, "line"))));
    }
    (!lines.is_empty()).then_some(lines)
}

/// Filled with blanks, never cut.
pub(in crate::command) fn padded(text: &str, columns: usize) -> String {
    let width = unicode_width::UnicodeWidthStr::width(text);
    format!("{text}{}", " ".repeat(columns.saturating_sub(width)))
}
