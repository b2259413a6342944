//! Whatever is pressed, and however questions are answered, cursors stay where there is something, and nothing recorded
//! reaches the screen raw. Screens themselves are tested where there are recordings: in `tools/mcp-tap`.

mod compare;
mod figures;
mod keys;
mod live;
mod questions;
mod sequence;

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tap_frame::Stream;
use tap_jsonrpc::Notes;
use tap_session::{At, Link, LinkKind, MessageRow, RowKind, Severity, Status};

use crate::*;

/// Something that acts on a terminal, hides, or turns text around.
const EVIL: &str = "a\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}6n\u{202e}b\u{200b}\u{feff}日\u{301}";

/// What happens.
#[derive(Debug, Clone)]
enum Step {
    Key(usize),
    Typed(char),
    Paste(&'static str),
    Mouse(MouseKind, u16, u16),
    Resize(u16, u16),
    Tick,
    /// One of the open questions is answered: which, how, and how far.
    Answer(usize, How),
    /// The session grows by so many messages, and may end.
    Grow(u64, bool),
}

#[derive(Debug, Clone, Copy)]
enum How {
    Whole,
    InPart,
    Failed,
}

fn step() -> impl Strategy<Value = Step> {
    let how = prop_oneof![4 => Just(How::Whole), 2 => Just(How::InPart), 1 => Just(How::Failed)];
    let mouse = prop_oneof![
        Just(MouseKind::Press),
        Just(MouseKind::Drag),
        Just(MouseKind::WheelUp),
        Just(MouseKind::WheelDown)
    ];
    let size = prop_oneof![
        Just((80, 24)),
        Just((40, 10)),
        Just((160, 45)),
        Just((10, 3)),
        Just((20, 6)),
        (1_u16..200, 1_u16..60)
    ];
    prop_oneof![
        8 => any::<usize>().prop_map(Step::Key),
        2 => prop_oneof![Just('i'), Just('s'), Just(':'), Just('e'), Just('r'), Just('1'), Just('é')].prop_map(Step::Typed),
        1 => prop_oneof![Just("is:error"), Just("tool:x or"), Just("\u{1b}[31m"), Just("7")].prop_map(Step::Paste),
        2 => (mouse, 0_u16..200, 0_u16..60).prop_map(|(kind, column, row)| Step::Mouse(kind, column, row)),
        1 => size.prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        1 => Just(Step::Tick),
        10 => (any::<usize>(), how).prop_map(|(which, how)| Step::Answer(which, how)),
        1 => (0_u64..300, any::<bool>()).prop_map(|(n, live)| Step::Grow(n, live)),
    ]
}

fn row(seq: u64) -> Row {
    let pair = (seq % 3 == 1).then_some(At { seq: seq + 1, member: 0 });
    let row = MessageRow {
        at: At { seq, member: 0 },
        wall_ns: seq,
        at_ns: seq,
        stream: if seq.is_multiple_of(2) { Stream::ToClient } else { Stream::ToServer },
        kind: match seq % 5 {
            0 => RowKind::NotJson,
            4 => RowKind::Stderr,
            _ => RowKind::Request,
        },
        raw_id: None,
        method: Some("tools/call".into()),
        target: Some(EVIL.into()),
        status: (seq % 7 == 2).then_some(Status::Error),
        error_code: None,
        pair,
        latency_ns: Some(seq * 1_000),
        lost_bytes: None,
        notes: Notes::default(),
        done: None,
        received: None,
    };
    Row {
        row,
        length: seq,
        answer_length: None,
        clock: "12:00:00.000".into(),
        digest: Digested { arguments: EVIL.into(), outcome: EVIL.into() },
        exchange: None,
        conversation: None,
        status: (Tone::Bad, EVIL.into()),
        settled: !seq.is_multiple_of(4),
    }
}

fn began() -> Began {
    Began { unix_ns: 1, this_year: EVIL.into(), other_year: EVIL.into() }
}

fn line(key: i64, live: bool) -> SessionLine {
    SessionLine {
        key: SessionKey(key),
        reference: format!("{EVIL}.{key}"),
        label: (key % 2 == 0).then(|| EVIL.into()),
        name: EVIL.into(),
        command: EVIL.into(),
        words: vec![EVIL.into(); 2],
        client: Some(EVIL.into()),
        server: None,
        revision: Some(EVIL.into()),
        transport: "stdio",
        began: began(),
        lasted_ns: 1,
        end: if live { EndKind::Live } else { EndKind::Well },
        end_words: EVIL.into(),
        n_messages: 1,
        n_calls: 1,
        n_errors: 1,
        n_bytes: 1,
        lost_bytes: 1,
        n_conversations: 0,
    }
}

/// Answers questions as a store would, in whatever order.
struct World {
    last_seq: u64,
    live: bool,
    open: Vec<(Ticket, Query)>,
    edited: Option<(Ticket, Vec<u8>)>,
}

impl World {
    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Ask(ticket, query) => self.open.push((ticket, query)),
                // The editor changes something, or leaves it.
                Effect::Edit { ticket, mut bytes, .. } => {
                    if self.last_seq.is_multiple_of(2) {
                        bytes.extend_from_slice(EVIL.as_bytes());
                    }
                    self.edited = Some((ticket, bytes));
                }
                Effect::Cancel(ticket) => self.open.retain(|(open, _)| *open != ticket),
                _ => {}
            }
        }
    }

    fn answer(&self, query: &Query, complete: bool) -> Option<Answer> {
        let last = self.last_seq;
        Some(match query {
            Query::Sessions => Answer::Sessions((1..=30).map(|key| line(key, self.live)).collect(), complete),
            Query::Rows(query) => {
                let limit = query.limit as u64;
                let (from, to) = match query.part {
                    RowsPart::From(seq) => (seq, seq + limit),
                    RowsPart::After(at) => (at.seq + 1, at.seq + limit),
                    RowsPart::Before(at) => (at.seq.saturating_sub(limit), at.seq - 1),
                    RowsPart::Last => ((last + 1).saturating_sub(limit), last),
                    RowsPart::Around(seq) => (seq.saturating_sub(limit / 2), seq + limit / 2),
                };
                let (from, to) = (from.max(1), to.min(last));
                // With a filter some are left out.
                // So are lines of stderr in a list of calls: in short sessions, so that those of long ones are easily counted.
                let is_call = |seq: &u64| !query.calls || seq % 25 != 9 || last > 5_000;
                let fits = |seq: &u64| (query.filter.is_none() || seq % 10 < 3) && is_call(seq);
                Answer::Rows(RowsAnswer {
                    rows: (from..=to).filter(fits).map(row).collect(),
                    at_begin: from <= 1,
                    at_end: to >= last,
                    complete,
                    searched_to: Some(to),
                    last_seq: last,
                })
            }
            Query::Again(_, places) => {
                Answer::Again(places.iter().map(|at| Row { settled: true, ..row(at.seq) }).collect())
            }
            Query::Message(_, at) => {
                let text = match at.seq % 4 {
                    0 => EVIL.to_owned(),
                    1 => format!("{{\"a\":[1,{{\"{EVIL}\":\"{{\\\"b\\\":2}}\"}}]}}"),
                    2 => String::new(),
                    _ => "[".repeat(200),
                };
                let this = Whole { row: row(at.seq), bytes: text.into_bytes().into() };
                let exchange = if at.seq % 2 == 0 { Vec::new() } else { vec![(EVIL.into(), EVIL.into()); 40] };
                Answer::Message(Box::new(MessageParts {
                    other: Some(this.clone()),
                    this,
                    request: (!exchange.is_empty()).then(|| HttpRequest {
                        verb: EVIL.into(),
                        url: EVIL.into(),
                        fields: vec![(EVIL.into(), Some(EVIL.into())), ("x".into(), None)],
                        body: Some(EVIL.into()),
                    }),
                    exchange,
                }))
            }
            Query::About(_, at, part) => {
                let place = At { seq: at.seq % 7 + 1, member: 0 };
                let line = AboutLine {
                    name: EVIL.into(),
                    text: EVIL.into(),
                    tone: Tone::Bad,
                    goes_to: Some(Target { session: (at.seq % 3 == 0).then_some(SessionKey(5)), at: place }),
                };
                let point = Pointed {
                    at: *at,
                    pointer: "/a/1".into(),
                    text: EVIL.into(),
                    tone: Tone::Warning,
                    goes_to: Some(place),
                };
                let (lines, points) = (vec![line; 60], vec![point; 3]);
                Answer::About(Box::new(About { at: *at, part: *part, lines, points, badge: Some(EVIL.into()) }))
            }
            Query::State(_, seq, list) => {
                let fact = Fact {
                    part: if list.is_some() { "lists".into() } else { EVIL.into() },
                    name: EVIL.into(),
                    text: EVIL.into(),
                    changed: Some(Some(EVIL.into())),
                };
                let text = (EVIL.to_owned(), EVIL.to_owned());
                Answer::State(Box::new(StatedFacts {
                    seq: *seq,
                    row: (*seq % 5 != 0).then(|| row(*seq)),
                    since_ns: *seq,
                    conversation: Some(7),
                    facts: vec![fact; 50],
                    gone: vec![text.clone(); 3],
                    list: list.clone(),
                    items: vec![text; 40],
                    n_items: 50,
                }))
            }
            Query::Findings(_) => {
                let finding = |seq: u64| FindingLine {
                    at: At { seq, member: 0 },
                    rule: "RPC-001",
                    title: "title",
                    advice: "advice",
                    severity: Severity::Error,
                    detail: EVIL.into(),
                    by: "server",
                };
                Answer::Findings((1..=last).step_by(9).map(finding).collect(), last, complete)
            }
            Query::Links(_, first, last) => {
                let at = |seq| At { seq, member: 0 };
                let kinds = [LinkKind::Progress, LinkKind::Round, LinkKind::Delivered, LinkKind::Cancels];
                let link = |seq: u64| Link { from: at(seq), to: at(seq - 2), kind: kinds[(seq / 3 % 4) as usize] };
                Answer::Links((first.seq.max(3)..=last.seq).step_by(3).map(link).collect())
            }
            Query::Overview(_) => {
                let part =
                    |n: u64| OverviewPart { first_seq: n * 7 % last.max(1), n_bytes: n * 1_000, n_errors: n % 50 / 49 };
                Answer::Overview(Box::new(Overview {
                    part_ns: 10,
                    parts: (0..last.min(300)).map(part).collect(),
                    through: last,
                    complete,
                    p50_ns: Some(last),
                    p95_ns: None,
                }))
            }
            Query::Begun(_, at) => {
                Answer::Begun((at.seq.saturating_sub(9)..at.seq).filter(|seq| *seq > 0).map(row).collect())
            }
            Query::Stats(query) => Answer::Stats(Box::new(figures::stats(query, last, complete))),
            Query::Tools(_, seq) => Answer::Tools(Box::new(figures::tools(*seq, last, complete))),
            Query::Compare(_) => Answer::Compared(Box::new(figures::compared(last, complete))),
            Query::CompareLine(_, line) => Answer::Differences(Box::new(figures::differences(*line))),
            Query::CompareReport(_) => Answer::Report(EVIL.into()),
            Query::Search(_) => {
                let (session, at) = (SessionKey(last.cast_signed() % 9 + 1), At { seq: last / 2 + 1, member: 0 });
                let snippet = Snippet { before: EVIL.repeat(20), found: EVIL.into(), after: EVIL.repeat(40) };
                let (what, path) = (EVIL.to_owned(), Some(EVIL.to_owned()));
                let hit = Hit { session, at, what, status: (Tone::Bad, EVIL.into()), snippet, path };
                let hits = vec![hit; 20];
                let session = HitSession { key: session, reference: EVIL.into(), began: began(), n_found: 30 };
                Answer::Hits(Box::new(Hits { hits, sessions: vec![session], complete, ..Hits::default() }))
            }
            Query::At(_, Moment::Since(ns) | Moment::Clock(ns)) => {
                let seq = ns % (last + 2);
                Answer::At((0 < seq && seq <= last).then_some(At { seq, member: 0 }))
            }
            Query::Summary(key) => Answer::Summary(Box::new(SessionSummary {
                key: *key,
                last_problem: Some(row(7)),
                slowest: vec![(EVIL.into(), 3, 1_000_000); 9],
                last_calls: (1..40).map(row).collect(),
                of_last: complete.then_some(5_000),
            })),
            Query::Judge(keys) => {
                Answer::Judged(keys.first().copied().unwrap_or(SessionKey(1)), Some([1, 2, 3]), complete)
            }
            Query::Marks(_) | Query::Mark(..) => {
                let mark = |seq| MarkLine {
                    at: At { seq, member: 0 },
                    name: (seq % 2 == 0).then(|| EVIL.into()),
                    note: (seq % 3 == 0).then(|| EVIL.into()),
                };
                let told = if matches!(query, Query::Mark(..)) { EVIL } else { "" };
                Answer::Marks((1..=last.min(40)).step_by(3).map(mark).collect(), told.into())
            }
            Query::Label(..) | Query::Delete(_) => Answer::Changed(EVIL.into()),
            Query::Picture(_) => Answer::Picture(Box::new(Picture { columns: 3, pixels: vec![[9, 9, 9, 255]; 12] })),
            Query::Attach(_) if last % 4 == 3 => Answer::Live(Box::new(LiveSeen::Away(EVIL.into()))),
            Query::Attach(_) => Answer::Live(Box::new(LiveSeen::Here(live::here(last)))),
            Query::Control(_, LiveOrder::Message(number)) => Answer::HeldMessage(Box::new(live::message(*number))),
            Query::Control(_, LiveOrder::Call(_) | LiveOrder::CallAnew(_)) => {
                Answer::Resent(Box::new(Resent { answer: EVIL.as_bytes().into(), took_ns: Some(last) }))
            }
            Query::Control(..) => Answer::Ordered(EVIL.into()),
            Query::Watch(_) => return None,
        })
    }
}

#[track_caller]
fn holds(inspector: &Inspector, terminal: &mut Terminal<TestBackend>) {
    let (columns, rows) = inspector.size;
    terminal.backend_mut().resize(columns, rows);
    terminal.draw(|frame| inspector.view(frame)).unwrap();
    for cell in terminal.backend().buffer().content() {
        let raw = cell.symbol().chars().find(|c| tap_text::is_hidden(*c));
        assert_eq!(raw, None, "{:?} reached the screen", cell.symbol());
    }
    let n_shown = inspector.sessions.n_shown();
    assert!(inspector.sessions.cursor < n_shown.max(1), "sessions");
    let search = &inspector.search;
    assert!(search.cursor < search.lines.len().max(1), "hits");
    assert!((search.top..search.top + inspector.hits_height()).contains(&search.cursor), "the hit is seen");
    assert!(search.hits.len() <= KEPT_HITS);
    let compare = &inspector.compare;
    if inspector.view_now() == View::Compare {
        assert!(compare.cursor < compare.n_shown().max(1), "lines that are compared");
        let ((height, _), _) = inspector.compare_layout();
        assert!((compare.top..compare.top + height.max(1)).contains(&compare.cursor), "the line is seen");
        if let Some(laid) = &compare.laid {
            assert!(laid.cursor < laid.lines().len(), "a line of what differs");
        }
    }
    if let Some(open) = &inspector.open {
        let n_rows = open.rows.rows().len();
        assert!(open.rows.cursor() < n_rows.max(1), "the cursor is on a row");
        assert!(open.rows.rows().is_sorted_by(|a, b| a.at() < b.at()), "rows are in order, each once");
        assert!(n_rows <= 2_000, "{n_rows} rows are kept");
        let height = inspector.list_height();
        assert!(n_rows == 0 || open.rows.visible(height).any(|(index, _)| index == open.rows.cursor()), "it is seen");
        if let Some(detail) = &open.detail {
            assert!(detail.cursor < detail.n_lines().max(1), "the cursor is on a line");
            assert!((detail.top..detail.top + height).contains(&detail.cursor), "and is seen");
        }
        let tops = open.detail.as_ref().and_then(|detail| detail.beside);
        assert!(tops.is_none_or(|tops| tops.iter().all(|top| *top < 60_000)), "both halves are somewhere");
        assert!(open.stats.cursor < open.stats.lines().len().max(1), "figures");
        assert!(open.tools.cursor < open.tools.lines().len().max(1), "tools");
        if let Some(definition) = &open.tools.definition {
            assert!(definition.cursor < definition.n_lines().max(1), "a line of the definition");
        }
        assert!(open.state.cursor < open.state.n_lines().max(1), "state");
        assert!(open.findings.cursor < open.findings.len().max(1), "findings");
        let debug = &open.debug;
        assert_eq!(debug.chosen.is_some(), !debug.held().is_empty(), "one of what is held has the cursor");
        assert_eq!(debug.chosen.is_some(), debug.chosen_line().is_some(), "and it is one that is there");
        assert_eq!(debug.rule.is_some(), debug.chosen_rule().is_some(), "a breakpoint");
        assert!(debug.top < debug.lines.len().max(1), "lines of what is held");
        assert!(open.jumps_back <= open.jumps.len(), "jumps");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_cursors_stay_where_there_is_something(
        steps in prop::collection::vec(step(), 1..100),
        last_seq in prop_oneof![Just(0_u64), Just(1), 2_u64..200, 1_000_u64..5_000],
        live: bool,
    ) {
        let mut inspector = Inspector::new(Theme::terminal(), (80, 24), 0);
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        let mut world = World { last_seq, live, open: Vec::new(), edited: None };
        world.take(inspector.start_at(Some(SessionKey(3))));
        for step in steps {
            let effects = match step {
                Step::Key(index) => {
                    let keys: Vec<&str> = KEYMAP.iter().flat_map(|binding| binding.keys.iter().copied()).collect();
                    let key = Key::named(keys[index % keys.len()]).unwrap();
                    inspector.update(Input::Key(key))
                }
                Step::Typed(c) => inspector.update(Input::Key(Key::plain(KeyCode::Char(c)))),
                Step::Paste(text) => inspector.update(Input::Paste(text.into())),
                Step::Mouse(kind, column, row) => inspector.update(Input::Mouse(Mouse { kind, column, row })),
                Step::Resize(columns, rows) => inspector.update(Input::Resize(columns, rows)),
                Step::Tick => inspector.update(Input::Tick(inspector.now_unix_ns + 3_000_000_000)),
                Step::Grow(n, live) => {
                    world.last_seq += n;
                    world.live &= live;
                    let watched = world.open.iter().rev().find(|(_, query)| matches!(query, Query::Watch(_)));
                    match watched {
                        Some((ticket, Query::Watch(key))) => {
                            let growth =
                                Growth { session: *key, last_seq: world.last_seq, live: world.live, complete: n % 2 == 0 };
                            let answer = Answer::Grown(growth);
                            inspector.update(Input::Answer(*ticket, answer))
                        }
                        _ => Vec::new(),
                    }
                }
                Step::Answer(_, _) if world.open.is_empty() => Vec::new(),
                Step::Answer(which, how) => {
                    let index = which % world.open.len();
                    let (ticket, query) = world.open[index].clone();
                    match (how, world.answer(&query, matches!(how, How::Whole))) {
                        (How::Failed, _) => {
                            world.open.remove(index);
                            inspector.update(Input::Failed(Some(ticket), EVIL.into()))
                        }
                        (_, None) => Vec::new(),
                        (How::InPart, Some(answer)) => inspector.update(Input::Answer(ticket, answer)),
                        (How::Whole, Some(answer)) => {
                            world.open.remove(index);
                            inspector.update(Input::Answer(ticket, answer))
                        }
                    }
                }
            };
            world.take(effects);
            if let Some((ticket, bytes)) = world.edited.take() {
                world.take(inspector.update(Input::Edited(ticket, bytes)));
            }
            holds(&inspector, &mut terminal);
            questions::hold(&inspector, &world);
            prop_assert!(world.open.len() < 20, "questions pile up: {:?}", world.open);
        }
    }
}

/// Presses keys, and answers all that is asked.
fn drive(world: &mut World, inspector: &mut Inspector, keys: &str) {
    for key in keys.split_whitespace() {
        let effects = inspector.update(Input::Key(Key::named(key).unwrap()));
        world.take(effects);
        settle(world, inspector);
    }
}

fn settle(world: &mut World, inspector: &mut Inspector) {
    let is_answered = |(_, query): &(Ticket, Query)| !matches!(query, Query::Watch(_));
    for _ in 0..100 {
        let Some(index) = world.open.iter().position(is_answered) else {
            return;
        };
        let (ticket, query) = world.open.remove(index);
        let answer = world.answer(&query, true).unwrap();
        world.take(inspector.update(Input::Answer(ticket, answer)));
    }
    panic!("it never has enough: {:?}", world.open);
}

fn opened(last_seq: u64, live: bool) -> (World, Inspector) {
    let mut inspector = Inspector::new(Theme::plain(), (80, 24), 0);
    let mut world = World { last_seq, live, open: Vec::new(), edited: None };
    world.take(inspector.start_at(Some(SessionKey(3))));
    settle(&mut world, &mut inspector);
    (world, inspector)
}

fn seq(inspector: &Inspector) -> u64 {
    inspector.open.as_ref().unwrap().rows.current().unwrap().at().seq
}
