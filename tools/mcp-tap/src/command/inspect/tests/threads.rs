//! Questions as threads answer them: none waits behind one that has nothing to do with it, and what is of no use is left.

use std::sync::mpsc::Sender;
use std::time::Duration;

use tap_filter::{Context, Filter};
use tap_inspector::{FindingLine, RowsPart, RowsQuery, StatsBy, StatsQuery, Ticket};
use tap_session::{At, Severity};
use tap_store::{SessionId, Store, import};

use super::super::asked::{Asked, Sources};
use super::super::judged::Look;
use super::*;
use crate::reference::new_uuid;

/// How long a thread is waited for before that is a failure.
const LIMIT: Duration = Duration::from_secs(30);

const A: SessionKey = SessionKey(1);
const B: SessionKey = SessionKey(2);

fn database(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("tap.db");
    let store = Store::open_or_create(&path).unwrap();
    for name in ["broken.jsonl", "demo.jsonl"] {
        let text = std::fs::read(top().join("recordings").join(name)).unwrap();
        import(&store, std::io::Cursor::new(&text[..]), name.as_ref(), &new_uuid()).unwrap();
    }
    path
}

fn filter(text: &str, now_unix_ns: i128) -> std::sync::Arc<Filter> {
    Filter::parse(text, &Context { now_unix_ns, utc_offset_seconds: 0 }, &|_| None).unwrap().into()
}

fn rows(session: SessionKey, text: &str) -> Query {
    let filter = Some(filter(text, 0));
    Query::Rows(RowsQuery { session, calls: true, filter, part: RowsPart::From(1), limit: 10 })
}

/// The next answer to a question, in words.
fn answer(inputs: &Receiver<Input>, ticket: Ticket) -> String {
    loop {
        match inputs.recv_timeout(LIMIT).unwrap_or_else(|error| panic!("{ticket:?}: {error}")) {
            Input::Answer(this, Answer::Rows(rows)) if this == ticket && rows.complete => return "rows".into(),
            Input::Answer(this, Answer::Changed(what)) if this == ticket => return what,
            Input::Answer(this, Answer::Summary(_)) if this == ticket => return "summary".into(),
            Input::Answer(this, Answer::Findings(_, _, true)) if this == ticket => return "findings".into(),
            Input::Failed(this, why) if this == Some(ticket) => return why,
            Input::Failed(this, why) => panic!("{this:?}: {why}"),
            _ => {}
        }
    }
}

/// Threads, of which the one that searches waits until session A is followed, which it never is.
fn waiting(folder: &tempfile::TempDir, to: Sender<Input>) -> Asked {
    let asked = Asked::start(Sources::database(&database(folder)), to).unwrap();
    asked.judged.begin(Ticket(1), A);
    asked.ask(Ticket(2), rows(A, "is:finding"));
    asked
}

#[test]
fn who_deletes_or_looks_at_another_session_does_not_wait_for_the_one_that_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let (to, inputs) = channel();
    let asked = waiting(&folder, to);
    asked.ask(Ticket(3), Query::Summary(B));
    assert_eq!(answer(&inputs, Ticket(3)), "summary");
    asked.ask(Ticket(4), Query::Delete(B));
    assert_eq!(answer(&inputs, Ticket(4)), "deleted");
}

#[test]
fn a_search_goes_on_with_another_session_whether_the_first_was_withdrawn_or_not() {
    for withdrawn in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (to, inputs) = channel();
        let asked = waiting(&folder, to);
        if withdrawn {
            asked.withdraw(Ticket(2));
        }
        asked.ask(Ticket(3), Query::Findings(B));
        asked.ask(Ticket(4), rows(B, "is:finding"));
        if !withdrawn {
            assert_eq!(answer(&inputs, Ticket(2)), "the session could not be followed; open it again");
        }
        let answered = match answer(&inputs, Ticket(4)) {
            it if it == "rows" => it,
            other => panic!("{other}"),
        };
        assert_eq!(answered, "rows", "withdrawn: {withdrawn}");
    }
}

#[test]
fn figures_are_counted_anew_when_the_filter_means_something_else() {
    let opened = opened("demo.jsonl");
    let (to, inputs) = channel();
    let answers = Answers::new(to, Withdrawn::default());
    let mut figures = Figures::new(&opened, &answers);
    let mut n_calls = |ticket: u64, filter: &std::sync::Arc<Filter>| {
        let query = StatsQuery { session: A, filter: Some(filter.clone()), by: StatsBy::Tool };
        figures.answer(Ticket(ticket), Query::Stats(query));
        let all = inputs.try_iter().filter_map(|input| match input {
            Input::Answer(this, Answer::Stats(stats)) if this == Ticket(ticket) => Some(stats.n_calls),
            _ => None,
        });
        all.last().unwrap()
    };
    // The same text an hour later.
    let session = opened.store.sessions().unwrap().remove(0);
    let began = i128::from(session.start.opened_unix_ns);
    let (minute, hour) = (60_000_000_000, 3_600_000_000_000);
    let now = n_calls(1, &filter("after:-5m", began + minute));
    assert!(now > 2, "{now}");
    assert_eq!(n_calls(2, &filter("after:-5m", began + hour)), 0);
    // The same filter when more is known.
    let all = Look { through: 100, complete: true, over: true, seen_waits: 0 };
    let finding = |seq| FindingLine {
        at: At { seq, member: 0 },
        rule: "RPC-001",
        title: "",
        advice: "",
        severity: Severity::Error,
        detail: String::new(),
        by: "server",
    };
    let calls: Vec<u64> = {
        opened.store.catch_up(SessionId(A.0), |_| {}).unwrap();
        let listed = opened.store.list(SessionId(A.0), tap_store::ListKind::Calls, tap_store::Part::From(1), 100);
        let listed = listed.unwrap().into_iter().map(|listed| listed.row);
        let calls = listed.filter(|row| row.method.as_deref() == Some("tools/call"));
        calls.map(|row| row.at.seq).collect()
    };
    answers.judged.begin(Ticket(3), A);
    answers.judged.add(Ticket(3), &[finding(calls[0])], all);
    let asks_findings = filter("is:finding", 0);
    assert_eq!(n_calls(4, &asks_findings), 1);
    answers.judged.add(Ticket(3), &[finding(calls[1])], all);
    assert_eq!(n_calls(5, &asks_findings), 2);
    assert_eq!(n_calls(6, &asks_findings), 2);
}
