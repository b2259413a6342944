//! Figures of a session: counted as `stats` counts, in parts, and on from there when the session has grown.
//!
//! What was counted is kept for the question that was asked last, so that another grouping costs nothing, and what came
//! since then only itself. A question that is withdrawn leaves what it has counted to the next one.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use tap_filter::Filter;
use tap_inspector::{Answer, STATS_LINES, SessionKey, StatsAnswer, StatsBy, StatsLine, StatsQuery, StatsSpent, Ticket};
use tap_session::SessionState;
use tap_store::{Session, SessionId, StoreError};

use super::super::asked::{Answers, Opened};
use crate::counting::{By, Counter, Group, Key, MAGNITUDES_NS, Scope};
use crate::following::{Steps, last_seq};
use crate::reference::Part;
use crate::subject::Findings;

/// How long is counted before what is known is given.
const GIVE: Duration = Duration::from_millis(150);

/// How long is counted before it is looked whether anybody still asks.
const LOOK: Duration = Duration::from_millis(20);

/// Of so many different calls each is counted by itself. A peer can make up any number.
const GROUPS: usize = 10_000;

/// How many tools that were never called are named.
const NAMES: usize = 100;

/// How many tools are told whose results were the largest.
const LARGEST: usize = 12;

/// What was counted so far.
pub(super) struct Counting {
    key: SessionKey,
    filter: Option<Arc<Filter>>,
    /// How many rules were broken by what was known when it began, if the filter asks for that.
    n_findings: usize,
    steps: Steps,
    counter: Counter,
}

impl Counting {
    /// Whether it is of use for a question: the same filter, not only the same text, which may say `after:-5m` or name a
    /// saved filter; and it was judged by what is known now.
    fn is_for(&self, query: &StatsQuery, n_findings: usize) -> bool {
        let is_same = match (&self.filter, &query.filter) {
            (Some(this), Some(other)) => Arc::ptr_eq(this, other),
            (None, None) => true,
            _ => false,
        };
        self.key == query.session && is_same && self.n_findings == n_findings
    }
}

/// Answers a question in parts, as far as there is something to be counted.
pub(super) fn stats(
    counting: &mut Option<Counting>,
    opened: &Opened,
    answers: &Answers,
    ticket: Ticket,
    query: &StatsQuery,
) -> Result<(), StoreError> {
    let (store, id) = (&opened.store, SessionId(query.session.0));
    if !store.catch_up_while(id, |_| !answers.is_withdrawn(ticket))? {
        return Ok(());
    }
    let Some(session) = store.sessions()?.into_iter().find(|session| session.id == id) else {
        answers.fail(Some(ticket), "there is no such session any more".into());
        return Ok(());
    };
    let filter = query.filter.as_deref();
    let findings = match filter.is_some_and(Filter::asks_findings) {
        true => match answers.findings(ticket, &session, last_seq(store, id)?) {
            Some(findings) => findings,
            None => return Ok(()),
        },
        false => Arc::default(),
    };
    let scope = scope(opened, &session, filter.map(|filter| (filter, &*findings)));
    let n_findings = findings.values().map(Vec::len).sum();
    let kept = counting.take().filter(|kept| kept.is_for(query, n_findings));
    let now = match kept {
        Some(kept) => counting.insert(kept),
        None => {
            let steps = Steps::new(store, &session, opened.first_seq)?;
            let (key, filter) = (query.session, query.filter.clone());
            counting.insert(Counting {
                key,
                filter,
                n_findings,
                steps,
                counter: Counter::new(GROUPS, opened.zone.clone()),
            })
        }
    };
    let (mut given, mut cost) = (Instant::now(), Duration::ZERO);
    let done = loop {
        if answers.is_withdrawn(ticket) {
            return Ok(());
        }
        let stepped = now.steps.step(store, LOOK, |seen| now.counter.take(&seen, &scope));
        let complete = match stepped {
            Ok(complete) => complete,
            Err(error) => break Err(error),
        };
        // To tell costs as well: a fourth of the time at most.
        if complete || given.elapsed() > GIVE.max(cost * 3) {
            let began = Instant::now();
            let last = last_seq(store, id)?;
            let answer = match told(now, query.by, &scope, last, complete, &opened.zone) {
                Ok(answer) => answer,
                Err(error) => break Err(error),
            };
            cost = began.elapsed();
            if !answers.give(ticket, Answer::Stats(Box::new(answer))) || complete {
                return Ok(());
            }
            given = Instant::now();
        }
    };
    // What was followed in part is of no use.
    *counting = None;
    done
}

fn scope<'a>(opened: &'a Opened, session: &'a Session, filter: Option<(&'a Filter, &'a Findings)>) -> Scope<'a> {
    Scope { store: &opened.store, session, conversation: None, part: Part::All, filter }
}

fn told(
    now: &Counting,
    by: StatsBy,
    scope: &Scope<'_>,
    last_seq: u64,
    complete: bool,
    zone: &TimeZone,
) -> Result<StatsAnswer, StoreError> {
    let by_key = match by {
        StatsBy::Tool => By::Tool,
        StatsBy::Method => By::Method,
        StatsBy::Conversation => By::Conversation,
        StatsBy::Hour => By::Hour,
        StatsBy::Error => By::Error,
    };
    let (states, over) = (|| now.steps.states(), now.steps.is_over());
    let counted = now.counter.counted(by_key, states(), over, scope)?;
    let (mut lines, mut n_calls, mut n_errors) = (Vec::new(), 0, 0);
    for (key, mut group) in counted.groups {
        n_calls += group.n_calls;
        n_errors += group.n_errors + group.n_tool_errors;
        lines.push(line(&key, &mut group, zone));
    }
    lines.sort_by(|a, b| b.spent_ns.cmp(&a.spent_ns).then_with(|| a.name.cmp(&b.name)));
    let n_left_out = lines.len().saturating_sub(STATS_LINES) as u64;
    lines.truncate(STATS_LINES);
    if by == StatsBy::Error {
        // Lines are of those that failed; all that there are is known by what was called.
        let all = now.counter.counted(By::Method, states(), over, scope)?;
        n_calls = all.groups.values().map(|group| group.n_calls).sum();
    }
    let spent = counted.spent;
    let mut results = now.counter.results();
    results.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
    let of_results = results.iter().fold((0, 0), |(n, bytes), result| (n + result.1, bytes + result.2));
    let listed = states().filter(|state| state.lists.tools.n_items > 0).last();
    let called: HashSet<&str> = results.iter().map(|(name, ..)| &**name).collect();
    let tools = listed.into_iter().flat_map(|state| &state.lists.tools.items);
    let never: Vec<&str> = tools.map(|tool| &*tool.name).filter(|name| !called.contains(name)).collect();
    let instructions = states().filter_map(|state| state.instructions.as_ref()).last();
    Ok(StatsAnswer {
        seq: now.steps.last_seq(),
        last_seq,
        complete,
        lines,
        n_left_out,
        n_calls,
        n_errors,
        magnitudes_ns: MAGNITUDES_NS.to_vec(),
        stretch_ns: counted.over_time.stretch_ns,
        stretches: counted.over_time.stretches,
        n_never_called: never.len() as u64,
        never_called: never.iter().take(NAMES).map(|name| (*name).to_owned()).collect(),
        spent: StatsSpent {
            all_ns: spent.all_ns,
            person_ns: spent.person_ns,
            tools_ns: spent.tools_ns,
            others_ns: spent.others_ns,
        },
        definitions: listed.map_or((0, 0), definitions),
        instruction_bytes: instructions.map_or(0, |text| text.len() as u64),
        results: of_results,
        largest: results.iter().take(LARGEST).map(|(name, n, bytes)| (name.to_string(), *n, *bytes)).collect(),
    })
}

fn definitions(state: &SessionState) -> (u64, u64) {
    (state.lists.tools.n_items, state.lists.tools.n_bytes)
}

fn line(key: &Key, group: &mut Group, zone: &TimeZone) -> StatsLine {
    let [p50_ns, p95_ns, p99_ns, max_ns] = group.latencies.percentiles([50, 95, 99, 100]);
    StatsLine {
        name: match key {
            Key::Called { method, target } if &**method == "tools/call" && !target.is_empty() => target.to_string(),
            key => key.name(zone),
        },
        filter: key.filter(),
        n_calls: group.n_calls,
        n_errors: group.n_errors + group.n_tool_errors,
        n_cancelled: group.n_cancelled,
        n_open: group.n_in_flight + group.n_unanswered + group.n_waiting,
        p50_ns,
        p95_ns,
        p99_ns,
        max_ns,
        spent_ns: group.latencies.sum(),
        exact: group.latencies.is_exact(),
        request_bytes: group.request_bytes,
        answer_bytes: group.answer_bytes,
        magnitudes: group.latencies.magnitudes().to_vec(),
    }
}
