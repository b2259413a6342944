//! Tests of lists and their pages.

use tap_jsonrpc::RawId;
use tap_protocol::Side;

use crate::follow::{Follower, Lens, Meaning};
use crate::machine::LinkKind;
use crate::machine::lists::{LIST_LIMIT_ITEMS, Lists};
use crate::row::At;
use crate::script::{check, findings, frames, run};

/// The lists behind a script in 2025-11-25.
#[track_caller]
fn lists(script: &str) -> Lists {
    run(&format!("# 2025-11-25\n{script}")).0.state().lists.clone()
}

fn at(seq: u64) -> At {
    At { seq, member: 0 }
}

/// The names of the tools of a list, and whether it is complete.
fn tools(lists: &Lists) -> (Vec<&str>, bool) {
    (lists.tools.items.iter().map(|tool| &*tool.name).collect(), lists.tools.complete)
}

/// `tools/list` and its answer.
fn page(id: u32, cursor: &str, names: &str, next: &str) -> String {
    format!("{}\n{}", asks(id, cursor), answers(id, names, next))
}

fn asks(id: u32, cursor: &str) -> String {
    let params = if cursor.is_empty() { String::new() } else { format!(r#","params":{{"cursor":"{cursor}"}}"#) };
    format!(r#"-> {{"jsonrpc":"2.0","id":{id},"method":"tools/list"{params}}}"#)
}

fn answers(id: u32, names: &str, next: &str) -> String {
    let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    let tools: Vec<_> = names.split_whitespace().map(tool).collect();
    let next = if next.is_empty() { String::new() } else { format!(r#","nextCursor":"{next}""#) };
    format!(r#"<- {{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{}]{next}}}}}"#, tools.join(","))
}

const CHANGED: &str = r#"<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

#[test]
fn a_list_grows_page_by_page_until_one_has_no_cursor() {
    let first = page(1, "", "a b", "2");
    let half = lists(&first);
    assert_eq!(tools(&half), (vec!["a", "b"], false));
    assert_eq!((half.tools.as_of, half.tools.n_pages, half.tools.n_items), (Some(at(5)), 1, 2));
    let whole = lists(&format!("{first}\n{}", page(2, "2", "c", "")));
    assert_eq!(tools(&whole), (vec!["a", "b", "c"], true));
    assert_eq!((whole.tools.as_of, whole.tools.newest_page), (Some(at(5)), Some(at(7))));
    assert!(whole.tools.is_whole() && whole.tool("c").is_some() && whole.tool("d").is_none());
    let again = lists(&format!("{first}\n{}\n{}", page(2, "2", "c", ""), page(3, "", "d", "")));
    assert_eq!(tools(&again), (vec!["d"], true));
}

#[test]
fn two_walks_at_once_do_not_mix() {
    let [first, second] = [page(1, "", "a", "one-2"), page(2, "", "b", "two-2")];
    let script = format!("{first}\n{second}\n{}", page(3, "one-2", "c", ""));
    assert_eq!(tools(&lists(&script)), (vec!["b"], false), "the page belongs to the walk before");
    let script = format!("{script}\n{}", page(4, "two-2", "d", ""));
    assert_eq!(tools(&lists(&script)), (vec!["b", "d"], true));
}

#[test]
fn two_walks_with_the_same_cursors_each_have_their_pages() {
    let parts = [page(1, "", "a", "2"), page(2, "", "a", "2"), page(3, "2", "b", ""), page(4, "2", "b", "")];
    let script = parts.join("\n");
    assert_eq!(tools(&lists(&script)), (vec!["a", "b"], true));
    check(&format!("# 2025-11-25\n{script}"), "");
}

#[test]
fn a_page_that_is_asked_for_again_is_not_added_twice() {
    let parts = [page(1, "", "a", "2"), page(2, "2", "b", "3"), page(3, "2", "b", "3"), page(4, "3", "c", "")];
    let script = parts.join("\n");
    assert_eq!(tools(&lists(&script)), (vec!["a", "b", "c"], true));
    check(&format!("# 2025-11-25\n{script}"), "");
}

#[test]
fn the_first_request_after_a_change_is_linked_to_it() {
    let script = ["# 2025-11-25", CHANGED, &page(1, "", "a", ""), &page(2, "", "a", "")].join("\n");
    let (_, meaning) = run(&script);
    let links: Vec<_> = meaning.links.iter().map(|link| (link.from, link.to, link.kind)).collect();
    assert_eq!(links, [(at(5), at(4), LinkKind::ListedAgain)]);
}

#[test]
fn a_change_is_over_when_the_list_is_answered_that_was_asked_for_after_it() {
    for (script, expected) in [
        ([CHANGED, &page(1, "", "a", "")].join("\n"), None),
        // The change was told after the question, so that the answer may be older.
        ([&asks(1, ""), CHANGED, &answers(1, "a", "")].join("\n"), Some(at(5))),
        ([&page(1, "", "a", ""), CHANGED].join("\n"), Some(at(6))),
    ] {
        assert_eq!(lists(&script).tools.changed, expected, "{script}");
    }
}

#[test]
fn every_kind_of_list_is_kept_by_what_names_it() {
    let lists = lists(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"prompts/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"greet"}]}}
-> {"jsonrpc":"2.0","id":2,"method":"resources/list"}
<- {"jsonrpc":"2.0","id":2,"result":{"resources":[{"name":"x","uri":"note://a"}]}}
-> {"jsonrpc":"2.0","id":3,"method":"resources/templates/list"}
<- {"jsonrpc":"2.0","id":3,"result":{"resourceTemplates":[{"name":"x","uriTemplate":"note://{id}"}]}}
<- {"jsonrpc":"2.0","id":1,"method":"roots/list"}
-> {"jsonrpc":"2.0","id":1,"result":{"roots":[{"name":"x","uri":"file:///x"}]}}"#,
    );
    let names = [lists.prompts, lists.resources, lists.resource_templates, lists.roots]
        .map(|list| list.items.iter().map(|item| item.name.to_string()).collect::<Vec<_>>().join(" "));
    assert_eq!(names, ["greet", "note://a", "note://{id}", "file:///x"]);
}

#[test]
fn what_is_too_much_is_counted_and_not_kept() {
    let names: Vec<_> = (0..LIST_LIMIT_ITEMS + 5).map(|number| number.to_string()).collect();
    let call = r#"-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"no"}}"#;
    let lists = lists(&format!("{}\n{call}", page(1, "", &names.join(" "), "")));
    assert_eq!(lists.tools.items.len(), LIST_LIMIT_ITEMS);
    assert_eq!(lists.tools.n_items, names.len() as u64);
    assert!(lists.tools.complete && !lists.tools.is_whole(), "so that no name is called unknown");
}

#[test]
fn long_messages_do_not_make_a_list_grow_without_end() {
    // Each page is a megabyte with one tool in it.
    let padding = "x".repeat(1_000_000);
    let pages: Vec<_> = (1..50)
        .map(|id| {
            let cursor = if id == 1 { String::new() } else { id.to_string() };
            let asked = asks(id, &cursor);
            format!(
                r#"{asked}
<- {{"jsonrpc":"2.0","id":{id},"result":{{"_meta":{{"x":"{padding}"}},"tools":[{{"name":"t{id}","inputSchema":{{"type":"object"}}}}],"nextCursor":"{}"}}}}"#,
                id + 1
            )
        })
        .collect();
    let lists = lists(&pages.join("\n"));
    assert_eq!((lists.tools.n_items, lists.tools.n_pages), (49, 49));
    assert!(lists.tools.items.len() < 40, "{}", lists.tools.items.len());
    assert!(lists.tools.n_bytes_kept <= super::LIST_LIMIT_BYTES);
}

#[test]
fn lists_that_are_none_do_no_harm() {
    for result in [
        r#"{"tools":null}"#,
        r#"{"tools":{"a":1},"nextCursor":null}"#,
        r#"{"tools":[null,1,"a",[],{}],"nextCursor":{}}"#,
        r#"{"tools":[{"name":7,"inputSchema":{"type":"object"}}],"nextCursor":7}"#,
        r#"{"nextCursor":""}"#,
    ] {
        let again = r#"-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":""}}"#;
        lists(&format!(
            "-> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}\n<- {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\n{again}"
        ));
    }
}

/// Findings about pages when a walk has this cursor and is gone on with that one.
fn goes_on(cursor: &str, sent: &str) -> String {
    let first = page(1, "", "a", cursor);
    let second = format!(
        r#"-> {{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{"cursor":{sent}}}}}
{}"#,
        answers(2, "b", "")
    );
    let found = findings(&format!("# 2025-11-25\n{first}\n{second}"));
    found.iter().filter(|line| line.contains("PAG-")).map(|line| &line[2..9]).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_cursor_must_come_back_as_it_was() {
    for (cursor, sent, expected) in [
        ("abc=", r#""abc=""#, ""),
        // The same text, spelled otherwise.
        ("abc=", r#""\u0061bc=""#, ""),
        ("abc=", r#""abc""#, "PAG-002"),
        ("abc=", r#""abc%3D""#, "PAG-002"),
        ("abc%3D", r#""abc=""#, "PAG-002"),
        ("a+c", r#""a c""#, "PAG-002"),
        ("a+c/", r#""a-c_""#, "PAG-002"),
        ("abc", r#""ABC""#, "PAG-002"),
        ("abc", r#"" abc""#, "PAG-002"),
        ("abc", r#""\"abc\"""#, "PAG-002"),
        ("2", "2", "PAG-002"),
        ("2", "3", "PAG-001"),
        ("0123456789abcdefghi", r#""0123456789abcdef""#, "PAG-002"),
        // Made up, or from another session.
        ("10", r#""20""#, "PAG-001"),
        ("abc", r#""abd""#, "PAG-001"),
        ("abc", r#""""#, "PAG-001"),
        // None at all.
        ("abc", "null", ""),
    ] {
        assert_eq!(goes_on(cursor, sent), expected, "{cursor} sent as {sent}");
    }
}

#[test]
fn a_cursor_that_is_no_text_is_the_fault_of_who_handed_it_out() {
    for sent in ["5", r#""5""#] {
        let script = format!(
            r#"# 2025-11-25
-> {{"jsonrpc":"2.0","id":1,"method":"tools/list"}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"tools":[],"nextCursor":5}}}}
-> {{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{"cursor":{sent}}}}}
{}"#,
            answers(2, "a", "")
        );
        check(&script, "5 LIF-016 error by server: `nextCursor` is no text");
        assert_eq!(tools(&run(&script).0.state().lists), (vec!["a"], true), "it goes on with the walk");
    }
}

#[test]
fn a_cursor_belongs_to_its_method() {
    check(
        &format!(
            "# 2025-11-25\n{}\n{}",
            page(1, "", "a", "2"),
            r#"-> {"jsonrpc":"2.0","id":2,"method":"prompts/list","params":{"cursor":"2"}}
<- {"jsonrpc":"2.0","id":2,"result":{"prompts":[]}}"#
        ),
        "6 PAG-001 warning by client: `2`",
    );
}

#[test]
fn a_walk_that_comes_round_again_is_found_at_the_page_that_turns_back() {
    let parts = [page(1, "", "a", "2"), page(2, "2", "b", "3"), page(3, "3", "c", "2"), page(4, "2", "b", "3")];
    let found = findings(&format!("# 2025-11-25\n{}", parts.join("\n")));
    let loops: Vec<_> = found.iter().filter(|line| line.contains("PAG-003")).collect();
    assert_eq!(loops, ["9 PAG-003 warning by server: `2`", "11 PAG-003 warning by server: `3`"]);
}

#[test]
fn behind_a_gap_no_cursor_is_foreign() {
    check(&format!("# 2025-11-25\n.. 100\n{}", page(1, "x", "a", "")), "");
}

/// Findings about updates.
#[track_caller]
fn check_updates(lines: &[&str], expected: &str) {
    let request = |id, what, uri: &str| {
        format!(r#"-> {{"jsonrpc":"2.0","id":{id},"method":"resources/{what}","params":{{"uri":"{uri}"}}}}"#)
    };
    let answer = |id| format!(r#"<- {{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    let script: Vec<_> = lines
        .iter()
        .map(|line| match *line {
            "subscribe" => request(1, "subscribe", "note://a"),
            "subscribe to all" => request(1, "subscribe", "note://"),
            "subscribed" => answer(1),
            "refused" => r#"<- {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#.into(),
            "unsubscribe" => request(2, "unsubscribe", "note://a"),
            "unsubscribed" => answer(2),
            "subscribe again" => request(3, "subscribe", "note://a"),
            "subscribed again" => answer(3),
            "refused again" => r#"<- {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"already"}}"#.into(),
            updated => format!(
                r#"<- {{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{updated}"}}}}"#
            ),
        })
        .collect();
    let found = findings(&format!("# 2025-11-25\n{}", script.join("\n")));
    let found: Vec<_> = found.iter().filter(|line| line.contains("RES-002")).map(|line| &line[..1]).collect();
    assert_eq!(found.join(" "), expected, "{lines:?}");
}

#[test]
fn updates_need_a_subscription_that_is_alive() {
    check_updates(&["note://a"], "4");
    check_updates(&["subscribe", "subscribed", "note://a", "note://a/b", "note://ab", "note://b"], "8 9");
    check_updates(&["subscribe to all", "subscribed", "note://a", "note://a/b"], "");
    check_updates(&["subscribe", "subscribed", "unsubscribe", "unsubscribed", "note://a"], "8");
}

#[test]
fn updates_may_cross_a_subscription_on_the_wire() {
    // The server sends before it answers, and before it has read that it should stop.
    check_updates(&["subscribe", "note://a", "subscribed"], "");
    check_updates(&["subscribe", "subscribed", "unsubscribe", "note://a", "unsubscribed"], "");
    check_updates(&["subscribe", "subscribed", "unsubscribe", "subscribe again", "unsubscribed", "note://a"], "");
    check_updates(&["subscribe", "refused", "note://a"], "6");
    // A server that refuses to be asked twice goes on with what it has.
    check_updates(&["subscribe", "subscribed", "subscribe again", "refused again", "note://a"], "");
    check_updates(&["subscribe", "subscribe again", "refused", "note://a", "subscribed again", "note://a"], "");
    check_updates(&["subscribe", "subscribe again", "refused again", "refused", "note://a"], "8");
    let ended = ["subscribe", "subscribe again", "subscribed", "subscribed again", "unsubscribe", "unsubscribed"];
    check_updates(&[&ended[..], &["note://a"]].concat(), "1");
}

#[test]
fn a_request_that_was_not_let_in_subscribes_to_nothing() {
    let script = r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://a"}}"#;
    let open = |script: &str| {
        let mut follower = Follower::new();
        for frame in frames(script) {
            follower.follow(&frame, &mut Lens::default(), &mut Meaning::default());
        }
        follower
    };
    let subscribed = |follower: &Follower| follower.state().lists.subscribed.len();
    let (id, mut refused) = (RawId::from_token(b"1"), open(script));
    refused.refuse(0, &id, at(4));
    assert_eq!(subscribed(&refused), 0);
    // One whose answer is missing may have been heard.
    let mut dropped = open(script);
    dropped.drop_call(0, &id, at(4), at(4), Side::Client);
    assert_eq!(subscribed(&dropped), 1);
    let mut again = open(&format!("{script}\n{}", script.lines().last().unwrap_or_default().replace(":1,", ":2,")));
    again.refuse(0, &RawId::from_token(b"2"), at(5));
    assert_eq!(subscribed(&again), 1);
}

#[test]
fn a_page_whose_cursor_was_not_kept_is_no_first_page() {
    let first = page(1, "", "a", "2");
    let long = "2".repeat(crate::KEPT_LIMIT_BYTES);
    let lists = lists(&format!("{first}\n{}", page(2, &long, "b", "")));
    assert_eq!(tools(&lists), (vec!["a"], false));
}
