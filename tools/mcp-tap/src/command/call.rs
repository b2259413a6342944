//! `mcp-tap call`: one call of a tool, and what came back.

mod answer;
mod ask;
mod into;
mod typed;

pub(super) use self::ask::{on_the_terminal, root};

use std::io::{IsTerminal, Read, Write};
use std::sync::Arc;

use tap_jsonrpc::Node;
use tap_peer::{CallError, CallOptions, Item, ListKind, Progress};
use tap_schema::{Checked, Schema};
use tap_session::Kept;

use super::client::{Manner, Session, meant, run_until_stopped};
use crate::arguments::{Call, Global};
use crate::failure::{COULD_NOT, Failure, NO, nearest};
use crate::output::Output;
use crate::recording::say;
use crate::text::{counted, shown};

/// How many things that do not fit are told at a time.
const TOLD: usize = 10;

/// What came of a call.
struct Called {
    outcome: Result<Kept, CallError>,
    /// What of the result does not fit what the tool promises.
    unfit: Vec<String>,
    id: Option<String>,
}

pub(crate) fn call(global: &Global, mut call: Call) -> Result<u8, Failure> {
    take_words_of_an_option_s_name(&mut call);
    let Some(tool) = call.tool.clone() else {
        return Err(Failure::new("there is no tool").hint("name it: mcp-tap call TOOL name=value … -- COMMAND"));
    };
    let base = call.json_args.as_deref().map(read_arguments).transpose()?;
    if let Some(live) = &call.into {
        return into::into_live(global, &call, &tool, base.as_deref(), live);
    }
    let servers = meant(global, &call.server)?;
    let [server] = servers.as_slice() else {
        let names: Vec<String> = servers.iter().map(|server| shown(&server.name, false)).collect();
        return Err(Failure::new("the configuration has several servers, and none is named")
            .hint(format!("name one with --server: {}", names.join(", "))));
    };
    let called = run_until_stopped(async {
        let manner = Manner::of(&call.server, ask::handler(global, &call)?);
        let session = manner.connect(global, server).await?;
        let called = one(global, &call, &tool, base.as_deref(), &session).await;
        let (end, id) = session.close().await;
        match called {
            Ok((outcome, unfit)) => {
                let outcome = outcome.map_err(|error| match error {
                    // How it ended is known only now.
                    CallError::Over(_) => CallError::Over(Box::new(end)),
                    error => error,
                });
                Ok(Called { outcome, unfit, id })
            }
            Err(failure) => Err(failure),
        }
    })?;
    let recorded = || {
        if let Some(id) = called.id.as_ref().filter(|_| !global.quiet) {
            say(&format!("recorded as {}: mcp-tap inspect {id}", shown(&server.name, false)));
        }
    };
    match called.outcome {
        Ok(result) => {
            let mut out = Output::new(global);
            if call.json {
                out.json_with_verbatim(&String::from_utf8_lossy(&result.0))?;
            } else {
                answer::write(&mut out, &result)?;
            }
            out.finish()?;
            if let Some(path) = &call.output {
                answer::save(path, &result)?;
            }
            for what in &called.unfit {
                say(&format!("the result is not what the tool promises: {}", shown(what, false)));
            }
            recorded();
            let has_failed = result.node().get("isError").and_then(Node::as_bool) == Some(true);
            Ok(if has_failed { NO } else { 0 })
        }
        Err(error) => {
            say(&shown(&format!("{tool}: {error}"), false));
            if let CallError::Over(end) = &error {
                for line in end.last_words(TOLD) {
                    say(&format!("  {}", shown(&line, false)));
                }
            }
            recorded();
            Ok(COULD_NOT)
        }
    }
}

/// A tool whose name looks like an option stands behind `--`, where a server's command stands otherwise: `call -- -x '{}'`.
fn take_words_of_an_option_s_name(call: &mut Call) {
    if call.tool.is_some() {
        return;
    }
    let mut words = std::mem::take(&mut call.server.command).into_iter();
    call.tool = words.next().map(|word| word.to_string_lossy().into_owned());
    for word in words.by_ref() {
        if word == "--" {
            break;
        }
        call.arguments.push(word.to_string_lossy().into_owned());
    }
    call.server.command = words.collect();
}

fn read_arguments(path: &std::path::Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match path.as_os_str() == "-" {
        true => std::io::stdin().read_to_string(&mut text).map(drop),
        false => std::fs::read_to_string(path).map(|read| text = read),
    };
    let name = shown(&path.to_string_lossy(), false);
    read.map_err(|error| Failure::new(format!("cannot read the arguments in {name}: {error}")))?;
    Ok(text)
}

/// Makes the call. What is wrong before it is sent is a failure.
async fn one(
    global: &Global,
    call: &Call,
    tool: &str,
    base: Option<&str>,
    session: &Session,
) -> Result<(Result<Kept, CallError>, Vec<String>), Failure> {
    let client = &session.client;
    let found = find(call, tool, session).await?;
    let schema = found.as_ref().and_then(|found| found.node().get("inputSchema"));
    let arguments = typed::object(base, &call.arguments, schema).map_err(|what| {
        Failure::new(what).hint("arguments are name=value, name:=JSON, or all of them as one JSON object")
    })?;
    if let Some(schema) = schema.filter(|_| !call.no_check) {
        check(tool, schema, &arguments, &look(call, " -v"))?;
    }
    if let Some(level) = call.level() {
        match client.set_log_level(level).await {
            Ok(()) => {}
            Err(error) => say(&format!("cannot ask for log messages: {}", shown(&error.to_string(), false))),
        }
    }
    let shows_progress = !global.quiet && std::io::stderr().is_terminal();
    let on_progress = shows_progress.then(|| Arc::new(|progress| show_progress(&progress)) as tap_peer::OnProgress);
    let options = CallOptions { limit: Some(call.server.timeout), on_progress, ..CallOptions::default() };
    let outcome = client.call_tool(tool, Some(&arguments), options).await;
    let unfit = match (&outcome, &found) {
        (Ok(result), Some(found)) => unfit(found, result),
        _ => Vec::new(),
    };
    Ok((outcome, unfit))
}

/// The tool as the server lists it; `None` where it need not be listed.
async fn find(call: &Call, tool: &str, session: &Session) -> Result<Option<Item>, Failure> {
    let name = shown(&session.name, false);
    let listed = match session.client.list(ListKind::Tools, CallOptions::default()).await {
        Ok(listed) => listed,
        Err(_) if call.no_check => return Ok(None),
        Err(error) => return Err(Failure::new(format!("{name}: {}", shown(&error.to_string(), false)))),
    };
    let names: Vec<String> = listed.items.iter().filter_map(|item| item.text("name")).collect();
    let found = listed.items.into_iter().find(|item| item.text("name").as_deref() == Some(tool));
    if found.is_some() || call.no_check {
        return Ok(found);
    }
    if let Some((_, why)) = listed.left_out.iter().find(|(left_out, _)| left_out == tool) {
        let message = format!("{name}: `{}` cannot be called over HTTP: {}", shown(tool, false), shown(why, false));
        return Err(Failure::new(message).hint("that is the server's to mend; --no-check calls it anyway"));
    }
    Err(no_such_tool(&name, tool, &names, &format!("{} lists them", look(call, ""))))
}

/// That a server has no tool of this name, with the one that is meant perhaps, or how they are listed.
fn no_such_tool(server: &str, tool: &str, names: &[String], lists_them: &str) -> Failure {
    let failure = Failure::new(format!("{server} has no tool `{}`", shown(tool, false)));
    match nearest(tool, names.iter().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean {}?", shown(near, false))),
        None => failure.hint(match names {
            [] => "it lists none; --no-check calls it anyway".to_owned(),
            _ => format!("it has {}; {lists_them}", counted(names.len() as u64, "tool")),
        }),
    }
}

/// The command that shows the tools of the same server.
fn look(call: &Call, option: &str) -> String {
    let server = &call.server;
    let mut words = format!("mcp-tap tools{option}");
    if let Some(reference) = &server.session {
        words.push_str(&format!(" --session {}", shown(reference.written(), false)));
    } else if server.url.is_some() {
        words.push_str(" --url URL");
    } else if !server.command.is_empty() {
        words.push_str(" -- COMMAND");
    } else if let Some(name) = &server.server {
        words.push_str(&format!(" --config FILE --server {}", shown(name, false)));
    }
    format!("`{words}`")
}

/// Whether arguments fit, before they are sent.
///
/// `look` is the command that shows the schema.
fn check(tool: &str, schema: Node<'_>, arguments: &str, look: &str) -> Result<(), Failure> {
    let Ok(schema) = Schema::compile(schema.bytes()) else {
        // A schema that cannot be read is the server's affair, and `mcp-tap check` tells it.
        return Ok(());
    };
    let Checked::Invalid(violations) = schema.check(arguments.as_bytes()) else {
        return Ok(());
    };
    let mut message = format!("the arguments do not fit {}, and were not sent:", shown(tool, false));
    for violation in violations.iter().take(TOLD) {
        message.push_str(&format!("\n  {}", told(violation)));
    }
    if violations.len() > TOLD {
        message.push_str(&format!("\n  and {} more", violations.len() - TOLD));
    }
    Err(Failure::new(message)
        .hint(format!("{look} shows the schema; name:=JSON gives a value as it is; --no-check sends it anyway")))
}

/// Something that does not fit, with its place.
fn told(violation: &tap_schema::Violation) -> String {
    let place = violation.instance.trim_start_matches('/').replace('/', ".");
    let message = shown(&violation.message, false);
    match place.is_empty() {
        true => message,
        false => format!("{}: {message}", shown(&place, false)),
    }
}

/// What of a result does not fit the tool's `outputSchema`.
fn unfit(tool: &Item, result: &Kept) -> Vec<String> {
    let has_failed = result.node().get("isError").and_then(Node::as_bool) == Some(true);
    let Some(schema) = tool.node().get("outputSchema").filter(|_| !has_failed) else {
        return Vec::new();
    };
    let Some(structured) = result.node().get("structuredContent") else {
        return vec!["it has an `outputSchema`, and the result has no structured content".into()];
    };
    match Schema::compile(schema.bytes()).map(|schema| schema.check(structured.bytes())) {
        Ok(Checked::Invalid(violations)) => violations.iter().take(TOLD).map(told).collect(),
        _ => Vec::new(),
    }
}

fn show_progress(progress: &Progress) {
    let mut text = match progress.total {
        Some(total) => format!("{} of {total}", progress.progress),
        None => progress.progress.to_string(),
    };
    if let Some(message) = &progress.message {
        text.push_str(&format!("  {}", shown(message, false)));
    }
    let _ = writeln!(std::io::stderr(), "  {text}");
}
