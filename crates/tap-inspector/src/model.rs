//! The model: all that the inspector knows, and which questions are open.

use std::ops::Range;

use tap_session::At;

use crate::about::Slot;
use crate::compare::Compare;
use crate::data::{MessageParts, SessionKey};
use crate::detail::Find;
use crate::effect::{Query, Ticket};
use crate::keymap::{Action, Scope};
use crate::open::Open;
use crate::picture::{Colours, Shown};
use crate::place::Place;
use crate::prompt::Prompt;
use crate::search::Search;
use crate::sessions::Sessions;
use crate::settings::Keys;
use crate::theme::Theme;
use crate::tree::Tree;
use crate::update::MarkPart;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    /// All sessions.
    Sessions,
    /// The messages of one.
    Timeline,
    /// Who said what to whom, and what ran at the same time.
    Sequence,
    /// What was true at the cursor.
    State,
    /// How often, how quick, how large, a line a tool.
    Stats,
    /// Which rules were broken.
    Findings,
    /// What the server offers.
    Tools,
    /// Two sessions beside each other.
    Compare,
    /// What was found in all sessions.
    Search,
}

/// The inspector.
#[derive(Debug)]
pub struct Inspector {
    pub(crate) theme: Theme,
    pub(crate) colours: Colours,
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// Nanoseconds since the Unix epoch, as it was told last.
    pub(crate) now_unix_ns: u64,
    /// How far local time is ahead of UTC, seconds.
    pub(crate) utc_offset_seconds: i32,
    pub(crate) view: View,
    pub(crate) sessions: Sessions,
    /// The session to be opened once it is known.
    pub(crate) opens: Option<SessionKey>,
    /// At which message.
    pub(crate) opens_at: Option<At>,
    pub(crate) open: Option<Open>,
    pub(crate) compare: Compare,
    pub(crate) search: Search,
    pub(crate) overlay: Option<Overlay>,
    /// A word about what was done or failed, until when it is shown, and whether it is bad.
    pub(crate) note: Option<Note>,
    /// Filters that were used, the oldest first.
    pub(crate) history: Vec<String>,
    pub(crate) shows_keys: bool,
    pub(crate) keys: Keys,
    /// A row a call in sessions that are opened, not a row a message.
    pub(crate) calls: bool,
    /// The view of a session that was looked at last.
    pub(crate) last_view: View,
    /// Share of the width that the list has beside a message, percent.
    pub(crate) split: u16,
    newest_ticket: u64,
}

/// A word about something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) bad: bool,
    pub(crate) until_unix_ns: u64,
}

/// Which pane has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pane {
    List,
    Detail,
}

/// How a message is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Pretty,
    Raw,
    Hex,
    /// Head and times of its HTTP exchange.
    Http,
    /// Whether arguments and result fit their schemas.
    Schema,
    /// All messages of its call.
    Call,
    /// What may explain how it went.
    Explain,
}

impl Form {
    /// All of them with their names, in the order of their tabs.
    pub(crate) const ALL: [(Self, &'static str); 7] = [
        (Self::Pretty, "Pretty"),
        (Self::Raw, "Raw"),
        (Self::Hex, "Hex"),
        (Self::Http, "Headers"),
        (Self::Schema, "Schema"),
        (Self::Call, "Call"),
        (Self::Explain, "Explain"),
    ];
}

/// A message that is open.
#[derive(Debug)]
pub(crate) struct Detail {
    pub(crate) parts: MessageParts,
    pub(crate) form: Form,
    pub(crate) tree: Tree,
    pub(crate) other: Option<Tree>,
    /// The line with the cursor, and the one at the top.
    pub(crate) cursor: usize,
    pub(crate) top: usize,
    /// For the raw form: to how many columns it was broken, and into which ranges of its bytes.
    pub(crate) raw: (usize, Vec<Range<usize>>),
    /// It has changed since.
    pub(crate) stale: bool,
    /// What is known around it, by [`AboutPart`](crate::AboutPart).
    pub(crate) abouts: [Slot; 3],
    /// A text that is looked for in it.
    pub(crate) find: Option<Find>,
    /// Request and answer stand beside each other; then, which line is at the top of each.
    pub(crate) beside: Option<[usize; 2]>,
}

/// What lies over a view.
#[derive(Debug)]
pub(crate) enum Overlay {
    /// Keys; how far it is scrolled.
    Help(usize),
    /// A filter that is being typed, and what is wrong with it.
    Filter(Prompt),
    /// What can be copied of the message, and which of it is chosen.
    Copy(usize),
    /// A text that is looked for in the message.
    Find(Prompt),
    /// A number that is being typed.
    Jump(Prompt),
    /// A name or a note for a message.
    Mark(Prompt, At, MarkPart),
    /// A label for a session.
    Label(Prompt, SessionKey),
    /// An image.
    Picture(Shown),
    /// What is to be done if the answer is yes.
    Confirm(String, Query),
    /// Something to do by its name, and which of the matches is chosen.
    Palette(Prompt, usize),
}

impl Inspector {
    /// An inspector that shows all sessions, or the one with this key once it is known.
    #[must_use]
    pub fn new(theme: Theme, size: (u16, u16), utc_offset_seconds: i32) -> Self {
        Self {
            theme,
            colours: Colours::default(),
            size,
            now_unix_ns: 0,
            utc_offset_seconds,
            view: View::Sessions,
            sessions: Sessions::default(),
            opens: None,
            opens_at: None,
            open: None,
            compare: Compare::default(),
            search: Search::default(),
            overlay: None,
            note: None,
            history: Vec::new(),
            shows_keys: true,
            keys: Keys::default(),
            calls: true,
            last_view: View::Timeline,
            split: 50,
            newest_ticket: 0,
        }
    }

    /// What is looked at.
    #[must_use]
    pub fn view_now(&self) -> View {
        self.view
    }

    /// The session that is open, so that it is told when that grows.
    #[must_use]
    pub fn open_session(&self) -> Option<SessionKey> {
        self.open.as_ref().map(|open| open.session.key)
    }

    pub(crate) fn ticket(&mut self) -> Ticket {
        self.newest_ticket += 1;
        Ticket(self.newest_ticket)
    }

    /// Where keys mean something now, the nearest first.
    pub(crate) fn scopes(&self) -> &'static [Scope] {
        match (self.view, self.open.as_ref().map(|open| open.pane)) {
            (View::Sessions, _) => &[Scope::Sessions, Scope::Moving, Scope::Everywhere],
            (View::Compare, _) => &[Scope::Compare, Scope::Moving, Scope::Everywhere],
            (View::Search, _) => &[Scope::Search, Scope::Moving, Scope::Everywhere],
            (View::Stats, _) => &[Scope::Stats, Scope::Moving, Scope::Everywhere],
            (View::Tools, _) => &[Scope::Tools, Scope::Moving, Scope::Everywhere],
            (View::Sequence, Some(Pane::Detail)) => &[Scope::Detail, Scope::Session, Scope::Moving, Scope::Everywhere],
            (View::State, _) => &[Scope::State, Scope::Session, Scope::Moving, Scope::Everywhere],
            (View::Sequence, _) => &[Scope::Sequence, Scope::Session, Scope::Moving, Scope::Everywhere],
            (_, Some(Pane::Detail)) => &[Scope::Detail, Scope::Session, Scope::Moving, Scope::Everywhere],
            _ => &[Scope::Session, Scope::Detail, Scope::Moving, Scope::Everywhere],
        }
    }

    /// How many rows of a list are on the screen.
    pub(crate) fn list_height(&self) -> usize {
        let keys = usize::from(self.shows_keys && self.size.1 >= crate::view::KEYS_FROM);
        let lines = match self.view {
            View::Sequence => self.sequence_foot(),
            View::Timeline => usize::from(self.overview_height()),
            View::State => usize::from(crate::view::strip_height(self.size.1)),
            _ => 0,
        };
        // The head, the columns with their line, and the note.
        usize::from(self.size.1).saturating_sub(5 + keys + lines).max(1)
    }

    pub(crate) fn say(&mut self, text: impl Into<String>, bad: bool) {
        let until_unix_ns = self.now_unix_ns.saturating_add(4_000_000_000);
        self.note = Some(Note { text: text.into(), bad, until_unix_ns });
    }

    /// What fits a name in the palette. Of a place to go to nothing does: it is gone to.
    pub(crate) fn palette(&self, typed: &str) -> Vec<(&'static str, &'static str, Action)> {
        if Place::read(typed).is_ok() {
            return Vec::new();
        }
        let typed = typed.to_lowercase();
        let scopes = self.scopes();
        let fits = |text: &str| {
            let mut text = text.chars();
            typed.chars().all(|wanted| text.any(|c| c == wanted))
        };
        let mut found: Vec<_> = crate::keymap::KEYMAP
            .iter()
            .filter(|binding| scopes.contains(&binding.scope) && binding.action != Action::Palette)
            .filter(|binding| fits(binding.name) || fits(&binding.about.to_lowercase()))
            .map(|binding| (binding.name, binding.about, binding.action))
            .collect();
        // What is called so comes before what is only told so.
        found
            .sort_by_key(|(name, ..)| (*name != typed, !name.starts_with(&typed), !name.contains(&typed), !fits(name)));
        found
    }
}
