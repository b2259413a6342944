//! Two sessions beside each other.

use std::io::Cursor;
use std::path::Path;
use std::sync::mpsc::channel;

use insta::assert_snapshot;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tap_compare::Rules;
use tap_inspector::{Answer, CompareQuery, Input, Query, SessionKey, Ticket};
use tap_store::{Store, import};

use super::super::asked::{Answers, Opened, Withdrawn};
use super::super::figures::compare::Comparer;
use super::{LARGE, SMALL, look_at};
use crate::arguments::{Global, When};
use crate::comparing::gather::gather;
use crate::comparing::report::{Both, Report};
use crate::reference::Found;

/// A session of a server of files: what it says of itself, its tools, and calls with their answers and how long they took,
/// milliseconds.
fn session(version: &str, tools: &Value, calls: &[(&str, Value, Value, u32)]) -> String {
    let mut lines = vec![json!({"mcp-tap":"recording/1","profile":"lossless","server":"filesystem","command":["fs"],
        "transport":"stdio","recorded_unix_ns":1_764_504_000_000_000_000_u64})];
    let mut at_ms = 0_u32;
    let mut id = 0;
    let mut call = |method: &str, params: Value, answer: Value, took_ms: u32| {
        id += 1;
        at_ms += 1;
        let request = json!({"jsonrpc":"2.0","id":id,"method":method,"params":params});
        lines.push(json!({"to":"server","at":f64::from(at_ms) / 1_000.0,"msg":request}));
        at_ms += took_ms;
        let mut message = json!({"jsonrpc":"2.0","id":id});
        for (key, value) in answer.as_object().unwrap() {
            message[key] = value.clone();
        }
        lines.push(json!({"to":"client","at":f64::from(at_ms) / 1_000.0,"msg":message}));
    };
    let asked = json!({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"host","version":"1"}});
    let info = json!({"name":"secure-filesystem-server","version":version});
    let answer = json!({"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":info}});
    call("initialize", asked, answer, 2);
    call("tools/list", json!({}), json!({"result":{"tools":tools}}), 1);
    for (name, arguments, answer, took_ms) in calls {
        call("tools/call", json!({"name":name,"arguments":arguments}), answer.clone(), *took_ms);
    }
    lines.push(json!({"end":"exited","exit":0,"at":99.0}));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn text(text: &str) -> Value {
    json!({"result":{"content":[{"type":"text","text":text}]}})
}

fn both() -> [String; 2] {
    let schema = |required: &[&str]| {
        json!({"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array"},"dryRun":{"type":"boolean"}},
            "required":required})
    };
    let read = "Read the complete contents of a file as text.";
    let tools_a = json!([
        {"name":"read_file","description":format!("{read} DEPRECATED: Use read_text_file instead."),"inputSchema":{"type":"object"}},
        {"name":"edit_file","inputSchema":schema(&["path","edits"])},
        {"name":"list_directory","inputSchema":{"type":"object"}},
    ]);
    let tools_b = json!([
        {"name":"list_directory","inputSchema":{"type":"object"}},
        {"name":"read_file","description":format!("{read} Also sends a copy to support."),"inputSchema":{"type":"object"}},
        {"name":"edit_file","inputSchema":schema(&["path","edits","dryRun"])},
        {"name":"read_media_file","inputSchema":{"type":"object"}},
    ]);
    let matches = |names: &[&str]| json!({"result":{"content":[],"structuredContent":{"matches":names}}});
    let info = |modified: &str| json!({"result":{"content":[],"structuredContent":{"size":12,"modified":modified}}});
    let list = ("list_directory", json!({"path":"."}), text("[FILE] a.txt\n[FILE] b.txt"), 2);
    let mut a = vec![list.clone(); 6];
    a.extend([
        ("read_text_file", json!({"path":"a.txt"}), text("one\ntwo\nthree\nfour"), 3),
        ("search_files", json!({"pattern":"*.rs"}), matches(&["src/a.rs", "src/b.rs", "src/c.rs"]), 1_100),
        ("get_file_info", json!({"path":"a.txt"}), info("2026-11-29T18:20:00Z"), 3),
        ("move_file", json!({"source":"a","dest":"b"}), text("moved"), 4),
        ("read_text_file", json!({"path":"/etc/passwd"}), json!({"error":{"code":-32602,"message":"not allowed"}}), 1),
        ("count", json!({"of":"lines","max":10}), json!({"result":{"content":[],"structuredContent":{"n":"812"}}}), 1),
    ]);
    let mut b = vec![list; 6];
    b.extend([
        ("read_text_file", json!({"path":"a.txt"}), text("one\nTWO\nthree\nfour"), 3),
        ("search_files", json!({"pattern":"*.rs"}), matches(&["src/a.rs", "src/b.rs", "src/c.rs", "src/d.rs"]), 3_400),
        ("get_file_info", json!({"path":"a.txt"}), info("2026-11-30T14:01:00Z"), 3),
        ("directory_tree", json!({"path":"."}), text("[]"), 4),
        (
            "read_text_file",
            json!({"path":"/etc/passwd"}),
            json!({"result":{"content":[{"type":"text","text":"not allowed"}],"isError":true}}),
            1,
        ),
        ("count", json!({"of":"Lines","max":10}), json!({"result":{"content":[],"structuredContent":{"n":812}}}), 1),
    ]);
    [session("0.1.9", &tools_a, &a), session("0.2.0", &tools_b, &b)]
}

fn opened(folder: &Path, texts: &[String]) -> Opened {
    let store = Store::open_or_create(&folder.join("tap.db")).unwrap();
    for (index, text) in texts.iter().enumerate() {
        import(&store, Cursor::new(text.as_bytes()), Path::new("x.jsonl"), &format!("{index:032}")).unwrap();
    }
    Opened { store, first_seq: 1, zone: TimeZone::UTC, is_text: false }
}

#[test]
fn two_sessions_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let opened = opened(folder.path(), &both());
    for (name, size, keys) in [
        ("compare_small", SMALL, "D"),
        ("compare_large", LARGE, "D j j j j j j"),
        ("compare_tiny", (40, 10), "D j"),
        ("compare_tiny_differences", (40, 10), "D j tab"),
        ("compare_words", SMALL, "D j v v"),
        ("compare_unified", LARGE, "D j j j j j j v"),
        ("compare_a_tool_that_breaks", LARGE, "D j j"),
        ("compare_only_in_b", SMALL, "D G k k ["),
        ("compare_only_what_differs", SMALL, "D e G"),
        ("compare_loosely", LARGE, "D G k"),
        ("compare_zoomed", SMALL, "D j z tab j"),
        ("compare_ignored", SMALL, "D j j j j j j ] ] I"),
        ("compare_from_the_palette", SMALL, "1 : 'compare-with' enter"),
        ("compare_marked", SMALL, "1 j m k D"),
    ] {
        let screen = look_at(&opened, size, true, |bench| {
            bench.press(keys);
            bench.screen()
        });
        assert_snapshot!(name, screen);
    }
}

#[test]
fn keys_go_to_messages_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let opened = opened(folder.path(), &both());
    for (keys, done) in [
        // A call that is in both: A with enter, B with b.
        ("D ] ] ] ] ] ] enter Y q b Y", "copy filesystem.2:19, copy filesystem:19"),
        // Back to the same line.
        ("D ] ] ] ] ] ] enter q enter Y", "copy filesystem.2:19"),
        // One that is in one only.
        ("D G [ [ [ [ enter Y", "copy filesystem:23"),
        ("D ] enter Y", "copy filesystem.2:4"),
        // Where it was begun.
        ("# '9' enter D q Y", "copy filesystem:9"),
        ("# '9' enter D ] tab q q Y", "copy filesystem:9"),
        ("D q q q", "quit"),
        // An older session has none before it.
        ("1 j enter D Y", "copy filesystem.2:1"),
        // Who looked at a message and went elsewhere is not thrown back.
        ("D ] enter 1 j enter q q q", "quit"),
    ] {
        let was = look_at(&opened, SMALL, true, |bench| {
            bench.press(keys);
            bench.done.join(", ")
        });
        assert_eq!(was, done, "{keys}");
    }
}

#[test]
fn the_report_is_that_of_diff() {
    let folder = tempfile::tempdir().unwrap();
    let opened = opened(folder.path(), &both());
    let report = look_at(&opened, SMALL, true, |bench| {
        bench.press("D x");
        bench.done.pop().unwrap()
    });
    assert_snapshot!("compare_report", report);
}

/// What is said to accept a difference does.
#[test]
fn all_that_can_be_ignored_is_gone_then() {
    let folder = tempfile::tempdir().unwrap();
    let opened = opened(folder.path(), &both());
    let last = look_at(&opened, LARGE, true, |bench| {
        bench.press("D e");
        // Each place of each line, from the first.
        for n in 0.. {
            let before = bench.screen();
            bench.press("I");
            if before == bench.screen()
                || before.contains("here is no place")
                || bench.screen().contains("here is no place")
            {
                bench.feed(Input::Tick(super::NOW_UNIX_NS + 9_000_000_000 * (n + 1)));
                let before = bench.screen();
                bench.press("j");
                if before == bench.screen() {
                    break;
                }
            }
            assert!(n < 60, "it comes to no end:\n{}", bench.screen());
        }
        bench.screen()
    });
    assert_snapshot!("compare_all_ignored", last);
}

/// What is compared in steps, and of each line all that differs, for each pair of recordings that there is.
#[test]
fn in_steps_it_is_the_same_as_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let recordings = super::top().join("recordings");
    let mut texts: Vec<String> = ["demo.jsonl", "broken.jsonl", "modern.jsonl"]
        .map(|name| std::fs::read_to_string(recordings.join(name)).unwrap())
        .into();
    texts.push(std::fs::read_to_string(super::HTTP).unwrap());
    texts.extend(both());
    let opened = opened(folder.path(), &texts);
    let quiet = Global { db: None, color: When::Never, no_pager: true, quiet: true, config: None };
    let store = std::rc::Rc::new(Store::open(opened.store.path()).unwrap());
    let found: Vec<Found> =
        store.sessions().unwrap().into_iter().map(|session| Found::of(store.clone(), session, "x".into())).collect();
    assert_eq!(found.len(), 6);
    let rules = Rules::default();
    let gathered: Vec<_> = found.iter().map(|found| gather(&quiet, found, &rules, None, |_| true).unwrap()).collect();
    for (a, b) in (0..6).flat_map(|a| (0..6).map(move |b| (a, b))) {
        let both = Both { found: (&found[a], &found[b]), gathered: (&gathered[a], &gathered[b]) };
        let report = Report::new(both, &rules, false, || true).unwrap();
        let (to, inputs) = channel();
        let answers = Answers::new(to, Withdrawn::default());
        let mut comparer = Comparer::new(&opened, &answers);
        let key = |found: &Found| SessionKey(found.session.id.0);
        let query = CompareQuery {
            a: key(&found[a]),
            b: key(&found[b]),
            conversations: [None; 2],
            ignore: Vec::new(),
            round: 0,
        };
        comparer.answer(Ticket(1), Query::Compare(query.clone()));
        while comparer.is_busy() {
            comparer.step();
        }
        let mut lines = Vec::new();
        let mut last = None;
        while let Ok(input) = inputs.try_recv() {
            let Input::Answer(Ticket(1), Answer::Compared(part)) = input else { panic!("{input:?}") };
            lines.extend(part.lines.clone());
            last = Some(part);
        }
        let last = last.unwrap();
        assert!(last.complete);
        let counts = report.counts;
        assert_eq!(last.n_calls, [counts.same, counts.changed, counts.only_a, counts.only_b]);
        assert_eq!(last.n_hidden, report.hidden.values().sum::<usize>());
        assert_eq!(a == b, lines.iter().all(|line| line.sign == tap_inspector::CompareSign::Same), "{a} {b}");
        for (index, line) in lines.iter().enumerate().rev() {
            comparer.answer(Ticket(2), Query::CompareLine(query.clone(), index));
            let Ok(Input::Answer(_, Answer::Differences(found))) = inputs.try_recv() else { panic!("{line:?}") };
            let differs = line.sign != tap_inspector::CompareSign::Same;
            assert_eq!(differs, !found.places.is_empty() || line.change.contains(" → "), "{line:?} {found:?}");
        }
        comparer.answer(Ticket(3), Query::CompareLine(query, usize::MAX));
        assert!(matches!(inputs.try_recv(), Ok(Input::Answer(_, Answer::Differences(_)))));
    }
}

#[test]
fn what_nobody_waits_for_any_more_is_not_compared_on() {
    let folder = tempfile::tempdir().unwrap();
    let opened = opened(folder.path(), &both());
    let (to, inputs) = channel();
    let answers = Answers::new(to, Withdrawn::default());
    let mut comparer = Comparer::new(&opened, &answers);
    let query =
        CompareQuery { a: SessionKey(1), b: SessionKey(2), conversations: [None; 2], ignore: Vec::new(), round: 0 };
    comparer.answer(Ticket(1), Query::Compare(query.clone()));
    assert!(comparer.is_busy());
    // Of another comparison nothing is known.
    comparer.answer(Ticket(2), Query::CompareLine(CompareQuery { round: 1, ..query.clone() }, 0));
    let failed = inputs.try_iter().any(|input| matches!(input, Input::Failed(Some(Ticket(2)), _)));
    assert!(failed);
    drop(inputs);
    comparer.step();
    assert!(!comparer.is_busy());
    comparer.answer(Ticket(3), Query::Compare(CompareQuery { round: 2, ..query }));
    assert!(!comparer.is_busy());
}

/// A recording over HTTP with two sessions of MCP: one is held against the one before, and any against any.
#[test]
fn sessions_of_mcp_are_compared_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(&folder.path().join("tap.db")).unwrap();
    import(&store, Cursor::new(std::fs::read(super::HTTP).unwrap()), Path::new("http.jsonl"), "x").unwrap();
    let opened = Opened { store, first_seq: 1, zone: TimeZone::UTC, is_text: false };
    let compared = |keys: &str| {
        look_at(&opened, LARGE, true, |bench| {
            bench.press(keys);
            bench.screen()
        })
    };
    let heads = [
        ("# '13' enter D", "A search/1 ", "B search/2 "),
        ("# '13' enter D c", "A search/1 ", "B search "),
        ("# '13' enter D c c", "A search/1 ", "B search/1 "),
        ("# '13' enter D C", "A search/2 ", "B search/2 "),
        ("# '13' enter D C C", "A search ", "B search/2 "),
    ];
    for (keys, a, b) in heads {
        let screen = compared(keys);
        assert!(screen.contains(a) && screen.contains(b), "{keys}: {a}, {b}\n{screen}");
    }
    // One that is held against itself does not differ; against the other it does.
    assert!(compared("# '13' enter D C").contains("0 of "), "{}", compared("# '13' enter D C"));
    assert!(compared("g D").contains("there is no earlier session"), "{}", compared("g D"));
    assert_snapshot!("compare_conversations", compared("# '13' enter D"));
}
