//! The command line of mcp-tap: understands what is asked, puts the parts together, sets exit codes.
//!
//! The only crate that knows all others. Start reading at `arguments.rs` (what can be asked), then at a command's file;
//! `command/run.rs` is the one that stands between a host and a server.

mod arguments;
mod auditing;
mod command;
mod comparing;
mod configuration;
mod confirm;
mod control;
mod counting;
mod credentials;
mod failure;
mod filtering;
mod following;
mod hosts;
mod keeping;
mod marks;
mod model;
mod name;
mod new_file;
mod output;
mod paths;
mod progress;
mod quantity;
mod recording;
mod reference;
mod said;
mod searching;
mod servers;
mod subject;
mod telling;
mod temporary;
mod text;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::arguments::{Arguments, Command, Global, Inspect};
use crate::failure::{COULD_NOT, Failure};

fn main() -> ExitCode {
    let Arguments { global, command } = Arguments::parse();
    start_own_log();
    let Some(command) = command else {
        return without_command(&global);
    };
    if let Command::Run(_) | Command::Proxy(_) = command {
        keeping::configure(&global);
    }
    let done = match command {
        Command::Run(run) => command::run::run(&global, run),
        Command::Proxy(proxy) if proxy.forwarding.forward => command::forward::forward(&global, &proxy),
        Command::Proxy(proxy) => command::proxy::proxy(&global, &proxy),
        Command::Wrap(wrap) => command::wrap::wrap(&global, &wrap),
        Command::Unwrap(unwrap) => command::wrap::unwrap(&global, &unwrap),
        Command::Replay(replay) => command::replay::replay(&global, *replay),
        Command::Verify(verify) => command::verify::verify(&global, &verify),
        Command::Review(review) => command::review::review(&global, &review),
        Command::Tools(tools) => command::tools::tools(&global, &tools),
        Command::Call(call) => command::call::call(&global, *call),
        Command::Lock(lock) => command::lock::lock(&global, &lock),
        Command::Bridge(bridge) => command::bridge::bridge(&global, &bridge),
        Command::Audit(audit) => command::audit::audit(&global, &audit),
        Command::Route(route) => command::route::route(&global, &route),
        Command::Inspect(inspect) => command::inspect::inspect(&global, &inspect),
        Command::Ls(list) => command::ls::ls(&global, &list),
        Command::Log(log) => command::log::log(&global, &log),
        Command::Show(show) => command::show::show(&global, &show),
        Command::Check(check) => command::check::check(&global, &check),
        Command::Diff(diff) => command::diff::diff(&global, &diff),
        Command::Explain(explain) => command::explain::explain(&global, &explain),
        Command::Stats(stats) => command::stats::stats(&global, &stats),
        Command::State(state) => command::state::state(&global, &state),
        Command::Taps(taps) => command::taps::taps(&global, &taps),
        Command::Break(breakpoint) => command::breakpoints::breakpoints(&global, &breakpoint),
        Command::Held(held) => command::held::held(&global, &held),
        Command::Release(release) => command::release::release(&global, &release),
        Command::Inject(inject) => command::inject::inject(&global, &inject),
        Command::Export(export) => command::transfer::export_session(&global, &export),
        Command::Redact(redact) => command::transfer::redact_files(&global, &redact),
        Command::Import(import) => command::transfer::import_files(&global, &import),
        Command::Doctor(doctor) => command::doctor::doctor(&global, &doctor),
        Command::Demo => command::demo::demo(&global),
        Command::Ask(ask) => command::ask::ask(&global, &ask),
        Command::DemoServer => command::demo_server::serve().map_err(Failure::from),
        Command::Config(config) => command::config::config(&global, &config),
        Command::Db(db) => command::db::db(&global, &db),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "mcp-tap", &mut std::io::stdout());
            Ok(0)
        }
        Command::Man => clap_mangen::Man::new(Arguments::command())
            .render(&mut std::io::stdout())
            .map(|()| 0)
            .map_err(Failure::from),
    };
    let code = exit_code(done);
    recording::finish_saying();
    code
}

/// What was done, or why not, as a program is told.
fn exit_code(done: Result<u8, Failure>) -> ExitCode {
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            tracing::error!(hint = failure.hint, "{}", failure.message);
            tell(&failure);
            ExitCode::from(if failure.silent { 0 } else { COULD_NOT })
        }
    }
}

/// Without a command: on a terminal the inspector, elsewhere what there is to do.
fn without_command(global: &Global) -> ExitCode {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return exit_code(command::inspect::inspect(global, &Inspect::default()));
    }
    let help = Arguments::command().render_help();
    let _ = write!(std::io::stderr(), "{help}");
    ExitCode::from(COULD_NOT)
}

/// Tells a person what went wrong. Never fails: where stderr is gone there is nobody to tell.
fn tell(failure: &Failure) {
    if failure.silent {
        return;
    }
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(stderr, "mcp-tap: {}", text::shown(&failure.message, true));
    if let Some(hint) = &failure.hint {
        let _ = writeln!(stderr, "  {}", text::shown(hint, true));
    }
}

/// Starts our own log, if `MCP_TAP_LOG` asks for one. Into a file, for stdout is the protocol's and stderr the server's.
fn start_own_log() {
    let Ok(level) = std::env::var("MCP_TAP_LOG") else {
        return;
    };
    let level: tracing::Level = level.parse().unwrap_or(tracing::Level::INFO);
    let Ok(folder) = paths::log_folder() else {
        return;
    };
    let opened = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::File::options().create(true).append(true).open(folder.join("mcp-tap.log")));
    if let Ok(file) = opened {
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .with_writer(std::sync::Mutex::new(file))
            .init();
    }
}
