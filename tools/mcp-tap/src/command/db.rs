//! `mcp-tap db`: where the database is and what is in it.

use std::io::Write;

use tap_store::{SCHEMA_VERSION, Store};

use crate::arguments::{Db, DbCommand, Global};
use crate::failure::Failure;
use crate::output::Output;
use crate::reference::database;
use crate::text::size;

pub(crate) fn db(global: &Global, db: &Db) -> Result<u8, Failure> {
    let path = database(global)?;
    let mut out = Output::new(global);
    match db.what {
        DbCommand::Path => writeln!(out, "{}", path.display())?,
        DbCommand::Info => {
            let store = Store::open(&path)?;
            let sessions = store.sessions()?;
            let on_disk: u64 = ["", "-wal", "-shm"]
                .iter()
                .filter_map(|suffix| {
                    let mut file = path.clone().into_os_string();
                    file.push(suffix);
                    Some(std::fs::metadata(file).ok()?.len())
                })
                .sum();
            let n_live = sessions.iter().filter(|session| session.live).count();
            writeln!(out, "path      {}", path.display())?;
            writeln!(out, "size      {}", size(on_disk))?;
            writeln!(out, "schema    {SCHEMA_VERSION}")?;
            writeln!(out, "sessions  {} ({n_live} live)", sessions.len())?;
        }
    }
    out.flush()?;
    Ok(0)
}
