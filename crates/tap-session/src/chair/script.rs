//! Scripts for chairs: what the peer says, what the user wants and how time goes by, as text; and what came of it, too.

use std::collections::VecDeque;

use bytes::Bytes;
use tap_jsonrpc::Node;

use super::*;
use crate::script::META;

const MILLISECOND_NS: u64 = 1_000_000;

/// A chair under test.
pub(super) trait Chair {
    /// How a line of the peer begins in a script.
    const PEER: &str;
    fn step(&mut self, input: Input, now_ns: u64);
    fn poll_output(&mut self) -> Option<Output>;
    fn poll_timeout(&self) -> Option<u64>;
    fn handle_timeout(&mut self, now_ns: u64);
    /// What the user wants; what was wrong with that.
    fn command(&mut self, command: &str, rest: &str, now_ns: u64) -> Vec<String>;
}

/// A chair, and what time it is.
pub(super) struct Player<C> {
    pub(super) chair: C,
    pub(super) now_ns: u64,
}

/// A user's mistakes are told like everything else that happens.
fn told_misuse<T>(result: Result<T, Misuse>) -> Vec<String> {
    match result {
        Ok(_) => Vec::new(),
        Err(Misuse::Rule(finding)) => vec![format!("misuse {}", finding.rule.id)],
        Err(other) => vec![format!("misuse: {other}")],
    }
}

/// What is shown of the params of a notification.
const NOTIFIED: [&str; 5] = ["requestId", "progress", "message", "uri", "notifications"];

/// A message in a few words: its id, its method or outcome.
pub(super) fn brief(message: &[u8]) -> String {
    let node = Node::new(message);
    let [id, method, params, result, error] = node.pick(["id", "method", "params", "result", "error"]);
    let text = |node: Option<Node<'_>>| node.map(|node| String::from_utf8_lossy(node.bytes()).into_owned());
    let mut words: Vec<String> = text(id).into_iter().collect();
    words.extend(method.and_then(|method| Some(method.text()?.into_owned())));
    let asked = params.and_then(|params| params.get("protocolVersion"));
    let asked = asked.or_else(|| params?.at(&["_meta", tap_protocol::meta::PROTOCOL_VERSION]));
    let opens = method.is_some_and(|method| method.is_text("initialize") || method.is_text("server/discover"));
    if let Some(version) = asked.filter(|_| opens).and_then(Node::text) {
        words.push(version.into_owned());
    }
    let notifies = method.is_some() && id.is_none();
    let shown = ["inputResponses", "requestState"].iter().chain(NOTIFIED.iter().filter(|_| notifies));
    words.extend(shown.filter_map(|member| text(params?.get(member))));
    if let Some(id) = text(params.and_then(|params| params.at(&["_meta", tap_protocol::meta::SUBSCRIPTION_ID]))) {
        words.push(format!("of {id}"));
    }
    words.extend(text(result).map(|result| format!("result {result}")));
    if let Some(error) = error {
        words.push(format!("error {}", text(error.get("code")).unwrap_or_default()));
        words.extend(text(error.get("data")));
    }
    words.join(" ")
}

fn shown(kept: &Kept) -> String {
    String::from_utf8_lossy(&kept.0).into_owned()
}

fn shown_maybe(kept: Option<&Kept>) -> String {
    kept.map_or_else(|| "-".into(), shown)
}

/// What a chair did, as a line.
pub(super) fn told(output: &Output) -> String {
    match output {
        Output::Send(message) => format!("-> {}", brief(message)),
        Output::Opened { revision } => format!("opened {revision}"),
        Output::Refused(refusal) => match refusal {
            Refusal::UnsupportedRevision { named } => format!("refused: it speaks {}", named.join(", ")),
            Refusal::Error(error) => format!("refused: error {}", shown(error)),
            Refusal::NotAnOpening(result) => format!("refused: result {}", shown(result)),
            Refusal::Silence => "refused: silence".into(),
            Refusal::EndedAtProbe => "refused: ended at the probe".into(),
            Refusal::Ended => "refused: ended".into(),
            Refusal::Misuse(misuse) => format!("refused: {misuse}"),
        },
        Output::Answer { call, outcome, latency_ns } => {
            let (what, text) = match outcome {
                Outcome::Result(text) => ("result", text),
                Outcome::Error(text) => ("error", text),
            };
            format!("answer {call} {what} {} after {} ms", shown(text), latency_ns / MILLISECOND_NS)
        }
        Output::Progress { call, progress, total, message } => {
            format!("progress {call} {progress} of {total:?} {message:?}")
        }
        Output::InputRequired { call, requests, state } => {
            let requests: Vec<_> = requests
                .iter()
                .map(|asked| format!("{} {} {}", asked.key, asked.method, shown_maybe(asked.params.as_ref())))
                .collect();
            format!("input {call} [{}] state {}", requests.join("; "), shown_maybe(state.as_ref()))
        }
        Output::TimedOut { call } => format!("timed out {call}"),
        Output::Dropped { call } => format!("dropped {call}"),
        Output::Request(Request { request, revision, method, params, .. }) => {
            format!("request {} {revision} {method} {}", name(*request), shown_maybe(params.as_ref()))
        }
        Output::Withdrawn { request } => format!("withdrawn {}", name(*request)),
        Output::Subscribed { request, honoured } => format!("subscribed {} {}", name(*request), shown(honoured)),
        Output::Notification { method, params, call } => {
            let call = call.map(|call| format!(" of {call}")).unwrap_or_default();
            format!("notification {method} {}{call}", shown_maybe(params.as_ref()))
        }
        Output::Finding(finding) => format!("{} {} by {:?}", finding.severity, finding.rule.id, finding.by),
        Output::Ended => "ended".into(),
    }
}

/// What the peer did wrong is not what scripts for chairs are about: there are more and more rules.
fn is_shown(output: &Output) -> bool {
    !matches!(output, Output::Finding(_))
}

fn name(request: At) -> String {
    match request.member {
        0 => format!("{}", request.seq),
        member => format!("{}.{member}", request.seq),
    }
}

pub(super) fn at(name: &str) -> At {
    let (seq, member) = name.split_once('.').unwrap_or((name, "0"));
    At { seq: seq.parse().unwrap(), member: member.parse().unwrap() }
}

/// Options of a request: `tell`, `extend=MS`, `limit=MS`, `log=LEVEL`, with commas between.
pub(super) fn request_options(text: &str) -> RequestOptions {
    let mut options = RequestOptions::default();
    for word in text.split(',').filter(|word| !word.is_empty()) {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let ns = || value.parse::<u64>().unwrap() * MILLISECOND_NS;
        match key {
            "tell" => options.on_progress = OnProgress::Tell,
            "extend" => options.on_progress = OnProgress::Extend { ceiling_ns: ns() },
            "limit" => options.limit_ns = Some(ns()),
            "log" => options.log_level = Some(value.to_owned().leak()),
            other => panic!("no such option: {other}"),
        }
    }
    options
}

/// Words of a command: the first ones, and the rest as it is.
pub(super) fn words<const N: usize>(text: &str) -> [Option<&str>; N] {
    let mut words = text.splitn(N, ' ').filter(|word| !word.is_empty());
    std::array::from_fn(|_| words.next())
}

impl<C: Chair> Player<C> {
    pub(super) fn new(chair: C) -> Self {
        Self { chair, now_ns: 0 }
    }

    /// Plays a script, and tells what came of it.
    ///
    /// `<- …` the server writes this line, `-> …` the client does, a millisecond after what was before; `..` it goes away;
    /// `++ 500` so many milliseconds go by; anything else is a command of the user.
    #[track_caller]
    pub(super) fn play(&mut self, script: &str) -> Vec<String> {
        let mut out = Vec::new();
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                word if word == C::PEER => {
                    self.pass(MILLISECOND_NS, &mut out);
                    let line = Bytes::from(format!("{}\n", rest.replace("META", META)));
                    self.chair.step(Input::Line(line), self.now_ns);
                }
                ".." => self.chair.step(Input::End, self.now_ns),
                "++" => self.pass(rest.parse::<u64>().unwrap() * MILLISECOND_NS, &mut out),
                command => out.extend(self.chair.command(command, rest, self.now_ns)),
            }
            self.drain(&mut out);
        }
        out
    }

    fn drain(&mut self, out: &mut Vec<String>) {
        let outputs = std::iter::from_fn(|| self.chair.poll_output()).filter(is_shown);
        let own = if C::PEER == "->" { "<-" } else { "->" };
        out.extend(outputs.map(|output| match told(&output).strip_prefix("->") {
            Some(sent) => format!("{own}{sent}"),
            None => told(&output),
        }));
    }

    fn pass(&mut self, ns: u64, out: &mut Vec<String>) {
        let until_ns = self.now_ns + ns;
        while let Some(at_ns) = self.chair.poll_timeout().filter(|at_ns| *at_ns <= until_ns) {
            self.now_ns = at_ns.max(self.now_ns);
            self.chair.handle_timeout(self.now_ns);
            self.drain(out);
        }
        self.now_ns = until_ns;
    }
}

macro_rules! pass_on {
    () => {
        fn step(&mut self, input: Input, now_ns: u64) {
            self.step(input, now_ns);
        }

        fn poll_output(&mut self) -> Option<Output> {
            self.poll_output()
        }

        fn poll_timeout(&self) -> Option<u64> {
            self.poll_timeout()
        }

        fn handle_timeout(&mut self, now_ns: u64) {
            self.handle_timeout(now_ns);
        }
    };
}

impl Chair for Client {
    const PEER: &str = "<-";
    pass_on!();

    fn command(&mut self, command: &str, rest: &str, now_ns: u64) -> Vec<String> {
        match command {
            "open" => told_misuse(self.open(now_ns)),
            "request" => {
                let [method, params] = words(rest);
                told_misuse(self.request(method.unwrap(), params, RequestOptions::default(), now_ns))
            }
            "request-with" => {
                let [options, method, params] = words(rest);
                let options = request_options(options.unwrap());
                told_misuse(self.request(method.unwrap(), params, options, now_ns))
            }
            "notify" => {
                let [method, params] = words(rest);
                told_misuse(self.notify(method.unwrap(), params, now_ns))
            }
            "cancel" => told_misuse(self.cancel(CallId(rest.parse().unwrap()), None, now_ns)),
            "retry" => {
                let mut words: VecDeque<_> = rest.split(' ').collect();
                let call = CallId(words.pop_front().unwrap().parse().unwrap());
                let responses: Vec<_> = words.iter().map(|word| word.split_once('=').unwrap()).collect();
                told_misuse(self.retry(call, &responses, now_ns))
            }
            "respond" => {
                let [request, result] = words(rest);
                told_misuse(self.respond(at(request.unwrap()), Ok(result.unwrap()), now_ns))
            }
            "fail" => {
                let [request, code] = words(rest);
                let reply = ErrorReply::new(code.unwrap().parse().unwrap(), "no");
                told_misuse(self.respond(at(request.unwrap()), Err(&reply), now_ns))
            }
            other => panic!("no such command: {other}"),
        }
    }
}

impl Chair for Server {
    const PEER: &str = "->";
    pass_on!();

    fn command(&mut self, command: &str, rest: &str, now_ns: u64) -> Vec<String> {
        match command {
            "answer" => {
                let [request, result] = words(rest);
                told_misuse(self.answer(at(request.unwrap()), result.unwrap(), now_ns))
            }
            "fail" => {
                let [request, code] = words(rest);
                let reply = ErrorReply::new(code.unwrap().parse().unwrap(), "no");
                told_misuse(self.fail(at(request.unwrap()), &reply, now_ns))
            }
            // `require-input REQUEST STATE|- KEY=METHOD=PARAMS…`
            "require-input" => {
                let words: Vec<_> = rest.split(' ').collect();
                let state = Some(words[1]).filter(|state| *state != "-");
                let questions = words[2..].iter().map(|word| word.splitn(3, '=').collect::<Vec<_>>());
                let questions: Vec<_> = questions.map(|parts| (parts[0], parts[1], parts.get(2).copied())).collect();
                told_misuse(self.require_input(at(words[0]), &questions, state, now_ns))
            }
            "progress" => {
                let [request, progress, message] = words(rest);
                let progress = progress.unwrap().parse().unwrap();
                told_misuse(self.progress(at(request.unwrap()), progress, None, message, now_ns))
            }
            "notify" => {
                let [method, params] = words(rest);
                told_misuse(self.notify(method.unwrap(), params, now_ns))
            }
            "ask" => {
                let [options, method, params] = words(rest);
                let options = request_options(options.filter(|options| *options != "-").unwrap_or_default());
                told_misuse(self.ask(method.unwrap(), params, options, now_ns))
            }
            "changed" => {
                let change = match rest {
                    "tools" => Change::Tools,
                    "prompts" => Change::Prompts,
                    "resources" => Change::Resources,
                    uri => Change::Resource { uri },
                };
                told_misuse(self.changed(change, now_ns))
            }
            "unsubscribe" => told_misuse(self.unsubscribe(at(rest), now_ns)),
            "cancel" => told_misuse(self.cancel(CallId(rest.parse().unwrap()), None, now_ns)),
            other => panic!("no such command: {other}"),
        }
    }
}
