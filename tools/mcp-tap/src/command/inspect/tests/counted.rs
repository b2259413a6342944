//! Figures, however they are counted.

use super::{HTTP, opened};

#[test]
fn figures_are_the_same_however_they_are_counted() {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use crate::counting::{By, Counter, Group, Key, Scope};
    use crate::following::Steps;

    type Told = BTreeMap<Key, (u64, u64, u64, u64, [Option<u64>; 3])>;
    let told = |groups: std::collections::HashMap<Key, Group>| -> Told {
        let figures = |mut group: Group| {
            let percentiles = group.latencies.percentiles([50, 95, 100]);
            let n_errors = group.n_errors + group.n_tool_errors;
            (group.n_calls, n_errors, group.request_bytes, group.answer_bytes, percentiles)
        };
        groups.into_iter().map(|(key, group)| (key, figures(group))).collect()
    };
    for recording in ["demo.jsonl", "broken.jsonl", "modern.jsonl", HTTP] {
        let opened = opened(recording);
        let session = opened.store.sessions().unwrap().remove(0);
        opened.store.catch_up(session.id, |_| {}).unwrap();
        let part = crate::reference::Part::All;
        let scope = Scope { store: &opened.store, session: &session, conversation: None, part, filter: None };
        let count = |a_step: Duration, by: By, most: usize| {
            let mut counter = Counter::new(most, jiff::tz::TimeZone::UTC);
            let mut steps = Steps::new(&opened.store, &session, 1).unwrap();
            let mut n_steps = 1;
            while !steps.step(&opened.store, a_step, |seen| counter.take(&seen, &scope)).unwrap() {
                // To look at what was counted changes nothing.
                counter.counted(by, steps.states(), false, &scope).unwrap();
                n_steps += 1;
            }
            assert!(steps.is_over() && steps.step(&opened.store, a_step, |_| panic!("nothing is left")).unwrap());
            (told(counter.counted(by, steps.states(), true, &scope).unwrap().groups), n_steps)
        };
        let (at_once, n_steps) = count(Duration::from_secs(60), By::Tool, usize::MAX);
        assert_eq!(n_steps, 1);
        let (in_steps, n_steps) = count(Duration::ZERO, By::Tool, usize::MAX);
        assert_eq!(in_steps, at_once, "{recording}");
        assert!(n_steps > 1 || recording != "demo.jsonl", "{n_steps}");
        // Grouped in another way, and with more names than are told apart, no call is lost.
        let n_calls = |told: &Told| told.values().map(|figures| figures.0).sum::<u64>();
        assert!(n_calls(&at_once) > 2);
        let groupings = [
            (By::Method, usize::MAX),
            (By::Conversation, usize::MAX),
            (By::Hour, usize::MAX),
            (By::Tool, 1),
            (By::Method, 1),
        ];
        for (by, most) in groupings {
            let (others, _) = count(Duration::ZERO, by, most);
            assert_eq!(n_calls(&others), n_calls(&at_once), "{recording} {by:?}");
            assert!(most == usize::MAX || others.len() <= 2, "{others:?}");
        }
        // By their errors only those that failed.
        let n_errors = |told: &Told| told.values().map(|figures| figures.1).sum::<u64>();
        let (failed, _) = count(Duration::ZERO, By::Error, usize::MAX);
        assert_eq!((n_calls(&failed), n_errors(&failed)), (n_errors(&at_once), n_errors(&at_once)), "{recording}");
    }
}
