//! What servers ask, asked of the host in the way that its era has.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tap_peer::{Asked, Cannot};
use tap_protocol::{Era, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND};
use tap_session::{ErrorReply, Request, RequestOptions};
use tokio::sync::oneshot;

use super::{Loop, node_text, text};

/// How long a call that wants to be asked again is kept for a host that does not.
const PARKED_LIMIT: Duration = Duration::from_secs(600);

/// Calls that are kept so at a time. The oldest is given up for another.
const PARKED: usize = 1_000;

impl<Say: FnMut(Bytes), Tell: FnMut(String)> Loop<Say, Tell> {
    /// The host goes on with a call of which it was asked something.
    pub(super) fn asked_again(&mut self, request: &Request, state: &str) {
        let numbers = state.strip_prefix(&self.nonce).and_then(|numbers| numbers.strip_prefix('.')?.split_once('.'));
        let read = |(tag, round): (&str, &str)| Some((tag.parse::<u64>().ok()?, round.parse::<u64>().ok()?));
        let parked = numbers.and_then(read).and_then(|(tag, round)| {
            // The state of a round before the last one is over.
            Some((tag, self.requests.get_mut(&tag).filter(|parked| parked.n_rounds == round)?))
        });
        let Some((tag, parked)) = parked.filter(|(_, parked)| parked.at.is_none() && parked.method == request.method)
        else {
            let reply = ErrorReply::new(INVALID_PARAMS, "nobody waits for this `requestState` any more; begin anew");
            let _ = self.chair.fail(request.request, &reply, self.now_ns());
            return;
        };
        let responses = request.params.as_ref().and_then(|params| params.node().get("inputResponses"));
        for (key, reply) in parked.asked.drain() {
            let answer = responses.and_then(|responses| responses.get(&key)).map(node_text);
            let _ = reply.send(answer.ok_or_else(Cannot::declined));
        }
        parked.at = Some(request.request);
        parked.parked = None;
        self.tags.insert(request.request, tag);
        match parked.answer.take() {
            Some(answer) => self.answered(tag, answer),
            None => self.ask_what_waits(tag),
        }
    }

    /// A server asks: the host is asked in its place.
    pub(super) fn asked(&mut self, server: &str, asked: Asked, reply: oneshot::Sender<Result<String, Cannot>>) {
        if !self.outlet.has_room() {
            let what = format!("the host does not read, and cannot be asked for `{}`", asked.method);
            let _ = reply.send(Err(Cannot(ErrorReply::new(INTERNAL_ERROR, what))));
            return;
        }
        let is_legacy = self.chair.revision().is_none_or(|revision| revision.era() == Era::Legacy);
        if is_legacy {
            let params = asked.params.as_ref().map(text);
            let options = RequestOptions { limit_ns: Some(u64::MAX), ..RequestOptions::default() };
            match self.chair.ask(&asked.method, params.as_deref(), options, self.now_ns()) {
                Ok(call) => drop(self.questions.insert(call, reply)),
                Err(misuse) => {
                    let what = format!("{server} asks for `{}`, and the host cannot be asked: {misuse}", asked.method);
                    let _ = reply.send(Err(Cannot(ErrorReply::new(METHOD_NOT_FOUND, what))));
                }
            }
            return;
        }
        // In the legacy era a server does not say which call it asks because of: the newest that waits is the best guess.
        let newest = || {
            let waiting = self.requests.iter().filter(|(_, request)| can_require_input(&request.method));
            waiting.map(|(tag, _)| *tag).max()
        };
        match asked.tag.or_else(newest) {
            Some(tag) if self.requests.contains_key(&tag) => {
                if let Some(request) = self.requests.get_mut(&tag) {
                    request.waiting.push((asked, reply));
                }
                self.ask_what_waits(tag);
            }
            _ => drop(reply.send(Err(Cannot::declined()))),
        }
    }

    /// Asks what waits to be asked because of a call, once all of it is there that a server asked together.
    fn ask_what_waits(&mut self, tag: u64) {
        let Some(request) = self.requests.get_mut(&tag).filter(|request| request.at.is_some()) else {
            return;
        };
        let n_wanted = request.waiting.iter().map(|(asked, _)| asked.together).max().unwrap_or_default();
        if n_wanted > 0 && n_wanted <= request.waiting.len() {
            let waiting = std::mem::take(&mut request.waiting);
            self.ask_by_result(tag, waiting);
        }
    }

    /// Asks a host of the modern era: with a result of the call that is the reason for it.
    pub(super) fn ask_by_result(&mut self, tag: u64, questions: Vec<(Asked, oneshot::Sender<Result<String, Cannot>>)>) {
        let now_ns = self.now_ns();
        let Some(request) = self.requests.get_mut(&tag) else {
            for (_, reply) in questions {
                let _ = reply.send(Err(Cannot::declined()));
            }
            return;
        };
        let Some(at) = request.at else {
            request.waiting.extend(questions);
            return;
        };
        request.n_rounds += 1;
        let state = format!("{}.{tag}.{}", self.nonce, request.n_rounds);
        // As the server called them, where that tells them apart.
        let keys: BTreeSet<&str> = questions.iter().filter_map(|(asked, _)| asked.key.as_deref()).collect();
        let are_unique = keys.len() == questions.len();
        let key = |index: usize, asked: &Asked| match &asked.key {
            Some(key) if are_unique => key.clone(),
            _ => format!("q{}", index + 1),
        };
        let texts: Vec<(String, String, Option<String>)> = questions
            .iter()
            .enumerate()
            .map(|(index, (asked, _))| (key(index, asked), asked.method.clone(), asked.params.as_ref().map(text)))
            .collect();
        let required: Vec<(&str, &str, Option<&str>)> =
            texts.iter().map(|(key, method, params)| (key.as_str(), method.as_str(), params.as_deref())).collect();
        match self.chair.require_input(at, &required, Some(&state), now_ns) {
            Ok(()) => {
                request.at = None;
                request.parked = Some(Instant::now());
                request.asked =
                    texts.into_iter().map(|(key, ..)| key).zip(questions.into_iter().map(|(_, reply)| reply)).collect();
                self.tags.remove(&at);
                self.give_up_parked();
            }
            Err(misuse) => {
                for (_, reply) in questions {
                    let what = format!("the host cannot be asked: {misuse}");
                    let _ = reply.send(Err(Cannot(ErrorReply::new(METHOD_NOT_FOUND, what))));
                }
            }
        }
    }

    /// Calls with which the host does not go on are given up.
    pub(super) fn give_up_parked(&mut self) {
        let mut parked: Vec<(Instant, u64)> =
            self.requests.iter().filter_map(|(tag, request)| Some((request.parked?, *tag))).collect();
        parked.sort_unstable();
        let n_too_many = parked.len().saturating_sub(PARKED);
        for (index, (since, tag)) in parked.into_iter().enumerate() {
            if (index < n_too_many || PARKED_LIMIT <= since.elapsed())
                && let Some(request) = self.requests.remove(&tag)
            {
                request.task.abort();
            }
        }
    }
}

/// Whether a result of this method can require input (2026-07-28, basic/patterns/mrtr).
fn can_require_input(method: &str) -> bool {
    tap_protocol::method(method).is_some_and(|method| method.rounds)
}
