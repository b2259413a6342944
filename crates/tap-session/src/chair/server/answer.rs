//! What the user of a server can do.

use tap_jsonrpc::Node;
use tap_protocol::{Era, Side, method};

use super::{Asked, Server, Spoken};
use crate::chair::calls::{CallId, RequestOptions};
use crate::chair::{ErrorReply, Misuse, write};
use crate::row::At;

/// What the chair sends by itself.
const RESERVED: [&str; 4] = [
    "notifications/cancelled",
    "notifications/progress",
    "notifications/subscriptions/acknowledged",
    "notifications/initialized",
];

/// What belongs to subscriptions in the modern era.
const CHANGES: [&str; 4] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
];

impl Server {
    /// Answers a request with a result, the text of a JSON object. In the modern era it gets what it lacks of
    /// `resultType`, cache hints and the server's name.
    ///
    /// # Errors
    ///
    /// When there is no such request, and when the answer would break a rule.
    pub fn answer(&mut self, request: At, result: &str, now_ns: u64) -> Result<(), Misuse> {
        let asked = self.asked(request)?;
        let result = write::object(result, "result")?;
        let text = match asked.revision.era() {
            Era::Legacy => result.bytes().to_vec(),
            Era::Modern => self.modern_result(asked, result)?,
        };
        let (method, uri) = (asked.method.clone(), asked.uri.clone());
        self.seat.say(write::result(asked.raw_id.clone().as_bytes(), &text), now_ns)?;
        self.asked.remove(&request);
        match (&*method, uri) {
            ("resources/subscribe", Some(uri)) => self.watch(uri),
            ("resources/unsubscribe", Some(uri)) => {
                self.watched.remove(&uri);
            }
            _ => {}
        }
        Ok(())
    }

    fn asked(&self, request: At) -> Result<&Asked, Misuse> {
        self.asked.get(&request).ok_or(Misuse::NoSuchRequest(request))
    }

    fn modern_result(&self, asked: &Asked, said: Node<'_>) -> Result<Vec<u8>, Misuse> {
        let kind = said.get("resultType");
        let mut result = write::Object::new();
        if kind.is_none() {
            result = result.text("resultType", "complete");
        }
        result = result.all_of(said, &["_meta"]);
        let complete = kind.is_none_or(|kind| kind.is_text("complete"));
        if complete && asked.known.is_some_and(|method| method.cacheable) {
            result = self.with_cache_hints(result, said);
        }
        if let Some(meta) = said.get("_meta") {
            result = result.member("_meta", meta.bytes());
        }
        let result = result.done();
        let identity = self.identity(asked.revision);
        let more = Node::new(&identity).members().map(|(_, value)| value.bytes().to_vec()).next();
        let more = more.map(|who| (tap_protocol::meta::SERVER_INFO, who));
        write::with_meta(Some(Node::new(&result)), &more.into_iter().collect::<Vec<_>>())
    }

    /// Answers a request with an error.
    ///
    /// # Errors
    ///
    /// When there is no such request, and when the answer would break a rule.
    pub fn fail(&mut self, request: At, reply: &ErrorReply, now_ns: u64) -> Result<(), Misuse> {
        let message = write::error(self.asked(request)?.raw_id.as_bytes(), reply)?;
        self.seat.say(message, now_ns)?;
        self.asked.remove(&request);
        Ok(())
    }

    /// Answers a request with questions, by the key of each: a method and the text of its params. The client asks again
    /// with the answers and the state, which is another [request](crate::Output::Request).
    ///
    /// # Errors
    ///
    /// In the legacy era, where servers [ask](Self::ask); when the client did not declare what the questions need; when
    /// there is no such request; when the answer would break a rule.
    pub fn require_input(
        &mut self,
        request: At,
        questions: &[(&str, &str, Option<&str>)],
        state: Option<&str>,
        now_ns: u64,
    ) -> Result<(), Misuse> {
        let asked = self.asked(request)?;
        if asked.revision.era() == Era::Legacy {
            return Err(Misuse::WrongEra { what: "a result that requires input", era: Era::Legacy });
        }
        if !asked.known.is_some_and(|method| method.rounds) || (questions.is_empty() && state.is_none()) {
            return Err(Misuse::BadText { what: "a result that requires input" });
        }
        let mut requests = write::Object::new();
        for (key, name, params) in questions {
            let known = method(name).filter(|method| method.embedded.contains(asked.revision));
            let known = known.ok_or(Misuse::BadText { what: "a question" })?;
            for need in known.needs(asked.revision, Side::Server) {
                if !asked.capabilities.as_ref().is_some_and(|known| known.declares(need.path)) {
                    return Err(Misuse::Undeclared { path: need.path.join(".") });
                }
            }
            let mut question = write::Object::new().text("method", name);
            if let Some(params) = params {
                question = question.member("params", write::object(params, "params")?.bytes());
            }
            requests = requests.member(key, &question.done());
        }
        let mut result = write::Object::new().text("resultType", "input_required");
        if !questions.is_empty() {
            result = result.member("inputRequests", &requests.done());
        }
        let result = result.maybe_text("requestState", state).member("_meta", &self.identity(asked.revision)).done();
        self.seat.say(write::result(asked.raw_id.clone().as_bytes(), &result), now_ns)?;
        self.asked.remove(&request);
        Ok(())
    }

    /// Tells how far a request is that asked to be told.
    ///
    /// # Errors
    ///
    /// When there is no such request, when it did not ask, and when the notification would break a rule.
    pub fn progress(
        &mut self,
        request: At,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
        now_ns: u64,
    ) -> Result<(), Misuse> {
        let asked = self.asked(request)?;
        let token = asked.token.as_ref().ok_or(Misuse::NoToken(request))?;
        if !progress.is_finite() || total.is_some_and(|total| !total.is_finite()) {
            return Err(Misuse::NotANumber);
        }
        let mut params = write::Object::new()
            .member("progressToken", token.as_bytes())
            .member("progress", progress.to_string().as_bytes());
        if let Some(total) = total {
            params = params.member("total", total.to_string().as_bytes());
        }
        // The first release has no message.
        let message = message.filter(|_| tap_protocol::Revision::V2025_03_26 <= asked.revision);
        let params = params.maybe_text("message", message).done();
        self.seat.say(write::question(None, "notifications/progress", Some(&params)), now_ns)?;
        Ok(())
    }

    /// Tells the client something. `params` is the text of a JSON object.
    ///
    /// # Errors
    ///
    /// Before the session is open; when [`progress`](Self::progress) or [`changed`](Self::changed) is the way to tell it;
    /// when the notification would break a rule.
    pub fn notify(&mut self, method: &str, params: Option<&str>, now_ns: u64) -> Result<(), Misuse> {
        let modern = match self.spoken {
            Spoken::Nothing => return Err(Misuse::NotOpen),
            Spoken::Legacy { .. } => false,
            Spoken::Modern { .. } => true,
        };
        if RESERVED.contains(&method) || (modern && CHANGES.contains(&method)) {
            return Err(Misuse::Reserved { method: method.into() });
        }
        let params = params.map(|params| write::object(params, "params")).transpose()?;
        self.seat.say(write::question(None, method, params.map(Node::bytes)), now_ns)?;
        Ok(())
    }

    /// Asks the client, which is done in the legacy era alone.
    ///
    /// # Errors
    ///
    /// In the modern era, where results [require input](Self::require_input); before the client is ready; when the request
    /// would break a rule.
    pub fn ask(
        &mut self,
        method: &str,
        params: Option<&str>,
        options: RequestOptions,
        now_ns: u64,
    ) -> Result<CallId, Misuse> {
        match self.spoken {
            Spoken::Legacy { ready: true, .. } => {}
            Spoken::Modern { .. } => {
                return Err(Misuse::WrongEra { what: "a request of the server", era: Era::Modern });
            }
            Spoken::Nothing | Spoken::Legacy { ready: false, .. } => return Err(Misuse::NotOpen),
        }
        let call = self.seat.new_call(method, params, options, self.options.request_limit_ns);
        let params = params.map(|params| write::object(params, "params")).transpose()?;
        self.seat.call(None, call, params, Vec::new(), now_ns)
    }

    /// Gives up a call: an answer will be ignored, and the client is told.
    ///
    /// # Errors
    ///
    /// When there is no such call.
    pub fn cancel(&mut self, call: CallId, reason: Option<&str>, now_ns: u64) -> Result<(), Misuse> {
        self.seat.cancel(call, reason, now_ns)
    }
}
