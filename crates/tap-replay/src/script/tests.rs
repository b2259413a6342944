//! What belongs to which call, as tables.

use std::fmt::Write;

use super::*;

/// Units from lines: `->` to the server, `<-` to the client, then perhaps `@7` for an exchange, then what was said.
/// `"jsonrpc":"2.0"` is left out.
pub(crate) fn units(text: &str) -> Vec<Unit> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate();
    lines
        .map(|(index, line)| {
            let (arrow, mut rest) = line.split_at(2);
            rest = rest.trim_start();
            let mut exchange = None;
            if let Some(after) = rest.strip_prefix('@') {
                let (number, after) = after.split_once(' ').expect("an exchange and what was said in it");
                (exchange, rest) = (number.parse().ok(), after);
            }
            let number = index as u64 + 1;
            Unit {
                direction: if arrow == "->" { Direction::ToServer } else { Direction::ToClient },
                bytes: format!("{rest}\n").into(),
                number,
                line: Some(number + 1),
                at_ns: number * 1_000_000,
                conversation: 1,
                exchange,
                is_literal: false,
            }
        })
        .collect()
}

/// What each message is: by its number from 1 which one it belongs to.
#[track_caller]
fn check(text: &str, expected: &str) {
    let mut script = Script::new();
    for unit in units(text) {
        script.push(&unit);
    }
    let mut found = String::new();
    for message in script.messages() {
        let request = |interaction: usize| script.interactions()[interaction].request + 1;
        let _ = match message.role {
            Role::Request(_) => write!(found, "? "),
            Role::Notice => write!(found, ". "),
            Role::Reply(asked) => write!(found, "r{} ", asked + 1),
            Role::Answer(interaction) => write!(found, "a{} ", request(interaction)),
            Role::Inside(interaction) => write!(found, "i{} ", request(interaction)),
            Role::Free => write!(found, "f "),
        };
    }
    assert_eq!(found.trim_end(), expected, "{text}");
}

#[test]
fn what_the_server_says_belongs_to_what_it_was_asked() {
    for (text, expected) in [
        // An answer, in any order.
        (
            r#"-> {"id":1,"method":"a"}
               -> {"id":"1","method":"b"}
               <- {"id":"1","result":{}}
               <- {"id":1,"error":{}}"#,
            "? ? a2 a1",
        ),
        // Ids that come back in another way, and an error without one.
        (
            r#"-> {"id":1,"method":"a"}
               <- {"id":1.0,"result":{}}
               -> {"id":2,"method":"a"}
               <- {"id":"2","result":{}}
               -> {"id":3,"method":"a"}
               <- {"id":null,"error":{}}
               <- {"id":3,"result":{}}"#,
            "? a1 ? a3 ? a5 f",
        ),
        // An answer that was written down a moment too early; not one that has nothing to do with it.
        (
            r#"<- {"id":1,"result":{}}
               -> {"id":1,"method":"a"}
               <- {"id":1,"result":{}}
               <- {"id":2,"result":{}}
               -> {"method":"n"}
               -> {"id":2,"method":"a"}"#,
            "a2 ? f f . ?",
        ),
        // Progress by its token, though others are open, and after the answer.
        (
            r#"-> {"id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"}}}
               -> {"id":2,"method":"tools/call","params":{"_meta":{"progressToken":2}}}
               <- {"method":"notifications/progress","params":{"progressToken":2}}
               <- {"method":"notifications/progress","params":{"progressToken":"t"}}
               <- {"method":"notifications/progress","params":{"progressToken":"2"}}
               <- {"id":1,"result":{}}
               <- {"method":"notifications/progress","params":{"progressToken":"t"}}"#,
            "? ? i2 i1 f a1 i1",
        ),
        // What is asked while one request is open belongs to it; while two are, to none. Roots are looked after apart.
        (
            r#"-> {"id":1,"method":"tools/call"}
               <- {"id":7,"method":"sampling/createMessage"}
               -> {"id":7,"result":{}}
               <- {"method":"notifications/message"}
               <- {"id":8,"method":"roots/list"}
               <- {"method":"notifications/tools/list_changed"}
               -> {"id":2,"method":"tools/call"}
               <- {"id":9,"method":"sampling/createMessage"}
               <- {"method":"notifications/message"}
               -> {"id":9,"error":{}}
               -> {"id":8,"result":{}}"#,
            "? i1 r2 i1 f f ? f f r8 r5",
        ),
        // Over HTTP the exchange says it.
        (
            r#"-> @1 {"id":1,"method":"tools/call"}
               -> @2 {"id":2,"method":"tools/call"}
               <- @2 {"method":"notifications/message"}
               <- @1 {"id":5,"method":"roots/list"}
               <- @3 {"id":6,"method":"elicitation/create"}"#,
            "? ? i2 i1 f",
        ),
        // A subscription.
        (
            r#"-> {"id":"s","method":"subscriptions/listen"}
               <- {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}
               -> {"id":2,"method":"tools/call"}
               <- {"method":"notifications/message"}
               <- {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}
               <- {"method":"notifications/cancelled","params":{"requestId":"s"}}"#,
            "? i1 ? i3 i1 i1",
        ),
        // Cancelled by the client: an answer may come all the same.
        (
            r#"-> {"id":1,"method":"tools/call"}
               -> {"method":"notifications/cancelled","params":{"requestId":1}}
               <- {"id":1,"result":{}}"#,
            "? . a1",
        ),
        // Batches.
        (
            r#"-> [{"id":1,"method":"a"},{"method":"n"},{"id":2,"method":"b"}]
               <- [{"id":2,"result":{}},7,{"id":1,"result":{}}]"#,
            "? . ? a3 f a1",
        ),
        // A task.
        (
            r#"-> {"id":1,"method":"tasks/result","params":{"taskId":"x"}}
               -> {"id":2,"method":"tasks/get","params":{"taskId":"y"}}
               <- {"id":1,"method":"elicitation/create","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"}}}}
               <- {"method":"notifications/tasks/status","params":{"taskId":"x"}}"#,
            "? ? i1 f",
        ),
        // What is no message.
        ("<- a banner\n-> \n<- {}\n-> {", "f . f ."),
    ] {
        check(text, expected);
    }
}

#[test]
fn a_script_knows_how_it_begins_and_which_era_it_is() {
    let modern = r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    for (text, opening, era, revision) in [
        (
            r#"-> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
               <- {"id":0,"result":{"protocolVersion":"2025-06-18"}}"#
                .to_owned(),
            Some(Opening::Initialize),
            Some(Era::Legacy),
            Some("2025-06-18"),
        ),
        (
            format!(
                r#"-> {{"id":0,"method":"server/discover",{modern}}}
                   <- {{"id":0,"error":{{"code":-32601}}}}
                   -> {{"id":1,"method":"initialize"}}
                   <- {{"id":1,"result":{{"protocolVersion":"2025-11-25"}}}}"#
            ),
            Some(Opening::Discover),
            Some(Era::Legacy),
            Some("2025-11-25"),
        ),
        (
            format!(r#"-> {{"id":0,"method":"tools/list",{modern}}}"#),
            Some(Opening::Modern),
            Some(Era::Modern),
            Some("2026-07-28"),
        ),
        (r#"-> {"id":0,"method":"tools/list"}"#.to_owned(), Some(Opening::Other), None, None),
        (r#"-> {"id":0,"method":"ping"}"#.to_owned(), None, None, None),
    ] {
        let scripts = read_scripts(units(&text));
        let (_, script) = &scripts[0];
        assert_eq!((script.opening(), script.era(), script.revision()), (opening, era, revision), "{text}");
    }
}
