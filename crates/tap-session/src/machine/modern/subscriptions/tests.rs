//! Tests of subscriptions of both eras.

use std::sync::Arc;

use tap_protocol::Side;

use super::{Filter, SubscriptionEnd, covers};
use crate::machine::LinkKind;
use crate::machine::modern::tests::check;
use crate::script::run;

/// A subscription with the id `"l"` to the list of tools and to some resources, acknowledged.
const OPEN: &str = r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["file:///a","note://b/"]},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a","note://b"]},"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}
"#;

const TOOLS_CHANGED: &str = r#"<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}
"#;

const CANCELLED: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}
"#;

const ENDED: &str = r#"<- {"jsonrpc":"2.0","id":"l","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}
"#;

#[test]
fn what_was_asked_for_is_delivered() {
    for (method, params, expected) in [
        ("tools/list_changed", "", ""),
        ("resources/updated", r#""uri":"file:///a","#, ""),
        ("resources/updated", r#""uri":"file:///a/b/c","#, ""),
        ("resources/updated", r#""uri":"note://b","#, ""),
        ("resources/updated", r#""uri":"note://b/1","#, ""),
        (
            "resources/updated",
            r#""uri":"file:///","#,
            "3 SUB-002 error by server: `notifications/resources/updated` of `file:///`",
        ),
        (
            "resources/updated",
            r#""uri":"note://c","#,
            "3 SUB-002 error by server: `notifications/resources/updated` of `note://c`",
        ),
        (
            "prompts/list_changed",
            "",
            "3 SUB-002 warning by server: `notifications/prompts/list_changed` was asked for and not acknowledged",
        ),
        ("resources/list_changed", "", "3 SUB-002 error by server: `notifications/resources/list_changed`"),
        ("progress", r#""progressToken":1,"progress":1,"#, "3 SUB-006 error by server: `notifications/progress`"),
    ] {
        let script = format!(
            r#"{OPEN}<- {{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/subscriptionId":"l"}}}}}}"#
        );
        check(&script, expected);
    }
}

#[test]
fn a_subscription_may_end_in_every_way_that_is_written() {
    let (by_client, by_server) = (format!("-> {CANCELLED}"), format!("<- {CANCELLED}"));
    for (end, expected) in [
        (ENDED.to_owned(), SubscriptionEnd::Answered),
        (by_server.clone(), SubscriptionEnd::Cancelled(Side::Server)),
        (format!("{by_server}{ENDED}"), SubscriptionEnd::Cancelled(Side::Server)),
        (format!("{ENDED}{by_server}"), SubscriptionEnd::Answered),
        (by_client.clone(), SubscriptionEnd::Cancelled(Side::Client)),
        // What crossed the cancellation.
        (format!("{by_client}{TOOLS_CHANGED}"), SubscriptionEnd::Cancelled(Side::Client)),
    ] {
        let (follower, meaning) = run(&format!("{OPEN}{TOOLS_CHANGED}{end}"));
        let ours: Vec<_> = meaning.findings.iter().filter(|finding| finding.rule.id.starts_with("SUB")).collect();
        assert!(ours.is_empty(), "{end}: {ours:?}");
        let modern = &follower.state().modern;
        assert_eq!(modern.open_subscriptions().count(), 0);
        assert_eq!(modern.subscriptions.last().and_then(|this| this.ended).map(|(how, _)| how), Some(expected));
    }
    for end in [ENDED.to_owned(), by_server] {
        let found = crate::script::findings(&format!("{OPEN}{end}{TOOLS_CHANGED}"));
        assert!(
            found.iter().any(|line| line.starts_with("4 SUB-004 error by server: \"l\", which has ended")),
            "{found:#?}"
        );
    }
}

#[test]
fn several_subscriptions_are_told_apart_by_their_ids() {
    let open = |id: &str| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},META}}}}
"#
        )
    };
    let delivers = |id: &str, method: &str, more: &str| {
        format!(
            r#"<- {{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{more}"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}
"#
        )
    };
    let acknowledges =
        |id: &str| delivers(id, "subscriptions/acknowledged", r#""notifications":{"toolsListChanged":true},"#);
    let changed = |id: &str| delivers(id, "tools/list_changed", "");
    let script = [
        open("1"),
        open("\"1\""),
        acknowledges("\"1\""),
        changed("\"1\""),
        acknowledges("1"),
        changed("1"),
        changed("\"1\""),
        changed("1.0"),
    ]
    .concat();
    check(&script, "8 SUB-004 error by server: 1.0; no subscription has that id");
    let (follower, meaning) = run(&script);
    let links: Vec<_> = meaning
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::Delivered)
        .map(|link| (link.from.seq, link.to.seq))
        .collect();
    assert_eq!(links, [(3, 2), (4, 2), (5, 1), (6, 1), (7, 2)]);
    let delivered: Vec<_> = follower
        .state()
        .modern
        .subscriptions
        .iter()
        .map(|this| this.n_delivered.values().copied().sum::<u64>())
        .collect();
    assert_eq!(delivered, [1, 2]);
    let wrong_order = [open("1"), changed("1"), acknowledges("1")].concat();
    check(&wrong_order, "2 SUB-001 error by server: `notifications/tools/list_changed`");
}

#[test]
fn an_id_that_the_client_uses_twice_makes_what_is_delivered_doubtful() {
    let again = OPEN.lines().nth(1).unwrap_or_default();
    // Of which of the two it is, nobody can tell.
    check(
        &format!("{OPEN}{again}\n{TOOLS_CHANGED}"),
        "4 SUB-001 warning by server: `notifications/tools/list_changed`",
    );
    let call = r#"-> {"jsonrpc":"2.0","id":"l","method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":"l","result":{"resultType":"complete","content":[]}}
"#;
    let found = crate::script::findings(&format!("{OPEN}{call}{ENDED}{TOOLS_CHANGED}"));
    let ours: Vec<_> = found.iter().filter(|line| line.contains("SUB-")).collect();
    assert!(ours.iter().all(|line| !line.contains("error")), "{ours:#?}");
}

#[test]
fn behind_a_gap_nobody_knows_what_was_listened_to() {
    let lost = ".. 100\n";
    let deliver = |method: &str, params: &str| {
        format!(
            r#"<- {{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/subscriptionId":"l"}}}}}}
"#
        )
    };
    let prompts = r#""notifications":{"resourcesListChanged":true},"#;
    for line in [deliver("resources/list_changed", ""), deliver("subscriptions/acknowledged", prompts)] {
        check(&format!("{OPEN}{lost}{line}"), "");
    }
}

#[test]
fn what_a_subscription_holds_is_bounded() {
    let other = |number: usize| {
        format!(
            r#"<- {{"jsonrpc":"2.0","method":"x/{number}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":"l"}}}}}}
"#
        )
    };
    let many: String = (0..1000).map(other).collect();
    let (follower, _) = run(&format!("{OPEN}{TOOLS_CHANGED}{many}"));
    let delivered = follower.state().modern.subscriptions.last().map(|this| this.n_delivered.clone());
    let delivered: Vec<_> = delivered.iter().flatten().map(|(name, number)| (&**name, *number)).collect();
    assert_eq!(delivered, [("notifications/tools/list_changed", 1), ("other", 1000)]);
    let filter = |n_uris: usize, n_bytes: usize| {
        let uris: Vec<_> =
            (0..n_uris).map(|number| format!(r#""file:///{number:06}{}""#, "0".repeat(n_bytes))).collect();
        let text = format!(r#"{{"resourceSubscriptions":[{0}],"taskIds":[{0}]}}"#, uris.join(","));
        let filter = Filter::read(tap_jsonrpc::Node::new(text.as_bytes()));
        (filter.resource_subscriptions.len(), filter.task_ids.len(), filter.has_more)
    };
    assert_eq!(filter(500, 100), (500, 500, false));
    assert_eq!(filter(1001, 10), (1000, 1000, true));
    assert_eq!(filter(500, 1000), (129, 0, true));
    assert_eq!(filter(1, 1_000_000), (0, 0, true));
}

#[test]
fn an_answer_that_ends_a_subscription_names_it() {
    for (meta, expected) in [
        (r#""io.modelcontextprotocol/subscriptionId":"l","#, ""),
        ("", "3 SUB-003 warning by server: the answer that ends it"),
        (
            r#""io.modelcontextprotocol/subscriptionId":1,"#,
            "3 SUB-004 error by server: 1; the request has the id \"l\"",
        ),
    ] {
        check(
            &format!(
                r#"{OPEN}<- {{"jsonrpc":"2.0","id":"l","result":{{"resultType":"complete","_meta":{{{meta}"io.modelcontextprotocol/serverInfo":{{"name":"s","version":"1"}}}}}}}}"#
            ),
            expected,
        );
    }
}

#[test]
fn an_acknowledgement_may_say_less_and_not_more() {
    for (filter, expected) in [
        ("{}", ""),
        (r#"{"toolsListChanged":false,"promptsListChanged":false}"#, ""),
        (r#"{"later":true}"#, ""),
        (r#"{"promptsListChanged":true}"#, "2 SUB-005 error by server: `promptsListChanged`"),
        (r#"{"resourceSubscriptions":["note://b"]}"#, "2 SUB-005 error by server: `note://b`"),
    ] {
        let script = format!(
            r#"-> {{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,"resourceSubscriptions":["note://a"]}},META}}}}
<- {{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{filter},"_meta":{{"io.modelcontextprotocol/subscriptionId":1}}}}}}"#
        );
        check(&script, expected);
    }
}

#[test]
fn a_uri_is_covered_by_what_is_above_it() {
    let uris = ["", "a/", "file:///x", "file:///x/y/z", "é"];
    for (uri, expected) in [
        ("file:///x", true),
        ("file:///x/", true),
        ("file:///x/y", true),
        ("file:///x/y/a", true),
        ("file:///x/z", true),
        ("file:///w", false),
        ("file://", false),
        ("a", true),
        ("a/b", true),
        ("b", false),
        ("éa", true),
        ("è", false),
        ("", false),
    ] {
        let without_all = uris.iter().skip(1).map(|uri| Arc::from(*uri)).collect();
        assert_eq!(covers(&without_all, uri), expected, "{uri}");
        assert!(covers(&uris.iter().map(|uri| Arc::from(*uri)).collect(), uri), "{uri}");
    }
}
