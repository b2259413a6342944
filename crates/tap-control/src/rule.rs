//! Rules: which messages, which of these, and what happens to them. A breakpoint is one that holds; a fault makes
//! something go wrong.

use tap_filter::Filter;

/// What happens to a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// It is held until somebody says what becomes of it, or for the time limit.
    Hold,
    /// It is told, and goes on.
    Log(String),
    /// A value in it is another one, as JSON, and it goes on.
    Set(Place, Vec<u8>),
    /// A member of it is not there, and it goes on.
    Unset(Place),
    /// It goes on later.
    Delay(Delay),
    /// It does not go on.
    Drop,
    /// A request is answered with this error, in the other side's place; an answer becomes this error.
    Error {
        /// The code.
        code: i64,
        /// The message of the error.
        message: String,
    },
    /// A call of a tool is answered with a result that says `isError` and this text; an answer becomes that.
    ToolError(String),
    /// It goes on twice.
    Duplicate,
    /// It goes on after the next message of its direction, or after a second when none comes.
    Reorder,
    /// Only its first bytes go on, so many or half of them.
    Truncate(Option<usize>),
    /// Some of its bytes are other ones.
    Corrupt,
    /// It goes on a little at a time: so many bytes a second.
    Slow(u64),
    /// A line that is no message goes before it.
    Garbage(String),
    /// The stream that it is on ends before it.
    Close,
    /// The server is killed before it goes on.
    Crash,
    /// Over HTTP the event stream ends before it, as if that were all.
    Cut,
    /// Over HTTP the client gets this status: in the server's place, or with its answer.
    Status(u16),
}

/// How long something is delayed, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    /// Always so long.
    Fixed(u64),
    /// Between these, each as likely.
    Range(u64, u64),
    /// Around a mean, with a deviation; never below 0.
    Normal(u64, u64),
    /// With a mean, mostly shorter and seldom much longer.
    Exponential(u64),
}

/// A step of a [`Place`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The member with this key.
    Member(String),
    /// The element at this index, from 0.
    Element(usize),
}

/// A place in a message, from its outermost object on.
pub type Place = Vec<Step>;

/// Which of the messages that fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct When {
    /// So many of the first ones are left alone.
    pub after: u64,
    /// Of those that follow each so-manieth: 1 is all.
    pub every: u64,
    /// At most so many.
    pub limit: Option<u64>,
    /// Each with this probability, from 0 to 1.
    pub chance: Option<f64>,
    /// Only so long after the rule was set, nanoseconds.
    pub lasts_ns: Option<u64>,
}

impl Default for When {
    fn default() -> Self {
        Self { after: 0, every: 1, limit: None, chance: None, lasts_ns: None }
    }
}

impl When {
    /// Only the first one.
    #[must_use]
    pub fn once() -> Self {
        Self { limit: Some(1), ..Self::default() }
    }
}

/// What is to happen to which messages.
///
/// It looks at a call once: at the request if that fits, else at the answer.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Which messages.
    pub filter: Filter,
    /// Which of these.
    pub when: When,
    /// What happens to them.
    pub action: Action,
    /// As it was written: of a breakpoint the filter, of a fault all of it.
    pub text: String,
}

/// What a rule is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// To look and to change.
    Breakpoint,
    /// To make things go wrong.
    Fault,
}

/// How a rule is to hold.
#[derive(Debug, Clone)]
pub struct RuleOptions {
    /// What it is there for.
    pub kind: RuleKind,
    /// Whether what it holds stays held when no viewer is attached.
    pub stays: bool,
    /// Whether what it holds holds everything behind it in the same direction.
    pub whole_stream: bool,
    /// Who set it.
    pub by: String,
    /// Whether it goes when it was hit once, and with everything that is let go: a step, or `run to`.
    pub temporary: bool,
}

/// What is told of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleInfo {
    /// Its number, from 1.
    pub number: u32,
    /// What it is there for.
    pub kind: RuleKind,
    /// As it was written.
    pub text: String,
    /// What it does.
    pub action: Action,
    /// Which of the messages that fit.
    pub when: When,
    /// Whether it is on.
    pub on: bool,
    /// Messages that fitted.
    pub n_fitted: u64,
    /// Of these, to which something was done.
    pub n_hits: u64,
    /// Whether what it holds stays held when no viewer is attached.
    pub stays: bool,
    /// Who set it.
    pub by: String,
}

/// A rule that is set.
#[derive(Debug)]
pub(crate) struct Armed {
    pub(crate) number: u32,
    pub(crate) rule: Rule,
    pub(crate) options: RuleOptions,
    pub(crate) on: bool,
    pub(crate) n_fitted: u64,
    pub(crate) n_hits: u64,
    pub(crate) set_at_ns: u64,
}

impl Armed {
    pub(crate) fn info(&self) -> RuleInfo {
        RuleInfo {
            number: self.number,
            kind: self.options.kind,
            text: self.rule.text.clone(),
            action: self.rule.action.clone(),
            when: self.rule.when,
            on: self.on,
            n_fitted: self.n_fitted,
            n_hits: self.n_hits,
            stays: self.options.stays,
            by: self.options.by.clone(),
        }
    }

    /// Who does what it does, as recordings have it.
    pub(crate) fn by(&self) -> String {
        match self.options.kind {
            RuleKind::Breakpoint => format!("breakpoint {}", self.number),
            RuleKind::Fault => format!("fault {}", self.rule.text),
        }
    }
}

fn seconds(ns: u64) -> String {
    match ns {
        ns if ns % 1_000_000_000 == 0 => format!("{}s", ns / 1_000_000_000),
        ns if ns % 1_000_000 == 0 => format!("{}ms", ns / 1_000_000),
        ns => format!("{}us", ns / 1_000),
    }
}

/// As [`read_action`](crate::read_action) reads it.
impl std::fmt::Display for Action {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hold => out.write_str("hold"),
            Self::Log(text) if text.is_empty() => out.write_str("log"),
            Self::Log(text) => write!(out, "log:{text}"),
            Self::Set(place, value) => write!(out, "set:{}={}", shown(place), String::from_utf8_lossy(value)),
            Self::Unset(place) => write!(out, "unset:{}", shown(place)),
            Self::Delay(Delay::Fixed(ns)) => write!(out, "delay:{}", seconds(*ns)),
            Self::Delay(Delay::Range(from, to)) => write!(out, "delay:{}..{}", seconds(*from), seconds(*to)),
            Self::Delay(Delay::Normal(mean, deviation)) => {
                write!(out, "delay:normal({},{})", seconds(*mean), seconds(*deviation))
            }
            Self::Delay(Delay::Exponential(mean)) => write!(out, "delay:exponential({})", seconds(*mean)),
            Self::Drop => out.write_str("drop"),
            Self::Error { code, message } => write!(out, "error:{code}:{message}"),
            Self::ToolError(text) => write!(out, "tool_error:{text}"),
            Self::Duplicate => out.write_str("duplicate"),
            Self::Reorder => out.write_str("reorder"),
            Self::Truncate(None) => out.write_str("truncate"),
            Self::Truncate(Some(n_bytes)) => write!(out, "truncate:{n_bytes}"),
            Self::Corrupt => out.write_str("corrupt"),
            Self::Slow(rate) => write!(out, "slow:{rate}/s"),
            Self::Garbage(text) => write!(out, "garbage:{text}"),
            Self::Close => out.write_str("close"),
            Self::Crash => out.write_str("crash"),
            Self::Cut => out.write_str("cut"),
            Self::Status(status) => write!(out, "status:{status}"),
        }
    }
}

fn shown(place: &[Step]) -> String {
    let mut text = String::new();
    for step in place {
        match step {
            Step::Member(key)
                if key.contains(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '/'))) =>
            {
                text.push_str(&format!(".\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\"")));
            }
            Step::Member(key) => text.push_str(&format!(".{key}")),
            Step::Element(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

/// As the grammar of faults has it; nothing for all.
impl std::fmt::Display for When {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut words = Vec::new();
        if self.after > 0 {
            words.push(format!("after:{}", self.after));
        }
        if self.every > 1 {
            words.push(format!("every:{}", self.every));
        }
        match self.limit {
            Some(1) => words.push("once".into()),
            Some(limit) => words.push(format!("limit:{limit}")),
            None => {}
        }
        words.extend(self.chance.map(|chance| format!("p:{chance}")));
        words.extend(self.lasts_ns.map(|ns| format!("for:{}", seconds(ns))));
        out.write_str(&words.join(" "))
    }
}
