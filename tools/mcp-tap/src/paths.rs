//! Where things are: the XDG folders, on every Unix.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::failure::Failure;

/// The database when none is named.
pub(crate) fn default_database() -> Result<PathBuf, Failure> {
    Ok(folder("XDG_DATA_HOME", ".local/share")?.join("mcp-tap").join("tap.db"))
}

/// Where the local authority is kept.
pub(crate) fn authority_folder() -> Result<PathBuf, Failure> {
    Ok(folder("XDG_DATA_HOME", ".local/share")?.join("mcp-tap"))
}

/// Where our own log goes when it is asked for.
pub(crate) fn log_folder() -> Result<PathBuf, Failure> {
    Ok(folder("XDG_STATE_HOME", ".local/state")?.join("mcp-tap").join("log"))
}

/// The configuration when none is named.
pub(crate) fn default_configuration() -> Result<PathBuf, Failure> {
    Ok(folder("XDG_CONFIG_HOME", ".config")?.join("mcp-tap").join("config.toml"))
}

/// What the inspector remembers from one run to the next.
pub(crate) fn inspector_state() -> Result<PathBuf, Failure> {
    Ok(folder("XDG_STATE_HOME", ".local/state")?.join("mcp-tap").join("inspector.toml"))
}

/// Where configurations of hosts are kept as they were before the tap was put into them.
pub(crate) fn backup_folder() -> Result<PathBuf, Failure> {
    Ok(folder("XDG_STATE_HOME", ".local/state")?.join("mcp-tap").join("backups"))
}

fn folder(variable: &str, below_home: &str) -> Result<PathBuf, Failure> {
    // The XDG specification says that a relative path is to be ignored.
    let named = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(below_home));
    named.or_else(home).ok_or_else(|| {
        Failure::new(format!("neither {variable} nor HOME is set, so there is no default place for the database"))
            .hint("name one with --db PATH or MCP_TAP_DB")
    })
}

/// The program's own name and version, as recordings have it.
pub(crate) fn recorded_by() -> String {
    format!("mcp-tap {}", env!("CARGO_PKG_VERSION"))
}

/// Words as a person would read them; bytes that are no text become U+FFFD.
pub(crate) fn lossy(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
