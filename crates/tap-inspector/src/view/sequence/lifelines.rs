//! Lifelines: one for the server on the right, and on the left one for the host, or one for each session of MCP in a recording over
//! HTTP. A message is an arrow between two of them, drawn by its kind.

use ratatui::style::Style;
use ratatui::text::Span;
use tap_frame::Direction;
use tap_jsonrpc::Node;
use tap_session::{RowKind, Status};
use tap_text::{cut, shown};
use unicode_width::UnicodeWidthStr;

use crate::data::Row;
use crate::model::Inspector;
use crate::open::Open;
use crate::text::{cell, right, span};
use crate::view::timeline::what;

/// Columns from one lifeline of a client to the next.
const STEP: usize = 4;

/// The lifelines of clients.
pub(super) struct Lanes {
    /// The sessions of MCP that have one, in rising order; empty where there is one client.
    numbers: Vec<u64>,
    /// There are more than have room: these share the last one.
    shared: bool,
}

impl Lanes {
    /// Those of the rows on the screen, as many as have room.
    pub(super) fn of(rows: &[Row], n_conversations: u64, width: usize) -> Self {
        if n_conversations < 2 {
            return Self { numbers: Vec::new(), shared: false };
        }
        let mut numbers: Vec<u64> = rows.iter().filter_map(|row| row.conversation).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let room = (width / (3 * STEP)).max(1);
        let shared = numbers.len() > room;
        numbers.truncate(room);
        Self { numbers, shared }
    }

    fn n(&self) -> usize {
        self.numbers.len().max(1)
    }

    /// Which lane a row is on.
    fn index(&self, row: &Row) -> usize {
        let number = row.conversation.unwrap_or(0);
        self.numbers.partition_point(|other| *other < number).min(self.n() - 1)
    }

    /// Where each lane begins.
    pub(super) fn ends(&self, width: usize) -> String {
        let mut text: Vec<char> = vec![' '; width];
        let clients = (0..self.n()).map(|index| index * STEP);
        for column in clients.chain([width.saturating_sub(1)]) {
            if let Some(place) = text.get_mut(column) {
                *place = '┬';
            }
        }
        text.into_iter().collect()
    }
}

impl Inspector {
    /// What the lifelines are called.
    pub(super) fn lane_names(&self, open: &Open, lanes: &Lanes, width: usize) -> Vec<Span<'static>> {
        let name = |name: &Option<String>, other: &str| name.clone().unwrap_or_else(|| other.into());
        let server = name(&open.session.server, "server");
        let half = width / 2;
        let mut spans = Vec::new();
        let mut used = 0;
        if lanes.numbers.is_empty() {
            spans.push(cell(&name(&open.session.client, "client"), half, self.theme.bold));
            used = half;
        }
        for (index, number) in lanes.numbers.iter().enumerate() {
            let is_last = index + 1 == lanes.numbers.len();
            let text = format!("/{number}{}", if is_last && lanes.shared { "…" } else { "" });
            let room = if is_last { STEP + 2 } else { STEP }.min(width - used);
            spans.push(cell(&text, room, self.theme.bold));
            used += room;
        }
        spans.push(right(&server, width.saturating_sub(used), self.theme.bold));
        spans
    }

    /// A message between the lifelines.
    pub(super) fn lifeline(&self, row: &Row, lanes: &Lanes, width: usize) -> Vec<Span<'static>> {
        let own = lanes.index(row) * STEP;
        let mut before = String::new();
        for column in 0..own.min(width) {
            before.push(if column % STEP == 0 { '│' } else { ' ' });
        }
        let dim = self.theme.dim;
        // Both lifelines, and what lies between them.
        let Some(room) = width.checked_sub(own + 2) else {
            return vec![cell(&before, width, dim)];
        };
        let (text, about, style) = self.told(row);
        let to_server = row.direction() == Direction::ToServer && row.row.kind != RowKind::Stderr;
        let (line, head) = match row.row.kind {
            RowKind::Stderr => (' ', ' '),
            RowKind::Result | RowKind::Error | RowKind::Body => ('═', if to_server { '▸' } else { '◂' }),
            RowKind::Notification => ('┄', if to_server { '▸' } else { '◂' }),
            RowKind::NotJson | RowKind::NotAMessage | RowKind::Gap | RowKind::Blank | RowKind::Act => ('╌', ' '),
            RowKind::Request | RowKind::Batch | RowKind::Exchange => ('─', if to_server { '▸' } else { '◂' }),
        };
        // The head of the arrow, a piece of its line at the other end, and a blank on either side of the text.
        let text_room = room.saturating_sub(5);
        let text = cut(&shown(&text, false), text_room);
        let about_room = text_room.saturating_sub(text.width() + 1);
        let about = if about_room < 4 { String::new() } else { cut(&shown(&about, false), about_room) };
        let gap = if about.is_empty() { "" } else { " " };
        let used = text.width() + gap.len() + about.width();
        let fill = line.to_string().repeat(room.saturating_sub(used + 4));
        let line_style = if row.is_problem() { self.theme.bad } else { dim };
        let mut spans = vec![span(&before, dim)];
        let words =
            [Span::raw(" "), Span::styled(text, style), Span::raw(gap), Span::styled(about, dim), Span::raw(" ")];
        if to_server {
            spans.push(span(&format!("├{line}"), line_style));
            spans.extend(words);
            spans.push(span(&format!("{fill}{head}"), line_style));
            spans.push(span("│", dim));
        } else if row.row.kind == RowKind::Stderr {
            spans.push(span("│ ", dim));
            spans.extend(words);
            spans.push(span(&format!("{fill} ┤"), dim));
        } else {
            spans.push(span(&format!("│{head}{fill}"), line_style));
            spans.extend(words);
            spans.push(span(&format!("{line}┤"), line_style));
        }
        spans
    }

    /// What a message says, in a word and in a few more.
    pub(in crate::view) fn told(&self, row: &Row) -> (String, String, Style) {
        let plain = if row.is_problem() { self.theme.bold } else { Style::new() };
        let (what, about) = what(row);
        match row.row.kind {
            RowKind::Result | RowKind::Error => {
                let style = match row.row.status {
                    Some(Status::Ok) => self.theme.good,
                    Some(_) => self.theme.bad,
                    None => plain,
                };
                let asks =
                    Node::new(about.as_bytes()).get("resultType").is_some_and(|kind| kind.is_text("input_required"));
                if asks {
                    ("◆ input required".into(), String::new(), self.theme.warning)
                } else {
                    (row.status.1.clone(), about, style)
                }
            }
            RowKind::Notification => {
                let params = Node::new(about.as_bytes());
                let number = |name| params.get(name).map(|node| String::from_utf8_lossy(node.bytes()).into_owned());
                let text = |name: &str| params.get(name).and_then(Node::text).map(|text| text.into_owned());
                let what = what.strip_prefix("notifications/").unwrap_or(&what).to_owned();
                match (what.as_str(), number("progress")) {
                    ("progress", Some(progress)) => {
                        let total = number("total").map(|total| format!("/{total}")).unwrap_or_default();
                        (format!("progress {progress}{total}"), text("message").unwrap_or_default(), plain)
                    }
                    ("message", _) => {
                        let level = text("level").unwrap_or_default();
                        let data = params.get("data");
                        let said = data.and_then(Node::text).map(|text| text.into_owned());
                        let data = data.map(|data| String::from_utf8_lossy(data.bytes()).into_owned());
                        (format!("log {level}"), said.or(data).unwrap_or_default(), plain)
                    }
                    _ => (what, about, plain),
                }
            }
            RowKind::Request if row.direction() == Direction::ToClient => (format!("◆ {what}"), about, plain),
            RowKind::Stderr => (format!("stderr: {what}"), String::new(), self.theme.dim),
            _ => (what, about, plain),
        }
    }
}
