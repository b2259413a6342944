//! `mcp-tap export` and `mcp-tap import`: recordings as text files.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use tap_filter::Filter;
use tap_store::{Chosen, ListKind, Store, StoreError, export_chosen, import};

use crate::arguments::{Export, Global, Import};
use crate::failure::{Failure, NO};
use crate::filtering::{self, Sieve};
use crate::new_file::{NewFile, Readers, cannot_write};
use crate::output::Output;
use crate::progress::catch_up;
use crate::reference::{Found, database, must_not_be_read, new_uuid};
use crate::text::shown;

pub(crate) fn export_session(global: &Global, wanted: &Export) -> Result<u8, Failure> {
    let found = wanted.session.resolve(global)?;
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
    let n_frames = match file {
        None => {
            let mut out = Output::new(global);
            export_chosen(&found.store, &found.session, &chosen, found.first, &mut out, Path::new("stdout"))
                .map_err(gone)?
        }
        Some(path) => {
            if path.extension().is_none_or(|extension| extension != "jsonl") {
                return Err(Failure::new(format!("cannot write {}: its name does not end in .jsonl", path.display()))
                    .hint("JSON Lines is the one format that this version writes"));
            }
            must_not_be_read(global, path, std::iter::once(&wanted.session))?;
            // A recording holds whatever was on the wire.
            let mut out = BufWriter::new(NewFile::create(path, Readers::Owner)?);
            let n_frames = export_chosen(&found.store, &found.session, &chosen, found.first, &mut out, path)?;
            out.into_inner().map_err(|error| cannot_write(path, error.error()))?.finish()?;
            n_frames
        }
    };
    if !global.quiet && file.is_some() {
        let left = if filter.is_some() { "of those that fit, nothing" } else { "nothing" };
        let _ = writeln!(std::io::stderr(), "{n_frames} frames, as they were: {left} was left out or replaced");
    }
    Ok(0)
}

/// The frames that fit, and of calls both halves, also where one of them lies outside of the part.
fn fitting(global: &Global, found: &Found, filter: &Filter) -> Result<Chosen, Failure> {
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
        let opened = File::open(file).map_err(|source| StoreError::Io { path: file.clone(), source })?;
        let imported = import(&store, BufReader::new(opened), file, &new_uuid())?;
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
