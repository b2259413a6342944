//! Tests of tasks: both eras, both directions, and what crosses on the wire.

use super::*;
use crate::captures::{captures, follow};
use crate::script::{run, told};
use crate::{Follower, LinkKind};

/// A tool's task of 2025-11-25: the call is message 4, the task message 5.
const TASK: &str = r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{},"_meta":{"progressToken":"p"}}}
<- {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working","createdAt":"T0","lastUpdatedAt":"T0","ttl":null,"pollInterval":1000}}}
"#;

/// The same of the extension: messages 1 and 2.
const MODERN_TASK: &str = r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t",TASKS_META}}
<- {"jsonrpc":"2.0","id":5,"result":{"resultType":"task","taskId":"a","status":"working","createdAt":"T0","lastUpdatedAt":"T0","ttlMs":null,"pollIntervalMs":1000}}
"#;

/// A status notification of the server.
fn status(status: &str, updated: &str) -> String {
    format!(
        r#"<- {{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{"taskId":"a","status":"{status}","createdAt":"T0","lastUpdatedAt":"{updated}","ttl":null}}}}"#
    ) + "\n"
}

/// A poll.
fn ask(id: u32) -> String {
    format!(r#"-> {{"jsonrpc":"2.0","id":{id},"method":"tasks/get","params":{{"taskId":"a"}}}}"#) + "\n"
}

/// The answer to a poll or to a cancellation.
fn tell(id: u32, status: &str) -> String {
    format!(
        r#"<- {{"jsonrpc":"2.0","id":{id},"result":{{"taskId":"a","status":"{status}","createdAt":"T0","lastUpdatedAt":"T1","ttl":null,"pollInterval":1000}}}}"#
    ) + "\n"
}

/// `tasks/result` and its answer.
fn result(id: u32) -> String {
    format!(
        r#"-> {{"jsonrpc":"2.0","id":{id},"method":"tasks/result","params":{{"taskId":"a"}}}}
<- {{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"a"}}}}}}}}"#
    ) + "\n"
}

fn cancel(id: u32) -> String {
    format!(r#"-> {{"jsonrpc":"2.0","id":{id},"method":"tasks/cancel","params":{{"taskId":"a"}}}}"#) + "\n"
}

fn refuse(id: u32) -> String {
    format!(r#"<- {{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"no"}}}}"#) + "\n"
}

/// A poll and its answer in the modern era. `more` goes into the result.
fn modern_poll(id: u32, status: &str, more: &str) -> String {
    format!(
        r#"-> {{"jsonrpc":"2.0","id":{id},"method":"tasks/get","params":{{"taskId":"a",TASKS_META}}}}
<- {{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","taskId":"a","status":"{status}","createdAt":"T0","lastUpdatedAt":"T1","ttlMs":null{more}}}}}
"#
    )
}

/// A script against what it must give: findings of this part, and errors of others. Their notes are none of its business.
#[track_caller]
fn check(script: &str, expected: &str) {
    let (_, meaning) = run(script);
    let mut found = meaning.findings;
    found.retain(|finding| finding.rule.id.starts_with("TSK-") || finding.severity == Severity::Error);
    found.sort_by_key(|finding| finding.at);
    let found: Vec<_> = found.iter().map(told).collect();
    let found = found.join("\n");
    assert_eq!(found.trim(), expected.trim(), "found:\n{found}");
}

#[track_caller]
fn check_all(parts: &[&str], expected: &str) {
    check(&parts.concat(), expected);
}

#[track_caller]
fn task(parts: &[&str]) -> Arc<Task> {
    let (follower, _) = run(&parts.concat());
    follower.state().tasks.get("a").unwrap().clone()
}

#[test]
fn a_status_that_was_asked_for_before_the_end_may_come_after_it() {
    // The poll was on its way when the end was told.
    check_all(&[TASK, &ask(6), &status("completed", "T2"), &tell(6, "working")], "");
    let after = task(&[TASK, &ask(6), &status("completed", "T2"), &tell(6, "working")]);
    assert_eq!((after.status.as_deref(), after.is_terminal()), (Some("completed"), true));
    // It was sent after that.
    check_all(
        &[TASK, &status("completed", "T2"), &ask(6), &tell(6, "working")],
        "8 TSK-003 error by server: from `completed` to `working`",
    );
}

#[test]
fn a_notification_that_comes_late_by_its_own_time_is_no_step_back() {
    check_all(
        &[TASK, &status("cancelled", "T2"), &status("working", "T1")],
        "7 TSK-003 warning by server: from `cancelled` to `working`, by its `lastUpdatedAt` a notification that came late",
    );
    check_all(
        &[TASK, &status("cancelled", "T2"), &status("working", "T3")],
        "7 TSK-003 error by server: from `cancelled` to `working`",
    );
    assert!(task(&[TASK, &status("cancelled", "T2"), &status("working", "T1")]).is_terminal());
}

#[test]
fn every_step_between_statuses_is_judged() {
    for from in ["working", "input_required", "completed", "failed", "cancelled"] {
        for to in ["working", "input_required", "completed", "failed", "cancelled"] {
            let script = [TASK, &status(from, "T1"), &status(to, "T2")].concat();
            let is_wrong = tap_protocol::is_terminal(from) && from != to;
            let expected = format!("7 TSK-003 error by server: from `{from}` to `{to}`");
            check(&script, if is_wrong { &expected } else { "" });
        }
    }
    check_all(
        &[TASK, &status("paused", "T1"), &status("paused", "T1"), &status("working", "T2")],
        "6 TSK-003 error by server: there is no status `paused`",
    );
}

#[test]
fn a_task_begins_as_working_as_far_as_its_times_show() {
    let begun =
        |status: &str, updated: &str| TASK.replace("working", status).replace(r#""lastUpdatedAt":"T0""#, updated);
    check(&begun("completed", r#""lastUpdatedAt":"T0""#), "5 TSK-002 error by server: it is `completed`");
    // It may have gone on before the answer was written.
    check(&begun("completed", r#""lastUpdatedAt":"T1""#), "5 TSK-002 warning by server: it is `completed`");
    check(&begun("new", r#""lastUpdatedAt":"T1""#), "5 TSK-003 error by server: there is no status `new`");
    // The extension lets a task begin in any status.
    check(&MODERN_TASK.replace("working", "input_required"), "");
}

#[test]
fn a_status_may_overtake_the_answer_that_makes_the_task() {
    let (head, answer) = TASK.trim_end().rsplit_once('\n').unwrap();
    let script = [head, "\n", &status("working", "T0"), answer].concat();
    check(&script, "");
    let (follower, meaning) = run(&script);
    let task = follower.state().tasks.get("a").unwrap();
    let call = At { seq: 4, member: 0 };
    assert_eq!((task.made_by, task.target.as_deref()), (Some(call), Some("t")));
    let links: Vec<_> = meaning.links.iter().map(|link| (link.from.seq, link.to, link.kind)).collect();
    assert_eq!(links, [(5, call, LinkKind::Task)]);
}

#[test]
fn a_result_shows_the_end_and_is_too_early_when_the_task_goes_on() {
    let done = task(&[TASK, &result(6)]);
    assert_eq!((done.status.as_deref(), done.is_terminal()), (Some("working"), true));
    assert_eq!(done.result, Some(At { seq: 7, member: 0 }));
    let early = "7 TSK-005 error by server: it is `working` afterwards";
    check_all(&[TASK, &result(6), &ask(7), &tell(7, "working")], early);
    check_all(&[TASK, &result(6), &ask(7), &tell(7, "failed")], "");
    assert!(!task(&[TASK, &result(6), &ask(7), &tell(7, "working")]).is_terminal());
    // Both were on their way.
    check_all(&[TASK, &ask(7), &result(6), &tell(7, "working"), &status("input_required", "T1")], "");
    // Told once, and not with every poll that follows.
    let slowly = "++ 1000\n";
    check_all(&[TASK, &result(6), &ask(7), &tell(7, "working"), slowly, &ask(8), &tell(8, "working")], early);
}

#[test]
fn polls_may_not_come_faster_than_their_interval() {
    let polls = |wait: &str| [TASK, &ask(6), &tell(6, "working"), wait, &ask(7), &tell(7, "working")].concat();
    let told = |elapsed: u32| {
        format!(
            "8 TSK-006 warning by client: {elapsed} ms after the last one, the interval is 1000 ms; told once a task"
        )
    };
    check(&polls(""), &told(2));
    check(&polls("++ 800\n"), &told(803));
    check(&polls("++ 900\n"), "");
    check_all(&[&polls(""), &ask(8), &tell(8, "working"), &ask(9), &tell(9, "working")], &told(2));
    // What was heard meanwhile is a reason to ask at once.
    check(&polls(&status("input_required", "T1")), "");
    check_all(&[TASK, &ask(6), &tell(6, "completed"), &ask(7), &tell(7, "completed")], "");
    assert_eq!(task(&[&polls("++ 900\n")]).n_polls, 2);
}

#[test]
fn a_task_that_is_over_is_not_cancelled() {
    let asked = "7 TSK-007 note by client: it may have been on its way when the task ended";
    let ended = [TASK, &status("failed", "T1")].concat();
    check_all(&[&ended, &cancel(6), &refuse(6)], asked);
    for status in ["failed", "cancelled"] {
        let answered = format!("{asked}\n8 TSK-007 error by server: answered with a result and not with -32602");
        check_all(&[&ended, &cancel(6), &tell(6, status)], &answered);
    }
    // The end crosses the cancellation.
    check_all(&[TASK, &cancel(6), &status("completed", "T1"), &refuse(6)], "");
    check_all(&[TASK, &cancel(6), &tell(6, "cancelled")], "");
    check_all(
        &[TASK, &cancel(6), &tell(6, "working")],
        "7 TSK-003 error by server: it was cancelled, and is `working` afterwards",
    );
}

#[test]
fn cancelling_is_a_wish_in_the_extension() {
    let cancelled = r#"-> {"jsonrpc":"2.0","id":6,"method":"tasks/cancel","params":{"taskId":"a",TASKS_META}}
<- {"jsonrpc":"2.0","id":6,"result":{"resultType":"complete"}}
"#;
    let done = r#","result":{"content":[]}"#;
    check_all(&[MODERN_TASK, cancelled, &modern_poll(7, "working", ""), &modern_poll(8, "completed", done)], "");
    let task = task(&[MODERN_TASK, cancelled, &modern_poll(7, "completed", done)]);
    assert_eq!(task.cancel_asked, Some(At { seq: 3, member: 0 }));
    assert_eq!((task.ended, task.result), (Some(At { seq: 6, member: 0 }), Some(At { seq: 6, member: 0 })));
    check_all(
        &[MODERN_TASK, &modern_poll(7, "completed", done), &modern_poll(8, "working", "")],
        "6 TSK-003 error by server: from `completed` to `working`",
    );
}

#[test]
fn what_a_client_runs_is_a_task_as_well() {
    let script = r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}
<- {"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"task":{"ttl":5}}}
-> {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working","createdAt":"T0","lastUpdatedAt":"T0","ttl":5}}}
<- {"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"a"}}
-> {"jsonrpc":"2.0","id":6,"result":{"taskId":"a","status":"completed","createdAt":"T0","lastUpdatedAt":"T1","ttl":5}}
<- {"jsonrpc":"2.0","id":7,"method":"tasks/result","params":{"taskId":"a"}}
-> {"jsonrpc":"2.0","id":7,"result":{"role":"assistant","content":{"type":"text","text":""},"model":"m"}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
"#;
    check(script, "10 TSK-004 error by client: the answer to `tasks/result`");
    let (follower, meaning) = run(script);
    let task = follower.state().tasks.of(Side::Client, "a").unwrap();
    assert_eq!((task.owner, task.method.as_deref()), (Side::Client, Some("sampling/createMessage")));
    assert_eq!(task.time_to_live, Some(TimeToLive::Milliseconds(5)));
    assert!(follower.state().tasks.of(Side::Server, "a").is_none());
    let links: Vec<_> = meaning.links.iter().map(|link| (link.from.seq, link.to.seq)).collect();
    assert_eq!(links, [(7, 5), (8, 5), (9, 5), (10, 5)]);
}

#[test]
fn a_server_should_and_a_client_must_look_at_what_the_other_side_offers() {
    let plain = |capabilities: &str| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{"sampling":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}}}}}}
-> {{"jsonrpc":"2.0","method":"notifications/initialized"}}
-> {{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"t","task":{{}}}}}}
<- {{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{{"messages":[],"maxTokens":1,"task":{{}}}}}}
-> {{"jsonrpc":"2.0","id":2,"result":{{"role":"assistant","content":{{"type":"text","text":""}},"model":"m"}}}}
<- {{"jsonrpc":"2.0","id":2,"result":{{"content":[]}}}}"#
        )
    };
    let server = "5 TSK-001 warning by server: `sampling/createMessage` needs `tasks.requests.sampling.createMessage` of the client";
    check(&plain(r#"{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}"#), server);
    let client = "4 TSK-001 error by client: `tools/call` needs `tasks.requests.tools.call` of the server";
    for capabilities in [r#"{"tools":{}}"#, r#"{"tools":{},"tasks":{"list":{}}}"#] {
        check(&plain(capabilities), &format!("{client}\n{server}"));
    }
}

#[test]
fn a_tool_that_was_listed_without_tasks_becomes_none() {
    let listed = |execution: &str| {
        let list = format!(
            r#"# 2025-11-25
-> {{"jsonrpc":"2.0","id":1,"method":"tools/list"}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"t","inputSchema":{{"type":"object"}}{execution}}}]}}}}
"#
        );
        list + &TASK.replace("# 2025-11-25\n", "")
    };
    let wrong = "6 TSK-001 warning by client: tool `t` does not offer it";
    check(&listed(""), wrong);
    check(&listed(r#","execution":{"taskSupport":"forbidden"}"#), wrong);
    check(&listed(r#","execution":{"taskSupport":"optional"}"#), "");
    check(&listed(r#","execution":{"taskSupport":"required"}"#), "");
}

#[test]
fn a_message_says_which_task_it_belongs_to() {
    let related = |id: &str| format!(r#""_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{id}"}}}}"#);
    let asked = format!(
        r#"<- {{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{{"message":"?","requestedSchema":{{"type":"object","properties":{{}}}},{}}}}}"#,
        related("a")
    ) + "\n";
    let answered =
        |meta: &str| format!(r#"-> {{"jsonrpc":"2.0","id":1,"result":{{"action":"decline"{meta}}}}}"#) + "\n";
    check_all(&[TASK, &asked, &answered("")], "7 TSK-004 error by client: the answer to `elicitation/create`");
    check_all(&[TASK, &asked, &answered(&format!(",{}", related("a")))], "");
    let other = "7 TSK-004 error by client: it names `b`, the request `a`";
    check_all(&[TASK, &asked, &answered(&format!(",{}", related("b")))], other);
    // An error has no `_meta`.
    check_all(&[TASK, &asked, &refuse(1).replace("<-", "->")], "");
    let task = task(&[TASK, &asked, &answered("")]);
    let input = task.inputs.get("1").unwrap();
    let (asked, answered) = (At { seq: 6, member: 0 }, At { seq: 7, member: 0 });
    assert_eq!((&*input.method, input.asked, input.answered), ("elicitation/create", asked, Some(answered)));
    let progress = r#"<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
"#;
    let (_, meaning) = run(&[TASK, progress, &progress.replace(":1}", ":2}")].concat());
    let found: Vec<_> = meaning.findings.iter().filter(|finding| finding.rule.id == "TSK-004").map(told).collect();
    assert_eq!(found, ["6 TSK-004 warning by server: progress of a task; told once a task"]);
}

#[test]
fn result_types_are_those_of_their_requests() {
    let call = |meta: &str| MODERN_TASK.replace("TASKS_META", meta);
    check(&call("META"), "2 TSK-008 error by server:");
    // What an earlier request declared does not count.
    let second =
        call("META").replace("# 2026-07-28\n", "").replace(r#""id":5"#, r#""id":6"#).replace(r#""a""#, r#""b""#);
    check_all(&[MODERN_TASK, &second], "4 TSK-008 error by server:");
    let get = modern_poll(6, "working", "").replace(r#""complete""#, r#""task""#);
    check_all(&[MODERN_TASK, &get], "4 TSK-009 error by server: `tasks/get` answered with `task`");
    let prompt = r#"-> {"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"name":"p",TASKS_META}}
<- {"jsonrpc":"2.0","id":6,"result":{"resultType":"task","taskId":"b","status":"working","createdAt":"T0","lastUpdatedAt":"T0","ttlMs":null}}"#;
    check(prompt, "2 TSK-009 error by server: `prompts/get` answered with a task");
}

#[test]
fn a_key_is_for_one_request_of_a_task() {
    let asks = |id: u32, key: &str, message: &str| {
        let more = format!(
            r#","inputRequests":{{"{key}":{{"method":"elicitation/create","params":{{"message":"{message}","requestedSchema":{{"type":"object","properties":{{}}}}}}}}}}"#
        );
        modern_poll(id, "input_required", &more)
    };
    let update = r#"-> {"jsonrpc":"2.0","id":70,"method":"tasks/update","params":{"taskId":"a","inputResponses":{"k":{"action":"decline"}},TASKS_META}}
<- {"jsonrpc":"2.0","id":70,"result":{"resultType":"complete"}}
"#;
    check_all(&[MODERN_TASK, &asks(6, "k", "name?"), &asks(7, "k", "name?")], "");
    // An acknowledgement may come before its effect.
    check_all(&[MODERN_TASK, &asks(6, "k", "name?"), update, &asks(7, "k", "name?")], "");
    check_all(&[MODERN_TASK, &asks(6, "k", "name?"), &asks(7, "l", "age?")], "");
    check_all(&[MODERN_TASK, &asks(6, "k", "name?"), &asks(7, "k", "age?")], "6 TSK-010 error by server: key `k`");
    check_all(
        &[MODERN_TASK, &asks(6, "k", "name?"), update, &asks(7, "k", "age?")],
        "8 TSK-010 error by server: key `k`, which was answered",
    );
    let task = task(&[MODERN_TASK, &asks(6, "k", "name?"), update]);
    assert_eq!(task.inputs.get("k").unwrap().answered, Some(At { seq: 5, member: 0 }));
}

#[test]
fn a_recording_that_begins_in_the_middle_knows_the_tasks_that_are_named() {
    let script = [&ask(6)[..], &tell(6, "working"), &ask(7), &refuse(7)].concat();
    let task = task(&[&script]);
    assert_eq!((task.made_by, task.n_polls, task.era), (None, 2, Era::Legacy));
    assert_eq!((task.lost, task.is_terminal()), (Some(At { seq: 4, member: 0 }), true));
    // Nobody knows an id that was only asked for.
    let (follower, _) = run(&[ask(6), refuse(6)].concat());
    assert_eq!(follower.state().tasks.n_seen, 0);
    let (follower, _) = run(&modern_poll(6, "completed", r#","result":{}"#));
    assert_eq!(follower.state().tasks.get("a").unwrap().era, Era::Modern);
}

#[test]
fn calls_name_the_tasks_that_they_became_or_ask_about() {
    let (follower, _) = run(&[TASK, &ask(6)].concat());
    let state = follower.state();
    let call = state.recent().next_back().unwrap();
    assert_eq!(call.task.as_deref(), Some("a"));
    let poll = &state.in_flight()[0];
    assert_eq!(poll.task.as_deref(), Some("a"));
    assert!(became_a_task(call) && !became_a_task(poll));
    assert!([call, poll].into_iter().all(|call| task_of(state, call).is_some_and(|task| &*task.id == "a")));
    let token = RawId::from_token(b"\"p\"");
    assert!(state.tasks.of_token(tap_frame::Direction::ToServer, &token).is_some());
    assert!(state.tasks.of_token(tap_frame::Direction::ToClient, &token).is_none());
}

#[test]
fn tasks_without_end_are_forgotten_the_oldest_that_is_over_first() {
    let mut script = String::from("# 2025-11-25\n");
    for index in 0..1_100 {
        let state = if index == 500 { "completed" } else { "working" };
        script += &format!(
            r#"<- {{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{"taskId":"{index}","status":"{state}","createdAt":"T0","lastUpdatedAt":"T0","ttl":null}}}}"#
        );
        script.push('\n');
    }
    let listed: Vec<_> = (2_000..3_000).map(|index| format!(r#"{{"taskId":"{index}","status":"working"}}"#)).collect();
    script += &format!(
        r#"-> {{"jsonrpc":"2.0","id":6,"method":"tasks/list"}}
<- {{"jsonrpc":"2.0","id":6,"result":{{"tasks":[{}]}}}}"#,
        listed.join(",")
    );
    let (follower, _) = run(&script);
    let tasks = &follower.state().tasks;
    assert_eq!((tasks.n_open(), tasks.n_ended(), tasks.n_seen, tasks.n_forgotten), (1_000, 0, 1_100, 100));
    assert!(["500", "0", "98", "2000"].iter().all(|id| tasks.get(id).is_none()));
    assert!(["99", "1099"].iter().all(|id| tasks.get(id).is_some()));
}

#[test]
fn whatever_a_peer_says_of_tasks_is_survived() {
    let long = "x".repeat(5_000);
    for task in ["1", "[]", "{}", r#"{"taskId":1}"#, r#"{"taskId":"a"}"#, &format!(r#"{{"taskId":"{long}"}}"#)] {
        let script = format!(
            r#"{TASK}<- {{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{task}}}
-> {{"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{task}}}
<- {{"jsonrpc":"2.0","id":6,"result":{task}}}
-> {{"jsonrpc":"2.0","id":7,"method":"tasks/list","params":{task}}}
<- {{"jsonrpc":"2.0","id":7,"result":{{"tasks":[{task},[{task}]]}}}}
-> {{"jsonrpc":"2.0","id":8,"method":"tasks/cancel","params":{task}}}
<- {{"jsonrpc":"2.0","id":8,"result":{task}}}
-> {{"jsonrpc":"2.0","id":9,"method":"tasks/result","params":{task}}}
<- {{"jsonrpc":"2.0","id":9,"result":{task}}}
-> {{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{{"name":"t","task":{task},"_meta":{task}}}}}
<- {{"jsonrpc":"2.0","id":10,"result":{{"task":{task}}}}}"#
        );
        let (follower, _) = run(&script);
        assert!(follower.state().tasks.get(&long).is_none());
    }
}

/// Rules of this part that real peers break, and do break.
const REALLY_BROKEN: &[&str] = &[
    // The answer to an elicitation of a task names no task: the client of `@modelcontextprotocol/sdk` 1.32.2.
    "stdio-ts1--everything-tasks.jsonl: 28 TSK-004 error by client: the answer to `elicitation/create`",
];

#[test]
fn real_peers_do_what_tasks_want_of_them() {
    let captures = captures();
    let mut broken = Vec::new();
    for capture in &captures {
        let (_, meaning) = follow(capture);
        let errors = meaning.findings.iter().filter(|finding| finding.severity == Severity::Error);
        let errors = errors.filter(|finding| finding.rule.id.starts_with("TSK-"));
        broken.extend(errors.map(|finding| format!("{}: {}", capture.name, told(finding))));
    }
    assert_eq!(broken, if captures.is_empty() { &[] } else { REALLY_BROKEN });
}

#[test]
fn the_tasks_of_a_real_session_are_followed_to_their_end() {
    let captures = captures();
    let Some(capture) = captures.iter().find(|capture| capture.name == "stdio-ts1--everything-tasks.jsonl") else {
        println!("skipped: no capture of tasks");
        return;
    };
    let (follower, meaning): (Follower, _) = follow(capture);
    let tasks: Vec<_> = follower.state().tasks.ended().collect();
    let shown = |task: &Arc<Task>| {
        let seq = |at: Option<At>| at.map_or(0, |at| at.seq);
        let status = task.status.clone().unwrap_or_default();
        format!(
            "{} {status}: made by {}, {} polls, over at {}, result {}, cancelled by {}, {} asked",
            task.target.as_deref().unwrap_or_default(),
            seq(task.made_by),
            task.n_polls,
            seq(task.ended),
            seq(task.result),
            seq(task.cancel_asked),
            task.inputs.values().filter(|input| input.answered.is_some()).count(),
        )
    };
    assert_eq!(
        tasks.into_iter().map(shown).collect::<Vec<_>>(),
        [
            "simulate-research-query completed: made by 5, 2 polls, over at 31, result 32, cancelled by 0, 1 asked",
            "simulate-research-query cancelled: made by 35, 0 polls, over at 39, result 0, cancelled by 38, 0 asked",
        ]
    );
    assert_eq!(follower.state().tasks.n_open(), 0);
    let linked = |to: u64| {
        let links = meaning.links.iter().filter(|link| link.kind == LinkKind::Task && link.to.seq == to);
        links.map(|link| link.from.seq).collect::<Vec<_>>()
    };
    assert_eq!(linked(5), [11, 18, 19, 20, 21, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34]);
    assert_eq!(linked(35), [36, 38, 39]);
}

#[test]
fn the_result_of_a_task_is_judged_like_the_answer_to_a_call() {
    let listed = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["n"]},"execution":{"taskSupport":"optional"}}]}}
"#;
    let done = status("completed", "T1");
    let call = TASK.strip_prefix("# 2025-11-25\n").unwrap();
    let script = format!("# 2025-11-25\n{listed}{call}{done}{}", result(7));
    let (_, meaning) = run(&script);
    let found: Vec<String> = meaning.findings.iter().filter(|finding| finding.rule.id == "TOL-005").map(told).collect();
    assert_eq!(found.len(), 1, "{:?}", meaning.findings.iter().map(told).collect::<Vec<_>>());
    assert!(found[0].starts_with("10 TOL-005 error by server"), "{found:?}");
}
