//! `mcp-tap export` and `mcp-tap import`: recordings as text files.

use std::io::{BufWriter, Write};
use std::path::Path;

use tap_store::{ExportOptions, FOLD_COLUMNS, Profile, Store, StoreError, export};

use crate::arguments::{Export, Global, Import};
use crate::failure::Failure;
use crate::new_file::{NewFile, Readers, cannot_write};
use crate::output::Output;
use crate::progress::catch_up;
use crate::reference::{Found, database, import_file, must_not_be_read};
use crate::text::shown;

pub(crate) fn export_session(global: &Global, wanted: &Export) -> Result<u8, Failure> {
    let mut found = wanted.session.resolve(global)?;
    if let Some(number) = found.conversation {
        return Err(Failure::new(format!(
            "cannot export {} alone: a recording is exported as one",
            found.inside(number)
        ))
        .hint(format!("leave out the number behind the slash: `mcp-tap export {}`", found.name())));
    }
    let file = wanted.output.as_deref().filter(|path| *path != Path::new("-"));
    let options = options(wanted, file, &found)?;
    if options.profile == Profile::Fixture {
        // Who talked is in the header.
        catch_up(global, &found.store, found.session.id, &found.session.start.name)?;
        found.refresh()?;
    }
    let n_frames = match file {
        None => {
            let mut out = Output::new(global);
            export(&found.store, &found.session, &options, &mut out, Path::new("stdout")).map_err(gone)?
        }
        Some(path) => {
            must_not_be_read(global, path, std::iter::once(&wanted.session))?;
            // A recording holds whatever was on the wire. A fixture is made for git.
            let readers = if options.profile == Profile::Fixture { Readers::Usual } else { Readers::Owner };
            let mut out = BufWriter::new(NewFile::create(path, readers)?);
            let n_frames = export(&found.store, &found.session, &options, &mut out, path)?;
            out.into_inner().map_err(|error| cannot_write(path, error.error()))?.finish()?;
            n_frames
        }
    };
    if !global.quiet && file.is_some() {
        let _ = match options.profile {
            Profile::Lossless => {
                writeln!(std::io::stderr(), "{n_frames} frames, as they were: nothing was left out or replaced")
            }
            Profile::Fixture => writeln!(std::io::stderr(), "{n_frames} frames, without clocks"),
        };
    }
    Ok(0)
}

/// What is written, by the name of the file and what was asked for.
fn options(wanted: &Export, file: Option<&Path>, found: &Found) -> Result<ExportOptions, Failure> {
    let extension = file.map(|path| path.extension().unwrap_or_default().to_string_lossy().into_owned());
    let is_folded = match extension.as_deref() {
        Some("mcprec") => true,
        Some("jsonl") | None => false,
        Some(_) => {
            let path = file.unwrap_or(Path::new("-"));
            return Err(Failure::new(format!(
                "cannot write {}: its name does not end in .mcprec or .jsonl",
                path.display()
            ))
            .hint("a fixture for tests is a .mcprec, a lossless recording a .jsonl"));
        }
    };
    let is_fixture = wanted.fixture || (is_folded && !wanted.lossless);
    Ok(ExportOptions {
        profile: if is_fixture { Profile::Fixture } else { Profile::Lossless },
        range: found.part.range(),
        first: found.first,
        fold_columns: wanted.fold.unwrap_or(if is_folded { FOLD_COLUMNS } else { 0 }),
        stderr: wanted.stderr,
        rules: found.rules.clone(),
    })
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
