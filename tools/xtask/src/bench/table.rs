//! The figures as a table in Markdown, wide enough to be read as it is.

use std::fmt::Write;

use super::figure::{Outcome, Spread, Verdict};

const HEAD: [&str; 7] = ["figure", "none", "copier", "tap", "tap/copier", "target", ""];

/// Medians, with the lowest and the highest behind them where they differ.
pub(super) fn markdown(outcomes: &[Outcome]) -> String {
    let rows: Vec<[String; 7]> = outcomes.iter().map(row).collect();
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([HEAD[column].chars().count(), 3]).max().unwrap_or(0)
        })
        .collect();
    let mut table = String::new();
    write_row(&mut table, &HEAD, &widths);
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    write_row(&mut table, &rule, &widths);
    for row in &rows {
        write_row(&mut table, row, &widths);
    }
    table
}

fn write_row(table: &mut String, cells: &[impl AsRef<str>], widths: &[usize]) {
    for (cell, width) in cells.iter().zip(widths) {
        // A `String` takes all that is written to it.
        let _ = write!(table, "| {:<width$} ", cell.as_ref());
    }
    table.push_str("|\n");
}

fn row(outcome: &Outcome) -> [String; 7] {
    let name = match outcome.unit {
        "" => outcome.name.to_owned(),
        unit => format!("{}, {unit}", outcome.name),
    };
    let verdict = match outcome.verdict {
        Verdict::Met => "met",
        Verdict::Missed => "MISSED",
        Verdict::Unknown => "not known",
        Verdict::None => "",
    };
    [
        name,
        cell(outcome.none),
        cell(outcome.copier),
        cell(outcome.tap),
        outcome.ratio.map(|ratio| format!("{ratio:.3}")).unwrap_or_default(),
        outcome.target.clone(),
        verdict.to_owned(),
    ]
}

fn cell(spread: Option<Spread>) -> String {
    match spread {
        None => "–".to_owned(),
        Some(Spread { median, min, max, .. }) if min == max => number(median),
        Some(Spread { median, min, max, .. }) => format!("{} ({}..{})", number(median), number(min), number(max)),
    }
}

/// Three digits or so: more would be noise. Counts are whole and keep all.
fn number(number: f64) -> String {
    if number.fract() == 0.0 || number >= 1000.0 {
        format!("{number:.0}")
    } else if number >= 100.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::phase::Phase;
    use super::*;

    #[test]
    fn a_table_has_medians_and_their_ends() {
        let outcome = Outcome {
            phase: Phase::Burst,
            name: "burst",
            unit: "calls/s",
            none: None,
            copier: Some(Spread { median: 1_234_567.4, min: 999.95, max: 2e6, n_runs: 3 }),
            tap: Some(Spread { median: 200_005.0, min: 200_005.0, max: 200_005.0, n_runs: 3 }),
            ratio: Some(0.1621),
            target: "≥ 0.9 × copier".to_owned(),
            verdict: Verdict::Missed,
        };
        let expected = "\
| figure         | none | copier                   | tap    | tap/copier | target         |        |
| -------------- | ---- | ------------------------ | ------ | ---------- | -------------- | ------ |
| burst, calls/s | –    | 1234567 (1000.0..2000000) | 200005 | 0.162      | ≥ 0.9 × copier | MISSED |
";
        let collapse = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('-', "");
        assert_eq!(collapse(&markdown(&[outcome])), collapse(expected));
    }

    #[test]
    fn numbers_are_short() {
        for (given, expected) in
            [(0.0, "0"), (0.857, "0.86"), (19.73, "19.73"), (123.456, "123.5"), (1599.5, "1600"), (200_005.0, "200005")]
        {
            assert_eq!(number(given), expected);
        }
    }
}
