//! Tests of what is looked at inside messages.

mod asked;
mod calls;
mod parts;

use crate::script::findings;

/// The findings of a script about rules whose ids begin like this, without the message that they are at.
#[track_caller]
fn found(script: &str, rules: &str) -> Vec<String> {
    let about = |line: &String| line.split_once(' ').is_some_and(|(_, rest)| rest.starts_with(rules));
    let lines = findings(script).into_iter().filter(about);
    lines.map(|line| line.split_once(' ').unwrap_or_default().1.to_owned()).collect()
}

/// An answer of a tool in a revision, against the findings that it must give.
#[track_caller]
fn check_answer(revision: &str, tool: &str, answer: &str, expected: &str) {
    let (meta, hints) = match revision {
        "2026-07-28" => (",META", r#""resultType":"complete","ttlMs":0,"cacheScope":"private","#),
        _ => ("", ""),
    };
    let script = format!(
        r#"# {revision}
-> {{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"a":1{meta}}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{{hints}"tools":[{tool}]}}}}
-> {{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"add","arguments":{{"a":1}}{meta}}}}}
<- {{"jsonrpc":"2.0","id":2,{answer}}}"#
    );
    let found = found(&script, "TOL-").join("\n");
    assert_eq!(found, expected, "{revision}: {tool}: {answer}");
}
