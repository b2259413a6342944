//! The loop: a person says something, the model answers or makes calls, what comes back is told to it, until it has answered.

use std::collections::{HashMap, VecDeque};

use tap_models::{Call, ModelTurn, Part, Prices, Stop, Turn};

use crate::budget::{Limit, Limits, Spent};

/// How the loop behaves.
#[derive(Debug, Clone, Default)]
pub struct AgentOptions {
    /// What bounds it.
    pub limits: Limits,
    /// What tokens cost, where somebody said so.
    pub prices: Option<Prices>,
    /// Whether the model is told of a call that the rules or a person refused, and may go on without it. Else that ends the run.
    pub goes_on_when_refused: bool,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The model is asked, with all turns until now.
    Ask,
    /// A call is made. Several may be under way at a time.
    Call {
        /// Under which number it is told what came back.
        number: u64,
        /// The call.
        call: Call,
    },
    /// All calls that are under way are given up.
    GiveUp,
    /// It is over. The next thing is what the person says.
    End(Ending),
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The model has answered: the text is its last turn's.
    Finished,
    /// A call was refused by rules or by a person, which one and why.
    Refused(String),
    /// A bound was reached.
    Limited(Limit),
    /// The model will not answer.
    ModelRefused,
    /// There is no answer of the model's.
    Failed(String),
    /// The person gave up.
    Cancelled,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOutcome {
    /// The result of `tools/call`, or one that says what went wrong.
    pub result: Vec<u8>,
    /// Why rules or a person did not let it be made.
    pub refused: Option<String>,
}

/// A call of the round.
#[derive(Debug)]
struct Open {
    number: u64,
    call: Call,
    outcome: Option<Vec<u8>>,
}

/// See the head of the crate.
#[derive(Debug)]
pub struct Agent {
    options: AgentOptions,
    turns: Vec<Turn>,
    spent: Spent,
    effects: VecDeque<Effect>,
    /// The calls of this round, in the model's order.
    open: Vec<Open>,
    refused: Option<String>,
    n_calls: u64,
    /// By name and arguments: what came back last, and how often that did.
    came_back: HashMap<(String, String), (Vec<u8>, u32)>,
    is_busy: bool,
    /// Whether the model's answer is waited for.
    is_asking: bool,
}

impl Agent {
    /// An agent to whom nothing was said.
    #[must_use]
    pub fn new(options: AgentOptions) -> Self {
        Self {
            options,
            turns: Vec::new(),
            spent: Spent::default(),
            effects: VecDeque::new(),
            open: Vec::new(),
            refused: None,
            n_calls: 0,
            came_back: HashMap::new(),
            is_busy: false,
            is_asking: false,
        }
    }

    /// The next thing to do. To be asked after every call of a method that changes anything, until there is none.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// All that was said.
    #[must_use]
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// What was spent.
    #[must_use]
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// Whether a question is being answered.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// The model's last text; empty where it said none.
    #[must_use]
    pub fn text(&self) -> &str {
        let texts = self.turns.iter().rev().map(|turn| match turn {
            Turn::Model(turn) => turn.text.as_str(),
            Turn::User(_) | Turn::Results(_) => "",
        });
        texts.into_iter().next().unwrap_or_default()
    }

    /// When [`tick`](Self::tick) is to be called at the latest, nanoseconds.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let limit_ns = self.options.limits.time_ns.filter(|_| self.is_busy)?;
        Some(self.spent.since_ns.saturating_add(limit_ns))
    }

    /// The person says something. What is under way for what was said before is given up.
    pub fn say(&mut self, parts: Vec<Part>, now_ns: u64) {
        if self.is_busy {
            self.cancel();
            self.effects.retain(|effect| !matches!(effect, Effect::End(_)));
        }
        self.turns.push(Turn::User(parts));
        (self.spent.rounds, self.spent.calls, self.spent.since_ns) = (0, 0, now_ns);
        self.came_back.clear();
        self.is_busy = true;
        self.ask(now_ns);
    }

    /// The model answered.
    pub fn answered(&mut self, turn: ModelTurn, now_ns: u64) {
        if !std::mem::take(&mut self.is_asking) {
            return;
        }
        self.spent.add(turn.usage, self.options.prices);
        let (stop, calls) = (turn.stop.clone(), turn.calls.clone());
        let to_answer: Vec<Call> = turn.to_answer().collect();
        self.turns.push(Turn::Model(turn));
        let ending = match stop {
            // What was cut may have lost half of a call: none of it is made.
            Stop::Length => Some(Ending::Limited(Limit::Output)),
            Stop::Refused => Some(Ending::ModelRefused),
            Stop::End | Stop::ToolCalls | Stop::Other(_) => calls.is_empty().then_some(Ending::Finished),
        };
        if let Some(ending) = ending {
            return self.end_without(to_answer, ending);
        }
        let all = to_answer.clone();
        for (call, to_answer) in calls.into_iter().zip(to_answer) {
            self.n_calls += 1;
            let number = self.n_calls;
            let outcome = match call {
                Err(wrong) => Some(error(&format!("{wrong}; nothing was called"))),
                Ok(call) => match self.why_not(&call) {
                    Some(Ok(told)) => {
                        if let Some((_, n_same)) = self.came_back.get_mut(&key(&call)) {
                            *n_same += 1;
                        }
                        Some(told)
                    }
                    Some(Err(limit)) => {
                        self.open.clear();
                        return self.end_without(all, Ending::Limited(limit));
                    }
                    None => {
                        self.spent.calls += 1;
                        self.effects.push_back(Effect::Call { number, call });
                        None
                    }
                },
            };
            self.open.push(Open { number, call: to_answer, outcome });
        }
        self.go_on(now_ns);
    }

    /// What the model is told instead of a result, or that the run ends instead.
    fn why_not(&self, call: &Call) -> Option<Result<Vec<u8>, Limit>> {
        let limits = &self.options.limits;
        let n_same = self.came_back.get(&key(call)).map_or(0, |(_, n)| *n);
        if limits.repeats > 0 && limits.repeats.saturating_mul(2) <= n_same {
            return Some(Err(Limit::Repeats));
        }
        if limits.repeats > 0 && limits.repeats <= n_same {
            return Some(Ok(error(&format!(
                "`{}` was called {n_same} times with these arguments, and the same came back each time; it was not called again. Do something else.",
                call.name
            ))));
        }
        (limits.calls <= self.spent.calls).then_some(Err(Limit::Calls(self.spent.calls)))
    }

    /// There is no answer of the model's.
    pub fn failed(&mut self, what: String) {
        if self.is_busy {
            self.end(Ending::Failed(what));
        }
    }

    /// A call came back.
    pub fn came(&mut self, number: u64, outcome: CallOutcome, now_ns: u64) {
        let Some(open) = self.open.iter_mut().find(|open| open.number == number && open.outcome.is_none()) else {
            return;
        };
        let seen = self.came_back.entry(key(&open.call)).or_insert_with(|| (outcome.result.clone(), 0));
        if seen.0 == outcome.result {
            seen.1 += 1;
        } else {
            *seen = (outcome.result.clone(), 1);
        }
        open.outcome = Some(outcome.result);
        if let Some(why) = outcome.refused {
            self.refused.get_or_insert(format!("{}: {why}", open.call.name));
        }
        self.go_on(now_ns);
    }

    /// The person gives up: what is under way is, and what was said stays.
    pub fn cancel(&mut self) {
        if self.is_busy {
            self.end(Ending::Cancelled);
        }
    }

    /// Looks whether it takes too long.
    pub fn tick(&mut self, now_ns: u64) {
        if let (true, Some(limit_ns)) = (self.is_busy, self.options.limits.time_ns)
            && limit_ns <= now_ns.saturating_sub(self.spent.since_ns)
        {
            self.end(Ending::Limited(Limit::Time(limit_ns)));
        }
    }

    /// Once all calls of the round came back, the model is told.
    fn go_on(&mut self, now_ns: u64) {
        if self.open.iter().any(|open| open.outcome.is_none()) {
            return;
        }
        self.take_results();
        match self.refused.take() {
            Some(why) if !self.options.goes_on_when_refused => self.end(Ending::Refused(why)),
            _ => self.ask(now_ns),
        }
    }

    /// Ends with calls of the model's that are not made.
    fn end_without(&mut self, calls: Vec<Call>, ending: Ending) {
        for call in calls {
            self.open.push(Open {
                number: 0,
                call,
                outcome: Some(error("the call was not made, for the run ended before")),
            });
        }
        self.end(ending);
    }

    fn take_results(&mut self) {
        let given_up = || error("the call was given up; what became of it is not known");
        let results = self.open.drain(..).map(|open| (open.call, open.outcome.unwrap_or_else(given_up)));
        let results: Vec<_> = results.collect();
        if !results.is_empty() {
            self.turns.push(Turn::Results(results));
        }
    }

    fn ask(&mut self, now_ns: u64) {
        match self.spent.reached(&self.options.limits, now_ns) {
            Some(limit) => self.end(Ending::Limited(limit)),
            None => {
                self.spent.rounds += 1;
                self.is_asking = true;
                self.effects.push_back(Effect::Ask);
            }
        }
    }

    fn end(&mut self, ending: Ending) {
        self.effects.clear();
        if self.is_busy && ending != Ending::Finished {
            self.effects.push_back(Effect::GiveUp);
        }
        // Each call has a result, so that the conversation can go on.
        self.take_results();
        self.refused = None;
        (self.is_busy, self.is_asking) = (false, false);
        self.effects.push_back(Effect::End(ending));
    }
}

fn key(call: &Call) -> (String, String) {
    (call.name.clone(), call.arguments.clone())
}

/// A result that says what went wrong.
fn error(what: &str) -> Vec<u8> {
    serde_json::json!({"content": [{"type": "text", "text": what}], "isError": true}).to_string().into_bytes()
}

#[cfg(test)]
mod tests;
