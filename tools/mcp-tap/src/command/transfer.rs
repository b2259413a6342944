//! `mcp-tap export`, `mcp-tap redact` and `mcp-tap import`: recordings as text files, and sessions as reports.

mod har;
mod html;
mod markdown;
mod report;
mod table;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use tap_filter::Filter;
use tap_redact::{Redactor, Replaced, Unjudged};
use tap_store::{
    Chosen, ExportOptions, Exported, FOLD_COLUMNS, ListKind, Profile, Rewritten, Store, StoreError, export,
    find_secrets, rewrite,
};

use crate::arguments::{Export, Global, Import, Redact};
use crate::failure::{Failure, NO};
use crate::filtering::{self, Sieve};
use crate::new_file::{NewFile, Readers, cannot_write};
use crate::output::Output;
use crate::progress::catch_up;
use crate::reference::{Found, Part, database, import_file, must_not_be_read};
use crate::text::{counted, shown};

pub(crate) fn export_session(global: &Global, wanted: &Export) -> Result<u8, Failure> {
    let mut found = wanted.session.resolve(global)?;
    if let Some(number) = found.conversation {
        return Err(Failure::new(format!(
            "cannot export {} alone: a recording is exported as one",
            found.inside(number)
        ))
        .hint(format!("leave out the number behind the slash: `mcp-tap export {}`", found.name())));
    }
    let filter = filtering::read(&wanted.filter)?;
    let chosen = match &filter {
        Some(filter) => fitting(global, &found, filter)?,
        None => Chosen::Range(found.part.range()),
    };
    if chosen == Chosen::Some(BTreeSet::new()) {
        let _ = writeln!(std::io::stderr(), "no messages that fit in {}", shown(&found.name(), false));
        return Ok(NO);
    }
    let file = wanted.output.as_deref().filter(|path| *path != Path::new("-"));
    if let Some((format, file)) = Told::of(file) {
        return export_report(global, wanted, &mut found, &chosen, format, file);
    }
    let options = options(wanted, file, &found, chosen)?;
    if options.profile == Profile::Fixture {
        // Who talked is in the header.
        catch_up(global, &found.store, found.session.id, &found.session.start.name)?;
        found.refresh()?;
    }
    let mut redactor = (options.profile == Profile::Fixture && !wanted.no_redact)
        .then(|| Redactor::new(wanted.redact.rules.clone(), homes()));
    if redactor.is_none() && !wanted.redact.rules.is_empty() {
        redactor = Some(Redactor::new(wanted.redact.rules.clone(), homes()));
    }
    // A fixture that is written as one keeps all that it says, also what this version does not know.
    let as_it_is = found.file.as_deref().filter(|_| found.is_fixture() && options.profile == Profile::Fixture);
    let as_it_is = as_it_is.filter(|path| found.part == Part::All && filter.is_none() && path.is_file());
    let mut write = |out: &mut dyn Write, name: &Path| match as_it_is {
        Some(path) => {
            let source = |source| StoreError::Io { path: path.into(), source };
            let input = BufReader::new(File::open(path).map_err(source)?);
            let mut out = out;
            let rewritten = rewrite(input, path, options.fold_columns, redactor.as_mut(), &mut out)?;
            tell_unknown(global, &rewritten);
            Ok(Exported { n_frames: found.session.digest.n_frames, replaced: rewritten.replaced })
        }
        None => export(&found.store, &found.session, &options, redactor.as_mut(), &mut { out }, name),
    };
    let exported = match file {
        None => {
            let mut out = Output::new(global);
            write(&mut out, Path::new("stdout")).map_err(gone)?
        }
        Some(path) => {
            must_not_be_read(global, path, std::iter::once(&wanted.session))?;
            // A recording holds whatever was on the wire. A fixture is made for git.
            let readers = if options.profile == Profile::Fixture { Readers::Usual } else { Readers::Owner };
            let mut out = BufWriter::new(NewFile::create(path, readers)?);
            let exported = write(&mut out, path)?;
            out.into_inner().map_err(|error| cannot_write(path, error.error()))?.finish()?;
            exported
        }
    };
    if !global.quiet {
        let mut stderr = std::io::stderr();
        let n_frames = exported.n_frames;
        let left = if filter.is_some() { "of those that fit, nothing" } else { "nothing" };
        let _ = match (options.profile, &redactor) {
            (Profile::Lossless, None) => {
                writeln!(stderr, "{n_frames} frames, as they were: {left} was left out or replaced")
            }
            (Profile::Lossless, Some(_)) => writeln!(stderr, "{n_frames} frames"),
            (Profile::Fixture, Some(_)) => writeln!(stderr, "{n_frames} frames, without clocks"),
            (Profile::Fixture, None) => {
                writeln!(stderr, "{n_frames} frames, without clocks; secrets were not looked for (--no-redact)")
            }
        };
        if let Some(redactor) = &redactor {
            tell_replaced(&exported.replaced, redactor);
        }
    }
    Ok(0)
}

/// What a session is told as, beside recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Markdown,
    Html,
    Table,
    Har,
}

/// Entries that a report has room for.
const REPORT_ENTRIES: usize = 5_000;

impl Told {
    /// By the file's name.
    fn of(file: Option<&Path>) -> Option<(Self, &Path)> {
        let file = file?;
        let told = match file.extension()?.to_str()? {
            "md" => Self::Markdown,
            "html" | "htm" => Self::Html,
            "csv" => Self::Table,
            "har" => Self::Har,
            _ => return None,
        };
        Some((told, file))
    }
}

/// A session for people, or for other programs: secrets are replaced unless they are to stay.
fn export_report(
    global: &Global,
    wanted: &Export,
    found: &mut Found,
    chosen: &Chosen,
    told: Told,
    file: &Path,
) -> Result<u8, Failure> {
    if wanted.lossless || wanted.fixture || wanted.stderr || wanted.fold.is_some() {
        return Err(Failure::new(format!("{} is no recording", file.display()))
            .hint("--lossless, --fixture, --stderr and --fold are for .mcprec and .jsonl; --no-redact keeps secrets"));
    }
    if told == Told::Har && !found.is_http() {
        return Err(Failure::new("a HAR file holds exchanges of HTTP, and this session was on stdio")
            .hint("choose .html, .md or .csv"));
    }
    must_not_be_read(global, file, std::iter::once(&wanted.session))?;
    catch_up(global, &found.store, found.session.id, &found.session.start.name)?;
    found.refresh()?;
    let mut redactor = (!wanted.no_redact).then(|| Redactor::new(wanted.redact.rules.clone(), homes()));
    let (text, summary) = if told == Told::Har {
        let (text, n_exchanges) = har::write(found, chosen, redactor.as_mut())?;
        (text, counted(n_exchanges as u64, "exchange"))
    } else {
        let limit = if told == Told::Table { usize::MAX } else { REPORT_ENTRIES };
        let mut report = report::Report::of(global, found, chosen, limit)?;
        if let Some(redactor) = &mut redactor {
            report.redact(redactor);
        }
        let text = match told {
            Told::Markdown => markdown::write(&report),
            Told::Html => html::write(&report),
            Told::Table | Told::Har => table::write(&report),
        };
        (text, counted(report.entries.len() as u64, "entry").replace("entrys", "entries"))
    };
    let mut out = NewFile::create(file, if redactor.is_some() { Readers::Usual } else { Readers::Owner })?;
    out.write_all(text.as_bytes()).map_err(|error| cannot_write(file, &error))?;
    out.finish()?;
    if !global.quiet {
        let _ = match &redactor {
            Some(_) => writeln!(std::io::stderr(), "{summary}"),
            None => writeln!(std::io::stderr(), "{summary}; secrets were not looked for (--no-redact)"),
        };
        if let Some(redactor) = &redactor {
            tell_replaced(&redactor.replaced(), redactor);
        }
    }
    Ok(0)
}

/// What a report says of secrets, at its end.
fn about_secrets(report: &report::Report) -> String {
    if !report.is_redacted {
        return "Secrets were not looked for; whatever was on the wire may be in here.".into();
    }
    let markers: Vec<&str> = report.replaced.iter().map(|replaced| replaced.marker.as_str()).collect();
    match markers.as_slice() {
        [] => "Secrets were looked for by shape and name; none was found.".into(),
        markers => format!("Secrets were replaced: {}.", markers.join(", ")),
    }
}

/// The home folders that are known, whatever they look like.
fn homes() -> Vec<String> {
    std::env::var("HOME").into_iter().collect()
}

/// What was replaced, and what was not judged.
fn tell_replaced(replaced: &[Replaced], redactor: &Redactor) {
    let mut stderr = std::io::stderr();
    for Replaced { marker, kind, count } in replaced {
        let what = kind.map_or_else(|| "was there before".into(), |kind| kind.name().to_owned());
        let _ = writeln!(stderr, "  {marker}: {what}, {}", counted(*count, "place"));
    }
    if !redactor.unjudged().is_empty() {
        let _ = writeln!(stderr, "  not replaced, but long and mixed; to replace it as well, add:");
    }
    for Unjudged { path, length } in redactor.unjudged() {
        let path = shown(path, false);
        let _ = writeln!(stderr, "    --redact 'path:{path}'    ({length} characters)");
    }
}

/// What was kept though nobody here knows what it means.
fn tell_unknown(global: &Global, rewritten: &Rewritten) {
    if !global.quiet && !rewritten.unknown.is_empty() {
        let names: Vec<String> = rewritten.unknown.iter().take(10).map(|name| shown(name, false)).collect();
        let _ = writeln!(std::io::stderr(), "  kept, but not known to this version: {}", names.join(", "));
    }
}

/// `mcp-tap redact`: text recordings without secrets.
pub(crate) fn redact_files(global: &Global, wanted: &Redact) -> Result<u8, Failure> {
    let mut n_found = 0;
    for path in &wanted.files {
        let failed = |source| StoreError::Io { path: path.clone(), source };
        let file = File::open(path).map_err(failed)?;
        let input = BufReader::new(file);
        let mut redactor = Redactor::new(wanted.redact.rules.clone(), homes());
        let name = shown(&path.to_string_lossy(), false);
        if wanted.check {
            let mut out = Output::new(global);
            let mut written = Ok(());
            find_secrets(input, path, &mut redactor, &mut |line, finding| {
                n_found += 1;
                if written.is_ok() {
                    let place = shown(&finding.path, false);
                    written = writeln!(out, "{name}:{line}: {}: {place}", finding.kind.name());
                }
            })?;
            written?;
            out.finish()?;
            continue;
        }
        let is_folded = path.extension().is_some_and(|extension| extension == "mcprec");
        let fold_columns = wanted.fold.unwrap_or(if is_folded { FOLD_COLUMNS } else { 0 });
        let readers = if is_folded { Readers::Usual } else { Readers::Owner };
        let mut out = BufWriter::new(NewFile::create(path, readers)?);
        let rewritten = rewrite(input, path, fold_columns, Some(&mut redactor), &mut out)?;
        out.into_inner().map_err(|error| cannot_write(path, error.error()))?.finish()?;
        if !global.quiet {
            let _ = writeln!(std::io::stderr(), "{name}: {}", counted(rewritten.n_records, "record"));
            tell_unknown(global, &rewritten);
            tell_replaced(&rewritten.replaced, &redactor);
        }
    }
    if n_found > 0 && !global.quiet {
        let _ = writeln!(
            std::io::stderr(),
            "{}: `mcp-tap redact FILE` replaces what was found",
            counted(n_found, "possible secret")
        );
    }
    Ok(u8::from(n_found > 0))
}

/// What is written, by the name of the file and what was asked for.
fn options(wanted: &Export, file: Option<&Path>, found: &Found, chosen: Chosen) -> Result<ExportOptions, Failure> {
    let extension = file.map(|path| path.extension().unwrap_or_default().to_string_lossy().into_owned());
    let is_folded = match extension.as_deref() {
        Some("mcprec") => true,
        Some("jsonl") | None => false,
        Some(_) => {
            let path = file.unwrap_or(Path::new("-"));
            return Err(Failure::new(format!(
                "cannot write {}: its name ends in none of .mcprec, .jsonl, .md, .html, .csv, .har",
                path.display()
            ))
            .hint("a fixture for tests is a .mcprec, a lossless recording a .jsonl, a report a .md or .html"));
        }
    };
    let is_fixture = wanted.fixture || (is_folded && !wanted.lossless);
    Ok(ExportOptions {
        profile: if is_fixture { Profile::Fixture } else { Profile::Lossless },
        chosen,
        first: found.first,
        fold_columns: wanted.fold.unwrap_or(if is_folded { FOLD_COLUMNS } else { 0 }),
        stderr: wanted.stderr,
        rules: found.rules.clone(),
    })
}

/// The frames that fit, and of calls both halves, also where one of them lies outside of the part.
pub(super) fn fitting(global: &Global, found: &Found, filter: &Filter) -> Result<Chosen, Failure> {
    let (store, session) = (&found.store, &found.session);
    catch_up(global, store, session.id, &session.start.name)?;
    let findings = filtering::findings_for(global, found, filter)?;
    let mut chosen = BTreeSet::new();
    Sieve::new(filter, store, session, None, ListKind::Frames, &findings).all(&found.part.range(), |listed| {
        chosen.insert(listed.row.at.seq);
        chosen.extend(listed.row.pair.map(|pair| pair.seq));
        Ok(())
    })?;
    Ok(Chosen::Some(chosen))
}

/// A reader of our output that is gone is no failure to tell of.
fn gone(error: StoreError) -> Failure {
    match error {
        StoreError::Io { source, .. } => source.into(),
        other => other.into(),
    }
}

pub(crate) fn import_files(global: &Global, wanted: &Import) -> Result<u8, Failure> {
    let path = database(global)?;
    let store = Store::open_or_create(&path)?;
    for file in &wanted.files {
        let imported = import_file(&store, file)?;
        if !global.quiet {
            let mut stderr = std::io::stderr();
            let _ = writeln!(
                stderr,
                "{}: {} frames, session {}",
                shown(&file.to_string_lossy(), false),
                imported.n_frames,
                imported.uuid.get(..8).unwrap_or_default()
            );
            if imported.n_unknown > 0 {
                let _ = writeln!(
                    stderr,
                    "  {} records are of a kind that this version does not know; they were left out",
                    imported.n_unknown
                );
            }
        }
    }
    Ok(0)
}
