//! `mcp-tap demo`: a bundled server and a scripted host talk through the tap, so that there is something to look at.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::rc::Rc;

use serde_json::{Value, json};
use tap_session::Status;
use tap_store::{ListKind, Store};

use crate::arguments::Global;
use crate::command::log::Printer;
use crate::failure::{COULD_NOT, Failure};
use crate::output::Output;
use crate::progress::catch_up;
use crate::reference::{Found, Part, database};

/// The session's name in the database.
const NAME: &str = "demo";

pub(crate) fn demo(global: &Global) -> Result<u8, Failure> {
    let path = database(global)?;
    let own = std::env::current_exe().map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    let mut command = Command::new(&own);
    command.arg("run").arg("--db").arg(&path).args(["--name", NAME, "--"]).arg(&own).arg("demo-server");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let failed = |what: &str, error: std::io::Error| Failure::new(format!("the demo {what}: {error}"));
    let mut tap = command.spawn().map_err(|error| failed("cannot start", error))?;
    let talked = (|| -> std::io::Result<()> {
        let mut stdin = tap.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
        let mut stdout = BufReader::new(tap.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?);
        for step in script() {
            writeln!(stdin, "{step}")?;
            stdin.flush()?;
            if let Some(id) = step.get("id") {
                wait_for(&mut stdout, id)?;
            }
        }
        Ok(())
    })();
    // The host's end of stdin was closed above, which is how a host ends a server.
    let status = tap.wait().map_err(|error| failed("cannot be waited for", error))?;
    talked.map_err(|error| failed("broke off", error))?;
    if !status.success() {
        return Err(Failure::new(format!("the demo's server ended with {status}")));
    }
    show(global, &path)
}

/// What the host says.
fn script() -> Vec<Value> {
    let call = |id: u64, tool: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let mut slow = call(5, "report", json!({"city": "Bern"}));
    slow["params"]["_meta"] = json!({"progressToken": "p1"});
    vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "demo-host", "version": "1.0"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}),
        call(3, "forecast", json!({"city": "Bern"})),
        call(4, "forecast", json!({"city": "Atlantis"})),
        slow,
        call(6, "forecsat", json!({"city": "Bern"})),
        json!({"jsonrpc": "2.0", "id": "seven", "method": "ping"}),
    ]
}

/// Reads until the answer with this id has come. Anything else that comes is for others.
fn wait_for(stdout: &mut impl BufRead, id: &Value) -> std::io::Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        if stdout.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if message.get("id") == Some(id) && message.get("method").is_none() {
            return Ok(());
        }
    }
}

fn show(global: &Global, path: &std::path::Path) -> Result<u8, Failure> {
    let store = Store::open(path)?;
    let Some(session) = store.sessions()?.into_iter().find(|session| session.start.name == NAME) else {
        return Ok(COULD_NOT);
    };
    catch_up(global, &store, session.id, NAME)?;
    let calls = store.list(session.id, ListKind::Calls, tap_store::Part::From(1), u64::MAX)?;
    let failed = calls.iter().find(|listed| listed.row.status == Some(Status::ToolError));
    let failed = failed.map_or(1, |listed| listed.row.at.seq);
    let store = Rc::new(store);
    let (reference, part) = (NAME.into(), Part::All);
    let found = Found {
        store,
        session,
        reference,
        part,
        conversation: None,
        file: None,
        first: 1,
        rules: None,
        profile: tap_store::Profile::Lossless,
    };
    let mut printer = Printer::new(Output::new(global), &found, ListKind::Calls, false)?;
    printer.print(None)?;
    printer.finish()?;
    if !global.quiet {
        let mut stderr = std::io::stderr();
        let _ = write!(
            stderr,
            "\nA host and a server talked through the tap; above is what was called. All of it is in\n  {}\n\nLook closer:\n  \
             mcp-tap ls                       the sessions\n  \
             mcp-tap log -s demo --frames     every message, and what the server wrote on stderr\n  \
             mcp-tap show demo:{failed:<14} the call that failed, and why\n  \
             mcp-tap check -s demo            which rules of the protocol were broken\n  \
             mcp-tap export demo -o demo.jsonl\n\nThen put `mcp-tap run --` in front of a server's command in your host's configuration.\n",
            path.display()
        );
    }
    Ok(0)
}
