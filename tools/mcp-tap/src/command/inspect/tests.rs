//! Screens of real recordings, keys as a table, and the tables in the documentation.
//!
//! Questions are answered as on a terminal, but in one thread, and clocks are read in UTC.

mod compare;
mod counted;
mod detail;
mod marks;
mod offers;
mod pages;
mod picture;
mod search;
mod sessions;
mod threads;
mod travel;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use insta::assert_snapshot;
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tap_inspector::{Answer, Effect, Input, Inspector, Key, Mouse, MouseKind, Query, SessionKey, Theme};

use super::about::Around;
use super::asked::{Answers, Opened, Withdrawn};
use super::depth::Depth;
use super::figures::Figures;
use super::figures::compare::Comparer;
use super::lists::Lists;
use crate::reference::read_text;

/// The moment at which everything is looked at: half a year after the recordings.
const NOW_UNIX_NS: u64 = 1_800_000_000_000_000_000;

fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn opened(recording: &str) -> Opened {
    let (store, imported) = read_text(&top().join("recordings").join(recording)).unwrap();
    Opened { store, first_seq: imported.first, zone: TimeZone::UTC, is_text: true }
}

/// An inspector on a recording, whose questions are answered at once.
struct Bench<'a> {
    inspector: Inspector,
    lists: Lists<'a>,
    about: Around<'a>,
    depth: Depth<'a>,
    figures: Figures<'a>,
    compare: Comparer<'a>,
    withdrawn: Withdrawn,
    answers: Answers,
    inputs: &'a Receiver<Input>,
    /// What was to be done outside, in words.
    done: Vec<String>,
    size: (u16, u16),
}

impl Bench<'_> {
    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Ask(ticket, query) => match query {
                    Query::State(..) | Query::Findings(_) | Query::Links(..) | Query::Judge(_) => {
                        self.depth.answer(ticket, query);
                        while self.depth.is_busy() {
                            if self.depth.is_judging_only() {
                                self.depth.judge();
                            } else {
                                self.depth.step();
                            }
                        }
                    }
                    Query::Overview(_) | Query::Stats(..) | Query::Tools(..) | Query::Search(_) => {
                        self.figures.answer(ticket, query);
                    }
                    Query::Compare(..) | Query::CompareLine(..) | Query::CompareReport(..) => {
                        self.compare.answer(ticket, query);
                        while self.compare.is_busy() {
                            self.compare.step();
                        }
                    }
                    Query::About(..) => self.about.answer(ticket, query),
                    Query::Picture(_) => super::picture::answer(ticket, query, &self.answers),
                    _ => {
                        self.lists.answer(ticket, query);
                        while self.lists.has_work() {
                            self.lists.work();
                        }
                    }
                },
                Effect::Cancel(ticket) => self.withdrawn.withdraw(ticket),
                Effect::Copy(text) => self.done.push(format!("copy {text}")),
                Effect::CopyBytes { bytes, .. } => self.done.push(format!("copy {}", String::from_utf8_lossy(&bytes))),
                Effect::Open { name, edit, .. } => self.done.push(format!("open {name} {edit}")),
                Effect::Write { name, bytes } if name == "diff.txt" => {
                    self.done.push(String::from_utf8(bytes).unwrap());
                }
                Effect::Write { name, .. } => self.done.push(format!("write {name}")),
                Effect::Suspend => self.done.push("suspend".into()),
                Effect::Redraw => self.done.push("redraw".into()),
                Effect::Demo => self.done.push("demo".into()),
                Effect::Quit => self.done.push("quit".into()),
            }
        }
        while let Ok(input) = self.inputs.try_recv() {
            let effects = self.inspector.update(input);
            self.carry_out(effects);
        }
    }

    fn feed(&mut self, input: Input) {
        let effects = self.inspector.update(input);
        self.carry_out(effects);
    }

    /// Presses keys by their names; what is in `'…'` is typed, a letter a key, `+` for a blank.
    fn press(&mut self, keys: &str) {
        for word in keys.split('\u{20}').filter(|word| !word.is_empty()) {
            match word.strip_prefix('\'').and_then(|typed| typed.strip_suffix('\'')).filter(|typed| !typed.is_empty()) {
                Some(typed) => typed.replace('+', " ").chars().for_each(|c| {
                    self.feed(Input::Key(Key::plain(tap_inspector::KeyCode::Char(c))));
                }),
                None => self.feed(Input::Key(Key::named(word).unwrap_or_else(|| panic!("no key {word}")))),
            }
        }
    }

    /// What is on the screen, a line a line, without what is blank on the right.
    fn screen(&self) -> String {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| self.inspector.view(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |cells: &[ratatui::buffer::Cell]| {
            let text: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
            assert_eq!(text.chars().find(|c| tap_text::is_hidden(*c)), None, "{text:?}");
            text.trim_end().to_owned()
        };
        buffer.content().chunks(usize::from(self.size.0)).map(row).collect::<Vec<_>>().join("\n")
    }
}

/// Looks at a recording on a screen of some size.
fn look<R>(recording: &str, size: (u16, u16), opens: bool, run: impl FnOnce(&mut Bench<'_>) -> R) -> R {
    look_at(&opened(recording), size, opens, run)
}

/// Looks at a recording in colours.
fn look_in<R>(theme: Theme, recording: &str, size: (u16, u16), run: impl FnOnce(&mut Bench<'_>) -> R) -> R {
    look_with(theme, &opened(recording), size, true, run)
}

/// Looks at the newest of some recordings.
fn look_at<R>(opened: &Opened, size: (u16, u16), opens: bool, run: impl FnOnce(&mut Bench<'_>) -> R) -> R {
    look_with(Theme::plain(), opened, size, opens, run)
}

fn look_with<R>(
    theme: Theme,
    opened: &Opened,
    size: (u16, u16),
    opens: bool,
    run: impl FnOnce(&mut Bench<'_>) -> R,
) -> R {
    let (to, inputs) = channel();
    let withdrawn = Withdrawn::default();
    let answers = Answers::new(to, withdrawn.clone());
    let mut bench = Bench {
        inspector: Inspector::new(theme, size, 0),
        lists: Lists::new(opened, &answers),
        about: Around::new(opened, &answers),
        depth: Depth::new(opened, &answers),
        figures: Figures::new(opened, &answers),
        compare: Comparer::new(opened, &answers),
        withdrawn,
        answers: answers.clone(),
        inputs: &inputs,
        done: Vec::new(),
        size,
    };
    let effects = bench.inspector.update(Input::Tick(NOW_UNIX_NS));
    bench.carry_out(effects);
    let first = opened.store.sessions().unwrap().first().map(|session| SessionKey(session.id.0));
    let effects = bench.inspector.start_at(first.filter(|_| opens));
    bench.carry_out(effects);
    run(&mut bench)
}

/// The screen after some keys.
fn screen(recording: &str, size: (u16, u16), keys: &str) -> String {
    look(recording, size, true, |bench| {
        bench.press(keys);
        bench.screen()
    })
}

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (160, 45);

#[test]
fn the_list_of_sessions() {
    for (name, size) in [("sessions_small", SMALL), ("sessions_large", LARGE)] {
        assert_snapshot!(name, look("demo.jsonl", size, false, |bench| bench.screen()));
    }
}

#[test]
fn a_timeline() {
    assert_snapshot!("timeline_small", screen("demo.jsonl", SMALL, ""));
    assert_snapshot!("timeline_large", screen("demo.jsonl", LARGE, "] ]"));
    assert_snapshot!("timeline_frames", screen("demo.jsonl", SMALL, "v G"));
    assert_snapshot!("timeline_unfolded", screen("demo.jsonl", SMALL, "j j j j j l"));
    assert_snapshot!("timeline_rounds", screen("modern.jsonl", SMALL, "j j j l"));
    assert_snapshot!("timeline_broken", screen("broken.jsonl", SMALL, "]"));
    assert_snapshot!("timeline_modern", screen("modern.jsonl", LARGE, "G"));
}

#[test]
fn a_click_on_the_overview_goes_to_what_was_there() {
    let numbers = [0, 1, 2, 30, 79].map(|column| {
        look("demo.jsonl", SMALL, true, |bench| {
            bench.press("v");
            bench.feed(Input::Mouse(Mouse { kind: MouseKind::Press, column, row: 2 }));
            bench.press("Y");
            bench.done.pop().unwrap_or_default()
        })
    });
    assert_eq!(numbers, ["copy demo:1", "copy demo:2", "copy demo:4", "copy demo:15", "copy demo:16"]);
    // The rows of the list are where they are seen, below it.
    let pressed = look("demo.jsonl", SMALL, true, |bench| {
        bench.feed(Input::Mouse(Mouse { kind: MouseKind::Press, column: 9, row: 7 }));
        bench.press("Y");
        bench.done.pop()
    });
    assert_eq!(pressed.as_deref(), Some("copy demo:6"));
}

#[test]
fn a_sequence() {
    assert_snapshot!("sequence_small", screen("demo.jsonl", SMALL, "j j j j j 3"));
    assert_snapshot!("sequence_large", screen("demo.jsonl", LARGE, "3 # '14' enter"));
    assert_snapshot!("sequence_modern", screen("modern.jsonl", LARGE, "3 # '10' enter"));
    assert_snapshot!("sequence_logarithmic", screen("modern.jsonl", SMALL, "3 # '8' enter l"));
    assert_snapshot!("sequence_by_order", screen("demo.jsonl", SMALL, "3 l l G"));
    assert_snapshot!("sequence_zoomed", screen("demo.jsonl", SMALL, "3 # '15' enter z + left"));
    assert_snapshot!("sequence_broken", screen("broken.jsonl", LARGE, "3"));
    assert_snapshot!("sequence_tiny", screen("demo.jsonl", (40, 10), "3 G"));
    assert_snapshot!("sequence_message", screen("demo.jsonl", SMALL, "3 # '14' enter enter"));
}

#[test]
fn a_message() {
    assert_snapshot!("message_small", screen("demo.jsonl", SMALL, "] ] enter"));
    assert_snapshot!("message_folded", screen("demo.jsonl", SMALL, "] ] enter j j j h j j"));
    assert_snapshot!("message_raw", screen("demo.jsonl", SMALL, "] ] enter p"));
    assert_snapshot!("message_hex", screen("demo.jsonl", SMALL, "] ] enter p p"));
    assert_snapshot!("message_no_json", screen("demo.jsonl", SMALL, "] enter"));
}

#[test]
fn what_was_true() {
    assert_snapshot!("state_small", screen("demo.jsonl", SMALL, "j 4"));
    assert_snapshot!("state_large", screen("modern.jsonl", LARGE, "G 4"));
}

#[test]
fn which_rules_were_broken() {
    assert_snapshot!("findings_small", screen("broken.jsonl", SMALL, "6 j"));
    assert_snapshot!("findings_large", screen("broken.jsonl", LARGE, "6"));
    assert_snapshot!("findings_none", screen("modern.jsonl", SMALL, "6"));
}

#[test]
fn figures_of_a_session() {
    assert_snapshot!("stats_small", screen("demo.jsonl", SMALL, "5"));
    assert_snapshot!("stats_large", screen("demo.jsonl", LARGE, "5 j j j"));
    assert_snapshot!("stats_by_method", screen("modern.jsonl", SMALL, "5 b o"));
    assert_snapshot!("stats_in_scope", screen("demo.jsonl", SMALL, "/ 'tool:forecast' enter 5"));
    assert_snapshot!("stats_tiny", screen("demo.jsonl", (40, 10), "5"));
    assert_snapshot!("stats_calls", screen("demo.jsonl", SMALL, "5 j j j enter"));
    assert_snapshot!("stats_by_hour", screen("demo.jsonl", SMALL, "5 b b"));
    assert_snapshot!("stats_by_error", screen("demo.jsonl", SMALL, "5 b b b"));
    assert_snapshot!("stats_of_an_error", screen("demo.jsonl", SMALL, "5 b b b j enter"));
}

/// Two sessions of MCP over HTTP.
const HTTP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/command/inspect/tests/http.jsonl");

#[test]
fn figures_and_tools_over_http() {
    assert_snapshot!("stats_by_conversation", screen(HTTP, SMALL, "5 b b b b j"));
    assert_snapshot!("stats_of_a_conversation", screen(HTTP, SMALL, "5 b b b b j enter"));
    assert_snapshot!("tools_http_first", screen(HTTP, SMALL, "# '3' enter 8"));
    assert_snapshot!("tools_http_second", screen(HTTP, SMALL, "G 8"));
}

#[test]
fn help_palette_and_prompts() {
    assert_snapshot!("help", screen("demo.jsonl", SMALL, "?"));
    assert_snapshot!("palette", screen("demo.jsonl", SMALL, ": 'prob'"));
    assert_snapshot!("filter_completes", screen("demo.jsonl", SMALL, "/ 'is:'"));
    // A name that the server offers and nobody called; names as they are at hand.
    let completed = |keys: &str| screen("demo.jsonl", SMALL, keys);
    let names = completed("/ 'tool:'");
    for name in ["forecast", "forecsat", "report"] {
        assert!(names.contains(name), "{names}");
    }
    for (keys, expected) in [
        ("/ 'tool:rep' tab", "/ tool:report"),
        ("/ 'is:ok+-tool=forecs' tab", "/ is:ok -tool=forecsat"),
        ("/ 'm:in' tab", "/ m:initialize"),
        ("/ 'tool:fo' tab", "/ tool:forec"),
        ("/ 'body:fo' tab", "/ body:fo "),
    ] {
        let screen = completed(keys);
        assert!(screen.contains(expected), "{keys}\n{screen}");
    }
    assert_snapshot!("filter_is_wrong", screen("demo.jsonl", SMALL, "/ 'tool:x+latncy>2s'"));
    assert_snapshot!("filter_is_on", screen("demo.jsonl", SMALL, "/ 'is:error' enter"));
    assert_snapshot!("filter_fits_nothing", screen("demo.jsonl", SMALL, "/ 'tool:nothing' enter"));
}

/// What was said of one view does not stand under another.
#[test]
fn what_was_said_ends_with_its_view() {
    for (keys, said, there) in [
        ("v", "a row a message", true),
        ("v 4", "a row a message", false),
        ("G .", "this is the last message", false),
        ("v G .", "this is the last message", true),
        ("v G . 5", "this is the last message", false),
        ("G ]", "no problem after this message", true),
        ("G ] 1", "no problem after this message", false),
    ] {
        let screen = screen("demo.jsonl", SMALL, keys);
        assert_eq!(screen.contains(said), there, "{keys}\n{screen}");
    }
}

#[test]
fn state_and_tools_are_of_the_same_message() {
    for (keys, state, tools) in [
        ("# '5' enter", "after message 5 of", "as of #5 and its answer #7"),
        ("v # '5' enter", "after message 5 of", "as of #5 and its answer #7"),
        ("v # '4' enter", "after message 4 of", "as of #4 "),
        (". .", "after message 3 of", "as of #3 "),
    ] {
        let shown = |view: &str| screen("demo.jsonl", LARGE, &format!("{keys} {view}")) + " ";
        assert!(shown("4").contains(state), "{keys}\n{}", shown("4"));
        assert!(shown("8").replace('\n', " \n").contains(tools), "{keys}\n{}", shown("8"));
    }
}

#[test]
fn screens_of_any_size_are_drawn() {
    for size in [(10, 3), (20, 6), (40, 10), (60, 12), (100, 30), (200, 60)] {
        for keys in ["", "enter", "v G enter", "3 G", "4", "5", "6", "8", "D", "?", ": 'a'", "/ 'is:'", "z", "1"] {
            screen("demo.jsonl", size, keys);
        }
    }
    assert_snapshot!("tiny", screen("demo.jsonl", (40, 10), ""));
    assert_snapshot!("sessions_narrow", look("demo.jsonl", (30, 12), false, |bench| bench.screen()));
    assert_eq!(screen("demo.jsonl", (10, 3), ""), "too small\n\n");
}

#[test]
fn a_filter_shows_what_log_shows() {
    for (recording, filter, expected) in [
        ("demo.jsonl", "", "1 5 6 8 10 13 18 20"),
        ("demo.jsonl", "is:error", "10 18"),
        ("demo.jsonl", "status:tool_error+or+kind:raw", "6 10"),
        ("demo.jsonl", "tool:fore*+-is:error", "8"),
        ("demo.jsonl", "arg.city:*", "8 10 13 18"),
        ("demo.jsonl", "is:finding", "6 18"),
        ("demo.jsonl", "latency>100ms", "13"),
        ("demo.jsonl", "severity>=error+or+n:1", "1 6"),
        ("broken.jsonl", "is:violation", ""),
    ] {
        let numbers = look(recording, (60, 60), true, |bench| {
            if !filter.is_empty() {
                bench.press(&format!("/ '{filter}' enter"));
            }
            let screen = bench.screen();
            let rows =
                screen.lines().skip(5).map_while(|line| line.split_whitespace().find_map(|word| word.parse().ok()));
            rows.map(|number: u64| number.to_string()).collect::<Vec<_>>().join(" ")
        });
        if recording == "broken.jsonl" {
            assert!(!numbers.is_empty(), "{filter}");
        } else {
            assert_eq!(numbers, expected, "{filter}");
        }
    }
}

#[test]
fn keys_do_what_the_table_of_keys_says() {
    for (keys, done) in [
        ("q q", "quit"),
        ("ctrl-c", "quit"),
        ("ctrl-z ctrl-l", "suspend, redraw"),
        ("Y", "copy demo:1"),
        ("] Y ] Y [ Y", "copy demo:6, copy demo:10, copy demo:6"),
        ("# '13' enter Y", "copy demo:13"),
        ("# '13' enter 3 j Y % Y", "copy demo:14, copy demo:14"),
        ("# '13' enter 3 % Y 2 Y k j Y", "copy demo:17, copy demo:17, copy demo:13"),
        ("# '13' enter 3 j j 2 4 3 Y", "copy demo:15"),
        ("3 v j f j Y", "copy demo:3"),
        ("3 # '15' enter f g j j j Y", "copy demo:16"),
        ("# '13' enter l j j Y h Y", "copy demo:15, copy demo:13"),
        ("# '13' enter l h j Y", "copy demo:18"),
        ("# '13' enter l l esc j Y", "copy demo:14"),
        ("# '13' enter l j f v G Y", "copy demo:17"),
        ("3 enter esc z l left right + - esc Y", "copy demo:1"),
        ("# '13' enter enter c", "copy mcp-tap call --session demo report '{\"city\":\"Bern\"}'"),
        ("# '1' enter enter w P E", "write demo-1.json, open demo-1.json false, open demo-1.json true"),
        ("m G ' Y", "copy demo:1"),
        ("m j j m g ' Y ' Y", "copy demo:6, copy demo:1"),
        ("G Y ctrl-o Y", "copy demo:20, copy demo:20"),
        ("] ] ctrl-o Y ctrl-n Y", "copy demo:6, copy demo:10"),
        ("/ 'is:error' enter G Y esc Y", "copy demo:18, copy demo:18"),
        ("/ 'is:error' esc Y", "copy demo:1"),
        (": 'quit' enter", "quit"),
        ("v # '10' enter % Y % Y", "copy demo:12, copy demo:10"),
        ("6 enter Y", "copy demo:6"),
        ("4 j q Y", "copy demo:1"),
        ("1 enter Y", "copy demo:1"),
        ("enter y y", "copy"),
    ] {
        let was = look("demo.jsonl", SMALL, true, |bench| {
            bench.press(keys);
            bench.done.join(", ")
        });
        if done == "copy" {
            assert!(was.starts_with("copy {\"jsonrpc\""), "{keys}: {was}");
        } else {
            assert_eq!(was, done, "{keys}");
        }
    }
}

#[test]
fn a_recording_that_begins_in_the_middle_is_judged_as_one() {
    let text = std::fs::read_to_string(top().join("recordings/demo.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // The header, and what came after the first ten frames.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.jsonl");
    let part: Vec<&str> = lines[..1].iter().chain(&lines[11..]).copied().collect();
    std::fs::write(&path, part.join("\n")).unwrap();
    let found = look(path.to_str().unwrap(), SMALL, true, |bench| {
        bench.press("6");
        bench.screen()
    });
    assert!(!found.contains("LIF-"), "rules about a beginning that is not there:\n{found}");
}

#[test]
fn an_answer_says_which_question_failed() {
    look("demo.jsonl", SMALL, true, |bench| {
        bench.lists.answer(
            tap_inspector::Ticket(9_999),
            Query::Message(SessionKey(77), tap_session::At { seq: 1, member: 0 }),
        );
        let failed = bench.inputs.try_recv();
        assert!(matches!(failed, Ok(Input::Failed(Some(tap_inspector::Ticket(9_999)), _))), "{failed:?}");
        bench.lists.answer(tap_inspector::Ticket(10_000), Query::Sessions);
        assert!(matches!(bench.inputs.try_recv(), Ok(Input::Answer(_, Answer::Sessions(_, false)))));
    });
}
