//! What is made of what the live server says.

use bytes::Bytes;
use tap_jsonrpc::{Content, Envelope, Kind, Member, Node, RawId, other_type, same_number};

use super::{Client, ClientNote, ClientOutput, Fate, MORE_PAGES_LIMIT, Sent, list_of, method_of, read_only_hints};

/// How an answer may name what it answers: as it was written, else as some peers write it back.
const WAYS: [fn(&RawId, &RawId) -> bool; 3] = [|one, other| one == other, same_number, other_type];

impl Client {
    /// Takes what the server said on one line.
    pub fn receive(&mut self, line: &[u8]) {
        if self.is_server_gone {
            return;
        }
        self.scanner.feed(line);
        match self.scanner.finish().content {
            Content::Blank => {}
            Content::Message(envelope) => self.heard(Node::new(line).bytes(), envelope),
            Content::Batch(batch) => {
                for (bytes, member) in Node::new(line).elements().zip(batch.members) {
                    match member {
                        Member::Message(envelope) => self.heard(bytes.bytes(), envelope),
                        Member::NotAMessage(_) => self.nonsense(),
                    }
                }
            }
            Content::NotAMessage(_) | Content::NotJson(_) => self.nonsense(),
        }
    }

    fn nonsense(&mut self) {
        if !std::mem::replace(&mut self.has_told_nonsense, true) {
            self.outputs.push_back(ClientOutput::Note(ClientNote::NotAMessage));
        }
    }

    fn heard(&mut self, bytes: &[u8], envelope: Envelope) {
        let Envelope { kind, id, method, .. } = envelope;
        match (kind, id) {
            (Kind::Result | Kind::Error, id) => self.answer(kind, id.as_ref(), bytes),
            (Kind::Request, Some(id)) => self.question(&id, &method.unwrap_or_default(), bytes),
            (Kind::Request | Kind::Notification, _) => {
                let method = method.unwrap_or_default();
                // Whoever makes up methods without end is not counted without end.
                if self.n_told.len() < 1_000 || self.n_told.contains_key(&method) {
                    *self.n_told.entry(method).or_default() += 1;
                }
            }
        }
    }

    fn answer(&mut self, kind: Kind, id: Option<&RawId>, bytes: &[u8]) {
        let named = id.filter(|id| !id.is_null());
        let found = match named {
            Some(id) => WAYS.into_iter().find_map(|way| self.open_with(|this| way(this, id))),
            // An error of somebody who may not have read the id is for the one request that there is.
            None if kind == Kind::Error && self.open.len() == 1 => self.open.first().map(|(id, ..)| id.clone()),
            None => None,
        };
        let sent = found.as_ref().and_then(|id| self.sent.remove(id));
        let (Some(id), Some(sent)) = (found, sent) else {
            if !std::mem::replace(&mut self.has_told_unknown, true) {
                self.outputs.push_back(ClientOutput::Note(ClientNote::UnknownAnswer));
            }
            return;
        };
        self.open.retain(|(this, ..)| *this != id);
        let bytes = Bytes::copy_from_slice(bytes);
        let interaction = match sent {
            Sent::Recorded(interaction) => {
                let Some(fate) = self.fates.get_mut(interaction) else {
                    return;
                };
                let Fate::Open { sent_ns, .. } = fate else {
                    // It was cancelled or given up, and comes all the same.
                    return;
                };
                let took_ns = self.now_ns.saturating_sub(*sent_ns);
                *fate = Fate::Answered { bytes: bytes.clone(), took_ns };
                let live = (kind == Kind::Result).then_some(&*bytes);
                self.correlations.learn(&self.script, interaction, live, self.options.correlate);
                interaction
            }
            Sent::Page(interaction) => {
                self.more_pages.entry(interaction).or_default().push(bytes.clone());
                interaction
            }
        };
        self.look_at_list(interaction, &bytes, matches!(sent, Sent::Page(_)));
    }

    fn open_with(&self, is: impl Fn(&RawId) -> bool) -> Option<RawId> {
        // Those whose answers are not expected may be answered too.
        let open = self.open.iter().map(|(id, ..)| id).find(|id| is(id));
        open.or_else(|| self.sent.keys().find(|id| is(id))).cloned()
    }

    /// Of a list: what its tools say of themselves, and whether there is more of it than was recorded.
    fn look_at_list(&mut self, interaction: usize, answer: &[u8], is_more: bool) {
        let method = method_of(&self.script, interaction);
        if list_of(method).is_none() {
            return;
        }
        if method == "tools/list" {
            self.read_only.extend(read_only_hints(answer));
        }
        let recorded = self.script.interactions().get(interaction).and_then(|this| this.answer);
        let recorded = recorded.and_then(|answer| self.script.messages().get(answer)?.body.as_deref());
        let cursor_of = |answer: &[u8]| {
            let cursor = Node::new(answer).at(&["result", "nextCursor"]).filter(|cursor| cursor.is_string());
            cursor.map(|cursor| cursor.bytes().to_vec())
        };
        let ends_here = recorded
            .is_some_and(|recorded| Node::new(recorded).get("result").is_some() && cursor_of(recorded).is_none());
        let n_pages = self.more_pages.get(&interaction).map_or(0, Vec::len);
        if (is_more || ends_here)
            && n_pages < MORE_PAGES_LIMIT
            && let Some(cursor) = cursor_of(answer)
        {
            self.ask_for_more(interaction, &cursor);
        }
    }
}
