//! A recording as a list of calls, and what its server offered last.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tap_compare::{ListKind, MatchKey, Rules, Status, Walks};
use tap_filter::Filter;
use tap_frame::{Direction, Frame};
use tap_jsonrpc::Node;
use tap_session::{At, Event, LinkKind, MessageRow, RowKind};
use tap_store::ListKind as StoredList;

use crate::arguments::Global;
use crate::failure::Failure;
use crate::filtering::{findings_for, fits};
use crate::following::{Seen, follow};
use crate::reference::Found;
use crate::text::{cut, shown};

/// How much of a call's arguments is shown, columns.
const DIGEST_COLUMNS: usize = 60;

/// So many bytes of arguments are enough for that.
const DIGEST_BYTES: usize = 400;

/// A recording, as far as it is compared.
pub(crate) struct Gathered {
    /// Calls in the order in which they were made. A call that took several rounds of input is one.
    pub(crate) calls: Vec<Call>,
    /// What was listed last, with all of its pages: the JSON of each element. Only what was listed.
    pub(crate) lists: HashMap<ListKind, Vec<Box<[u8]>>>,
    /// With which answer each of them was listed last.
    pub(crate) listed_at: HashMap<ListKind, At>,
    /// Name and version of the server.
    pub(crate) server: (Option<Arc<str>>, Option<Arc<str>>),
}

/// A call, less its bodies, which stay in the store.
pub(crate) struct Call {
    pub(crate) at: At,
    pub(crate) answer: Option<At>,
    pub(crate) key: MatchKey,
    pub(crate) status: Status,
    pub(crate) latency_ns: u64,
    /// How many requests it took.
    pub(crate) n_rounds: u32,
    /// The same for answers that were written alike, less their ids.
    pub(crate) mark: Option<[u64; 2]>,
    /// The arguments in a few characters, safe to show.
    pub(crate) digest: String,
    pub(crate) direction: Direction,
}

/// A list in the middle of its pages.
#[derive(Default)]
struct Pages {
    elements: Vec<Box<[u8]>>,
    /// The answer with the newest page.
    at: Option<At>,
    /// What to ask for the next page with.
    next: Option<Vec<u8>>,
}

struct Gathering<'a> {
    rules: &'a Rules,
    walks: Walks,
    calls: Vec<Call>,
    /// Which call a request belongs to, until it is answered.
    open: HashMap<At, usize>,
    /// Which call the first request of rounds belongs to.
    first: HashMap<At, usize>,
    /// Lists that were asked for: which, and with which cursor.
    asked: HashMap<At, (ListKind, Option<Vec<u8>>)>,
    pages: HashMap<ListKind, Pages>,
    /// Calls that the server never got.
    gone: HashSet<usize>,
}

/// Gathers a recording. `goes_on` is told how far it is, as the number of a message; where it says no, that is a failure.
pub(crate) fn gather(
    global: &Global,
    found: &Found,
    rules: &Rules,
    filter: Option<&Filter>,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Result<Gathered, Failure> {
    let mut gathering = Gathering {
        rules,
        walks: Walks::new(),
        calls: Vec::new(),
        open: HashMap::new(),
        first: HashMap::new(),
        asked: HashMap::new(),
        pages: HashMap::new(),
        gone: HashSet::new(),
    };
    let followed = follow(global, found, u64::MAX, |Seen { frame, conversation, meaning, .. }| {
        if frame.is_some_and(|frame| !goes_on(frame.seq)) {
            return Err(Failure::new("it was given up"));
        }
        if !found.wants(conversation) {
            return Ok(());
        }
        for event in &meaning.events {
            match event {
                Event::Row(row) if row.kind == RowKind::Request => {
                    let round = meaning.links.iter().find(|link| link.kind == LinkKind::Round && link.from == row.at);
                    let begun = round.map_or(row.at, |round| round.to);
                    if found.part.contains(begun)
                        && let Some(message) = message_in(found, frame, row.at)?
                    {
                        gathering.request(row, round.map(|round| round.to), &message);
                    }
                }
                // What the server was asked and what it answered is compared, whoever asked, and nothing that it did not
                // get or that others said for it.
                Event::Done { seq, done } if done.was_kept_back() => gathering.kept_back(*seq),
                Event::Answered { answer, stood_for, .. } if *stood_for || is_made(&meaning.events, *answer) => {}
                Event::Answered { request, answer, latency_ns, .. } => {
                    let message = if answer == request { None } else { message_in(found, frame, *answer)? };
                    gathering.answer(*request, *answer, *latency_ns, message.as_deref());
                }
                Event::Row(_) | Event::Done { .. } => {}
            }
        }
        Ok(())
    })?;
    found.must_exist()?;
    let Gathering { calls, pages, gone, .. } = gathering;
    let kept = calls.into_iter().enumerate().filter(|(index, _)| !gone.contains(index));
    let mut calls: Vec<Call> = kept.map(|(_, call)| call).collect();
    if let Some(filter) = filter {
        let findings = findings_for(global, found, filter)?;
        let mut kept = Vec::new();
        for call in calls {
            let listed = found.store.row(found.session.id, call.at)?;
            let does_fit = match &listed {
                Some(listed) => fits(filter, &found.store, &found.session, StoredList::Calls, listed, &findings)?,
                None => false,
            };
            if does_fit {
                kept.push(call);
            }
        }
        calls = kept;
    }
    let listed_at = pages.iter().filter_map(|(kind, pages)| Some((*kind, pages.at?))).collect();
    let lists = match filter {
        None => pages.into_iter().map(|(kind, pages)| (kind, pages.elements)).collect(),
        Some(_) => HashMap::new(),
    };
    let server =
        followed.state_of(found.conversation).map(|state| (state.server.name.clone(), state.server.version.clone()));
    Ok(Gathered { calls, lists, listed_at, server: server.unwrap_or_default() })
}

impl Gathering<'_> {
    fn request(&mut self, row: &MessageRow, goes_on: Option<At>, message: &[u8]) {
        if let Some(index) = goes_on.and_then(|first| self.first.get(&first).copied()) {
            self.calls[index].n_rounds += 1;
            self.open.insert(row.at, index);
            return;
        }
        let method = row.method.as_deref().unwrap_or_default();
        if let Some(kind) = ListKind::ALL.into_iter().find(|kind| kind.method() == method) {
            let cursor = Node::new(message).at(&["params", "cursor"]).filter(|cursor| !cursor.is_null());
            self.asked.insert(row.at, (kind, cursor.map(|cursor| cursor.bytes().to_vec())));
        }
        let Some(key) = self.walks.key(message, self.rules) else {
            return;
        };
        self.open.insert(row.at, self.calls.len());
        self.first.insert(row.at, self.calls.len());
        self.calls.push(Call {
            at: row.at,
            answer: None,
            key,
            status: Status::Unanswered,
            latency_ns: 0,
            n_rounds: 1,
            mark: None,
            digest: digest(message),
            direction: row.stream.direction(),
        });
    }

    /// The server never got the requests of this frame.
    fn kept_back(&mut self, seq: u64) {
        let of_frame = self.open.extract_if(|request, _| request.seq == seq);
        self.gone.extend(of_frame.map(|(_, index)| index));
    }

    fn answer(&mut self, request: At, answer: At, latency_ns: u64, message: Option<&[u8]>) {
        let asked = self.asked.remove(&request);
        let Some(index) = self.open.remove(&request) else {
            return;
        };
        let call = &mut self.calls[index];
        call.latency_ns = call.latency_ns.saturating_add(latency_ns);
        let Some(message) = message else {
            // Refused over HTTP, without a message.
            call.status = Status::Error("HTTP".into());
            return;
        };
        let node = Node::new(message);
        call.answer = Some(answer);
        call.status = Status::of(Some(node));
        call.mark = Some(mark(node));
        self.walks.answered(&call.key, message);
        if let Some((kind, cursor)) = asked
            && let Some(result) = node.get("result")
        {
            let elements = result.get(kind.member()).into_iter().flat_map(Node::elements);
            let elements = elements.map(|element| Box::from(element.bytes()));
            let next = result.get("nextCursor").filter(|cursor| !cursor.is_null());
            let pages = self.pages.entry(kind).or_default();
            // A page that nobody was promised begins a list of its own as well as the first one does.
            if cursor.is_none() || pages.next != cursor {
                pages.elements.clear();
            }
            pages.elements.extend(elements);
            pages.at = Some(answer);
            pages.next = next.map(|cursor| cursor.bytes().to_vec());
        }
    }
}

/// Whether a message is one that a debugger made.
fn is_made(events: &[Event], at: At) -> bool {
    events.iter().any(|event| matches!(event, Event::Row(row) if row.at == at && row.is_made()))
}

/// A message of the frame at hand, or of the store.
fn message_in(found: &Found, frame: Option<&Frame>, at: At) -> Result<Option<Box<[u8]>>, Failure> {
    match frame.filter(|frame| frame.seq == at.seq) {
        Some(frame) => Ok(member(&frame.message(), at).map(Box::from)),
        None => message(found, at),
    }
}

/// A message of the store.
pub(crate) fn message(found: &Found, at: At) -> Result<Option<Box<[u8]>>, Failure> {
    let frame = found.store.frame(found.session.id, at.seq)?;
    Ok(frame.and_then(|frame| member(&frame.message(), at).map(Box::from)))
}

fn member(bytes: &[u8], at: At) -> Option<&[u8]> {
    match at.index_in_batch() {
        None => Some(bytes),
        Some(index) => Node::new(bytes).elements().nth(index).map(Node::bytes),
    }
}

/// Two hashes that have nothing in common, of what an answer says.
fn mark(answer: Node<'_>) -> [u64; 2] {
    let said = answer.pick(["result", "error"]).map(|part| part.map(Node::bytes));
    [0_u8, 1].map(|salt| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        said.hash(&mut hasher);
        hasher.finish()
    })
}

/// The arguments of a call in a few characters, as JSON.
pub(crate) fn digest(message: &[u8]) -> String {
    let [params] = Node::new(message).pick(["params"]);
    let arguments = params.and_then(|params| params.get("arguments"));
    let Some(arguments) = arguments.filter(|arguments| arguments.members().next().is_some()) else {
        return String::new();
    };
    let bytes = arguments.bytes();
    let start = bytes.get(..DIGEST_BYTES).unwrap_or(bytes);
    cut(&shown(&String::from_utf8_lossy(start), false), DIGEST_COLUMNS)
}
