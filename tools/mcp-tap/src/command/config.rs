//! `mcp-tap config`: what is configured, and where each value came from.

use std::io::Write;

use crate::arguments::{Config, ConfigCommand, Global};
use crate::configuration::Configuration;
use crate::failure::{Failure, NO};
use crate::output::Output;
use crate::paths::{default_configuration, default_database, inspector_state};
use crate::text::{shown, size};

pub(crate) fn config(global: &Global, config: &Config) -> Result<u8, Failure> {
    let mut out = Output::new(global);
    if let ConfigCommand::Path = config.what {
        let path = global.config.clone().map_or_else(default_configuration, Ok)?;
        writeln!(out, "{}", path.display())?;
        out.flush()?;
        return Ok(0);
    }
    let read = Configuration::read(global)?;
    let file = read.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let is_there = read.path.as_ref().is_some_and(|path| path.exists());
    let mut line = |name: &str, value: &str, from: &str| {
        writeln!(out, "{:<26} {:<28} {}", shown(name, false), shown(value, false), shown(from, false))
    };
    let (database, from) = match global.database() {
        Some(path) => (path, "--db, MCP_TAP_DB"),
        None => (default_database()?, "default"),
    };
    line("db", &database.display().to_string(), from)?;
    line("config", &file, if is_there { "the file is there" } else { "there is no such file" })?;
    let of_file = |is_set: bool| if is_set { "config" } else { "default" };
    line("theme", read.theme.as_deref().unwrap_or("terminal"), of_file(read.theme.is_some()))?;
    line("mouse", if read.mouse.unwrap_or(true) { "true" } else { "false" }, of_file(read.mouse.is_some()))?;
    let days = |age: std::time::Duration| format!("{:.1} days", age.as_secs_f64() / 86_400.0);
    let unlimited = || "no limit".to_owned();
    line("record.max_age", &read.max_age.map_or_else(unlimited, days), of_file(read.max_age.is_some()))?;
    line("record.max_size", &read.max_size.map_or_else(unlimited, size), of_file(read.max_size.is_some()))?;
    for (name, keys) in &read.set_keys {
        line(&format!("keys.{name}"), &keys.join(" "), "config")?;
    }
    for (meaning, style) in &read.colours {
        line(&format!("colours.{meaning}"), style, "config")?;
    }
    if let Ok(path) = inspector_state() {
        line("inspector's state", &path.display().to_string(), "default")?;
    }
    out.flush()?;
    for problem in &read.problems {
        let _ = writeln!(std::io::stderr(), "mcp-tap: {}", shown(problem, false));
    }
    Ok(if read.problems.is_empty() { 0 } else { NO })
}
