//! Rules of what differs: from then on that is no difference.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::str::FromStr;

use tap_compare::{Change, PathPattern, Rules, Side};
use tap_store::{FOLD_COLUMNS, StoreError, put_rules};

use crate::arguments::Global;
use crate::command::diff::rules_of_headers;
use crate::comparing::gather::gather;
use crate::comparing::report::{Both, Listed, Pair, Report, State};
use crate::failure::Failure;
use crate::new_file::{NewFile, Readers, cannot_write};
use crate::reference::{Found, Reference};

/// What came of it.
pub(super) struct Made {
    /// The rules, as they are written on a command line.
    pub(super) rules: Vec<String>,
    /// Whether something differs all the same.
    pub(super) differs: bool,
}

/// Makes rules of all values that differ between a recording and what it would be now, and writes them into the headers of
/// both: what is there in both and another is volatile, what is only in one is left out; of the tool that was called, if one
/// was.
pub(super) fn make(global: &Global, file: &Path, new: &Path) -> Result<Made, Failure> {
    if !file.is_file() {
        return Ok(Made { rules: Vec::new(), differs: true });
    }
    let found = [resolve(global, file)?, resolve(global, new)?];
    let rules = rules_of_headers(&[&found[0]])?;
    let report = compared(global, &found, &rules)?;
    let mut more = rules.clone();
    let mut told = Vec::new();
    for pair in report.calls.iter().filter(|pair| pair.state == State::Changed) {
        let of_tool = match &pair.name {
            Some(name) => more.tools.entry(name.clone()).or_default(),
            None => &mut more.all,
        };
        // Requests say what the client said, and only hand back what the server made up.
        for difference in &pair.answer.differences {
            let written = difference.path.dotted(Side::Response);
            let Ok(pattern) = PathPattern::parse(&written) else {
                continue;
            };
            let (kind, list) = match difference.change {
                Change::Added | Change::Removed | Change::Reordered => ("ignore", &mut of_tool.ignore),
                Change::Changed | Change::TypeChanged => ("volatile", &mut of_tool.volatile),
            };
            if !list.contains(&pattern) {
                list.push(pattern);
                let name = pair.name.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
                told.push(format!("{kind} {written}{name}"));
            }
        }
    }
    if told.is_empty() {
        return Ok(Made { rules: told, differs: true });
    }
    let differs = answers_differ(&compared(global, &found, &more)?);
    write(file, &more)?;
    if differs {
        // Whoever accepts what is left keeps the rules.
        write(new, &more)?;
    }
    Ok(Made { rules: told, differs })
}

fn resolve(global: &Global, path: &Path) -> Result<Found, Failure> {
    // A name without a folder could be a session's.
    let path = Path::new(".").join(path);
    Reference::from_str(&path.to_string_lossy()).map_err(|error| Failure::new(error.to_string()))?.resolve(global)
}

fn compared(global: &Global, found: &[Found; 2], rules: &Rules) -> Result<Report, Failure> {
    let [a, b] = found;
    let gathered = (gather(global, a, rules, None, |_| true)?, gather(global, b, rules, None, |_| true)?);
    Report::new(Both { found: (a, b), gathered: (&gathered.0, &gathered.1) }, rules, false, || true)
}

/// Whether something differs that `verify` would tell.
fn answers_differ(report: &Report) -> bool {
    let differs = |pair: &Pair| {
        let is_in_both = !matches!(pair.state, State::OnlyA | State::OnlyB);
        !is_in_both || !pair.answer.is_same() || pair.statuses().is_some()
    };
    report.calls.iter().any(differs) || report.lists.iter().any(Listed::differs)
}

/// Writes a recording anew with these rules.
fn write(path: &Path, rules: &Rules) -> Result<(), Failure> {
    let json =
        serde_json::to_string(rules).map_err(|error| Failure::new(format!("the rules make no JSON: {error}")))?;
    let input = File::open(path).map_err(|source| StoreError::Io { path: path.into(), source })?;
    // `a.mcprec.new` is folded as `a.mcprec` is.
    let is_folded = [path, &path.with_extension("")].iter().any(|path| path.extension().is_some_and(|e| e == "mcprec"));
    let readers = if is_folded { Readers::Usual } else { Readers::Owner };
    let mut out = BufWriter::new(NewFile::create(path, readers)?);
    put_rules(BufReader::new(input), path, &json, if is_folded { FOLD_COLUMNS } else { 0 }, &mut out)?;
    out.into_inner().map_err(|error| cannot_write(path, error.error()))?.finish()
}
