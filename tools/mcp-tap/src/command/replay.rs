//! `mcp-tap replay`: a recording as a server.
//!
//! What is said is decided by `tap_replay`'s player alone; this reads what the client says, and says when. `replay/source.rs`
//! reads recordings, `replay/record.rs` makes them, `replay/real.rs` has the server that they learn from, `replay/told.rs` tells
//! people what happened.

mod input;
mod real;
mod record;
mod sessions;
pub(super) mod source;
mod told;

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tap_compare::{Rules, ToolRules};
use tap_protocol::Side;
use tap_replay::{Options, Output, Player};

use self::input::Input;
use self::real::Real;
use self::sessions::Sessions;
use self::told::Told;
use super::bridge_http::bridge_http;
use super::stop::Stop;
use super::verify::server::{Event, events};
use crate::arguments::{
    Clock, Dials, Global, Order, RecordMode, Repeat, Replay, ReplayMissing, Replies, Unanswered, Unmatched,
};
use crate::failure::{Failure, NO};

/// How long is waited for what the client ought to say, when nothing else happens: nobody should need it.
const WAITING_LIMIT: Duration = Duration::from_secs(30);

/// Messages of the client's that wait to be taken, and of ours to be sent.
const WAITING_MESSAGES: usize = 1_024;

/// Options of `replay` that say how the bridge serves.
const OF_THE_BRIDGE: [&str; 7] =
    ["--http", "--path", "--idle", "--sessions", "--body-limit", "--allow-origin", "--allow-host"];

/// Plays recordings until the client has said everything.
pub(crate) fn replay(global: &Global, replay: Replay) -> Result<u8, Failure> {
    let mode = record::mode(&replay)?;
    if replay.http.http.is_some() {
        return over_http(global, &replay, mode);
    }
    if mode != RecordMode::None
        && let Some(code) = record::record(global, &replay, mode)?
    {
        return Ok(code);
    }
    play(global, &replay, mode)
}

fn play(global: &Global, replay: &Replay, mode: RecordMode) -> Result<u8, Failure> {
    let dials = &replay.dials;
    let sources = replay.recordings.iter().map(|reference| source::source(global, reference, Side::Client));
    let sources = sources.collect::<Result<_, _>>()?;
    let is_learning = mode == RecordMode::New;
    let mut player = Player::new(sources, Options { pass_on: is_learning, ..options(dials) });
    let needs_all = dials.strict || dials.report.is_some() || dials.report_in.is_some();
    // Some hosts end a server by a signal alone, and what happened is wanted all the same.
    let mut real = match is_learning {
        true => {
            let (said, said_to_us) = events();
            let to_us = said.clone();
            on_signals(move || drop(to_us.send(Event::Stop)))?;
            let real = Real::new(global, replay, said.clone(), said_to_us)?;
            read_lines(said);
            real
        }
        false if needs_all => {
            let cannot = |error| Failure::new(format!("cannot take signals: {error}"));
            let (mut ours, stop) = UnixStream::pair().map_err(cannot)?;
            on_signals(move || drop(ours.write_all(b"x")))?;
            Real::none(Input::new(Some(stop))?)
        }
        false => Real::none(Input::new(None)?),
    };
    let mut sender = Sender::new(dials)?;
    let mut told = Told::new(global);
    let (mut is_over, mut has_said_all) = (false, false);
    while !is_over {
        while real.is_idle() && player.read_ahead() {}
        let event = real.next(WAITING_LIMIT);
        player.time(real.now_ns());
        let outputs = match event {
            Some(Event::Typed(line)) => player.receive(&line),
            Some(Event::Line(line)) => player.receive_from_server(&line),
            Some(Event::Ended) => player.server_ended(&real.why_it_ended()),
            // What the real server was asked it may still answer.
            Some(Event::TypedAll) => {
                has_said_all = true;
                Vec::new()
            }
            Some(Event::Stop) => {
                (has_said_all, is_over) = (true, true);
                Vec::new()
            }
            Some(Event::Exited) => Vec::new(),
            None => {
                is_over = has_said_all;
                player.stop_waiting()
            }
        };
        let mut outputs = VecDeque::from(outputs);
        loop {
            if has_said_all && (is_over || !player.waits_for_real_server()) {
                is_over = true;
                outputs.extend(player.end());
            }
            match outputs.pop_front() {
                None => break,
                Some(Output::Send { bytes, gap_ns }) => is_over |= !sender.send(bytes, gap_ns),
                Some(Output::Miss(miss)) => told.miss(&miss),
                Some(Output::Note(note)) => told.note(&note),
                Some(Output::Exit) => is_over = true,
                Some(Output::ToServer(line)) => {
                    if let Err(why) = real.send(line) {
                        outputs.extend(player.server_ended(&why));
                    }
                }
                Some(Output::Learned(learned)) => real.learned(learned),
            }
        }
        if is_over || !real.has_more() {
            is_over |= !sender.flush();
        }
    }
    sender.finish();
    for output in player.end() {
        if let Output::Learned(learned) = output {
            real.learned(learned);
        }
    }
    real.finish();
    let report = player.report(needs_all);
    told.end(report, dials)?;
    let has_failed = dials.strict && !report.is_clean();
    let was_exit = dials.unmatched == Unmatched::Exit && report.n_misses > 0;
    Ok(if has_failed || was_exit { NO } else { 0 })
}

/// A bridge in front of players: a process of ours for each session of the legacy era, one for all of the modern.
fn over_http(global: &Global, replay: &Replay, mode: RecordMode) -> Result<u8, Failure> {
    if mode != RecordMode::None {
        return Err(Failure::new("--record does not go together with --http")
            .hint("record with `mcp-tap run --http`, and export the session"));
    }
    // What cannot be played is told now, and not to the first client.
    for reference in &replay.recordings {
        source::source(global, reference, Side::Client)?;
    }
    let program =
        std::env::current_exe().map_err(|error| Failure::new(format!("cannot tell where this program is: {error}")))?;
    let needs_all = replay.dials.strict || replay.dials.report.is_some();
    let sessions = needs_all.then(Sessions::new).transpose()?;
    // As we were called, less what is the bridge's and ours.
    let mut arguments: Vec<OsString> = Vec::new();
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let (name, has_value) = text.split_once('=').map_or((&*text, false), |(name, _)| (name, true));
        match name {
            "--strict" => {}
            "--report" if has_value => {}
            "--report" => drop(words.next()),
            _ if !OF_THE_BRIDGE.contains(&name) => arguments.push(word),
            _ if !has_value => drop(words.next()),
            _ => {}
        }
    }
    if let Some(sessions) = &sessions {
        arguments.extend(["--report-in".into(), sessions.folder().into()]);
    }
    let code = bridge_http(global, &replay.http, Some("replay".into()), program.into(), arguments, false)?;
    match sessions {
        Some(sessions) => sessions.end(global, replay),
        None => Ok(code),
    }
}

fn options(dials: &Dials) -> Options {
    let all = ToolRules {
        ignore: dials.ignore.clone(),
        loose: dials.loose.iter().copied().collect::<BTreeSet<_>>(),
        ..ToolRules::default()
    };
    Options {
        rules: Rules { all, ..Rules::default() },
        order: match dials.order {
            Order::Any => tap_replay::Order::Any,
            Order::Strict => tap_replay::Order::Strict,
        },
        repeat: match dials.repeat {
            Repeat::Safe => tap_replay::Repeat::Safe,
            Repeat::Never => tap_replay::Repeat::Never,
            Repeat::All => tap_replay::Repeat::All,
        },
        unmatched: match dials.unmatched {
            Unmatched::Error => tap_replay::Unmatched::Error,
            Unmatched::Closest => tap_replay::Unmatched::Closest,
            Unmatched::Exit => tap_replay::Unmatched::Exit,
        },
        unanswered: match dials.unanswered {
            Unanswered::Error => tap_replay::Unanswered::Error,
            Unanswered::Hang => tap_replay::Unanswered::Hang,
        },
        strict_replies: dials.replies == Replies::Strict,
        missing_capability: match dials.missing_capability {
            ReplayMissing::Skip => tap_replay::MissingCapability::Skip,
            ReplayMissing::Error => tap_replay::MissingCapability::Error,
        },
        no_cache: dials.no_cache,
        pass_on: false,
    }
}

/// Reads what the client says, on a thread of its own: it may say more while something is on its way.
fn read_lines(said: SyncSender<Event>) {
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let next = match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => Event::TypedAll,
                Ok(_) => Event::Typed(line),
            };
            let is_end = matches!(next, Event::TypedAll);
            if said.send(next).is_err() || is_end {
                return;
            }
        }
    });
}

/// Does something when a signal asks us to stop, once.
fn on_signals(mut stopped: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::new(format!("cannot take signals: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let mut stop = {
        let _entered = runtime.enter();
        Stop::new().map_err(cannot)?
    };
    std::thread::spawn(move || {
        runtime.block_on(stop.asked());
        stopped();
        // Whoever asks again is not heard: it is the end already.
    });
    Ok(())
}

/// Sends messages in order. With a clock a thread does it, which waits before each.
enum Sender {
    AtOnce(std::io::BufWriter<std::io::Stdout>),
    Later { queue: SyncSender<(Vec<u8>, Duration)>, thread: JoinHandle<()>, clock: Clock, max_gap: Duration },
}

impl Sender {
    fn new(dials: &Dials) -> Result<Self, Failure> {
        if dials.clock == Clock::None {
            return Ok(Self::AtOnce(std::io::BufWriter::new(std::io::stdout())));
        }
        let (queue, waiting) = sync_channel::<(Vec<u8>, Duration)>(WAITING_MESSAGES);
        let thread = std::thread::Builder::new().name("send".into()).spawn(move || {
            for (line, gap) in waiting {
                // tidy: sleeps because a person asked for the recorded times
                std::thread::sleep(gap);
                let mut out = std::io::stdout().lock();
                if out.write_all(&line).and_then(|()| out.flush()).is_err() {
                    return;
                }
            }
        });
        let thread = thread.map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
        Ok(Self::Later { queue, thread, clock: dials.clock, max_gap: dials.max_gap })
    }

    /// Whether there is still somebody to send to.
    fn send(&mut self, mut line: Vec<u8>, gap_ns: u64) -> bool {
        line.push(b'\n');
        match self {
            Self::AtOnce(out) => out.write_all(&line).is_ok(),
            Self::Later { queue, clock, max_gap, .. } => {
                let gap = match clock {
                    Clock::None => Duration::ZERO,
                    Clock::Recorded(factor) => {
                        let seconds = Duration::from_nanos(gap_ns).as_secs_f64() * *factor;
                        Duration::try_from_secs_f64(seconds).unwrap_or(*max_gap)
                    }
                    Clock::Fixed(gap) => *gap,
                };
                queue.send((line, gap.min(*max_gap))).is_ok()
            }
        }
    }

    fn flush(&mut self) -> bool {
        match self {
            Self::AtOnce(out) => out.flush().is_ok(),
            Self::Later { .. } => true,
        }
    }

    /// Waits until everything is sent.
    fn finish(self) {
        match self {
            Self::AtOnce(mut out) => {
                let _ = out.flush();
            }
            Self::Later { queue, thread, .. } => {
                drop(queue);
                let _ = thread.join();
            }
        }
    }
}
