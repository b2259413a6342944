//! Breakpoints and held messages of a live session: what waits, for how long, and what can be done about it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use tap_text::{counted, duration};

use super::overlay::inset;
use crate::live::{Again, Asks, BesideLine, HeldLine, LiveHere, LivePane, RuleLine, read_asked};
use crate::model::Inspector;
use crate::open::Open;
use crate::prompt::Prompt;
use crate::text::{cell, fitted, span};

/// From this width on lists stand beside the message.
const COLUMNS_FROM: u16 = 120;

/// From this width on two versions of a message stand beside each other.
const BESIDE_FROM: usize = 90;

/// How wide the lists are then.
const LISTS: u16 = 50;

/// Where there is little room: how many lines a list has at most.
const LIST_LINES: usize = 4;

/// After so long many clients give a request up: the default of the TypeScript SDK, nanoseconds.
const GIVES_UP_NS: u64 = 60_000_000_000;

/// What is known of a message as of now.
struct Clock {
    waits_ns: u64,
    goes_in_ns: Option<u64>,
}

impl Clock {
    fn of(line: &HeldLine, here: &LiveHere, now_unix_ns: u64) -> Self {
        let since_ns = now_unix_ns.saturating_sub(here.seen_unix_ns);
        Self {
            waits_ns: line.waits_ns.saturating_add(since_ns),
            goes_in_ns: line.goes_in_ns.map(|ns| ns.saturating_sub(since_ns)),
        }
    }
}

/// A time that runs, in whole seconds: it is not to flicker.
fn seconds(ns: u64) -> String {
    match ns / 1_000_000_000 {
        s @ 0..60 => format!("{s}s"),
        s @ 60..3_600 => format!("{}m {:02}s", s / 60, s % 60),
        s => format!("{}h {:02}m", s / 3_600, s / 60 % 60),
    }
}

impl Inspector {
    pub(super) fn draw_held(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let Some(here) = &open.debug.here else {
            let lines = vec![
                Line::default(),
                Line::from(span(&format!("  {}", self.why_away()), self.theme.dim)),
                Line::from(span("  messages are held in live sessions on stdio: `mcp-tap run`", self.theme.dim)),
            ];
            frame.render_widget(Paragraph::new(lines), area);
            return;
        };
        if area.width >= COLUMNS_FROM {
            self.draw_held_in_columns(frame, area, open, here);
        } else {
            self.draw_held_in_rows(frame, area, open, here);
        }
    }

    fn draw_held_in_rows(&self, frame: &mut Frame<'_>, area: Rect, open: &Open, here: &LiveHere) {
        let width = usize::from(area.width);
        let lines_of = |n: usize| u16::try_from(n.clamp(1, LIST_LINES)).unwrap_or(1);
        let foot = if area.height >= 16 { 5 } else { 0 };
        let [rules, between, held, under, message, end] = Layout::vertical([
            Constraint::Length(1 + lines_of(here.rules.len())),
            Constraint::Length(1),
            Constraint::Length(lines_of(here.held.len())),
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(foot),
        ])
        .areas(area);
        let mut lines = vec![self.rules_head(here, width)];
        lines.extend(self.rule_lines(open, usize::from(rules.height) - 1, width, false));
        frame.render_widget(Paragraph::new(lines), rules);
        frame.render_widget(Paragraph::new(self.rule(width)), between);
        frame.render_widget(Paragraph::new(self.held_lines(open, here, usize::from(held.height), width)), held);
        frame.render_widget(Paragraph::new(self.rule(width)), under);
        self.draw_versions(frame, message, open);
        let mut lines = vec![self.checks(open, width), self.rule(width)];
        lines.extend(self.what_happens(open, here, width).into_iter().take(3));
        frame.render_widget(Paragraph::new(lines), end);
    }

    fn draw_held_in_columns(&self, frame: &mut Frame<'_>, area: Rect, open: &Open, here: &LiveHere) {
        let [left, line, right] =
            Layout::horizontal([Constraint::Length(LISTS), Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        let bar: Vec<_> = (0..line.height).map(|_| Line::from(Span::styled("│", self.theme.frame))).collect();
        frame.render_widget(Paragraph::new(bar), line);
        let width = usize::from(left.width);
        let height = usize::from(left.height);
        let mut lines = vec![self.rules_head(here, width), self.rule(width)];
        lines.extend(self.rule_lines(open, (height / 3).max(2), width, true));
        lines.push(self.rule(width));
        lines.push(Line::from(span(" HELD, oldest first", self.theme.bold)));
        lines.push(self.rule(width));
        lines.extend(self.held_lines(open, here, (height / 4).max(2), width));
        lines.push(self.rule(width));
        lines.push(Line::from(span(" what happened", self.theme.bold)));
        let room = height.saturating_sub(lines.len());
        let news = open.debug.news.iter().skip(open.debug.news.len().saturating_sub(room));
        lines.extend(
            news.map(|text| fitted(Line::from(span(&format!("  {text}"), self.theme.dim)), width, Style::new())),
        );
        frame.render_widget(Paragraph::new(lines), left);
        let [head, message, end] =
            Layout::vertical([Constraint::Length(3), Constraint::Fill(1), Constraint::Length(6)]).areas(right);
        let width = usize::from(right.width);
        frame.render_widget(Paragraph::new(self.held_head(open, here, width)), head);
        self.draw_versions(frame, message, open);
        let mut lines = vec![self.rule(width), self.checks(open, width), self.rule(width)];
        lines.extend(self.what_happens(open, here, width));
        frame.render_widget(Paragraph::new(lines), end);
    }

    fn rules_head(&self, here: &LiveHere, width: usize) -> Line<'static> {
        let is_on = here.rules.iter().any(|rule| rule.on && !rule.is_fault);
        let (state, style) = match (here.rules.iter().any(|rule| !rule.is_fault), is_on) {
            (false, _) => ("none; i sets one", self.theme.dim),
            (true, true) => ("on (I turns all off)", self.theme.good),
            (true, false) => ("all off (I turns them on again)", self.theme.warning),
        };
        let spans = vec![span(" BREAKPOINTS  ", self.theme.bold), span(state, style)];
        fitted(Line::from(spans), width, Style::new())
    }

    fn rule_lines(&self, open: &Open, height: usize, width: usize, two: bool) -> Vec<Line<'static>> {
        let rules = open.debug.rules();
        let here = rules.iter().position(|rule| Some(rule.number) == open.debug.rule).unwrap_or_default();
        let each = if two { 2 } else { 1 };
        let room = (height / each).max(1);
        let first = (here + 1).saturating_sub(room);
        let mut lines = Vec::new();
        for (index, rule) in rules.iter().enumerate().skip(first).take(room) {
            let style = match (index == here, open.debug.pane) {
                (true, LivePane::Rules) => self.theme.cursor,
                (true, _) => self.theme.cursor_elsewhere,
                (false, _) => Style::new(),
            };
            let sign = if rule.on { span("●", self.theme.good) } else { span("○", self.theme.dim) };
            let number = span(&format!(" {:>2} ", rule.number), self.theme.dim);
            let told = about_rule(rule);
            if two {
                lines.push(fitted(
                    Line::from(vec![number, sign, span(&format!(" {}", rule.text), Style::new())]),
                    width,
                    style,
                ));
                lines.push(Line::from(span(&format!("      {told}"), self.theme.dim)));
            } else {
                let text = (width / 2).saturating_sub(6);
                let text = cell(&format!(" {}", rule.text), text, Style::new());
                lines.push(fitted(
                    Line::from(vec![number, sign, text, span(&format!(" {told}"), self.theme.dim)]),
                    width,
                    style,
                ));
            }
        }
        lines
    }

    fn held_lines(&self, open: &Open, here: &LiveHere, height: usize, width: usize) -> Vec<Line<'static>> {
        let held = &here.held;
        if held.is_empty() {
            return vec![Line::from(span(" nothing is held", self.theme.dim))];
        }
        let chosen = held.iter().position(|line| Some(line.number) == open.debug.chosen).unwrap_or_default();
        let first = (chosen + 1).saturating_sub(height.max(1));
        let mut lines = Vec::new();
        for (index, line) in held.iter().enumerate().skip(first).take(height.max(1)) {
            let style = match (index == chosen, open.debug.pane) {
                (true, LivePane::Held) => self.theme.cursor,
                (true, _) => self.theme.cursor_elsewhere,
                (false, _) => Style::new(),
            };
            let clock = Clock::of(line, here, self.now_unix_ns);
            let (sign, tone) = match (line.why.as_str(), open.debug.drafts.contains_key(&line.number)) {
                (_, true) => ("~", self.theme.warning),
                ("held", _) => ("◆", self.theme.warning),
                _ => ("·", self.theme.dim),
            };
            let goes = match (clock.goes_in_ns, line.behind) {
                (Some(ns), _) => format!("goes on in {}", seconds(ns)),
                (None, Some(behind)) => format!("waits for {behind}"),
                (None, None) => "stays".into(),
            };
            let room = width.saturating_sub(34).max(10);
            let spans = vec![
                span(&format!(" {sign} "), tone),
                span(&format!("{:<3}{} ", line.number, if line.to_server { "->" } else { "<-" }), self.theme.bold),
                cell(&line.what, room, Style::new()),
                span(&format!(" {} ", seconds(clock.waits_ns)), self.theme.warning),
                span(&goes, self.theme.dim),
            ];
            lines.push(fitted(Line::from(spans), width, style));
        }
        lines
    }

    /// Which message is looked at, and how far its clock is.
    fn held_head(&self, open: &Open, here: &LiveHere, width: usize) -> Vec<Line<'static>> {
        let Some(line) = open.debug.chosen_line() else {
            return vec![Line::from(span(" nothing is held", self.theme.dim)), Line::default(), self.rule(width)];
        };
        let clock = Clock::of(line, here, self.now_unix_ns);
        let id = line.id.as_ref().map(|id| format!("   id {id}")).unwrap_or_default();
        let to = if line.to_server { "server" } else { "client" };
        let head = Line::from(vec![
            span(&format!(" {} to {to}   ", line.number), self.theme.bold),
            span(&line.what, Style::new()),
            span(&id, self.theme.dim),
            span(&format!("   {} {}", line.why, seconds(clock.waits_ns)), self.theme.warning),
            span(
                &clock.goes_in_ns.map(|ns| format!(" of {}", seconds(ns + clock.waits_ns))).unwrap_or_default(),
                self.theme.dim,
            ),
        ]);
        let room = width.saturating_sub(3);
        let bar = match clock.goes_in_ns {
            Some(left_ns) => {
                let all_ns = u128::from(left_ns) + u128::from(clock.waits_ns);
                let at = (u128::from(clock.waits_ns) * room as u128 / all_ns.max(1)) as usize;
                let at = at.min(room.saturating_sub(1));
                format!(" ├{}●{}┤", "━".repeat(at), "─".repeat(room.saturating_sub(at + 2)))
            }
            None => format!(" ├{}┤", "─".repeat(room.saturating_sub(1))),
        };
        vec![fitted(head, width, Style::new()), Line::from(span(&bar, self.theme.frame)), self.rule(width)]
    }

    /// The message as it came, and beside it as it would go, where that is another one.
    fn draw_versions(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let debug = &open.debug;
        let width = usize::from(area.width);
        if debug.chosen_message().is_none() {
            let text = if debug.chosen.is_some() { " looking …" } else { "" };
            frame.render_widget(Paragraph::new(Line::from(span(text, self.theme.dim))), area);
            return;
        }
        let right = if debug.draft().is_some() { "to be sent (edited)" } else { "to be sent (a rule changed it)" };
        self.draw_two(frame, area, (&debug.lines, debug.top), ["original", right], width);
    }

    /// Two versions: beside each other where there is room, else one over the other where they differ; one where they do not.
    fn draw_two(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        (lines, top): (&[BesideLine], usize),
        [left, right]: [&str; 2],
        width: usize,
    ) {
        let differs = lines.iter().any(|line| line.differs);
        let mut drawn = Vec::new();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        if top > 0 {
            drawn.push(Line::from(span(&format!("   … {}", counted(top as u64, "line")), self.theme.dim)));
        }
        let shown = lines.iter().skip(top).take(usize::from(area.height));
        if !differs {
            drawn.extend(shown.map(|line| Line::from(span(&format!("   {}", text(&line.left)), Style::new()))));
        } else if width >= BESIDE_FROM {
            let room = (width.saturating_sub(5)) / 2;
            let bar = || Span::styled("│ ", self.theme.frame);
            drawn.push(Line::from(vec![
                cell(&format!("   {left}"), room + 3, self.theme.dim),
                bar(),
                span(right, self.theme.dim),
            ]));
            for line in shown {
                let (sign, a, b) = match line.differs {
                    true => (" ~ ", self.theme.bad, self.theme.good),
                    false => ("   ", Style::new(), Style::new()),
                };
                drawn.push(Line::from(vec![
                    span(sign, self.theme.warning),
                    cell(&text(&line.left), room, a),
                    bar(),
                    cell(&text(&line.right), room, b),
                ]));
            }
        } else {
            drawn.push(Line::from(vec![
                span(&format!(" - {left}"), self.theme.bad),
                span(&format!("   + {right}"), self.theme.good),
            ]));
            for line in shown {
                if !line.differs {
                    drawn.push(Line::from(span(&format!("   {}", text(&line.left)), Style::new())));
                    continue;
                }
                let one = |sign: &str, text: &Option<String>, style| {
                    text.as_ref().map(|text| Line::from(span(&format!(" {sign} {text}"), style)))
                };
                drawn.extend(one("-", &line.left, self.theme.bad));
                drawn.extend(one("+", &line.right, self.theme.good));
            }
        }
        frame.render_widget(Paragraph::new(drawn), area);
    }

    /// Whether what would be sent is right.
    fn checks(&self, open: &Open, width: usize) -> Line<'static> {
        let debug = &open.debug;
        let Some(message) = debug.chosen_message() else {
            return Line::default();
        };
        let after = debug.draft().map_or(&message.now, |draft| &draft.text);
        let line = match &*debug.problems {
            [] => {
                let is_call = debug
                    .chosen_line()
                    .is_some_and(|line| line.kind == "request" && line.method.as_deref() == Some("tools/call"));
                let schema = match (is_call, &message.schema) {
                    (true, Some(_)) => "   arguments fit inputSchema",
                    (true, None) => "   inputSchema not known",
                    (false, _) => "",
                };
                let n_bytes = |bytes: &[u8]| tap_control::compact(bytes).len().cast_signed();
                let grown = n_bytes(after) - n_bytes(&message.original);
                let grown = if grown == 0 { String::new() } else { format!("   {grown:+} bytes") };
                let text = format!(" valid JSON   id unchanged   method unchanged{schema}{grown}");
                Line::from(span(&text, self.theme.good))
            }
            [first, more @ ..] => {
                let more = if more.is_empty() { String::new() } else { format!("   and {} more", more.len()) };
                Line::from(span(&format!(" ✗ {first}{more}"), self.theme.bad))
            }
        };
        fitted(line, width, Style::new())
    }

    /// What can be done, and what happens if nobody does.
    fn what_happens(&self, open: &Open, here: &LiveHere, width: usize) -> Vec<Line<'static>> {
        let Some(line) = open.debug.chosen_line() else {
            return vec![Line::from(span(" what fits a breakpoint is held, and shown here", self.theme.dim))];
        };
        let clock = Clock::of(line, here, self.now_unix_ns);
        let sends = if open.debug.draft().is_some() { "a send the edited message" } else { "a send it" };
        let first = format!(" {sends}   u send the original   X drop it   R answer…   E error…   d delay…");
        let mut second = match clock.goes_in_ns {
            Some(ns) => format!(" in {} it goes on by itself   T stops the clock", seconds(ns)),
            None if line.behind.is_some() => " it goes on behind the message that it belongs to".into(),
            None => " it stays until it is let go   T has it go by itself in 50 s".into(),
        };
        if line.n_behind > 0 {
            second.push_str(&format!("   {} behind it", counted(line.n_behind, "message")));
        }
        let third = match (line.to_server, line.kind.as_str()) {
            (true, "request") if clock.waits_ns < GIVES_UP_NS => format!(
                " the client has waited {}; many give up after 60s, in ≈{}{}",
                seconds(clock.waits_ns),
                seconds(GIVES_UP_NS - clock.waits_ns),
                if line.has_token { "" } else { "   no progress token" },
            ),
            (true, "request") => format!(" the client has waited {}: it may have given up", seconds(clock.waits_ns)),
            _ => " when the last inspector closes, what was held for one goes on at once".into(),
        };
        [first, second, third]
            .iter()
            .map(|text| fitted(Line::from(span(text, Style::new())), width, Style::new()))
            .collect()
    }

    pub(super) fn draw_break(&self, frame: &mut Frame<'_>, area: Rect, prompt: &Prompt) {
        let about = "FILTER [once, every:5, after:3] [-> hold, delay:2s, error:-32603, …]; enter sets it";
        let mut below = vec![Line::from(span(about, self.theme.dim))];
        if !prompt.text.trim().is_empty()
            && let Err(error) = self.read_break(&prompt.text)
        {
            below = self.what_is_wrong(prompt, &error.at, &error.problem, error.help.as_deref());
        }
        below.extend(self.offered(self.break_candidates(prompt)));
        self.draw_prompt(frame, area, "i", prompt, &below);
    }

    pub(super) fn draw_asks(&self, frame: &mut Frame<'_>, area: Rect, prompt: &Prompt, asks: Asks) {
        let about = match asks {
            Asks::Error(number) => format!("CODE:TEXT of the error that answers message {number}"),
            Asks::Delay(number) => format!("how much later message {number} goes on: 2s, 500ms"),
        };
        let line = match read_asked(&prompt.text, asks) {
            Ok(_) => span(&about, self.theme.dim),
            Err(why) => span(why, self.theme.bad),
        };
        self.draw_prompt(
            frame,
            area,
            if matches!(asks, Asks::Error(_)) { "E" } else { "d" },
            prompt,
            &[Line::from(line)],
        );
    }

    pub(super) fn draw_again(&self, frame: &mut Frame<'_>, area: Rect, again: &Again) {
        let inner = inset(area, 1, 1);
        frame.render_widget(Clear, inner);
        let took = |ns: Option<u64>| ns.map_or("?".to_owned(), duration);
        let outcome = match (again.was_answered, again.n_different()) {
            (false, _) => "there was no answer then".to_owned(),
            (true, 0) => "the same answer".into(),
            (true, n) => format!("{} differ", counted(n as u64, "line")),
        };
        let what = tap_text::shown(&again.what, false);
        let title = format!(
            " {what}: {outcome}; took {}, recorded {}; j k scroll ",
            took(again.took_ns[1]),
            took(again.took_ns[0])
        );
        let block = Block::bordered().title(title).border_style(self.theme.frame);
        let place = block.inner(inner);
        frame.render_widget(block, inner);
        self.draw_two(frame, place, (&again.lines, again.top), ["recorded", "now"], usize::from(place.width));
    }
}

fn about_rule(rule: &RuleLine) -> String {
    let mut words = vec![if rule.is_fault { "fault".to_owned() } else { rule.action.clone() }];
    if !rule.when.is_empty() && !rule.is_fault {
        words.push(rule.when.clone());
    }
    words.push(format!("hits {}", rule.n_hits));
    if !rule.on {
        words.push("off".into());
    }
    words.join("  ")
}
