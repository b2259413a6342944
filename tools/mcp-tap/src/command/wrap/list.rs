//! What hosts have configured, and what of it is behind the tap.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use tap_hosts::{Format, Launch, Scope, Server, masked};
use unicode_width::UnicodeWidthStr;

use super::diff::without_shapes;
use crate::arguments::{Global, Wrap};
use crate::failure::{Failure, NO};
use crate::hosts::ConfigurationFile;
use crate::output::{Output, Style};
use crate::text::shown;

/// How a server stands to the tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Wrapped,
    /// The tap that is before it is not there.
    Broken,
    Not,
    /// The host has it in itself.
    CannotBe,
}

impl State {
    fn of(server: &Server) -> Self {
        match (server.tapped(), &server.launch) {
            (Some(tapped), _) if is_there(&tapped.program) => Self::Wrapped,
            (Some(_), _) => Self::Broken,
            (None, Launch::Other(_)) => Self::CannotBe,
            (None, _) => Self::Not,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Wrapped => "wrapped",
            Self::Broken => "broken",
            Self::Not => "not wrapped",
            Self::CannotBe => "cannot be",
        }
    }
}

/// Whether a program can be found: by its path, or by our PATH.
fn is_there(program: &str) -> bool {
    let path = Path::new(program);
    if program.contains('/') {
        return path.is_file();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

pub(super) fn list(global: &Global, wrap: &Wrap) -> Result<u8, Failure> {
    let (files, unreadable) = super::files(&wrap.chosen, true)?;
    let mut out = Output::paged(global);
    let mut is_broken = false;
    let chosen = |server: &&Server| wrap.chosen.servers.is_empty() || wrap.chosen.servers.contains(&server.name);
    for file in &files {
        let servers: Vec<&Server> = file.read.servers.iter().filter(chosen).collect();
        if servers.is_empty() && !wrap.chosen.servers.is_empty() {
            continue;
        }
        is_broken |= servers.iter().any(|server| State::of(server) == State::Broken);
        match wrap.json {
            true => servers.iter().try_for_each(|server| json(&mut out, file, server))?,
            false => text(&mut out, file, &servers)?,
        }
    }
    if files.is_empty() && !wrap.json {
        writeln!(out, "no host's configuration with servers in it was found")?;
    }
    out.finish()?;
    super::told_unreadable(&unreadable);
    Ok(if is_broken || !unreadable.is_empty() { NO } else { 0 })
}

fn text(out: &mut Output, file: &ConfigurationFile, servers: &[&Server]) -> Result<(), Failure> {
    let scope = if file.scope == Scope::Project { ", this folder's" } else { "" };
    let title = out.styled(Style::Bold, file.title());
    writeln!(out, "{title}{scope}  {}", shown(&file.path.to_string_lossy(), false))?;
    let width = servers.iter().map(|server| shown(&server.name, false).width()).max().unwrap_or_default().min(32);
    for server in servers {
        let state = State::of(server);
        let style = match state {
            State::Wrapped => Style::Good,
            State::Broken => Style::Bad,
            State::Not | State::CannotBe => Style::Plain,
        };
        let name = shown(&server.name, false);
        let fill = " ".repeat(width.saturating_sub(name.width()));
        let label = out.styled(style, &format!("{:<12}", state.name()));
        let mut line = format!("  {name}{fill}  {label} {}", shown(&what(server), false));
        if let Some(folder) = &server.folder_of_project {
            line.push_str(&format!("  (in {})", shown(folder, false)));
        }
        if !server.is_enabled {
            line.push_str("  (switched off)");
        }
        if let Some(tapped) = server.tapped().filter(|_| state == State::Broken) {
            line.push_str(&format!("  ({} is not there)", shown(&tapped.program, false)));
        }
        writeln!(out, "{line}")?;
    }
    for problem in &file.read.problems {
        writeln!(out, "  line {}: {}: {}", problem.line, shown(&problem.key, false), problem.what)?;
    }
    Ok(())
}

fn json(out: &mut Output, file: &ConfigurationFile, server: &Server) -> Result<(), Failure> {
    out.json(&json!({
        "server": server.name,
        "host": file.host.map(tap_hosts::Host::name),
        "scope": match (&server.folder_of_project, file.scope) {
            (Some(_), _) => "local",
            (None, Scope::Project) => "project",
            (None, Scope::User) => "user",
        },
        "folder": server.folder_of_project,
        "file": file.path.to_string_lossy(),
        "line": server.line,
        "state": State::of(server).name(),
        "enabled": server.is_enabled,
        "what": what(server),
    }))?;
    Ok(())
}

/// The server itself, in a line, without secrets.
fn what(server: &Server) -> String {
    match server.without_tap() {
        Launch::Command(line) => {
            let words = [vec![line.command], without_secrets(&line.arguments)].concat();
            words
                .iter()
                .map(|word| if word.contains(' ') { format!("'{word}'") } else { word.clone() })
                .collect::<Vec<_>>()
                .join(" ")
        }
        Launch::Http(remote) => without_secrets(&[remote.url]).concat(),
        Launch::Other(kind) => kind,
    }
}

/// Arguments such as they may be shown.
pub(super) fn without_secrets(arguments: &[String]) -> Vec<String> {
    let text = json!(arguments).to_string();
    let masked = masked(&text, Format::Json).unwrap_or_default();
    let words: Vec<String> = serde_json::from_str(&masked).unwrap_or_default();
    words.iter().map(|word| without_shapes(word)).collect()
}
