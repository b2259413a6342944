//! Following a session from its first message: what `check`, `stats` and `state` have in common.

use std::io::{IsTerminal, Write};

use tap_frame::{Direction, Frame};
use tap_protocol::meta;
use tap_session::{Follower, Lens, Meaning, Recorded};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::progress::catch_up;
use crate::reference::Found;
use crate::text::shown;

/// Frames between two words of how far it is.
const FRAMES_A_WORD: u64 = 20_000;

/// A session that was followed.
pub(crate) struct Followed {
    /// What is known at the end.
    pub(crate) follower: Follower,
    /// The number of the last frame that was followed.
    pub(crate) last_seq: u64,
    /// Whether all of the session was followed, and it is over.
    pub(crate) over: bool,
}

/// Follows a session up to the frame `last`. `sink` gets each frame with what it meant, and at the end what is known only
/// when nothing more will come, without a frame.
pub(crate) fn follow(
    global: &Global,
    found: &Found,
    last: u64,
    mut sink: impl FnMut(Option<&Frame>, &Meaning, &Follower) -> Result<(), Failure>,
) -> Result<Followed, Failure> {
    let (store, session) = (&found.store, found.session.id);
    let name = &found.session.start.name;
    catch_up(global, store, session, name)?;
    let n_frames = store.sessions()?.iter().find(|this| this.id == session).map_or(0, |this| this.digest.n_frames);
    let talk = !global.quiet && std::io::stderr().is_terminal() && n_frames > FRAMES_A_WORD;
    let mut follower = None;
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
        let follower = follower.get_or_insert_with(|| beginning(found, &frame));
        meaning.clear();
        follower.follow(&frame, &mut lens, &mut meaning);
        sink(Some(&frame), &meaning, follower)?;
        last_seq = frame.seq;
        if talk && frame.seq % FRAMES_A_WORD == 0 {
            let share = frame.seq as f64 / n_frames as f64 * 100.0;
            let _ = write!(std::io::stderr(), "\rfollowing {}: {share:3.0} %", shown(name, false));
        }
    }
    if talk {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    let mut follower = follower.unwrap_or_default();
    let over = !live && last_seq >= n_frames;
    if over {
        meaning.clear();
        follower.finish(&mut meaning);
        sink(None, &meaning, &follower)?;
    }
    Ok(Followed { follower, last_seq, over })
}

/// How to begin: a tap records a server from its start, but a file may hold a part of a session.
fn beginning(found: &Found, first: &Frame) -> Follower {
    let recorded_here = found.session.start.tap_pid.is_some();
    if recorded_here || opens(first) { Follower::new() } else { Follower::from_the_middle() }
}

/// Whether a session may begin with this frame. Anything that is no message may come first, and so may what every
/// revision allows to.
fn opens(frame: &Frame) -> bool {
    let message = tap_jsonrpc::Node::new(&frame.bytes);
    let Some(method) = message.get("method") else {
        return !message.is_object();
    };
    let openings = ["initialize", "server/discover", "ping", "notifications/message"];
    let modern = message.at(&["params", "_meta", meta::PROTOCOL_VERSION]).is_some();
    modern && frame.direction() == Direction::ToServer || openings.iter().any(|opening| method.is_text(opening))
}
