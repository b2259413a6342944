//! `mcp-tap doctor`: why a server does not show up, found by trying it as its host would.
//!
//! `doctor/surroundings.rs` says what the host gives it, `doctor/trial.rs` starts it and says hello, `doctor/examine.rs` tries
//! again with one thing changed, until it is known what it is that is missing; `doctor/judge.rs` says what a trial shows.

mod examine;
mod judge;
mod surroundings;
mod trial;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tap_hosts::{CommandLine, Host, Launch, Server};

use self::examine::{Case, Report, examine};
use self::judge::Finding;
use self::surroundings::{Surroundings, filled, of_host, of_nobody};
use crate::arguments::{Doctor, Global};
use crate::failure::{Failure, NO, nearest};
use crate::hosts::{ConfigurationFile, configurations};
use crate::output::{Output, Style};
use crate::text::{counted, shown};

pub(crate) fn doctor(global: &Global, doctor: &Doctor) -> Result<u8, Failure> {
    let mut out = Output::new(global);
    let (mut n_servers, mut n_bad) = (0, 0);
    let mut tell = |report: &Report| -> Result<(), Failure> {
        n_servers += 1;
        n_bad += u64::from(report.findings.iter().any(|finding| finding.is_bad));
        match doctor.json {
            true => out.json(&as_json(report))?,
            false => text(&mut out, report)?,
        }
        Ok(out.flush()?)
    };
    if let Some((program, arguments)) = doctor.command.split_first() {
        let mut surroundings = of_nobody()?;
        set(doctor, &mut surroundings);
        tell(&examine(&Case {
            name: program.to_string_lossy().into_owned(),
            place: None,
            program: program.clone(),
            arguments: arguments.to_vec(),
            environment: Vec::new(),
            surroundings,
            wait: doctor.wait,
            slow: Duration::from_millis(doctor.slow),
        }))?;
    } else {
        let files = files(doctor)?;
        for (file, server) in chosen(doctor, &files)? {
            tell(&one(doctor, file, server)?)?;
        }
    }
    if !global.quiet && !doctor.json {
        let _ = match (n_servers, n_bad) {
            (0, _) => writeln!(std::io::stderr(), "no host has a server here; `mcp-tap doctor -- COMMAND` tries one"),
            (_, 0) => Ok(()),
            _ => writeln!(std::io::stderr(), "{} with a problem, of {n_servers}", counted(n_bad, "server")),
        };
    }
    Ok(if n_bad > 0 { NO } else { 0 })
}

fn files(doctor: &Doctor) -> Result<Vec<ConfigurationFile>, Failure> {
    if let Some(path) = &doctor.file {
        return Ok(vec![ConfigurationFile::named(path)?]);
    }
    let (files, unreadable) = configurations(None)?;
    for unreadable in &unreadable {
        let path = unreadable.path.display().to_string();
        let _ = writeln!(std::io::stderr(), "mcp-tap: cannot read {}: {}", shown(&path, false), unreadable.why);
        let _ = writeln!(std::io::stderr(), "  its host cannot either, and shows none of its servers");
    }
    Ok(files)
}

type Chosen<'f> = Vec<(&'f ConfigurationFile, &'f Server)>;

fn chosen<'f>(doctor: &Doctor, files: &'f [ConfigurationFile]) -> Result<Chosen<'f>, Failure> {
    let all = || files.iter().flat_map(|file| file.read.servers.iter().map(move |server| (file, server)));
    let hosts: Vec<Option<Host>> = doctor.names.iter().map(|name| Host::named(name)).collect();
    for (name, host) in doctor.names.iter().zip(&hosts) {
        let is_known = all().any(|(file, server)| server.name == *name || (host.is_some() && file.host == *host));
        if !is_known {
            let names = all().map(|(_, server)| server.name.as_str());
            let near = nearest(name, names.chain(Host::ALL.into_iter().map(|host| -> &str { host.name() })));
            let near = near.filter(|near| near != name).map(|near| format!("; did you mean `{near}`?"));
            return Err(Failure::new(match host {
                Some(host) => format!("no configuration of {} with servers in it was found", host.title()),
                None => format!("no host has a server `{name}`{}", near.unwrap_or_default()),
            })
            .hint("`mcp-tap wrap --list` shows all that were found"));
        }
    }
    let is_chosen = |file: &ConfigurationFile, server: &Server| {
        doctor.names.is_empty()
            || doctor.names.contains(&server.name)
            || hosts.iter().any(|host| host.is_some() && *host == file.host)
    };
    Ok(all().filter(|(file, server)| is_chosen(file, server)).collect())
}

/// Options of ours that are meant for whatever server it is.
fn set(doctor: &Doctor, surroundings: &mut Surroundings) {
    if let Some(path) = &doctor.path {
        surroundings.set_path(path.clone());
    }
    if let Some(folder) = &doctor.folder {
        surroundings.folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
    }
}

fn one(doctor: &Doctor, file: &ConfigurationFile, server: &Server) -> Result<Report, Failure> {
    let place = format!("{}, {}:{}", file.title(), file.path.display(), server.line);
    let mut report = Report::new(&server.name, Some(&place));
    for problem in &file.read.problems {
        let rest = problem.key.strip_prefix(&server.path);
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '['])) {
            let what = format!("line {}: {}: {}", problem.line, problem.key, problem.what);
            report.findings.push(Finding::bad("configuration", what, "write it as the host expects it"));
        }
    }
    if !server.is_enabled {
        report.findings.push(Finding::bad("switched-off", "it is switched off in the configuration", "switch it on"));
        return Ok(report);
    }
    let is_lost = |program: &str| program.contains('/') && !Path::new(program).is_file();
    if let Some(tapped) = server.tapped().filter(|tapped| is_lost(&tapped.program)) {
        let what = format!("the tap before it is not there: {}", tapped.program);
        report.findings.push(Finding::bad("not-on-path", what, "`mcp-tap unwrap` it, and `mcp-tap wrap` it again"));
    }
    // For what a bridge of ours records; gone with this function.
    let scratch =
        tempfile::tempdir().map_err(|error| Failure::new(format!("cannot make a temporary folder: {error}")))?;
    let line = match server.without_tap() {
        Launch::Command(line) => line,
        Launch::Http(remote) => bridge(&remote, &scratch.path().join("tap.db"))?,
        Launch::Other(_) if report.findings.is_empty() => {
            report.notes.push("the host has it in itself; there is no command to try".into());
            return Ok(report);
        }
        Launch::Other(_) => return Ok(report),
    };
    let mut surroundings = of_host(file.host, server.folder_of_project.as_deref(), &line.passed_on)?;
    set(doctor, &mut surroundings);
    let line = match filled(file.host, &line, &surroundings) {
        Ok(line) => line,
        Err(unfilled) => {
            report.notes.push(format!("{unfilled}; start the host, and look at `mcp-tap ls` once it is wrapped"));
            return Ok(report);
        }
    };
    if let Some(folder) = &line.folder {
        surroundings.folder = surroundings.folder.join(folder);
        surroundings.is_folder_configured = true;
    }
    let mut examined = examine(&Case {
        name: server.name.clone(),
        place: Some(place),
        program: line.command.into(),
        arguments: line.arguments.into_iter().map(OsString::from).collect(),
        environment: line.environment,
        surroundings,
        wait: doctor.wait,
        slow: Duration::from_millis(doctor.slow),
    });
    report.findings.append(&mut examined.findings);
    report.notes.append(&mut examined.notes);
    Ok(report)
}

/// A server at an address is tried through a bridge of ours, which records nowhere that is kept.
fn bridge(remote: &tap_hosts::Remote, database: &Path) -> Result<CommandLine, Failure> {
    let own =
        std::env::current_exe().map_err(|error| Failure::new(format!("cannot tell where this program is: {error}")))?;
    let mut line = CommandLine { command: own.to_string_lossy().into_owned(), ..CommandLine::default() };
    line.arguments.extend(["proxy", "--stdio", "--quiet", "--db"].map(str::to_owned));
    line.arguments.push(database.to_string_lossy().into_owned());
    for (index, (name, value)) in remote.headers.iter().enumerate() {
        let variable = format!("MCP_TAP_HEADER_{}", index + 1);
        line.arguments.extend(["--header-env".into(), format!("{name}={variable}")]);
        line.environment.push((variable, value.clone()));
    }
    if let Some(variable) = &remote.bearer_variable {
        line.arguments.extend(["--bearer-env".into(), variable.clone()]);
        line.passed_on.push(variable.clone());
    }
    line.arguments.push(remote.url.clone());
    Ok(line)
}

fn text(out: &mut Output, report: &Report) -> Result<(), Failure> {
    let name = out.styled(Style::Bold, &shown(&report.name, false));
    match &report.place {
        Some(place) => writeln!(out, "{name}  ({})", shown(place, false))?,
        None => writeln!(out, "{name}")?,
    }
    for finding in &report.findings {
        let (style, label) = if finding.is_bad { (Style::Bad, "problem") } else { (Style::Warning, "warning") };
        let label = out.styled(style, label);
        writeln!(out, "  {label}  {}: {}", finding.name, shown(&finding.what, false))?;
        for line in &finding.evidence {
            writeln!(out, "           | {}", shown(line, false))?;
        }
        writeln!(out, "      fix  {}", shown(&finding.fix, false))?;
    }
    for note in &report.notes {
        let label = out.styled(
            if report.findings.iter().any(|finding| finding.is_bad) { Style::Dim } else { Style::Good },
            "   note",
        );
        writeln!(out, "  {label}  {}", shown(note, false))?;
    }
    Ok(())
}

fn as_json(report: &Report) -> serde_json::Value {
    let findings = report.findings.iter().map(|finding| {
        json!({
            "problem": finding.name,
            "level": if finding.is_bad { "problem" } else { "warning" },
            "what": finding.what,
            "evidence": finding.evidence,
            "fix": finding.fix,
        })
    });
    json!({
        "server": report.name,
        "place": report.place,
        "findings": findings.collect::<Vec<_>>(),
        "notes": report.notes,
    })
}
