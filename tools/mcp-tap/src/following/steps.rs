//! Following a session a little at a time, and on from there when it has grown.

use std::time::{Duration, Instant};

use tap_exchange::HttpReading;
use tap_session::{Follower, Lens, Meaning, SessionState};
use tap_store::{Session, SessionId, Store, StoreError, Transport};

use super::{Seen, begins_whole, tell};

/// Frames between two looks at the clock.
const FRAMES: u64 = 16;

/// A session that is followed in steps.
pub(crate) struct Steps {
    session: SessionId,
    of: Of,
    /// The number of the last frame that was followed.
    last_seq: u64,
    over: bool,
}

enum Of {
    Stdio(Box<(Follower, Lens)>),
    Http(Box<HttpReading>),
}

impl Steps {
    /// From its beginning. `first` is which number its first frame had in the session that it is a part of.
    pub(crate) fn new(store: &Store, session: &Session, first: u64) -> Result<Self, StoreError> {
        let of = match session.start.transport {
            Transport::Http => Of::Http(Box::default()),
            Transport::Stdio => {
                let whole = begins_whole(store, session, first)?;
                let follower = if whole { Follower::new() } else { Follower::from_the_middle() };
                Of::Stdio(Box::new((follower, Lens::default())))
            }
        };
        Ok(Self { session: session.id, of, last_seq: 0, over: false })
    }

    /// The number of the last frame that was followed.
    pub(crate) fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Whether all of it was followed, and nothing more will come.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// What is true now, in each session of MCP, in the order in which they were begun.
    pub(crate) fn states(&self) -> Box<dyn Iterator<Item = &SessionState> + '_> {
        match &self.of {
            Of::Stdio(of) => Box::new(std::iter::once(of.0.state())),
            Of::Http(reading) => Box::new(reading.follower().states().map(|(_, state)| state)),
        }
    }

    /// Follows on for about so long; true when that was all that is there.
    pub(crate) fn step(
        &mut self,
        store: &Store,
        how_long: Duration,
        mut sink: impl FnMut(Seen<'_>) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        if self.over {
            return Ok(true);
        }
        // Asked first, so that what is written in between is followed before the end is told.
        let live = store.is_live(self.session);
        let began = Instant::now();
        // A little at a time too; what is known by then is followed meanwhile.
        let is_whole = store.catch_up_for(self.session, how_long)?;
        match &mut self.of {
            Of::Stdio(of) => {
                let (follower, lens) = &mut **of;
                let mut meaning = Meaning::default();
                for frame in store.frames(self.session, self.last_seq + 1) {
                    let frame = frame?;
                    meaning.clear();
                    follower.follow(&frame, lens, &mut meaning);
                    self.last_seq = frame.seq;
                    let (meaning, state) = (&meaning, follower.state());
                    sink(Seen { frame: Some(&frame), exchange: None, conversation: None, meaning, state })?;
                    if frame.seq.is_multiple_of(FRAMES) && began.elapsed() > how_long {
                        return Ok(false);
                    }
                }
                if !is_whole {
                    return Ok(false);
                }
                if !live {
                    meaning.clear();
                    follower.finish(&mut meaning);
                    let (meaning, state) = (&meaning, follower.state());
                    sink(Seen { frame: None, exchange: None, conversation: None, meaning, state })?;
                }
            }
            Of::Http(_) if !is_whole => return Ok(false),
            Of::Http(reading) => {
                let last_seq = &mut self.last_seq;
                while store.read_http_on(self.session, reading, |read, follower| {
                    *last_seq = read.frame.as_ref().map_or(*last_seq, |frame| frame.frame.seq);
                    tell(read, follower, &mut sink)
                })? {
                    if began.elapsed() > how_long {
                        return Ok(false);
                    }
                }
                if !live {
                    let mut done = Ok(());
                    reading.finish(&mut |read, follower| {
                        if done.is_ok() {
                            *last_seq = read.frame.as_ref().map_or(*last_seq, |frame| frame.frame.seq);
                            done = tell(read, follower, &mut sink);
                        }
                    });
                    done?;
                }
            }
        }
        self.over = !live;
        Ok(true)
    }
}
