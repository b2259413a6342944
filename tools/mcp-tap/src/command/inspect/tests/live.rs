//! Breakpoints and held messages of a live session, as they are seen.

use insta::assert_snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tap_inspector::{
    Answer, Began, Effect, EndKind, HeldLine, HeldMessage, Input, Inspector, Key, KeyCode, LiveHere, LiveOrder,
    LiveSeen, Query, RuleLine, SessionKey, SessionLine, Theme, Ticket,
};

const NOW_UNIX_NS: u64 = 1_800_000_000_000_000_000;

const ORIGINAL: &str = r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"delete_rows","arguments":{"table":"orders","where":"1=1","confirm":true}}}"#;

const SCHEMA: &str = r#"{"type":"object","properties":{"table":{"type":"string"},"where":{"type":"string"}}}"#;

fn session() -> SessionLine {
    SessionLine {
        key: SessionKey(1),
        reference: "postgres".into(),
        label: None,
        name: "postgres".into(),
        command: "mcp-server-postgres".into(),
        words: vec!["mcp-server-postgres".into()],
        client: Some("vscode 1.107".into()),
        server: Some("postgres 0.6".into()),
        revision: Some("2025-11-25".into()),
        transport: "stdio",
        began: Began { unix_ns: NOW_UNIX_NS, this_year: "Jan 15 08:00".into(), other_year: "2027-01-15".into() },
        lasted_ns: 1,
        end: EndKind::Live,
        end_words: "live".into(),
        n_messages: 47,
        n_calls: 12,
        n_errors: 0,
        n_bytes: 4_000,
        lost_bytes: 0,
        n_conversations: 0,
    }
}

fn rule(number: u32, text: &str, action: &str, when: &str, on: bool, n_hits: u64) -> RuleLine {
    let is_fault = action.is_empty();
    RuleLine {
        number,
        is_fault,
        text: text.into(),
        action: action.into(),
        when: when.into(),
        on,
        n_hits,
        by: String::new(),
    }
}

fn held(number: u64, target: &str, waits_s: u64, goes_in_s: Option<u64>) -> HeldLine {
    HeldLine {
        number,
        to_server: true,
        why: "held".into(),
        by: "breakpoint 1".into(),
        what: format!("tools/call {target}"),
        kind: "request".into(),
        id: Some("9".into()),
        method: Some("tools/call".into()),
        target: Some(target.into()),
        waits_ns: waits_s * 1_000_000_000,
        goes_in_ns: goes_in_s.map(|s| s * 1_000_000_000),
        ..HeldLine::default()
    }
}

fn here() -> LiveHere {
    LiveHere {
        seen_unix_ns: NOW_UNIX_NS,
        revision: Some("2025-11-25".into()),
        rules: vec![
            rule(1, "tool:delete_* is:request", "hold", "once", true, 1),
            rule(2, "latency>2s", "log", "", true, 4),
            rule(3, "method:tools/list is:response", "hold", "", false, 0),
            rule(4, "tool:query every:5 -> delay:2s", "", "every:5", true, 2),
        ],
        held: vec![held(1, "delete_rows", 11, Some(39)), held(2, "delete_table", 2, None)],
        news: vec!["breakpoint 1 hit tools/call delete_rows".into(), "1 held tools/call delete_rows".into()],
    }
}

/// An inspector at a live session of which the tap says so much; nothing else is known of it.
struct Seat {
    inspector: Inspector,
    asked: Vec<(Ticket, Query)>,
    edits: Option<(Ticket, Vec<u8>)>,
    size: (u16, u16),
}

impl Seat {
    fn new(size: (u16, u16), seen: LiveSeen) -> Self {
        let inspector = Inspector::new(Theme::plain(), size, 0);
        let mut seat = Self { inspector, asked: Vec::new(), edits: None, size };
        seat.feed(Input::Tick(NOW_UNIX_NS));
        let effects = seat.inspector.start_at(Some(SessionKey(1)));
        seat.take(effects);
        seat.answer(|query| matches!(query, Query::Sessions), Answer::Sessions(vec![session()], true));
        seat.answer(|query| matches!(query, Query::Attach(_)), Answer::Live(Box::new(seen)));
        // The tap said that a second ago.
        seat.feed(Input::Tick(NOW_UNIX_NS + 1_000_000_000));
        seat
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Ask(ticket, query) => self.asked.push((ticket, query)),
                Effect::Edit { ticket, bytes, .. } => self.edits = Some((ticket, bytes)),
                _ => {}
            }
        }
    }

    fn feed(&mut self, input: Input) {
        let effects = self.inspector.update(input);
        self.take(effects);
    }

    #[track_caller]
    fn answer(&mut self, is: impl Fn(&Query) -> bool, answer: Answer) {
        let (ticket, _) = self.asked.iter().rev().find(|(_, query)| is(query)).unwrap().clone();
        self.feed(Input::Answer(ticket, answer));
    }

    fn message(&mut self, schema: Option<&str>) {
        let bytes = || ORIGINAL.as_bytes().into();
        let schema = schema.map(|schema| schema.as_bytes().into());
        let message = HeldMessage { number: 1, original: bytes(), now: bytes(), schema };
        self.answer(
            |query| matches!(query, Query::Control(_, LiveOrder::Message(1))),
            Answer::HeldMessage(Box::new(message)),
        );
    }

    fn press(&mut self, keys: &str) {
        keys.split_whitespace().for_each(|key| self.feed(Input::Key(Key::named(key).unwrap())));
    }

    fn type_in(&mut self, text: &str) {
        text.chars().for_each(|c| self.feed(Input::Key(Key::plain(KeyCode::Char(c)))));
    }

    fn edit(&mut self, from: &str, to: &str) {
        self.press("e");
        let (ticket, bytes) = self.edits.take().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains(from), "{text}");
        self.feed(Input::Edited(ticket, text.replace(from, to).into_bytes()));
    }

    fn screen(&self) -> String {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| self.inspector.view(frame)).unwrap();
        let cells = terminal.backend().buffer().content();
        let rows = cells.chunks(usize::from(self.size.0));
        let row = |cells: &[ratatui::buffer::Cell]| {
            cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned()
        };
        rows.map(row).collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn what_is_held_is_seen_in_both_sizes() {
    for (name, size) in [("small", (80, 24)), ("large", (160, 45))] {
        let mut seat = Seat::new(size, LiveSeen::Here(here()));
        assert_snapshot!(format!("held_counter_{name}"), seat.screen());
        seat.press("7");
        seat.message(None);
        assert_snapshot!(format!("held_{name}"), seat.screen());
        seat.message(Some(SCHEMA));
        seat.edit("1=1", "id = 4711");
        assert_snapshot!(format!("held_edited_{name}"), seat.screen());
        seat.edit("\"id = 4711\"", "4711");
        seat.press("a");
        assert_snapshot!(format!("held_unfit_{name}"), seat.screen());
    }
}

#[test]
fn prompts_show_what_is_wrong_and_what_could_be_written() {
    let mut seat = Seat::new((80, 24), LiveSeen::Here(here()));
    seat.press("7 i");
    seat.type_in("tool:x -> de");
    assert_snapshot!("held_break_prompt", seat.screen());
    seat.press("esc E ctrl-u");
    seat.type_in("no");
    assert_snapshot!("held_error_prompt", seat.screen());
    seat.press("esc X");
    assert_snapshot!("held_drop_asks", seat.screen());
}

#[test]
fn where_nothing_is_held_or_nobody_is_there_it_says_so() {
    let mut seat = Seat::new((80, 24), LiveSeen::Here(LiveHere::default()));
    seat.press("7");
    assert_snapshot!("held_nothing", seat.screen());
    let mut seat = Seat::new((80, 24), LiveSeen::Away("this tap cannot be reached".into()));
    seat.press("7");
    assert_snapshot!("held_away", seat.screen());
}
