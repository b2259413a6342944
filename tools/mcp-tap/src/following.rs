//! Following a session from its first message: what `check`, `stats` and `state` have in common.

mod steps;

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;

use tap_exchange::Read;
use tap_frame::{Channel, Direction, Frame, Origin};
use tap_jsonrpc::Node;
use tap_protocol::meta;
use tap_session::{
    Follower, HttpFollower, HttpMeaning, HttpSession, HttpSessionNumber, Lens, Meaning, Recorded, SessionState,
};
use tap_store::{ListKind, Part, Session, SessionId, Store, StoreError, Transport};

pub(crate) use self::steps::Steps;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::progress::catch_up;
use crate::reference::Found;
use crate::text::shown;

/// Frames between two words of how far it is.
const FRAMES_A_WORD: u64 = 20_000;

/// How far the beginning of a session is looked for: a server may write many lines to stderr before it is spoken to.
const LOOK_AHEAD: usize = 10_000;

/// One thing that was followed: a frame with what it meant, or what was known without one.
pub(crate) struct Seen<'a> {
    /// The frame. `None` for what is known from the head or the end of an exchange, and when nothing more will come.
    pub(crate) frame: Option<&'a Frame>,
    /// The exchange of HTTP that it was in, if something was.
    pub(crate) exchange: Option<u64>,
    /// Which session of MCP it is of, where a recording holds many. Over HTTP `None` for what is of none.
    pub(crate) conversation: Option<HttpSessionNumber>,
    /// What it meant.
    pub(crate) meaning: &'a Meaning,
    /// What is true now in the session of MCP that it is of; of none, nothing.
    pub(crate) state: &'a SessionState,
}

/// A session that was followed.
pub(crate) struct Followed {
    /// What is known at the end: of stdio one state, over HTTP one for each session of MCP, in the order in which they were
    /// begun.
    pub(crate) states: Vec<(Option<HttpSessionNumber>, SessionState)>,
    /// The number of the last frame that was followed.
    pub(crate) last_seq: u64,
    /// Whether all of the session was followed, and it is over.
    pub(crate) over: bool,
}

impl Followed {
    /// What is known at the end of one session of MCP: the one that is named, or the last one.
    pub(crate) fn state_of(&self, conversation: Option<HttpSessionNumber>) -> Option<&SessionState> {
        let mut states = self.states.iter().rev();
        let found = states.find(|(number, _)| conversation.is_none() || *number == conversation);
        found.map(|(_, state)| state)
    }
}

/// Says how far it is, on a terminal, when there is much to do.
struct Word<'a> {
    name: &'a str,
    n_frames: u64,
    talk: bool,
}

impl<'a> Word<'a> {
    fn new(global: &Global, name: &'a str, n_frames: u64) -> Self {
        Self { name, n_frames, talk: !global.quiet && std::io::stderr().is_terminal() && n_frames > FRAMES_A_WORD }
    }

    fn at(&self, seq: u64) {
        if self.talk && seq.is_multiple_of(FRAMES_A_WORD) {
            let share = seq as f64 / self.n_frames as f64 * 100.0;
            let _ = write!(std::io::stderr(), "\rfollowing {}: {share:3.0} %", shown(self.name, false));
        }
    }
}

impl Drop for Word<'_> {
    fn drop(&mut self) {
        if self.talk {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Follows a session up to the frame `last`. `sink` gets each frame with what it meant, and without a frame what is known
/// between two of them, and what is known only when nothing more will come.
pub(crate) fn follow(
    global: &Global,
    found: &Found,
    last: u64,
    sink: impl FnMut(Seen<'_>) -> Result<(), Failure>,
) -> Result<Followed, Failure> {
    catch_up(global, &found.store, found.session.id, &found.session.start.name)?;
    match found.session.start.transport {
        Transport::Stdio => follow_stdio(global, found, last, sink),
        Transport::Http => follow_http(global, found, last, sink),
    }
}

fn follow_stdio(
    global: &Global,
    found: &Found,
    last: u64,
    mut sink: impl FnMut(Seen<'_>) -> Result<(), Failure>,
) -> Result<Followed, Failure> {
    let (store, session) = (&found.store, found.session.id);
    let n_frames = found.last_seq()?;
    let word = Word::new(global, &found.session.start.name, n_frames);
    let mut follower =
        if begins_whole(store, &found.session, found.first)? { Follower::new() } else { Follower::from_the_middle() };
    let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
    let mut last_seq = 0;
    let live = store.is_live(session);
    for recorded in store.recorded(session) {
        let frame = match recorded? {
            Recorded::Frame(frame) => frame,
            Recorded::End { .. } => continue,
        };
        if frame.seq > last {
            break;
        }
        meaning.clear();
        follower.follow(&frame, &mut lens, &mut meaning);
        let (meaning, state) = (&meaning, follower.state());
        sink(Seen { frame: Some(&frame), exchange: None, conversation: None, meaning, state })?;
        last_seq = frame.seq;
        word.at(last_seq);
    }
    drop(word);
    let over = !live && last_seq >= n_frames;
    if over {
        meaning.clear();
        follower.finish(&mut meaning);
        let (meaning, state) = (&meaning, follower.state());
        sink(Seen { frame: None, exchange: None, conversation: None, meaning, state })?;
    }
    Ok(Followed { states: vec![(None, follower.state().clone())], last_seq, over })
}

fn follow_http(
    global: &Global,
    found: &Found,
    last: u64,
    mut sink: impl FnMut(Seen<'_>) -> Result<(), Failure>,
) -> Result<Followed, Failure> {
    let (store, session) = (&found.store, found.session.id);
    let n_frames = found.last_seq()?;
    let word = Word::new(global, &found.session.start.name, n_frames);
    let live = store.is_live(session);
    let mut last_seq = 0;
    // Where it is left before the end: what was followed by then.
    let mut left = None;
    let reading = store.read_http(session, |read, follower| {
        if read.frame.as_ref().is_some_and(|read| last < read.frame.seq) {
            return Ok(ControlFlow::Break(()));
        }
        let frame = read.frame.as_ref().map(|read| read.frame.seq);
        tell(read, follower, &mut sink)?;
        if let Some(seq) = frame {
            last_seq = last_seq.max(seq);
            word.at(last_seq);
        }
        if last < n_frames {
            left = Some(follower.clone());
        }
        Ok::<_, Failure>(ControlFlow::Continue(()))
    })?;
    drop(word);
    let over = !live && last_seq >= n_frames;
    let follower = left.as_ref().unwrap_or_else(|| reading.follower());
    let states = follower.states().map(|(number, state)| (Some(number), state.clone()));
    Ok(Followed { states: states.collect(), last_seq, over })
}

/// Tells what came of a recording over HTTP, of each session of MCP by itself.
fn tell<E>(read: Read, follower: &HttpFollower, sink: &mut impl FnMut(Seen<'_>) -> Result<(), E>) -> Result<(), E> {
    let nothing = SessionState::default();
    let exchange = read.exchange.as_ref();
    let (frame, exchange, conversation) = match &read.frame {
        Some(read) => (Some(&read.frame), read.exchange, read.conversation),
        None => (None, exchange.map(|this| this.number), exchange.and_then(|this| this.conversation)),
    };
    let state_of = |number: Option<HttpSessionNumber>| {
        number.and_then(|number| follower.session(number)).map_or(&nothing, HttpSession::state)
    };
    let (mut main, mut others) = (Meaning { events: read.events, ..Meaning::default() }, Vec::new());
    for HttpMeaning { session, mut meaning } in read.meanings {
        if Some(session) == conversation {
            main.findings.append(&mut meaning.findings);
            main.links.append(&mut meaning.links);
        } else {
            others.push((session, meaning));
        }
    }
    let (meaning, state) = (&main, state_of(conversation));
    sink(Seen { frame, exchange, conversation, meaning, state })?;
    for (number, meaning) in &others {
        let (conversation, state) = (Some(*number), state_of(Some(*number)));
        sink(Seen { frame: None, exchange, conversation, meaning, state })?;
    }
    Ok(())
}

/// Whether a session was recorded from its first message. A tap records a server from its start, but a file may hold a
/// part of a session, which it says only when it was written by this version.
/// `first` is which number its first frame had there, 1 where it is not said.
pub(crate) fn begins_whole(store: &Store, session: &Session, first: u64) -> Result<bool, StoreError> {
    if session.start.tap_pid.is_some() {
        return Ok(true);
    }
    if first > 1 {
        return Ok(false);
    }
    let mut opening = Opening::default();
    for recorded in store.recorded(session.id).take(LOOK_AHEAD) {
        if let Recorded::Frame(frame) = recorded?
            && let Some(whole) = opening.take(&frame)
        {
            return Ok(whole);
        }
    }
    Ok(last_seq(store, session.id)? < LOOK_AHEAD as u64 && opening.is_whole_without_request())
}

/// The number of a session's newest frame; 0 when there is none.
pub(crate) fn last_seq(store: &Store, session: SessionId) -> Result<u64, StoreError> {
    let newest = store.list(session, ListKind::Frames, Part::UpTo(u64::MAX), 1)?;
    Ok(newest.last().map_or(0, |listed| listed.row.at.seq))
}

/// Looks for what tells whether a recording begins with its session: the first that a client asks for, other than `ping`.
///
/// Before that may come whatever every revision allows to: stderr, prints, pings and log messages.
#[derive(Debug, Default)]
struct Opening {
    client_asked: bool,
    server_asked: bool,
    /// The server answered what nobody had asked, as far as is recorded.
    answered_unasked: bool,
}

impl Opening {
    /// Takes the next frame; says whether the recording is whole, once that is known.
    fn take(&mut self, frame: &Frame) -> Option<bool> {
        if frame.channel() != Channel::Message || frame.origin != Origin::Wire {
            return None;
        }
        let message = Node::new(&frame.bytes);
        let by_client = frame.direction() == Direction::ToServer;
        if message.is_array() {
            return message.elements().find_map(|member| self.message(by_client, member));
        }
        self.message(by_client, message)
    }

    fn message(&mut self, by_client: bool, message: Node<'_>) -> Option<bool> {
        if !message.is_object() {
            return None;
        }
        let [method, id] = message.pick(["method", "id"]);
        let id = id.filter(|id| !id.is_null());
        match (method, by_client) {
            (Some(_), false) => {
                self.server_asked |= id.is_some();
                None
            }
            // An answer without an id may be one to what was no JSON.
            (None, false) => {
                self.answered_unasked |= id.is_some() && !self.client_asked;
                None
            }
            (None, true) => (id.is_some() && !self.server_asked).then_some(false),
            // A notification, whose `id` is not looked at: `initialize` without one is broken, but opens all the same.
            (Some(method), true) => {
                if method.is_text("initialize") || method.is_text("server/discover") {
                    return Some(true);
                }
                if id.is_none() || method.is_text("ping") {
                    self.client_asked |= id.is_some();
                    return None;
                }
                let modern = message.at(&["params", "_meta", meta::PROTOCOL_VERSION]).is_some();
                Some(modern && !self.answered_unasked)
            }
        }
    }

    /// Whether the recording is whole, where no client asked for anything in all of it.
    fn is_whole_without_request(&self) -> bool {
        !self.answered_unasked
    }
}

#[cfg(test)]
mod tests {
    use tap_frame::Stream;

    use super::*;

    /// Each line is a frame: `->` to the server, `<-` to the client, `!!` stderr, `..` a gap.
    #[track_caller]
    fn check(script: &str, whole: bool) {
        let mut opening = Opening::default();
        let said = script.lines().find_map(|line| {
            let (arrow, text) = line.trim().split_at(2);
            let (stream, origin) = match arrow {
                "->" => (Stream::ToServer, Origin::Wire),
                "<-" => (Stream::ToClient, Origin::Wire),
                "!!" => (Stream::Stderr, Origin::Wire),
                _ => (Stream::ToClient, Origin::Gap(9)),
            };
            let bytes = text.trim_start().to_owned().into();
            opening.take(&Frame { seq: 1, wall_ns: 0, at_ns: 0, stream, origin, bytes })
        });
        assert_eq!(said.unwrap_or_else(|| opening.is_whole_without_request()), whole, "{script}");
    }

    #[test]
    fn a_recording_is_whole_when_the_first_that_a_client_asks_opens_a_session() {
        let before = [
            "",
            r#"!! {"level":"info","msg":"listening"}"#,
            "<- a banner",
            "-> ",
            "..",
            r#"<- {"jsonrpc":"2.0","method":"notifications/message"}"#,
            r#"-> {"jsonrpc":"2.0","id":0,"method":"ping"}"#,
            r#"<- {"jsonrpc":"2.0","id":0,"method":"ping"}"#,
            r#"-> {"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            r#"<- {"jsonrpc":"2.0","id":null,"error":{}}"#,
        ];
        let requests = [
            (r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize"}"#, true),
            (r#"-> {"jsonrpc":"2.0","method":"initialize"}"#, true),
            (r#"-> [{"jsonrpc":"2.0","id":1,"method":"initialize"}]"#, true),
            (r#"-> {"jsonrpc":"2.0","id":1,"method":"server/discover"}"#, true),
            (
                r#"-> {"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
                true,
            ),
            (r#"-> {"jsonrpc":"2.0","id":9,"method":"tools/call"}"#, false),
            (r#"-> [{"jsonrpc":"2.0","id":9,"method":"tools/call"}]"#, false),
            ("", true),
        ];
        for before in before {
            for (request, whole) in requests {
                let script = [before, request].map(str::to_owned).into_iter().filter(|line| !line.is_empty());
                check(&script.collect::<Vec<_>>().join("\n"), whole);
            }
        }
    }

    #[test]
    fn an_answer_to_what_was_not_recorded_shows_that_something_is_missing() {
        let answer = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
        let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
        let modern =
            r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"x"}}}"#;
        check(&format!("<- {answer}"), false);
        check(&format!("<- {answer}\n-> {modern}"), false);
        check(&format!("-> {answer}"), false);
        check(&format!("-> {ping}\n<- {answer}"), true);
        check(&format!("<- {ping}\n-> {answer}"), true);
        // A server that answers out of nothing is one thing, and how the session begins another.
        check(&format!("<- {answer}\n-> {{\"id\":1,\"method\":\"initialize\"}}"), true);
    }
}
