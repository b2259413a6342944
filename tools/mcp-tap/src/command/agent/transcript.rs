//! What is shown of a run: what the model says on stdout, all else on stderr; or everything on stdout as JSON, line by line.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tap_agent::{CallOutcome, Ending, Spent};
use tap_jsonrpc::Node;
use tap_models::{Call, ModelTurn};

use super::{named, why};
use crate::arguments::{Agent, Global};
use crate::failure::Failure;
use crate::output::{Output, Style};
use crate::text::{counted, cut, duration, shown};

/// How much of arguments and results is shown, columns.
const SHOWN: usize = 100;

/// From when on it is shown that something takes its time.
const SLOW: Duration = Duration::from_secs(2);

const SPINNER: [char; 4] = ['|', '/', '-', '\\'];

/// See the head of this file.
pub(super) struct Transcript {
    out: Output,
    json: bool,
    quiet: bool,
    /// Whether stderr is a terminal, on which a line can be written over.
    is_live: bool,
    n_ticks: usize,
    has_spinner: bool,
    since: Instant,
    /// Whether the model's text stands at the beginning of a line.
    at_start: bool,
    /// Whether the answer that comes now was shown as it came.
    is_shown: bool,
}

impl Transcript {
    pub(super) fn new(global: &Global, arguments: &Agent) -> Self {
        Self {
            out: Output::new(global),
            json: arguments.json,
            quiet: global.quiet,
            is_live: std::io::stderr().is_terminal() && !arguments.json && !global.quiet,
            n_ticks: 0,
            has_spinner: false,
            since: Instant::now(),
            at_start: true,
            is_shown: false,
        }
    }

    fn event(&mut self, value: &Value) -> Result<(), Failure> {
        self.out.json(value)?;
        self.out.flush()?;
        Ok(())
    }

    fn aside(&mut self, text: &str) -> Result<(), Failure> {
        self.clear()?;
        if !self.at_start {
            writeln!(self.out)?;
            self.out.flush()?;
            self.at_start = true;
        }
        let _ = writeln!(std::io::stderr(), "{text}");
        Ok(())
    }

    fn clear(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.has_spinner) {
            write!(std::io::stderr(), "\r\x1b[K")?;
        }
        Ok(())
    }

    /// A line is waited for.
    pub(super) fn prompt(&mut self) -> Result<(), Failure> {
        if !self.json {
            self.clear()?;
            write!(std::io::stderr(), "\n> ")?;
        }
        Ok(())
    }

    /// The person said something.
    pub(super) fn user(&mut self, text: &str) -> Result<(), Failure> {
        self.since = Instant::now();
        if self.json {
            self.event(&json!({"user": text}))?;
        }
        Ok(())
    }

    /// The model says more.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Failure> {
        if self.json {
            return self.event(&json!({"text": text}));
        }
        if !self.quiet {
            self.clear()?;
            self.is_shown = true;
            write!(self.out, "{}", shown(text, true))?;
            self.out.flush()?;
            self.at_start = text.ends_with('\n');
        }
        Ok(())
    }

    /// The model answered.
    pub(super) fn answered(&mut self, turn: &ModelTurn) -> Result<(), Failure> {
        self.since = Instant::now();
        if self.json {
            let usage =
                turn.usage.map(|usage| json!({"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}));
            return self.event(
                &json!({"answered": turn.text, "stop": turn.stop.name(), "calls": turn.calls.len(), "usage": usage}),
            );
        }
        let was_shown = std::mem::take(&mut self.is_shown);
        if self.quiet {
            return Ok(());
        }
        self.clear()?;
        if !was_shown && !turn.text.is_empty() {
            write!(self.out, "{}", shown(&turn.text, true))?;
            self.at_start = turn.text.ends_with('\n');
        }
        if !self.at_start {
            writeln!(self.out)?;
            self.at_start = true;
        }
        self.out.flush()?;
        Ok(())
    }

    /// A call is made.
    pub(super) fn called(&mut self, number: u64, call: &Call) -> Result<(), Failure> {
        if self.json {
            return self.event(&json!({"call": number, "tool": call.name, "arguments": parsed(&call.arguments)}));
        }
        if self.quiet {
            return Ok(());
        }
        let text = format!("→ {} {}", shown(&call.name, false), cut(&shown(&call.arguments, false), SHOWN));
        let text = self.out.styled(Style::Dim, &text);
        self.aside(&text)
    }

    /// A call came back.
    pub(super) fn came(&mut self, number: u64, outcome: &CallOutcome, took: Option<Duration>) -> Result<(), Failure> {
        let ns = took.map_or(0, |took| u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        let node = Node::new(&outcome.result);
        if self.json {
            let result = parsed(&String::from_utf8_lossy(&outcome.result));
            return self
                .event(&json!({"came": number, "result": result, "refused": outcome.refused, "ms": ns as f64 / 1e6}));
        }
        if self.quiet {
            return Ok(());
        }
        let has_failed = node.get("isError").and_then(Node::as_bool) == Some(true);
        let blocks = node.get("content").into_iter().flat_map(Node::elements);
        let words: Vec<String> = blocks
            .map(|block| match block.get("text").and_then(Node::text) {
                Some(text) => text.into_owned(),
                None => format!("[{}]", block.get("type").and_then(Node::text).unwrap_or_default()),
            })
            .collect();
        let text = cut(&shown(&words.join(" "), false), SHOWN);
        let text = format!("← {}{text}  ({})", if has_failed { "failed: " } else { "" }, duration(ns));
        let text = self.out.styled(if has_failed { Style::Bad } else { Style::Dim }, &text);
        self.aside(&text)
    }

    /// Something still goes on.
    pub(super) fn waiting<'a>(
        &mut self,
        asks_model: bool,
        calls: impl Iterator<Item = &'a (String, Instant)>,
    ) -> Result<(), Failure> {
        if !self.is_live {
            return Ok(());
        }
        let mut slow: Vec<String> = calls
            .filter(|(_, since)| SLOW <= since.elapsed())
            .map(|(name, since)| format!("{} {} s", shown(name, false), since.elapsed().as_secs()))
            .collect();
        if slow.is_empty() && asks_model && SLOW <= self.since.elapsed() && self.at_start {
            slow.push(format!("the model {} s", self.since.elapsed().as_secs()));
        }
        if slow.is_empty() || !self.at_start {
            return Ok(());
        }
        self.n_ticks += 1;
        let sign = SPINNER.get(self.n_ticks % SPINNER.len()).copied().unwrap_or(' ');
        write!(std::io::stderr(), "\r\x1b[K{sign} {}", cut(&slow.join(", "), SHOWN))?;
        std::io::stderr().flush()?;
        self.has_spinner = true;
        Ok(())
    }

    /// Something is not as it was.
    pub(super) fn different(&mut self, what: &str) -> Result<(), Failure> {
        if self.json {
            return self.event(&json!({ "different": what }));
        }
        let text = self.out.styled(Style::Bad, &format!("≠ {}", shown(what, false)));
        self.aside(&text)
    }

    /// Something that was said makes no sense.
    pub(super) fn problem(&mut self, what: &str) -> Result<(), Failure> {
        if self.json {
            return self.event(&json!({ "problem": what }));
        }
        self.aside(&format!("mcp-tap: {}", shown(what, false)))
    }

    /// It is over.
    pub(super) fn ended(&mut self, ending: &Ending, text: &str, spent: &Spent) -> Result<(), Failure> {
        if self.json {
            return self.event(&json!({"ending": named(ending), "why": why(ending), "text": text, "rounds": spent.rounds,
                "calls": spent.calls, "inputTokens": spent.usage.input_tokens, "outputTokens": spent.usage.output_tokens,
                "cost": spent.cost}));
        }
        self.clear()?;
        if self.quiet && *ending == Ending::Finished {
            writeln!(self.out, "{}", shown(text, true))?;
        }
        self.out.flush()?;
        match why(ending) {
            Some(why) => self.aside(&format!("mcp-tap: {}", shown(&why, false)))?,
            None if *ending == Ending::Cancelled => self.aside("mcp-tap: given up")?,
            None => {}
        }
        if !self.quiet {
            let mut text =
                format!("{}, {}", counted(u64::from(spent.rounds), "round"), counted(u64::from(spent.calls), "call"));
            if spent.tokens() > 0 {
                text.push_str(&format!(", {} tokens in, {} out", spent.usage.input_tokens, spent.usage.output_tokens));
            }
            if let Some(cost) = spent.cost {
                text.push_str(&format!(", cost {cost:.4}"));
            }
            let text = self.out.styled(Style::Dim, &text);
            self.aside(&text)?;
        }
        Ok(())
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}
