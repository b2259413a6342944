//! What the user of a client can do.

use tap_jsonrpc::Node;
use tap_protocol::{Era, meta};

use super::Client;
use crate::chair::calls::{CallId, OwnCall, RequestOptions, Round, Waits};
use crate::chair::{ErrorReply, Misuse, write};
use crate::row::At;

/// What the chair sends by itself.
const RESERVED: [&str; 3] = ["initialize", "notifications/initialized", "notifications/cancelled"];

/// What only a retry has.
const ROUND_MEMBERS: [&str; 3] = ["_meta", "inputResponses", "requestState"];

impl Client {
    /// Asks the server. `params` is the text of a JSON object; in the modern era its `_meta` is filled in.
    ///
    /// # Errors
    ///
    /// When the session is not open, and when the request would break a rule.
    pub fn request(
        &mut self,
        method: &str,
        params: Option<&str>,
        options: RequestOptions,
        now_ns: u64,
    ) -> Result<CallId, Misuse> {
        self.open_revision()?;
        not_reserved(method)?;
        let call = self.seat.new_call(method, params, options, self.options.request_limit_ns);
        let params = params.map(|params| write::object(params, "params")).transpose()?;
        self.send(None, call, params, now_ns)
    }

    fn send(
        &mut self,
        earlier: Option<CallId>,
        call: OwnCall,
        params: Option<Node<'_>>,
        now_ns: u64,
    ) -> Result<CallId, Misuse> {
        let revision = self.open_revision()?;
        let mut more = Vec::new();
        if revision.era() == Era::Modern {
            more = self.modern_meta(revision);
            if let Some(level) = call.options.log_level {
                more.push((meta::LOG_LEVEL, write::quoted(level)));
            }
        }
        self.seat.call(earlier, call, params, more, now_ns)
    }

    /// Goes on with a call that [required input](crate::Output::InputRequired): sends the whole request again, with a new
    /// id, these results by their keys, and the server's state as it was. Results are texts of JSON objects, as answers to
    /// such requests would be.
    ///
    /// # Errors
    ///
    /// When the call does not wait for input, when a key was not asked for, and when the request would break a rule.
    pub fn retry(&mut self, call: CallId, responses: &[(&str, &str)], now_ns: u64) -> Result<(), Misuse> {
        self.open_revision()?;
        let Some(OwnCall { waits: Waits::Input(round), .. }) = self.seat.calls.get(call) else {
            return Err(Misuse::NoSuchCall(call));
        };
        let (round, earlier) = (round.clone(), self.seat.calls.get(call));
        let Some(OwnCall { method, params, options, .. }) = earlier else {
            return Err(Misuse::NoSuchCall(call));
        };
        let again = self.seat.new_call(method, params.as_deref(), options.clone(), self.options.request_limit_ns);
        let text = again.params.clone();
        let params = params_of_retry(text.as_deref(), &round, responses)?;
        self.send(Some(call), again, Some(Node::new(&params)), now_ns)?;
        Ok(())
    }

    /// Gives up a call: an answer will be ignored, and the server is told. One that waits for input is only forgotten.
    ///
    /// # Errors
    ///
    /// When there is no such call, or when it must not be cancelled.
    pub fn cancel(&mut self, call: CallId, reason: Option<&str>, now_ns: u64) -> Result<(), Misuse> {
        self.open_revision()?;
        self.seat.cancel(call, reason, now_ns)
    }

    /// Tells the server something. `params` is the text of a JSON object.
    ///
    /// # Errors
    ///
    /// When the session is not open, and when the notification would break a rule.
    pub fn notify(&mut self, method: &str, params: Option<&str>, now_ns: u64) -> Result<(), Misuse> {
        self.open_revision()?;
        not_reserved(method)?;
        let params = params.map(|params| write::object(params, "params")).transpose()?;
        self.seat.say(write::question(None, method, params.map(Node::bytes)), now_ns)?;
        Ok(())
    }

    /// Answers a [request](crate::Output::Request) of the server. A result is the text of a JSON object.
    ///
    /// # Errors
    ///
    /// When there is no such request, and when the answer would break a rule.
    pub fn respond(&mut self, request: At, outcome: Result<&str, &ErrorReply>, now_ns: u64) -> Result<(), Misuse> {
        if self.era() == Some(Era::Modern) {
            return Err(Misuse::WrongEra { what: "an answer of the client", era: Era::Modern });
        }
        let raw_id = self.asked.get(&request).ok_or(Misuse::NoSuchRequest(request))?;
        let message = match outcome {
            Ok(result) => write::result(raw_id.as_bytes(), write::object(result, "result")?.bytes()),
            Err(reply) => write::error(raw_id.as_bytes(), reply)?,
        };
        self.seat.say(message, now_ns)?;
        self.asked.remove(&request);
        Ok(())
    }
}

fn not_reserved(method: &str) -> Result<(), Misuse> {
    match RESERVED.contains(&method) {
        true => Err(Misuse::Reserved { method: method.into() }),
        false => Ok(()),
    }
}

/// The params of the first request, with answers and state.
fn params_of_retry(first: Option<&str>, round: &Round, responses: &[(&str, &str)]) -> Result<Vec<u8>, Misuse> {
    let first = Node::new(first.unwrap_or("{}").as_bytes());
    let mut params = write::Object::new().all_of(first, &ROUND_MEMBERS);
    let mut results = write::Object::new();
    for (key, response) in responses {
        let asked = round.keys.iter().find(|(asked, _)| asked == key);
        let (_, written) = asked.ok_or_else(|| Misuse::NoSuchInput { key: (*key).into() })?;
        results = results.written(written, write::object(response, "response")?.bytes());
    }
    if !round.keys.is_empty() {
        params = params.member("inputResponses", &results.done());
    }
    if let Some(state) = &round.state {
        params = params.member("requestState", state);
    }
    if let Some(meta) = first.get("_meta") {
        params = params.member("_meta", meta.bytes());
    }
    Ok(params.done())
}
