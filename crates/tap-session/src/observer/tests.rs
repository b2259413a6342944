//! Tests of the observer: scripts of a session against what it says of each frame.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use crate::Reading;
use crate::traffic::{finish, pack, passed, read};
use tap_frame::Segment;

const MILLISECOND_NS: u64 = 1_000_000;

/// One line of `script` is one frame, a millisecond after the one before: `->` to the server, `<-` to the client, `!!`
/// on stderr, `..` bytes to the client that were lost, `@@` what was done (see `script.rs`). Expected: a line for each event, and at the end who talks.
#[track_caller]
fn check(script: &str, expected: &str) {
    let frames = crate::script::frames(script).into_iter().map(|frame| Ok::<_, ()>(crate::Recorded::Frame(frame)));
    let segments: Vec<Segment> = crate::segments_of(0, frames).map(Result::unwrap).collect();
    let mut reading = Reading::default();
    let meant = read(&mut reading, &segments);
    let mut found = String::new();
    for event in meant.iter().flat_map(|(_, events)| events) {
        found.push_str(&told(event));
    }
    let Identity { client, server, revision } = reading.identity();
    for (who, what) in [("client", client), ("server", server), ("revision", revision)] {
        if let Some(what) = what {
            writeln!(found, "{who} is {what}").unwrap();
        }
    }
    assert_eq!(found.trim(), expected.trim(), "found:\n{found}");
}

fn place(at: At) -> String {
    match at.member {
        0 => at.seq.to_string(),
        member => format!("{}.{member}", at.seq),
    }
}

fn told(event: &Event) -> String {
    match event {
        Event::Row(row) => {
            let mut line = format!("{}: {}", place(row.at), row.kind.name());
            let mut add = |text: String| write!(line, " {text}").unwrap();
            row.raw_id.iter().for_each(|id| add(format!("id={id}")));
            row.method.iter().for_each(|method| add(method.to_string()));
            row.target.iter().for_each(|target| add(format!("({target})")));
            row.status.iter().for_each(|status| add(format!("{status:?}")));
            row.error_code.iter().for_each(|code| add(format!("code={code}")));
            row.lost_bytes.iter().for_each(|lost| add(format!("lost={lost}")));
            if let Some(done) = &row.done {
                let of = done.other.map(|other| format!(" of {}", place(other))).unwrap_or_default();
                add(format!("{}{of} by {}", done.deed.name(), done.by));
            }
            if let (Some(pair), None) = (row.pair, row.latency_ns) {
                add(format!("to {}", place(pair)));
            }
            if let (Some(pair), Some(latency_ns)) = (row.pair, row.latency_ns) {
                add(format!("to {} after {} ms", place(pair), latency_ns / MILLISECOND_NS));
            }
            line + "\n"
        }
        Event::Answered { request, answer, latency_ns, status, error_code, .. } => {
            let code = error_code.iter().map(|code| format!(" code={code}")).collect::<String>();
            let (request, answer, ms) = (place(*request), place(*answer), latency_ns / MILLISECOND_NS);
            format!("   {request} answered by {answer} after {ms} ms: {status:?}{code}\n")
        }
        Event::Done { seq, done } => {
            let (deed, by) = (done.deed.name(), &done.by);
            let (other, held_ms) = (done.other.map(place).unwrap_or_default(), done.held_ns / MILLISECOND_NS);
            format!("   {seq} {deed} with {other} after {held_ms} ms by {by}\n")
        }
    }
}

#[test]
fn both_sides_may_ask_with_the_same_id_at_the_same_time() {
    check(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sum"}}
<- {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}
<- {"jsonrpc":"2.0","id":1,"result":{}}
-> {"jsonrpc":"2.0","id":1,"result":{}}
"#,
        r#"
1: request id=1 tools/call (sum)
2: request id=1 sampling/createMessage
3: result id=1 tools/call (sum) Ok to 1 after 2 ms
   1 answered by 3 after 2 ms: Ok
4: result id=1 sampling/createMessage Ok to 2 after 2 ms
   2 answered by 4 after 2 ms: Ok
"#,
    );
}

#[test]
fn an_id_in_use_several_times_is_answered_in_the_order_of_the_requests() {
    // Case S10: used again after completion (1, 2), and while it is open (2, 3), and after all that (4).
    check(
        r#"
-> {"jsonrpc":"2.0","id":7,"method":"m1"}
<- {"jsonrpc":"2.0","id":7,"result":{"n":1}}
-> {"jsonrpc":"2.0","id":7,"method":"m2"}
-> {"jsonrpc":"2.0","id":7,"method":"m3"}
<- {"jsonrpc":"2.0","id":7,"result":{"n":2}}
<- {"jsonrpc":"2.0","id":7,"result":{"n":3}}
-> {"jsonrpc":"2.0","id":7,"method":"m4"}
<- {"jsonrpc":"2.0","id":7,"result":{"n":4}}
"#,
        r#"
1: request id=7 m1
2: result id=7 m1 Ok to 1 after 1 ms
   1 answered by 2 after 1 ms: Ok
3: request id=7 m2
4: request id=7 m3
5: result id=7 m2 Ok to 3 after 2 ms
   3 answered by 5 after 2 ms: Ok
6: result id=7 m3 Ok to 4 after 2 ms
   4 answered by 6 after 2 ms: Ok
7: request id=7 m4
8: result id=7 m4 Ok to 7 after 1 ms
   7 answered by 8 after 1 ms: Ok
"#,
    );
}

#[test]
fn ids_are_paired_as_they_are_written() {
    check(
        r#"
-> {"id":1,"method":"number"}
-> {"id":1.0,"method":"fraction"}
-> {"id":"1","method":"string"}
<- {"id":"1","result":0}
<- {"id":1.0,"result":0}
<- {"id":1e0,"result":0}
<- {"id":1,"result":0}
"#,
        r#"
1: request id=1 number
2: request id=1.0 fraction
3: request id="1" string
4: result id="1" string Ok to 3 after 1 ms
   3 answered by 4 after 1 ms: Ok
5: result id=1.0 fraction Ok to 2 after 3 ms
   2 answered by 5 after 3 ms: Ok
6: result id=1e0 Ok
7: result id=1 number Ok to 1 after 6 ms
   1 answered by 7 after 6 ms: Ok
"#,
    );
}

#[test]
fn null_and_broken_ids_are_never_paired() {
    check(
        r#"
-> {"id":null,"method":"a"}
<- {"id":null,"result":{}}
<- {"id":null,"error":{"code":-32700}}
<- {"error":{"code":-32700}}
-> {"id":{},"method":"b"}
<- {"id":{},"result":{}}
"#,
        r#"
1: request id=null a
2: result id=null Ok
3: error id=null Error code=-32700
4: error Error code=-32700
5: request b
6: result Ok
"#,
    );
}

#[test]
fn members_of_a_batch_are_paired_one_by_one_and_within_it() {
    check(
        r#"
-> [{"id":1,"method":"a"},{"method":"n"},{"id":2,"method":"b"},5]
<- [{"id":2,"result":{}},{"id":1,"error":{"code":3}}]
<- [{"id":9,"method":"ping"},{"id":9,"result":{}}]
-> []
"#,
        r#"
1: batch
1.1: request id=1 a
1.2: notification n
1.3: request id=2 b
1.4: not a message
2: batch
2.1: result id=2 b Ok to 1.3 after 1 ms
   1.3 answered by 2.1 after 1 ms: Ok
2.2: error id=1 a Error code=3 to 1.1 after 1 ms
   1.1 answered by 2.2 after 1 ms: Error code=3
3: batch
3.1: request id=9 ping
3.2: result id=9 Ok
4: batch
"#,
    );
}

#[test]
fn errors_of_the_protocol_and_of_the_tool_are_told_apart() {
    check(
        r#"
-> {"id":1,"method":"tools/call","params":{"name":"x"}}
-> {"id":2,"method":"tools/call","params":{"name":"y"}}
-> {"id":3,"method":"resources/read","params":{"uri":"file:///z"}}
<- {"id":1,"result":{"content":[],"isError":true}}
<- {"id":2,"result":{"isError":false}}
<- {"id":3,"error":{"code":-32002.0,"message":"?"}}
"#,
        r#"
1: request id=1 tools/call (x)
2: request id=2 tools/call (y)
3: request id=3 resources/read (file:///z)
4: result id=1 tools/call (x) ToolError to 1 after 3 ms
   1 answered by 4 after 3 ms: ToolError
5: result id=2 tools/call (y) Ok to 2 after 3 ms
   2 answered by 5 after 3 ms: Ok
6: error id=3 resources/read (file:///z) Error code=-32002.0 to 3 after 3 ms
   3 answered by 6 after 3 ms: Error code=-32002.0
"#,
    );
}

#[test]
fn a_result_that_is_also_an_error_ends_its_request_as_an_error() {
    check(
        r#"
-> {"id":1,"method":"m"}
<- {"id":1,"result":{},"error":{"code":5}}
"#,
        r#"
1: request id=1 m
2: not a message id=1 m Error code=5 to 1 after 1 ms
   1 answered by 2 after 1 ms: Error code=5
"#,
    );
}

#[test]
fn an_answer_to_nothing_is_a_row_without_a_pair() {
    check(
        r#"
<- {"id":1,"result":{}}
-> {"id":1,"method":"m"}
-> {"id":1,"result":{}}
<- {"id":1,"result":{}}
<- {"id":1,"result":{}}
"#,
        r#"
1: result id=1 Ok
2: request id=1 m
3: result id=1 Ok
4: result id=1 m Ok to 2 after 2 ms
   2 answered by 4 after 2 ms: Ok
5: result id=1 Ok
"#,
    );
}

#[test]
fn the_first_era_introduces_itself_in_its_handshake() {
    check(
        r#"
-> {"id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","clientInfo":{"name":"inspector","version":"1.2"}}}
<- {"id":0,"result":{"protocolVersion":"2025-06-18","serverInfo":{"version":"3","name":"files"}}}
"#,
        r#"
1: request id=0 initialize
2: result id=0 initialize Ok to 1 after 1 ms
   1 answered by 2 after 1 ms: Ok
client is inspector 1.2
server is files 3
revision is 2025-06-18
"#,
    );
}

#[test]
fn the_second_era_introduces_itself_in_every_message() {
    check(
        r#"
-> {"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"host"}}}}
<- {"id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"9"}}}}
"#,
        r#"
1: request id=1 tools/list
2: result id=1 tools/list Ok to 1 after 1 ms
   1 answered by 2 after 1 ms: Ok
client is host
server is s 9
revision is 2026-07-28
"#,
    );
}

#[test]
fn what_is_no_message_is_told_as_what_it_is() {
    check(
        r#"
<- Server listening…
!! {"id":1,"method":"not looked at"}
.. 512
<- {"level":"info"}
<- 42
<-  
-> {"method":7}
"#,
        r#"
1: not JSON
2: stderr
3: gap lost=512
4: not a message
5: not a message
6: blank
7: not a message
"#,
    );
}

/// The requests that have no answer, found as the store finds them: among the rows.
fn waiting_among(meant: &[(FrameHead, Vec<Event>)]) -> Vec<WaitingRequest> {
    let mut waiting = Vec::new();
    for event in meant.iter().flat_map(|(_, events)| events) {
        match event {
            Event::Row(row) => {
                if let (RowKind::Request, Some(raw_id)) = (row.kind, &row.raw_id) {
                    waiting.push(WaitingRequest {
                        scope: 0,
                        at: row.at,
                        at_ns: row.at_ns,
                        direction: row.stream.direction(),
                        raw_id: raw_id.clone(),
                        method: row.method.clone(),
                        target: row.target.clone(),
                        stands_for: None,
                        held_ns: 0,
                    });
                }
            }
            Event::Answered { request, .. } => waiting.retain(|waiting| waiting.at != *request),
            Event::Done { .. } => {}
        }
    }
    waiting
}

proptest! {
    #[test]
    fn a_reading_resumed_at_any_border_says_what_an_uninterrupted_one_says(passed in passed()) {
        let segments = pack(&passed);
        let mut reading = Reading::default();
        let mut whole = read(&mut reading, &segments);
        let identity = reading.identity().clone();
        whole.extend(finish(reading));
        for border in 0..=segments.len() {
            let mut first = Reading::default();
            let before = read(&mut first, &segments[..border]);
            let observer = || Observer::resume(waiting_among(&before), [], first.identity().clone());
            let mut second = Reading::resume(first.position(), observer());
            let needed = second.first_segment_needed() as usize;
            prop_assert!(needed <= border);
            // Asked while it repeats, it stands where it was resumed.
            let mut after = Vec::new();
            for segment in &segments[needed..border] {
                after.extend(read(&mut second, std::slice::from_ref(segment)));
                prop_assert_eq!(second.position(), first.position());
            }
            prop_assert!(after.is_empty(), "repeating completes no frame");
            after.extend(read(&mut second, &segments[border..]));
            prop_assert_eq!(second.identity(), &identity);
            after.extend(finish(second));
            prop_assert_eq!(&after, &whole[before.len()..]);
        }
    }
}

#[test]
fn a_text_as_id_comes_back_with_any_escapes() {
    check(
        r#"
-> {"jsonrpc":"2.0","id":"a/b","method":"ping"}
<- {"jsonrpc":"2.0","id":"a\/b","result":{}}
"#,
        r#"
1: request id="a/b" ping
2: result id="a\/b" ping Ok to 1 after 1 ms
   1 answered by 2 after 1 ms: Ok
"#,
    );
}

#[test]
fn what_went_on_in_place_of_a_request_has_its_answer_and_both_are_told() {
    check(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}
@@ held 1
-> {"jsonrpc":"2.0","id":2,"method":"ping"}
@@ edited 1 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2}}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
<- {"jsonrpc":"2.0","id":2,"result":{}}
"#,
        r#"
1: request id=1 tools/call (add)
   1 held with 2 after 0 ms by breakpoint 1
2: act held of 1 by breakpoint 1
3: request id=2 ping
   1 edited with 4 after 2 ms by breakpoint 1
4: request id=1 tools/call (add) edited of 1 by breakpoint 1
5: result id=1 tools/call (add) Ok to 4 after 1 ms
   1 answered by 5 after 1 ms: Ok
   4 answered by 5 after 1 ms: Ok
6: result id=2 ping Ok to 3 after 3 ms
   3 answered by 6 after 3 ms: Ok
"#,
    );
}

#[test]
fn the_time_of_being_held_does_not_count_and_what_was_stopped_is_not_waited_for() {
    check(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"a"}
@@ held 1
++ 500
@@ released 1
<- {"jsonrpc":"2.0","id":1,"result":{}}
-> {"jsonrpc":"2.0","id":1,"method":"b"}
@@ dropped 5
-> {"jsonrpc":"2.0","id":1,"method":"c"}
<- {"jsonrpc":"2.0","id":1,"result":{}}
"#,
        r#"
1: request id=1 a
   1 held with 2 after 0 ms by breakpoint 1
2: act held of 1 by breakpoint 1
   1 released with 3 after 502 ms by breakpoint 1
3: act released of 1 by breakpoint 1
4: result id=1 a Ok to 1 after 2 ms
   1 answered by 4 after 2 ms: Ok
5: request id=1 b
   5 dropped with 6 after 0 ms by breakpoint 1
6: act dropped of 5 by breakpoint 1
7: request id=1 c
8: result id=1 c Ok to 7 after 1 ms
   7 answered by 8 after 1 ms: Ok
"#,
    );
}

#[test]
fn an_answer_of_ours_answers_the_request_that_it_was_meant_for() {
    check(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
@@ answered 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}
<- {"jsonrpc":"2.0","id":2,"result":{}}
@@ edited 4 {"jsonrpc":"2.0","id":2,"result":{"isError":true}}
@@ injected -> {"jsonrpc":"2.0","id":"tap-1","method":"tools/call","params":{"name":"c"}}
<- {"jsonrpc":"2.0","id":"tap-1","result":{}}
@@ dropped 7
@@ truncated 3 {"jsonrpc"␄
"#,
        r#"
1: request id=1 tools/call (a)
   1 answered with 2 after 0 ms by breakpoint 1
2: error id=1 tools/call (a) Error code=-32603 answered of 1 by breakpoint 1 to 1 after 1 ms
   1 answered by 2 after 1 ms: Error code=-32603
3: request id=2 tools/call (b)
4: result id=2 tools/call (b) Ok to 3 after 1 ms
   3 answered by 4 after 1 ms: Ok
   4 edited with 5 after 0 ms by breakpoint 1
5: result id=2 tools/call (b) ToolError edited of 4 by breakpoint 1 to 3
6: request id="tap-1" tools/call (c) injected by breakpoint 1
7: result id="tap-1" tools/call (c) Ok to 6 after 1 ms
   6 answered by 7 after 1 ms: Ok
   7 dropped with 8 after 0 ms by breakpoint 1
8: act dropped of 7 by breakpoint 1
   3 truncated with 9 after 0 ms by breakpoint 1
9: not JSON truncated of 3 by breakpoint 1
"#,
    );
}
