//! Which questions are open, and which are asked again.

use super::*;
use crate::overview::Overseen;
use crate::sequence::Sequence;

/// The session that is open which a question is about. Marks are left out: what is changed is not withdrawn, and to read them
/// takes no time.
fn session_of(query: &Query) -> Option<SessionKey> {
    match query {
        Query::Rows(rows) => Some(rows.session),
        Query::Stats(stats) => Some(stats.session),
        Query::Watch(key)
        | Query::Again(key, _)
        | Query::Message(key, _)
        | Query::About(key, ..)
        | Query::State(key, ..)
        | Query::At(key, _)
        | Query::Findings(key)
        | Query::Tools(key, _)
        | Query::Links(key, ..)
        | Query::Begun(key, _)
        | Query::Overview(key) => Some(*key),
        Query::Sessions
        | Query::Summary(_)
        | Query::Judge(_)
        | Query::Label(..)
        | Query::Delete(_)
        | Query::Marks(_)
        | Query::Mark(..)
        | Query::Compare(..)
        | Query::CompareLine(..)
        | Query::CompareReport(_)
        | Query::Search(_)
        | Query::Picture(_) => None,
    }
}

/// What is it called?
fn name(query: &Query) -> String {
    let text = format!("{query:?}");
    text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default().to_owned()
}

/// Only the session that is open is asked about.
#[track_caller]
pub(super) fn hold(inspector: &Inspector, world: &World) {
    let open = inspector.open_session();
    let left: Vec<_> =
        world.open.iter().filter(|(_, query)| session_of(query).is_some_and(|key| Some(key) != open)).collect();
    assert!(left.is_empty(), "{open:?} is open, but {left:?}");
}

/// Presses keys and answers nothing; what is in `'…'` is typed.
fn press(world: &mut World, inspector: &mut Inspector, keys: &str) {
    for word in keys.split_whitespace() {
        match word.strip_prefix('\'').and_then(|typed| typed.strip_suffix('\'')) {
            Some(typed) => typed.chars().for_each(|c| {
                let effects = inspector.update(Input::Key(Key::plain(KeyCode::Char(c))));
                world.take(effects);
            }),
            None => {
                let effects = inspector.update(Input::Key(Key::named(word).unwrap()));
                world.take(effects);
            }
        }
    }
}

#[test]
fn who_opens_another_session_withdraws_all_that_was_asked_about_the_first() {
    for (keys, expected) in [
        ("4", "State"),
        ("5", "Stats"),
        ("8", "Tools"),
        ("3", "Links Begun"),
        ("2", "Overview"),
        ("enter", "Message"),
        ("/ 'tool:x' enter", "Rows"),
        ("/ 'is:finding' enter", "Rows"),
        // Behind the last row that is known.
        ("]", "Rows"),
        (">", "Rows"),
        ("# '+1s' enter", "At"),
        ("l", "Rows"),
    ] {
        let is_list = expected == "Rows";
        let (mut world, mut inspector) = opened(if is_list { 1 } else { 1_000 }, true);
        world.take(inspector.update(Input::Tick(10_000_000_000)));
        let open = inspector.open.as_mut().unwrap();
        // There is more than is at hand, and nobody has said what yet.
        if is_list {
            open.rows.grown();
        }
        open.overseen = Overseen::default();
        open.sequence = Sequence::default();
        press(&mut world, &mut inspector, keys);
        // Who said what to whom is asked of rows that are there.
        if let Some(index) = world.open.iter().position(|(_, query)| !is_list && matches!(query, Query::Rows(_))) {
            let (ticket, query) = world.open.remove(index);
            let answer = world.answer(&query, true).unwrap();
            world.take(inspector.update(Input::Answer(ticket, answer)));
        }
        let asked: Vec<String> = world.open.iter().map(|(_, query)| name(query)).collect();
        for expected in expected.split(' ') {
            assert!(asked.iter().any(|asked| asked == expected), "{keys}: {asked:?}");
        }
        let mut effects = Vec::new();
        inspector.open_session_line(line(4, false), &mut effects);
        world.take(effects);
        assert_eq!(inspector.open_session(), Some(SessionKey(4)));
        hold(&inspector, &world);
    }
}

#[test]
fn a_list_by_findings_is_looked_at_again_when_there_are_more() {
    let finding = |seq: u64| FindingLine {
        at: At { seq, member: 0 },
        rule: "RPC-001",
        title: "",
        advice: "",
        severity: Severity::Error,
        detail: String::new(),
        by: "server",
    };
    for (filter, found, is_asked) in [
        ("is:finding", vec![3, 70], Some(3)),
        ("tool:x or is:problem", vec![3_900], Some(3_000)),
        ("is:finding", vec![], None),
        ("tool:x", vec![3], None),
        ("", vec![3], None),
    ] {
        let (mut world, mut inspector) = opened(4_000, true);
        let mut effects = Vec::new();
        inspector.set_filter(filter, &mut effects);
        world.take(effects);
        settle(&mut world, &mut inspector);
        let ticket = inspector.open.as_ref().unwrap().findings.ticket.unwrap();
        let found: Vec<FindingLine> = found.into_iter().map(finding).collect();
        // They come in parts.
        let effects = inspector.update(Input::Answer(ticket, Answer::Findings(found, 4_000, false)));
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Ask(_, Query::Rows(_)))), "{filter}");
        let effects = inspector.update(Input::Answer(ticket, Answer::Findings(Vec::new(), 4_000, true)));
        let from = effects.iter().find_map(|effect| match effect {
            Effect::Ask(_, Query::Rows(RowsQuery { part: RowsPart::From(seq), .. })) => Some(*seq),
            _ => None,
        });
        assert_eq!(from, is_asked, "{filter}");
        let effects = inspector.update(Input::Answer(ticket, Answer::Findings(Vec::new(), 4_000, true)));
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Ask(..))), "once: {effects:?}");
    }
}

#[test]
fn figures_by_a_filter_that_is_typed_anew_are_asked_for_anew() {
    let (mut world, mut inspector) = opened(40, false);
    for _ in 0..2 {
        drive(&mut world, &mut inspector, "2");
        let mut effects = Vec::new();
        inspector.set_filter("after:-5m", &mut effects);
        world.take(effects);
        settle(&mut world, &mut inspector);
        let effects = inspector.update(Input::Key(Key::named("5").unwrap()));
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Ask(_, Query::Stats(_)))), "{effects:?}");
        world.take(effects);
        settle(&mut world, &mut inspector);
    }
}
