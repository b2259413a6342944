//! Searching all sessions: the newest first, and in each the newest messages first. Bodies are read as they lie there: there
//! is no index, which would be larger than what it is of.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use tap_filter::{Filter, Wanted};
use tap_jsonrpc::{Node, NodeKind};
use tap_session::{At, Follower, Lens, Meaning, RowKind};
use tap_store::{ListKind, Listed, Part, Session, Store, StoreError, Transport};

use crate::filtering::now_unix_ns;
use crate::following::begins_whole;
use crate::subject::{Findings, Message, Near};

/// Rows that are fetched at a time.
const PAGE: u64 = 1_000;

/// Bodies that are read at a time, bytes; a longer one is read by itself.
const NEAR_BYTES: u64 = 4 * 1024 * 1024;

/// Frames that are followed between two looks at whether the search still goes on.
const FRAMES: u64 = 256;

/// How much of a message is looked at to find the path of a place, bytes.
const PATH_BYTES: usize = 256 * 1024;

/// How deep.
const PATH_DEPTH: usize = 64;

/// How far a search is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) n_sessions_done: u64,
    pub(crate) n_sessions: u64,
    pub(crate) n_messages_done: u64,
    /// As far as it is known: of a session that nobody looked at since it was recorded that takes a look at it.
    pub(crate) n_messages: u64,
    pub(crate) n_bytes_done: u64,
}

/// What is told of a search.
pub(crate) enum Told<'a> {
    /// A message that fits.
    Hit(Hit<'a>),
    /// How far it is: often, so that who listens can stop it.
    Progress(Progress),
}

/// A message that fits.
pub(crate) struct Hit<'a> {
    /// Its session, as it was when that was begun.
    pub(crate) session: &'a Session,
    /// Its row.
    pub(crate) listed: &'a Listed,
    /// How far the search is.
    pub(crate) progress: Progress,
    message: &'a Message<'a>,
    wanted: &'a Wanted,
}

impl Hit<'_> {
    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.message.this()
    }

    /// Where in it a text is that was looked for. `None` where it fits for something else.
    pub(crate) fn place(&self) -> Option<Range<usize>> {
        self.wanted.find(self.bytes(), 0)
    }
}

/// Searches all sessions, until `told` says that it is enough. `first_seq` is which number the first frame had in the session
/// that a text recording is a part of, else 1.
pub(crate) fn search<E: From<StoreError>>(
    store: &Store,
    filter: &Filter,
    first_seq: u64,
    mut told: impl FnMut(Told<'_>) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let sessions = store.sessions()?;
    let mut progress = Progress { n_sessions: sessions.len() as u64, ..Progress::default() };
    progress.n_messages = sessions.iter().map(|session| session.digest.n_frames).sum();
    let wanted = filter.wanted();
    for mut session in sessions {
        let mut flow = told(Told::Progress(progress))?;
        let mut failed = None;
        let goes_on = |_: f64| match told(Told::Progress(progress)) {
            Ok(ControlFlow::Continue(())) => true,
            Ok(ControlFlow::Break(())) => false,
            Err(error) => {
                failed = Some(error);
                false
            }
        };
        if flow.is_continue() && !store.catch_up_while(session.id, goes_on)? {
            flow = ControlFlow::Break(());
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if flow.is_break() {
            return Ok(());
        }
        // What it holds is known only now.
        let n_known = session.digest.n_frames;
        if let Some(now) = store.session(session.id)? {
            session = now;
        }
        progress.n_messages += session.digest.n_frames.saturating_sub(n_known);
        let findings = match filter.asks_findings() {
            true => {
                findings_of(store, &session, first_seq, || Ok::<_, E>(told(Told::Progress(progress))?.is_continue()))?
            }
            false => Some(Findings::new()),
        };
        let Some(findings) = findings else {
            return Ok(());
        };
        let one = One { store, session: &session, filter, wanted: &wanted, findings: &findings };
        if one.search(&mut progress, &mut told)?.is_break() {
            return Ok(());
        }
        progress.n_sessions_done += 1;
    }
    let _over = told(Told::Progress(progress))?;
    Ok(())
}

/// A session that is searched.
#[derive(Clone, Copy)]
struct One<'a> {
    store: &'a Store,
    session: &'a Session,
    filter: &'a Filter,
    wanted: &'a Wanted,
    findings: &'a Findings,
}

impl One<'_> {
    fn search<E: From<StoreError>>(
        self,
        progress: &mut Progress,
        told: &mut impl FnMut(Told<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        let (store, id) = (self.store, self.session.id);
        let now_unix_ns = match self.session.live {
            true => now_unix_ns(),
            false => self.session.start.opened_unix_ns.saturating_add(self.session.digest.newest_at_ns),
        };
        let mut edge = At { seq: u64::MAX, member: u64::MAX };
        loop {
            // A batch may be longer than a page, so the edge is a row, and not a frame.
            let rows = store.list(id, ListKind::Frames, Part::Before(edge), PAGE)?;
            let is_last = (rows.len() as u64) < PAGE;
            let mut rest = rows.as_slice();
            while let Some(newest) = rest.last() {
                // As many as may be read together.
                let mut n_bytes = 0;
                let n = rest.iter().rev().take_while(|listed| {
                    n_bytes += if listed.row.at.member == 0 { listed.length } else { 0 };
                    n_bytes <= NEAR_BYTES
                });
                let n = n.count().max(1);
                let (before, run) = rest.split_at(rest.len() - n);
                rest = before;
                let first = run.first().map_or(newest.row.at.seq, |listed| listed.row.at.seq);
                let near = Near::new(store, id, first..=newest.row.at.seq);
                for listed in run.iter().rev() {
                    let is_frame = listed.row.at.member == 0;
                    progress.n_messages_done += u64::from(is_frame);
                    progress.n_bytes_done += if is_frame { listed.length } else { 0 };
                    // What a batch holds has rows of its own.
                    if listed.row.kind == RowKind::Batch {
                        continue;
                    }
                    let message = self.message(listed, &near, now_unix_ns);
                    if !self.filter.fits(&message) {
                        continue;
                    }
                    // Of a call of which both halves fit, the answer is told: what is looked for is mostly there.
                    if let (RowKind::Request, Some(pair)) = (listed.row.kind, listed.row.pair)
                        && let Some(answer) = store.row(id, pair)?
                        && self.is_told_by_answer(&message, &self.message(&answer, &near, now_unix_ns))
                    {
                        continue;
                    }
                    let hit = Hit {
                        session: self.session,
                        listed,
                        progress: *progress,
                        message: &message,
                        wanted: self.wanted,
                    };
                    if told(Told::Hit(hit))?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                if told(Told::Progress(*progress))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            match rows.first() {
                Some(first) if !is_last => edge = first.row.at,
                _ => return Ok(ControlFlow::Continue(())),
            }
        }
    }

    fn message<'m>(&'m self, listed: &'m Listed, near: &'m Near<'_>, now_unix_ns: u64) -> Message<'m> {
        Message::new(self.store, self.session, listed, Some(self.findings), now_unix_ns).near(near)
    }

    /// Whether a request needs no line of its own: its answer fits too, and a text that was looked for is not in the request
    /// alone.
    fn is_told_by_answer(self, request: &Message<'_>, answer: &Message<'_>) -> bool {
        self.filter.fits(answer)
            && (self.wanted.find(request.this(), 0).is_none() || self.wanted.find(answer.this(), 0).is_some())
    }
}

/// Which rules were broken in a session; `None` when that is of no use any more.
fn findings_of<E: From<StoreError>>(
    store: &Store,
    session: &Session,
    first_seq: u64,
    mut goes_on: impl FnMut() -> Result<bool, E>,
) -> Result<Option<Findings>, E> {
    let mut findings = BTreeMap::new();
    let mut take = |meaning: &Meaning| {
        for finding in &meaning.findings {
            let its: &mut Vec<_> = findings.entry(finding.at).or_default();
            its.push((finding.rule.id, finding.severity));
        }
    };
    let mut withdrawn = false;
    if session.start.transport == Transport::Http {
        store.read_http(session.id, |read, _| {
            read.meanings.iter().for_each(|meaning| take(&meaning.meaning));
            withdrawn = !goes_on()?;
            Ok::<_, E>(if withdrawn { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        return Ok((!withdrawn).then_some(findings));
    }
    let mut follower =
        if begins_whole(store, session, first_seq)? { Follower::new() } else { Follower::from_the_middle() };
    let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
    for frame in store.frames(session.id, 1) {
        let frame = frame?;
        meaning.clear();
        follower.follow(&frame, &mut lens, &mut meaning);
        take(&meaning);
        if frame.seq % FRAMES == 0 && !goes_on()? {
            return Ok(None);
        }
    }
    if !session.live {
        meaning.clear();
        follower.finish(&mut meaning);
        take(&meaning);
    }
    Ok(Some(findings))
}

/// Where in a message a place is: the path of the innermost value that holds it. `None` where it is no JSON, and where that
/// would cost much.
pub(crate) fn path_of(bytes: &[u8], at: usize) -> Option<String> {
    if PATH_BYTES < bytes.len() {
        return None;
    }
    let base = bytes.as_ptr() as usize;
    let holds = |part: &[u8]| {
        let begin = (part.as_ptr() as usize).saturating_sub(base);
        (begin..begin + part.len()).contains(&at)
    };
    let mut node = Node::new(bytes);
    if matches!(node.kind(), NodeKind::Invalid) {
        return None;
    }
    let mut path = String::new();
    for _ in 0..PATH_DEPTH {
        let next = if node.is_object() {
            let mut members = node.members();
            members.find(|(key, value)| holds(key.bytes()) || holds(value.bytes())).map(|(key, value)| {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&key.text());
                value
            })
        } else {
            let found = node.elements().enumerate().find(|(_, value)| holds(value.bytes()));
            found.map(|(index, value)| {
                path.push_str(&format!("[{index}]"));
                value
            })
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    Some(path)
}

/// The text around a place, at most so many bytes before it and behind it: before it, the place, behind it.
pub(crate) fn around(bytes: &[u8], place: Range<usize>, n_before: usize, n_behind: usize) -> [String; 3] {
    let text = |range: Range<usize>| {
        let text = String::from_utf8_lossy(bytes.get(range).unwrap_or_default()).into_owned();
        // What was cut in two at an edge is nothing.
        text.trim_matches(char::REPLACEMENT_CHARACTER).trim_end_matches(['\r', '\n']).to_owned()
    };
    let begin = place.start.saturating_sub(n_before);
    let end = place.end.saturating_add(n_behind).min(bytes.len());
    // What is looked for may be a long text, of which the beginning says enough.
    let found_end = place.end.min(place.start.saturating_add(n_behind));
    [text(begin..place.start), text(place.start..found_end), text(place.end..end)]
}

#[cfg(test)]
mod tests {
    use tap_frame::{Segment, Stream};
    use tap_store::SessionStart;

    use super::*;

    #[test]
    fn batches_longer_than_a_page_are_searched_and_what_is_before_them() {
        let member = |n: u64| {
            let name = if n % 500 == 3 { "needle" } else { "other" };
            format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"{name}"}}"#)
        };
        let batch = format!("[{}]\n", (0..2_600).map(member).collect::<Vec<_>>().join(","));
        let single = r#"{"jsonrpc":"2.0","id":"a","method":"needle"}"#.to_owned() + "\n";
        let mut segment = Segment::default();
        for (at_ns, line) in (1..).zip([&single, &batch, &batch, &single]) {
            segment.push_chunk(Stream::ToServer, at_ns, at_ns, line.as_bytes());
        }
        let store = Store::in_memory().unwrap();
        store.put_in(&SessionStart::default(), std::iter::once(Ok(segment)), || None).unwrap();
        let context = tap_filter::Context { now_unix_ns: 0, utc_offset_seconds: 0 };
        let filter = Filter::parse("method:needle", &context, &|_| None).unwrap();
        let (mut found, mut last) = (Vec::new(), Progress::default());
        search(&store, &filter, 1, |told| {
            match told {
                Told::Hit(hit) => found.push((hit.listed.row.at.seq, hit.listed.row.at.member)),
                Told::Progress(progress) => last = progress,
            }
            Ok::<_, StoreError>(ControlFlow::Continue(()))
        })
        .unwrap();
        let of_batch = |seq| [2504, 2004, 1504, 1004, 504, 4].map(|member| (seq, member));
        assert_eq!(found, [&[(4, 0)][..], &of_batch(3), &of_batch(2), &[(1, 0)]].concat());
        assert_eq!((last.n_messages_done, last.n_messages), (4, 4), "each once");
    }

    #[test]
    fn a_place_is_told_by_its_path() {
        let message = br#"{"id":1,"result":{"content":[{"text":"a"},{"text":"needle"}],"key":2}}"#;
        for (looked_for, expected) in
            [("needle", "result.content[1].text"), ("key", "result.key"), ("\"id", "id"), ("}}", "result")]
        {
            let text = std::str::from_utf8(message).unwrap();
            let at = text.rfind(looked_for).unwrap();
            assert_eq!(path_of(message, at).as_deref(), Some(expected), "{looked_for}");
        }
        assert_eq!(path_of(b"no json", 3), None);
        let deep = "[".repeat(100_000);
        assert!(path_of(deep.as_bytes(), 99_999).unwrap().len() <= 3 * PATH_DEPTH);
    }

    #[test]
    fn what_is_around_a_place_is_cut_between_characters() {
        let text = "日本語needle語本日".as_bytes();
        assert_eq!(around(text, 9..15, 4, 4), ["語", "need", "語"]);
        assert_eq!(around(text, 9..15, 100, 100), ["日本語", "needle", "語本日"]);
        assert_eq!(around(b"", 0..0, 5, 5), ["", "", ""]);
    }
}
