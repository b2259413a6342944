//! What is done in the inspector, and what is noted of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::subject::{recorded_messages, warm_up};
use super::super::{Arguments, BenchError, build, tell};
use super::terminal::Terminal;

/// What stands on the screen and is waited for: the words of the inspector, which a test compares.
mod words {
    pub(super) const KEYS_HERE: &str = "keys here";
    pub(super) const NOTHING_FITS: &str = "nothing fits";
    pub(super) const NOTHING_UP_TO: &str = "nothing up to";
    pub(super) const JUDGED: &str = "judged";
    pub(super) const FOLLOWS: &str = "live, follows";
    pub(super) const FILTERED: &str = "  / ";
}

/// How often the inspector is started.
const STARTS: usize = 7;

/// Keys, what they are called in the report, and how often each is pressed. Some are pressed twice, to and fro.
const KEYS: &[(&str, &[&str], usize)] = &[
    ("down", &["j"], 200),
    ("page_down", &["\x1b[6~"], 100),
    ("last_first", &["G", "g"], 20),
    ("next_problem", &["]"], 40),
    ("calls_or_frames", &["v"], 20),
    (STATE, &["4", "2"], 20),
];

/// The keys to what has to be worked out first.
const STATE: &str = "state";

/// Filters: what they are called in the report, and what is typed.
const FILTERS: &[(&str, &str)] = &[
    ("tool_error", "tool:search_code is:error"),
    ("rare_tool", "tool:delete_file"),
    ("slow", "latency>3900ms"),
    ("rare_text", "needle-7f3a"),
    ("common_text", "generated"),
    ("path", "arg.path=/home/user/project/src/file_77.rs"),
];

/// One that nothing fits, by rows and by bodies.
const NOTHING: &[(&str, &str)] = &[("no_row", "tool:nobody_has_this"), ("no_text", "nobody says this")];

/// Messages a second on the live session, two a call, and for how long.
const CALLS_A_SECOND: &str = "2500";
const LIVE_CALLS: &str = "25000";

/// The release builds.
#[derive(Debug)]
pub(super) struct Programs {
    tap: PathBuf,
    million: PathBuf,
    load_client: PathBuf,
    echo_server: PathBuf,
}

impl Programs {
    pub(super) fn build() -> Result<Self, BenchError> {
        let mut executables = build::build(&["mcp-tap", "tap-load-client", "tap-echo-server"])?;
        executables.extend(build::build_example("tap-store", "million")?);
        let mut take = |package| executables.remove(package).ok_or(BenchError::NotBuilt { package });
        Ok(Self {
            tap: take("mcp-tap")?,
            million: take("million")?,
            load_client: take("tap-load-client")?,
            echo_server: take("tap-echo-server")?,
        })
    }

    /// Everything once; what failed is told in the report.
    pub(super) fn run(&self, arguments: &Arguments) -> Value {
        let mut report = json!({});
        let take_in = |report: &mut Value, name: &str, done: Result<(), String>| {
            if let Err(error) = done {
                tell(&format!("{name}: {error}"));
                report["error"][name] = json!(error);
            }
        };
        let done = self.million(arguments, &mut report);
        take_in(&mut report, "million", done);
        let done = self.live(arguments, &mut report);
        take_in(&mut report, "live", done);
        report
    }

    fn million(&self, arguments: &Arguments, report: &mut Value) -> Result<(), String> {
        let folder = folder(arguments)?;
        warm_up(folder.path(), 512 << 20).map_err(|error| format!("cannot write a file: {error}"))?;
        let database = folder.path().join("tap.db");
        let made = Command::new(&self.million)
            .arg(&database)
            .args([&arguments.messages.to_string(), "mixed"])
            .stdout(Stdio::null())
            .status();
        if !made.is_ok_and(|status| status.success()) {
            return Err("the session could not be made".into());
        }
        // Nobody has looked at it yet: what all of it meant is worked out now.
        let (terminal, first_ms) = self.opened(&database)?;
        report["first_look_ms"] = json!(first_ms);
        drop(terminal);
        let path = database.to_string_lossy();
        let began = Instant::now();
        let log = Command::new(&self.tap).args(["log", "-n", "1", "--db", &path]).output();
        log.map_err(|error| format!("cannot run the tap: {error}"))?;
        report["first_look_rest_ms"] = json!(began.elapsed().as_secs_f64() * 1e3);
        let mut starts = Vec::new();
        for _ in 0..STARTS {
            starts.push(self.opened(&database)?.1);
        }
        report["start_ms"] = json!(starts.iter().copied().fold(0.0, f64::max));
        starts.sort_by(f64::total_cmp);
        report["start_p50_ms"] = json!(starts[starts.len() / 2]);
        let (mut terminal, _) = self.opened(&database)?;
        report["filter_ms"]["while_judged"] = json!(filtered(&mut terminal, "tool:delete_file")?);
        unfiltered(&mut terminal)?;
        report["judged_ms"] =
            json!(terminal.shows_from_start("the end of judging", |screen| !screen.head().contains(words::JUDGED))?);
        self.keys(&mut terminal, report)?;
        for (name, filter) in FILTERS {
            beginning(&mut terminal)?;
            report["filter_ms"][*name] = json!(filtered(&mut terminal, filter)?);
            report["esc_ms"][*name] = json!(unfiltered(&mut terminal)?);
        }
        for (name, filter) in NOTHING {
            beginning(&mut terminal)?;
            let typed = format!("/{filter}\r");
            report["nothing_ms"][*name] =
                json!(terminal.types(&typed, "that nothing fits", |screen| screen.has(words::NOTHING_FITS))?);
            report["esc_ms"][*name] = json!(unfiltered(&mut terminal)?);
        }
        // In the middle of a long search.
        beginning(&mut terminal)?;
        terminal.types("/nobody says this\r", "how far it is", |screen| screen.has(words::NOTHING_UP_TO))?;
        report["esc_ms"]["while_searching"] = json!(unfiltered(&mut terminal)?);
        report["peak_kib"] = json!(terminal.peak_kib());
        Ok(())
    }

    /// The inspector on the newest session, once rows are on the screen, and how long that took.
    fn opened(&self, database: &Path) -> Result<(Terminal, f64), String> {
        let path = database.to_string_lossy();
        let mut terminal = Terminal::start(&self.tap, &["inspect", "last", "--db", &path])?;
        let ms = terminal.shows_from_start("a row", super::screen::Screen::has_rows)?;
        Ok((terminal, ms))
    }

    fn keys(&self, terminal: &mut Terminal, report: &mut Value) -> Result<(), String> {
        let mut all = Vec::new();
        for (name, keys, n_times) in KEYS {
            let (mut first, mut last) = (Vec::new(), Vec::new());
            for _ in 0..*n_times {
                for key in *keys {
                    if let Some(taken) = terminal.key(key)? {
                        first.push(taken.0);
                        last.push(taken.1);
                    }
                }
            }
            // What is worked out for a view comes into it when it is there; the view itself comes with the key.
            all.extend(if *name == STATE { &first } else { &last });
            report["key_ms"][*name] = percentiles(last);
            report["key_first_ms"][*name] = percentiles(first);
        }
        report["key_ms"]["all"] = percentiles(all);
        Ok(())
    }

    /// The tap's round trips on a session with 5,000 messages a second, with the inspector on it and without, in turns.
    fn live(&self, arguments: &Arguments, report: &mut Value) -> Result<(), String> {
        for round in 0..arguments.rounds.min(3) {
            let turn = if round.is_multiple_of(2) { [false, true] } else { [true, false] };
            for watched in turn {
                let name = if watched { "watched" } else { "alone" };
                let this = self.live_run(arguments, watched)?;
                tell(&format!("live, {name}: p50 {} µs, p99 {} µs", this["p50_us"], this["p99_us"]));
                match &mut report["live"][name] {
                    Value::Array(runs) => runs.push(this),
                    none => *none = json!([this]),
                }
            }
        }
        for percentile in ["p50_us", "p99_us"] {
            let median = |name: &str| -> Option<f64> {
                let runs = report["live"][name].as_array()?;
                let mut numbers: Vec<f64> = runs.iter().filter_map(|run| run[percentile].as_f64()).collect();
                numbers.sort_by(f64::total_cmp);
                numbers.get(numbers.len() / 2).copied()
            };
            let (alone, watched) = (median("alone"), median("watched"));
            report["live"][format!("alone_{percentile}")] = json!(alone);
            report["live"][format!("watched_{percentile}")] = json!(watched);
            report["live"][format!("ratio_{percentile}")] =
                json!(alone.zip(watched).map(|(alone, watched)| watched / alone));
        }
        let runs = report["live"]["watched"].as_array().cloned().unwrap_or_default();
        let sum = |name: &str| runs.iter().filter_map(|run| run[name].as_f64()).sum::<f64>();
        let most = |name: &str| runs.iter().filter_map(|run| run[name].as_f64()).fold(0.0, f64::max);
        let (recorded, exchanged) = (sum("messages_recorded"), sum("messages_exchanged"));
        let (peak, key) = (most("inspector_peak_kib"), most("key_p99_ms"));
        report["live"]["recorded"] = json!(recorded);
        report["live"]["exchanged"] = json!(exchanged);
        report["live"]["peak_kib"] = json!(peak);
        report["live"]["key_p99_ms"] = json!(key);
        Ok(())
    }

    fn live_run(&self, arguments: &Arguments, watched: bool) -> Result<Value, String> {
        let folder = folder(arguments)?;
        let database = folder.path().join("tap.db");
        let path = database.to_string_lossy().into_owned();
        let mut client = Command::new(&self.load_client)
            .args(["--phases", "latency", "--calls", LIVE_CALLS, "--pace", CALLS_A_SECOND, "--"])
            .arg(&self.tap)
            .args(["run", "--db", &path, "--"])
            .arg(&self.echo_server)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| format!("cannot run the load client: {error}"))?;
        let mut seen = json!({});
        if watched {
            let looked = watch(&self.tap, &database, &mut client, &mut seen);
            if let Err(error) = looked {
                let _ = client.kill();
                let _ = client.wait();
                return Err(error);
            }
        }
        let output = client.wait_with_output().map_err(|error| format!("the load client: {error}"))?;
        let report: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("the load client ended with {} and no report: {error}", output.status))?;
        let mut report = report["latency"].clone();
        let n_calls = report["calls"].as_u64().unwrap_or(0) + report["warm_up_calls"].as_u64().unwrap_or(0);
        // The handshake has five messages.
        report["messages_exchanged"] = json!(2 * n_calls + 5);
        report["messages_recorded"] = json!(recorded_messages(&self.tap, &database)?);
        if let (Some(report), Some(seen)) = (report.as_object_mut(), seen.as_object_mut()) {
            report.append(seen);
        }
        Ok(report)
    }
}

/// Opens the inspector on the session that has just begun, and presses keys until it is over.
fn watch(tap: &Path, database: &Path, client: &mut std::process::Child, seen: &mut Value) -> Result<(), String> {
    let path = database.to_string_lossy();
    while !recorded_messages(tap, database).is_ok_and(|n_messages| n_messages > 0) {
        if client.try_wait().is_ok_and(|ended| ended.is_some()) {
            return Err("the load client ended before anything was recorded".into());
        }
        // The session is begun by another process, which tells nobody.
        thread::sleep(Duration::from_millis(50));
    }
    let mut terminal = Terminal::start(tap, &["inspect", "last", "--db", &path])?;
    terminal
        .shows_from_start("that it follows", |screen| screen.head().contains(words::FOLLOWS) && screen.has_rows())?;
    let mut taken = Vec::new();
    while client.try_wait().is_ok_and(|ended| ended.is_none()) {
        // The list moves on its own while it follows; a list of keys is drawn by nothing but the key.
        taken.push(terminal.types("?", "the keys", |screen| screen.has(words::KEYS_HERE))?);
        terminal.types("\x1b", "no keys", |screen| !screen.has(words::KEYS_HERE))?;
        thread::sleep(Duration::from_millis(100));
        terminal.drain();
    }
    seen["key_p99_ms"] = percentiles(taken)["p99"].clone();
    seen["inspector_peak_kib"] = json!(terminal.peak_kib());
    Ok(())
}

fn folder(arguments: &Arguments) -> Result<TempDir, String> {
    TempDir::with_prefix_in("tap-bench-", &arguments.dir).map_err(|error| format!("no folder: {error}"))
}

/// Puts the cursor on the first message, where it may be already.
fn beginning(terminal: &mut Terminal) -> Result<(), String> {
    terminal.goes("g", "the beginning", |screen| screen.has(" -> initialize"))
}

/// Milliseconds from the last key of a filter to the first row that fits.
fn filtered(terminal: &mut Terminal, filter: &str) -> Result<f64, String> {
    terminal.settle();
    terminal.types(&format!("/{filter}"), "the filter", |screen| screen.has(filter))?;
    terminal.settle();
    let told = format!("{}{filter}", words::FILTERED);
    terminal.types("\r", "what fits", |screen| screen.has_rows() && screen.head().contains(&told))
}

/// Milliseconds from `esc` to the list without a filter.
fn unfiltered(terminal: &mut Terminal) -> Result<f64, String> {
    terminal.types("\x1b", "the list without a filter", |screen| {
        screen.has_rows() && !screen.head().contains(words::FILTERED)
    })
}

fn percentiles(mut taken: Vec<f64>) -> Value {
    taken.sort_by(f64::total_cmp);
    let at = |percent: usize| {
        let rank = (taken.len() * percent).div_ceil(100).max(1);
        taken.get(rank - 1).copied()
    };
    json!({"n": taken.len(), "p50": at(50), "p99": at(99), "max": at(100)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_what_the_inspector_says() {
        use tap_inspector::words as its;
        for (ours, its) in [
            (words::KEYS_HERE, its::KEYS_HERE),
            (words::NOTHING_FITS, its::NOTHING_FITS),
            (words::NOTHING_UP_TO, its::NOTHING_UP_TO),
            (words::JUDGED, its::JUDGED),
            (words::FOLLOWS, its::FOLLOWS),
            (words::FILTERED, its::FILTERED),
        ] {
            assert_eq!(ours, its);
        }
        for key in KEYS.iter().flat_map(|(_, keys, _)| *keys).filter(|key| key.len() == 1) {
            let bound = |binding: &tap_inspector::Binding| binding.keys.contains(key);
            assert!(tap_inspector::KEYMAP.iter().any(bound), "{key} does nothing");
        }
    }

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let told = percentiles((1..=200).map(f64::from).collect());
        assert_eq!(told, json!({"n": 200, "p50": 100.0, "p99": 198.0, "max": 200.0}));
        assert_eq!(percentiles(Vec::new())["p99"], Value::Null);
    }
}
