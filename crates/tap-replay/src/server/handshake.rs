//! How a client and a recording begin with each other: revisions, eras, what the client can do.

use std::collections::BTreeSet;

use tap_jsonrpc::Node;
use tap_protocol::{Era, METHOD_NOT_FOUND, Revision, Side, UNSUPPORTED_PROTOCOL_VERSION, meta, method};

use super::find::Found;
use super::{Live, Output, Place, Player, error};
use crate::miss::Reason;
use crate::report::NoteKind;
use crate::rewrite::{Translation, discovered, initialize_of};

/// Answers that are looked through for the server's name.
const LOOKED_AT: usize = 1_000;

impl Player {
    /// A request of the client's.
    pub(super) fn request(&mut self, live: Live, outputs: &mut Vec<Output>) {
        let place = self.choose(&live);
        if let Some(place) = place
            && self.refuse_revision(place, &live, outputs)
        {
            return;
        }
        match (live.method.as_str(), place) {
            ("initialize", Some(place)) => return self.initialize(place, live, outputs),
            ("server/discover", Some(place)) => return self.discover(place, live, outputs),
            ("ping", _) => return self.ping(live, outputs),
            _ => {}
        }
        self.match_and_play(live, outputs);
    }

    fn match_and_play(&mut self, live: Live, outputs: &mut Vec<Output>) {
        match self.find(&live) {
            Found::Interaction { place, interaction, is_repeat } => {
                self.play(place, interaction, live, is_repeat, outputs);
            }
            Found::Nothing(reason) => {
                if live.method == "logging/setLevel" && self.is_modern_recording() {
                    // In the modern era each request says it, and there is nothing to answer but yes.
                    return self.answer_plainly(&live, outputs);
                }
                self.miss(live, reason, None, outputs);
            }
        }
    }

    fn is_modern_recording(&self) -> bool {
        let place = self.chosen.and_then(|place| self.layers.get(place.layer)?.acts.get(place.act));
        place.is_some_and(|act| act.script.era() == Some(Era::Modern))
    }

    /// An answer that says nothing but that it is one.
    fn answer_plainly(&mut self, live: &Live, outputs: &mut Vec<Output>) {
        let bytes = [br#"{"jsonrpc":"2.0","id":"#, live.id.as_bytes(), br#","result":{}}"#].concat();
        self.send_answer(live.batch, bytes, 0, outputs);
    }

    /// A sign of life is always answered: as recorded if one was, but for that nothing is looked for.
    fn ping(&mut self, live: Live, outputs: &mut Vec<Output>) {
        self.answer_plainly(&live, outputs);
    }

    fn initialize(&mut self, place: Place, live: Live, outputs: &mut Vec<Output>) {
        let capabilities = Node::new(&live.bytes).at(&["params", "capabilities"]);
        self.capabilities = capabilities.map(|node| live.bytes.slice_ref(node.bytes()));
        self.real.opens_with(&live);
        let layer = self.layer(place);
        // Until it is known which era it is.
        while layer.acts[place.act].script.era().is_none() && layer.grow() {}
        let script = &layer.acts[place.act].script;
        let offered = live.offered.clone().unwrap_or_default();
        match (script.initialize(), script.discover()) {
            (Some(interaction), _) => {
                let request = script.interactions()[interaction].request;
                let answered = script.revision().unwrap_or_default().to_owned();
                let recorded = layer.body(place.act, request);
                let recorded = Node::new(&recorded).get("params");
                let recorded_offer = recorded.and_then(|params| params.get("protocolVersion")).and_then(Node::text);
                let is_known = recorded_offer.as_deref() == Some(&offered)
                    || answered.as_str() <= offered.as_str()
                    || Revision::from_text(&answered).is_none();
                let needed = recorded.and_then(|params| params.get("capabilities")).map(missing(capabilities));
                for name in needed.unwrap_or_default() {
                    let text = format!("the client in the recording declared `{name}`, and this one has not");
                    self.note(NoteKind::MissingCapability, text, outputs);
                }
                if !is_known {
                    // A server answers with a revision that it supports, and the client ends it where it does not
                    // (2025-11-25, basic/lifecycle, Version Negotiation).
                    let offers = if offered.is_empty() { "none" } else { &offered };
                    let text = format!(
                        "the client offers revision {offers}, and the recording is of {answered}: that is answered, and whether it goes on is up to the client"
                    );
                    self.note(NoteKind::OtherRevision, text, outputs);
                }
                self.match_and_play(live, outputs);
            }
            (None, Some(interaction)) => {
                let answer = script.interactions()[interaction].answer.unwrap_or_default();
                let discovered = layer.body(place.act, answer);
                layer.acts[place.act].uses(interaction);
                self.initialize_of(&discovered, live, &offered, outputs);
            }
            (None, None) if script.era() == Some(Era::Modern) => {
                let discovered = self.discovered(place, &live);
                self.initialize_of(&discovered, live, &offered, outputs);
            }
            // Perhaps it was refused.
            (None, None) => self.match_and_play(live, outputs),
        }
    }

    /// Answers a handshake of the legacy era with what is known of a server of the modern one.
    fn initialize_of(&mut self, discovered: &[u8], live: Live, offered: &str, outputs: &mut Vec<Output>) {
        match initialize_of(discovered, live.id.as_bytes(), offered) {
            Some(bytes) => {
                let text = "the recording is of the modern era: its answers are translated for this client";
                self.note(NoteKind::OtherRevision, text.into(), outputs);
                self.send_answer(live.batch, bytes, 0, outputs);
            }
            None => self.miss(live, Reason::OtherRevision, None, outputs),
        }
    }

    /// What a server would say of itself that was recorded without saying it.
    fn discovered(&mut self, place: Place, live: &Live) -> Vec<u8> {
        let layer = self.layer(place);
        layer.read_all();
        let script = &layer.acts[place.act].script;
        let revision = script.revision().unwrap_or(Revision::LATEST.as_str()).to_owned();
        let requests = script.interactions().iter().filter_map(|this| script.messages().get(this.request));
        let methods: BTreeSet<String> = requests.map(|request| request.method().to_owned()).collect();
        let answers: Vec<usize> = script.interactions().iter().filter_map(|this| this.answer).take(LOOKED_AT).collect();
        let mut information = None;
        for answer in answers {
            let body = layer.body(place.act, answer);
            let found = Node::new(&body).at(&["result", "_meta", meta::SERVER_INFO]);
            if let Some(found) = found {
                information = Some(body.slice_ref(found.bytes()));
                break;
            }
        }
        discovered(live.id.as_bytes(), &revision, &methods, information.as_deref())
    }

    /// A request of the modern era in a revision that the recorded server did not support: it gets the error of one that
    /// names those that are (2026-07-28, basic/versioning).
    fn refuse_revision(&mut self, place: Place, live: &Live, outputs: &mut Vec<Output>) -> bool {
        let Some(version) = live.version.clone().filter(|_| live.is_modern) else {
            return false;
        };
        let layer = self.layer(place);
        while layer.acts[place.act].script.era().is_none() && layer.grow() {}
        let script = &layer.acts[place.act].script;
        if script.era() != Some(Era::Modern) || script.revision() == Some(&version) {
            return false;
        }
        let mut supported: Vec<String> = script.revision().map(str::to_owned).into_iter().collect();
        let answer = script.discover().and_then(|interaction| script.interactions().get(interaction)?.answer);
        if let Some(answer) = answer {
            let body = layer.body(place.act, answer);
            let versions = Node::new(&body).at(&["result", "supportedVersions"]);
            supported.extend(
                versions.into_iter().flat_map(Node::elements).filter_map(|this| Some(this.text()?.into_owned())),
            );
        }
        supported.dedup();
        if supported.is_empty() || supported.contains(&version) {
            return false;
        }
        let text = format!("the client asks in revision {version}, and the recording is of {}", supported.join(", "));
        self.note(NoteKind::OtherRevision, text, outputs);
        let error = serde_json::json!({
            "code": UNSUPPORTED_PROTOCOL_VERSION,
            "message": "Unsupported protocol version",
            "data": { "supported": supported, "requested": version },
        });
        let error = error.to_string();
        let bytes =
            [br#"{"jsonrpc":"2.0","id":"#, live.id.as_bytes(), br#","error":"#, error.as_bytes(), b"}"].concat();
        self.send_answer(live.batch, bytes, 0, outputs);
        true
    }

    /// A recording of the legacy era says that it does not know the method, so that a client of both eras falls back.
    fn discover(&mut self, place: Place, live: Live, outputs: &mut Vec<Output>) {
        let layer = self.layer(place);
        while layer.acts[place.act].script.era().is_none() && layer.grow() {}
        let script = &layer.acts[place.act].script;
        let first = (0..script.interactions().len())
            .find(|interaction| layer.acts[place.act].method_of(*interaction) == "server/discover");
        let has_one = first.is_some();
        if let Some(first) = first {
            layer.read_until_over(place.act, first);
        }
        let act = &mut layer.acts[place.act];
        let was_answered = first.and_then(|first| act.script.interactions().get(first)?.answer).is_some();
        if act.script.era() != Some(Era::Modern) && !was_answered {
            // Some servers over HTTP refuse it in a way that answers nothing.
            if let Some(first) = first {
                act.uses(first);
            }
            let bytes = error(live.id.as_bytes(), METHOD_NOT_FOUND, "Method not found");
            return self.send_answer(live.batch, bytes, 0, outputs);
        }
        if !has_one && self.layers.iter().all(|layer| layer.acts.iter().all(|act| act.script.discover().is_none())) {
            let bytes = self.discovered(place, &live);
            let text = "there is no server/discover in the recording: its answer is made of what else is there";
            self.note(NoteKind::OtherRevision, text.into(), outputs);
            return self.send_answer(live.batch, bytes, 0, outputs);
        }
        self.match_and_play(live, outputs);
    }

    /// What has to be translated for a live request that a recorded one answers.
    pub(super) fn translation(&self, place: Place, interaction: usize, live: &Live) -> Option<Translation> {
        if matches!(live.method.as_str(), "initialize" | "server/discover" | "ping") {
            return None;
        }
        let script = &self.layers.get(place.layer)?.acts.get(place.act)?.script;
        let is_modern = script.interactions().get(interaction)?.is_modern;
        match (live.is_modern, is_modern) {
            (true, false) => Some(Translation::ToModern),
            (false, true) => Some(Translation::ToLegacy),
            _ => None,
        }
    }

    /// What the client would have to declare before the server sends this, if it has not.
    pub(super) fn undeclared(&self, asked_method: &str, live: Option<&Live>) -> Option<String> {
        let own = live.and_then(|live| Node::new(&live.bytes).at(&["params", "_meta", meta::CLIENT_CAPABILITIES]));
        // A client that never began says nothing of what it can do.
        let declared = own.or_else(|| self.capabilities.as_deref().map(Node::new))?;
        let needs = &method(asked_method)?.needs;
        let mut needs = needs.iter().filter(|need| need.sender == Side::Server && need.declared_by == Side::Client);
        let missing = needs.find(|need| declared.at(need.path).is_none())?;
        Some(missing.path.join("."))
    }
}

/// Which capabilities are declared in one object and not in another.
fn missing(live: Option<Node<'_>>) -> impl Fn(Node<'_>) -> Vec<String> {
    move |recorded| {
        let recorded = recorded.members().map(|(key, _)| key.text().into_owned());
        let matters = |name: &String| matches!(name.as_str(), "elicitation" | "roots" | "sampling" | "tasks");
        let is_there = |name: &String| live.is_some_and(|live| live.get(name).is_some());
        recorded.filter(|name| matters(name) && !is_there(name)).collect()
    }
}
