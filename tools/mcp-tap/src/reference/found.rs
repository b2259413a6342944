//! A session that was found, and what may be asked of it.

use std::path::PathBuf;
use std::rc::Rc;

use tap_session::{At, HttpSessionNumber};
use tap_store::{EndReason, Profile, Session, Store, Transport};

use super::{Part, place};
use crate::arguments::Global;
use crate::command::ls::end_of;
use crate::failure::Failure;
use crate::following::last_seq;
use crate::progress::catch_up;
use crate::text::counted;

/// A session that was found, and the store that it is in.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) store: Rc<Store>,
    pub(crate) session: Session,
    /// The shortest way to name it.
    pub(crate) reference: String,
    pub(crate) part: Part,
    /// The one session of MCP in it that is meant, if one is.
    pub(crate) conversation: Option<HttpSessionNumber>,
    /// The text recording that it was read from.
    pub(crate) file: Option<PathBuf>,
    /// Which number its first frame had in the session that the file is a part of; 1 where it is whole, as far as is said.
    pub(crate) first: u64,
    /// What the file says of how it is matched and compared, JSON.
    pub(crate) rules: Option<String>,
    /// How much of its session the file holds.
    pub(crate) profile: Profile,
}

impl Found {
    /// A session of a database, all of it.
    pub(crate) fn of(store: Rc<Store>, session: Session, reference: String) -> Self {
        Self {
            store,
            session,
            reference,
            part: Part::All,
            conversation: None,
            file: None,
            first: 1,
            rules: None,
            profile: Profile::Lossless,
        }
    }

    /// How a message of it is named on the command line: in a file by the file's name.
    pub(crate) fn place(&self, at: At) -> String {
        place(&self.name(), at)
    }

    /// The same, of which one session of MCP is meant.
    pub(super) fn only(self, global: &Global, number: u64) -> Result<Self, Failure> {
        let name = self.name();
        if !self.is_http() {
            if number == 1 {
                return Ok(self);
            }
            return Err(Failure::new(format!(
                "there is no session {name}/{number}; {name} is over stdio, and one session"
            ))
            .hint(format!("leave it out: {name}")));
        }
        catch_up(global, &self.store, self.session.id, &self.session.start.name)?;
        let known = self.store.conversations(self.session.id)?;
        let wanted = HttpSessionNumber(number);
        if known.iter().any(|conversation| conversation.number == wanted) {
            return Ok(Self { conversation: Some(wanted), ..self });
        }
        let (there, hint) = match known.as_slice() {
            [] => (format!("{name} has none ({})", self.end()), self.hint_when_empty()),
            [one] => (format!("{name} has one, {}", self.inside(one.number)), None),
            [first, .., last] => {
                let n = counted(known.len() as u64, "session");
                let (first, last) = (self.inside(first.number), self.inside(last.number));
                (format!("{name} has {n}, {first} to {last}"), Some("`mcp-tap ls --json` lists all of them"))
            }
        };
        let failure = Failure::new(format!("there is no session {name}/{number}; {there}"));
        Err(Failure { hint: hint.map(String::from), ..failure })
    }

    /// What it is called: its file, or its reference.
    pub(crate) fn name(&self) -> String {
        self.file.as_ref().map_or_else(|| self.reference.clone(), |file| file.to_string_lossy().into_owned())
    }

    /// How a session of MCP in it is named on the command line.
    pub(crate) fn inside(&self, number: HttpSessionNumber) -> String {
        format!("{}/{}", self.name(), number.0)
    }

    /// Whether it is over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.session.start.transport == Transport::Http
    }

    /// Whether what is of this session of MCP, or of none, is wanted.
    pub(crate) fn wants(&self, conversation: Option<HttpSessionNumber>) -> bool {
        self.conversation.is_none() || self.conversation == conversation
    }

    /// What to do where nothing was said yet.
    pub(crate) fn hint_when_empty(&self) -> Option<&'static str> {
        // A recording does not say which of the two it is of.
        let hint = "nothing came through the proxy yet: put the address that it printed into the host's configuration; of a bridge \
                    (`proxy --stdio`), the host that started it has said nothing yet";
        (self.is_http() && self.session.live).then_some(hint)
    }

    /// How it ended, with the reason why it did not start.
    pub(crate) fn end(&self) -> String {
        let (_, end) = end_of(&self.session);
        match self.session.end.as_ref().and_then(|end| end.reason.as_ref()) {
            Some(EndReason::NotStarted(why)) if !why.is_empty() => format!("{end}: {why}"),
            _ => end,
        }
    }

    /// Whether it was read from a fixture.
    pub(crate) fn is_fixture(&self) -> bool {
        self.file.is_some() && self.profile == Profile::Fixture
    }

    /// Looks again at what its frames came to.
    pub(crate) fn refresh(&mut self) -> Result<(), Failure> {
        let known = self.store.session(self.session.id)?;
        self.session = known.unwrap_or_else(|| self.session.clone());
        Ok(())
    }

    /// The number of its newest frame, once its lists are up to date; 0 when there is none.
    pub(crate) fn last_seq(&self) -> Result<u64, Failure> {
        Ok(last_seq(&self.store, self.session.id)?)
    }

    /// Says so when the part that was asked for lies behind all that there is.
    pub(crate) fn must_exist(&self) -> Result<(), Failure> {
        let last_seq = self.last_seq()?;
        let missing = match self.part {
            Part::All => return Ok(()),
            Part::One(at) => match self.store.row(self.session.id, at)? {
                Some(listed) => return self.must_be_inside(at, listed.conversation),
                None => at,
            },
            Part::Range { first, .. } => match first {
                Some(first) if first > last_seq => At { seq: first, member: 0 },
                Some(_) | None => return Ok(()),
            },
        };
        Err(self.has_no(missing, last_seq))
    }

    /// Says so when a message is not of the session of MCP that was asked for.
    pub(crate) fn must_be_inside(&self, at: At, conversation: Option<HttpSessionNumber>) -> Result<(), Failure> {
        let Some(wanted) = self.conversation.filter(|_| !self.wants(conversation)) else {
            return Ok(());
        };
        let number = place("", at);
        let number = number.trim_start_matches(':');
        let really = conversation.map_or_else(|| "no session of MCP".into(), |number| self.inside(number));
        Err(Failure::new(format!("message {number} is not of {}, but of {really}", self.inside(wanted)))
            .hint(format!("{} is it, in whatever session", self.place(at))))
    }

    /// That there is no such message.
    pub(crate) fn has_no(&self, at: At, last_seq: u64) -> Failure {
        let name = &self.session.start.name;
        if last_seq == 0 {
            return Failure::new(format!("{name} has no messages at all ({})", self.end()));
        }
        let number = place("", at);
        let number = number.trim_start_matches(':');
        Failure::new(format!("{name} has no message {number}; its messages are 1 to {last_seq}"))
    }
}
