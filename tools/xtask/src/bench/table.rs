//! Figures as a table in Markdown, wide enough to be read as it is.

use std::fmt::Write;

use super::spread::Spread;

/// A head and rows of as many cells.
pub(super) fn markdown<const N: usize>(head: &[&str; N], rows: &[[String; N]]) -> String {
    let widths: Vec<usize> = (0..N)
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([head[column].chars().count(), 3]).max().unwrap_or(0)
        })
        .collect();
    let mut table = String::new();
    write_row(&mut table, head, &widths);
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    write_row(&mut table, &rule, &widths);
    for row in rows {
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

/// The first cell of a row.
pub(super) fn name(name: &str, unit: &str) -> String {
    match unit {
        "" => name.to_owned(),
        unit => format!("{name}, {unit}"),
    }
}

/// The median, with the lowest and the highest behind it where they differ.
pub(super) fn cell(spread: Option<Spread>) -> String {
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
    use super::super::figure::{HEAD, Outcome};
    use super::super::phase::Phase;
    use super::super::spread::Verdict;
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
        assert_eq!(collapse(&markdown(&HEAD, &[outcome.row()])), collapse(expected));
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
