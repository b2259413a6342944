//! Which recorded request a live one is, and what is near where none is.

use std::collections::BTreeMap;

use bytes::Bytes;
use tap_compare::{Candidate, nearest};
use tap_jsonrpc::Node;

use super::{Live, Output, Place, Player};
use crate::act::Key;
use crate::message::Opening;
use crate::miss::{Closest, Miss, Reason, cut};
use crate::options::{Order, Repeat, Unmatched};
use crate::report::TOLD;

/// Recorded requests that are looked at for what is near.
const N_LOOKED_AT: usize = 10_000;

/// Near requests that are told.
const N_CLOSEST: usize = 3;

/// Requests whose answer changes nothing at the server, so that they may be asked again.
const SAFE: [&str; 19] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/directory/read",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "subscriptions/listen",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tools/list",
    "skills/get",
];

/// What was found for a live request.
pub(super) enum Found {
    /// An interaction; whether its answer was given before.
    Interaction { place: Place, interaction: usize, is_repeat: bool },
    /// Nothing.
    Nothing(Reason),
}

impl Player {
    /// The conversation that the live one is: of the first recording the first that begins alike, else that knows how to.
    pub(super) fn choose(&mut self, live: &Live) -> Option<Place> {
        if self.chosen.is_some() {
            return self.chosen;
        }
        let opening = match live.method.as_str() {
            "initialize" => Opening::Initialize,
            "server/discover" => Opening::Discover,
            _ if live.is_modern => Opening::Modern,
            _ => Opening::Other,
        };
        let layer = self.layers.first_mut()?;
        let best = |layer: &crate::act::Layer| {
            let fits = layer.acts.iter().enumerate().map(|(act, this)| (this.fit(opening), act));
            fits.min()
        };
        loop {
            match best(layer) {
                Some((fit, _)) if fit < 2 || (fit == 2 && layer.is_one_conversation()) => break,
                _ if !layer.grow() => break,
                _ => {}
            }
        }
        let (_, act) = best(layer)?;
        self.chosen = Some(Place { layer: 0, act });
        self.chosen
    }

    /// All conversations in the order in which they are asked: the chosen one, others of its recording, other recordings.
    fn order(&mut self) -> impl Iterator<Item = Place> + use<> {
        let chosen = self.chosen;
        let n_layers = self.layers.len();
        let mut places: Vec<Place> = chosen.into_iter().collect();
        for layer in 0..n_layers {
            let n_acts = self.layers[layer].acts.len();
            places.extend((0..n_acts).map(|act| Place { layer, act }).filter(|place| Some(*place) != chosen));
        }
        places.into_iter()
    }

    /// The key of a live request, by the rules of a recording.
    fn key(&mut self, layer: usize, live: &Live) -> Option<Key> {
        let layer = &self.layers[layer];
        Some((layer.walks.key(&live.bytes, &layer.rules)?, live.task.clone()))
    }

    /// The recorded request that a live one is.
    pub(super) fn find(&mut self, live: &Live) -> Found {
        if self.options.order == Order::Strict {
            return self.find_next(live);
        }
        if let Some(found) = self.find_unused(live) {
            return found;
        }
        let mut was_used = false;
        for place in self.order() {
            let Some(key) = self.key(place.layer, live) else {
                continue;
            };
            let Some(interaction) = self.layer(place).used(place.act, &key, &live.bytes) else {
                continue;
            };
            was_used = true;
            let act = &self.layers[place.layer].acts[place.act];
            let may_repeat = match self.options.repeat {
                Repeat::All => true,
                Repeat::Never => false,
                Repeat::Safe => SAFE.contains(&live.method.as_str()) || act.is_read_only(key.0.name()),
            };
            if may_repeat {
                return Found::Interaction { place, interaction, is_repeat: true };
            }
        }
        Found::Nothing(if was_used { Reason::UsedUp } else { Reason::NoMatch })
    }

    /// The first unused one, read on for as long as there is none.
    fn find_unused(&mut self, live: &Live) -> Option<Found> {
        let mut keys: BTreeMap<usize, Option<Key>> = BTreeMap::new();
        for layer in 0..self.layers.len() {
            let key = self.key(layer, live);
            keys.insert(layer, key);
        }
        let found = |place: Place, interaction: usize| Found::Interaction { place, interaction, is_repeat: false };
        if let Some(place) = self.chosen
            && let Some(Some(key)) = keys.get(&place.layer)
        {
            loop {
                if let Some(interaction) = self.layer(place).unused(place.act, key, &live.bytes) {
                    return Some(found(place, interaction));
                }
                if !self.layer(place).grow() {
                    break;
                }
            }
        }
        self.layers.iter_mut().for_each(crate::act::Layer::read_all);
        for place in self.order() {
            if let Some(Some(key)) = keys.get(&place.layer)
                && let Some(interaction) = self.layer(place).unused(place.act, key, &live.bytes)
            {
                return Some(found(place, interaction));
            }
        }
        None
    }

    /// The next one of the recording, if it is that.
    fn find_next(&mut self, live: &Live) -> Found {
        let Some(place) = self.chosen else {
            return Found::Nothing(Reason::NoMatch);
        };
        let Some(key) = self.key(place.layer, live) else {
            return Found::Nothing(Reason::NoMatch);
        };
        let layer = self.layer(place);
        let next = loop {
            if let Some(next) = layer.acts[place.act].first_unused() {
                break Some(next);
            }
            if !layer.grow() {
                break None;
            }
        };
        if next.is_some() && layer.unused(place.act, &key, &live.bytes) == next {
            let interaction = next.unwrap_or_default();
            return Found::Interaction { place, interaction, is_repeat: false };
        }
        layer.read_all();
        if layer.unused(place.act, &key, &live.bytes).is_some() {
            return Found::Nothing(Reason::OutOfOrder);
        }
        let was_used = layer.used(place.act, &key, &live.bytes).is_some();
        Found::Nothing(if was_used { Reason::UsedUp } else { Reason::NoMatch })
    }

    /// A request has no recorded answer. If there is a real server, that is asked.
    pub(super) fn miss(&mut self, live: Live, reason: Reason, detail: Option<String>, outputs: &mut Vec<Output>) {
        let (live, detail) = match self.pass_on(live, reason, outputs) {
            None => return,
            Some((live, why)) => (live, detail.or(why)),
        };
        let (closest, first) = match reason {
            Reason::NoMatch | Reason::UsedUp | Reason::OutOfOrder => self.closest(&live),
            _ => (Vec::new(), None),
        };
        // Markers mean the same in all of a session; what is near is told without that.
        let is_alike = |closest: &Closest| closest.differences.is_empty() && closest.n_used == 0;
        let detail = match closest.first() {
            Some(closest) if detail.is_none() && reason == Reason::NoMatch && is_alike(closest) => {
                Some("a marker of redaction in it has stood for another value before".into())
            }
            _ => detail,
        };
        let serves = first.filter(|_| self.options.unmatched == Unmatched::Closest);
        let miss = Miss {
            number: live.number,
            method: live.method.clone(),
            name: name(&live.bytes),
            arguments: arguments(&live.bytes),
            reason,
            detail,
            closest,
            served_closest: serves.is_some(),
        };
        self.report.n_misses += 1;
        if self.report.misses.len() < TOLD {
            self.report.misses.push(miss.clone());
        }
        let error = miss.error(live.id.as_bytes());
        outputs.push(Output::Miss(miss));
        if let Some((place, interaction)) = serves {
            return self.play(place, interaction, live, true, outputs);
        }
        self.send_answer(live.batch, error, 0, outputs);
        if self.options.unmatched == Unmatched::Exit {
            outputs.push(Output::Exit);
        }
    }

    /// What is nearest, and where the first of it is.
    fn closest(&mut self, live: &Live) -> (Vec<Closest>, Option<(Place, usize)>) {
        self.layers.iter_mut().for_each(crate::act::Layer::read_all);
        let mut candidates: Vec<(Place, usize, Bytes, bool)> = Vec::new();
        for place in self.order() {
            let layer = &mut self.layers[place.layer];
            for interaction in 0..layer.acts[place.act].script.interactions().len() {
                let act = &layer.acts[place.act];
                if candidates.len() == N_LOOKED_AT {
                    break;
                }
                if act.method_of(interaction) == live.method {
                    let is_used = act.n_uses(interaction) > 0;
                    let request = act.script.interactions()[interaction].request;
                    candidates.push((place, interaction, layer.body(place.act, request), is_used));
                }
            }
        }
        let offered = candidates.iter().map(|(_, _, request, is_used)| Candidate { request, is_used: *is_used });
        let Some(place) = self.chosen.or_else(|| candidates.first().map(|(place, ..)| *place)) else {
            return (Vec::new(), None);
        };
        let found = nearest(&live.bytes, offered, &self.layers[place.layer].rules, N_CLOSEST);
        let mut first = None;
        let mut closest = Vec::new();
        for near in found.near {
            let Some((place, interaction, request, _)) = candidates.get(near.index) else {
                continue;
            };
            first.get_or_insert((*place, *interaction));
            let layer = &self.layers[place.layer];
            let act = &layer.acts[place.act];
            let message = &act.script.messages()[act.script.interactions()[*interaction].request];
            let (n_used, n_alike) = act.n_alike(*interaction);
            closest.push(Closest {
                recording: layer.name.clone(),
                line: message.line,
                number: message.number,
                name: name(request),
                arguments: arguments(request),
                n_alike,
                n_used,
                differences: near.reasons,
            });
        }
        (closest, first)
    }
}

/// The tool, prompt or resource that a request names.
fn name(request: &[u8]) -> Option<String> {
    let params = Node::new(request).get("params")?;
    let [name, uri] = params.pick(["name", "uri"]);
    Some(name.or(uri)?.text()?.into_owned())
}

/// What a request carries, as it was written.
fn arguments(request: &[u8]) -> String {
    let [method, params] = Node::new(request).pick(["method", "params"]);
    let is_call = method.is_some_and(|method| method.is_text("tools/call") || method.is_text("prompts/get"));
    let carried = if is_call { params.and_then(|params| params.get("arguments")) } else { params };
    carried.map_or_else(|| "{}".into(), |carried| cut(&String::from_utf8_lossy(carried.bytes())))
}

/// The method of a request, with the name if there is one.
pub(super) fn what(request: &[u8]) -> String {
    let method = Node::new(request).get("method").and_then(Node::text).unwrap_or_default();
    match name(request) {
        Some(name) => format!("{method} {name}"),
        None => method.into_owned(),
    }
}
