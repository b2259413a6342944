//! The line at the bottom: what the message under the cursor has to do with others.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use tap_frame::Direction;
use tap_session::{At, LinkKind, RowKind};
use tap_text::{counted, duration};

use crate::data::Row;
use crate::model::Inspector;
use crate::open::Open;
use crate::sequence::Screen;
use crate::sequence::bars::{belongings, moment, running};
use crate::text::span;
use crate::view::timeline::{about_done, what};

impl Inspector {
    /// What the message under the cursor is about, in words.
    pub(in crate::view) fn about_arrow(&self, open: &Open) -> Line<'static> {
        let Some(row) = open.rows.current() else {
            return Line::default();
        };
        let screen = open.sequence_screen(self.list_height());
        let mut spans = vec![
            span(&format!(" #{} ", row.at().seq), self.theme.bold),
            span(&self.explained(open, &screen, row), Style::new()),
        ];
        if let Some(finding) = open.findings.of_row(row, false).max_by_key(|finding| finding.severity) {
            let style = self.theme.warning;
            spans.push(Span::raw("  "));
            spans.push(span(&format!("! {} {}", finding.rule, finding.title), style));
        }
        Line::from(spans)
    }

    fn explained(&self, open: &Open, screen: &Screen<'_>, row: &Row) -> String {
        let at = row.at();
        let link = open.sequence.links_of(at).iter().find(|link| link.kind != LinkKind::Redelivered);
        if let Some(done) = &row.row.done {
            return format!("{} {}", done.told(duration), about_done(done));
        }
        match row.row.kind {
            RowKind::Request if row.direction() == Direction::ToClient => self.asked(open, screen, row),
            RowKind::Request => self.requested(open, screen, row),
            RowKind::Result | RowKind::Error => match (row.row.pair, row.row.latency_ns) {
                (Some(pair), Some(latency_ns)) => {
                    let (what, _) = what(row);
                    format!("answers #{} {what} after {}", pair.seq, duration(latency_ns))
                }
                _ => "answers no request that is known".into(),
            },
            RowKind::Notification => match link {
                Some(link) => {
                    let kind = match link.kind {
                        LinkKind::Progress => "progress of",
                        LinkKind::Cancels => "cancels",
                        LinkKind::Delivered => "delivered by subscription",
                        LinkKind::Task => "about the task of",
                        LinkKind::Round | LinkKind::ListedAgain | LinkKind::Redelivered => "belongs to",
                    };
                    let bar = screen.bars.iter().find(|bar| bar.at() == link.to);
                    let after = bar.map(|bar| u64::try_from(moment(row) - bar.from_ns).unwrap_or(0));
                    let what = bar.map(|bar| format!(" {}", what(bar.row).0)).unwrap_or_default();
                    let after = after.map(|ns| format!(", {} after it", duration(ns))).unwrap_or_default();
                    format!("{kind} #{}{what}{after}", link.to.seq)
                }
                None => format!("of no request; {}", meanwhile(screen, at)),
            },
            RowKind::Stderr => format!("on stderr; {}", meanwhile(screen, at)),
            RowKind::Gap => "could not be recorded".into(),
            RowKind::NotJson | RowKind::NotAMessage => format!("{}; {}", row.row.kind.name(), meanwhile(screen, at)),
            RowKind::Exchange => {
                let took = row.row.latency_ns.map(|ns| format!(", answered after {}", duration(ns)));
                format!("an exchange of HTTP without a message{}", took.unwrap_or_default())
            }
            RowKind::Batch | RowKind::Blank | RowKind::Body | RowKind::Act => row.row.kind.name().into(),
        }
    }

    /// A request of the client's.
    fn requested(&self, open: &Open, screen: &Screen<'_>, row: &Row) -> String {
        let at = row.at();
        let mut text = match (row.row.pair, row.row.latency_ns) {
            (Some(pair), Some(latency_ns)) => format!("answered by #{} after {}", pair.seq, duration(latency_ns)),
            _ => match self.waiting_for(open, row) {
                Some(waits) => format!("not answered yet, {waits}"),
                None => format!("not answered: {}", row.status.1),
            },
        };
        if let Some(bar) = screen.bars.iter().find(|bar| bar.at() == at) {
            if let Some(first) = bar.first_round {
                text.push_str(&format!("; goes on with #{}", first.seq));
            }
            if bar.n_rounds > 1 {
                let waited = bar.waits.iter().map(|(from, to)| to - from).sum::<i64>();
                let waited = duration(u64::try_from(waited).unwrap_or(0));
                text.push_str(&format!("; {} rounds, {waited} of waiting between them", bar.n_rounds));
            }
            let others = screen.bars.iter().filter(|other| other.is_work() && other.at() != at);
            let overlaps = others.filter(|other| {
                let ends = |end: Option<(At, i64)>| end.map_or(At { seq: u64::MAX, member: 0 }, |(at, _)| at);
                other.at() < ends(bar.end) && at < ends(other.end)
            });
            match overlaps.filter(|other| other.first_round != Some(at) && bar.first_round != Some(other.at())).count()
            {
                0 => {}
                n => text.push_str(&format!("; {n} more ran meanwhile")),
            }
        }
        let links = belongings(&open.sequence.links);
        let own: Vec<&At> = links.get(&at).into_iter().flatten().filter(|from| **from != at).collect();
        if !own.is_empty() {
            text.push_str(&format!("; {} belong to it", counted(own.len() as u64, "message")));
        }
        text
    }

    /// A request of the server's.
    fn asked(&self, open: &Open, screen: &Screen<'_>, row: &Row) -> String {
        let mut text: String = match row.row.latency_ns {
            Some(latency_ns) => format!("the server asks; answered after {}", duration(latency_ns)),
            None => match self.waiting_for(open, row) {
                Some(waits) => format!("the server asks; not answered yet, {waits}"),
                None => "the server asks; not answered".into(),
            },
        };
        let same_exchange = screen.bars.iter().find(|bar| {
            bar.is_work() && row.exchange.is_some() && bar.row.exchange == row.exchange && bar.runs_at(row.at())
        });
        match same_exchange {
            Some(bar) => text.push_str(&format!("; on the stream that answers #{}", bar.at().seq)),
            None => text.push_str(&format!("; no request explains it: {}", meanwhile(screen, row.at()))),
        }
        text
    }
}

/// What was running when a message came.
fn meanwhile(screen: &Screen<'_>, at: At) -> String {
    let mut running = running(&screen.bars, at);
    match (running.next(), running.count()) {
        (None, _) => "no call was running".into(),
        (Some(bar), 0) => format!("only #{} {} was running", bar.at().seq, what(bar.row).0),
        (Some(bar), n) => format!("#{} and {n} more were running", bar.at().seq),
    }
}
