//! Tests of eras, result types, codes and cache hints; and of real traffic.

mod real;

use crate::rule::{Finding, Rule};
use crate::rules::{modern, modern_meta, modern_rounds, modern_subscriptions};
use crate::script::{run, told};

/// Whether a rule is one of those that this part judges.
fn is_ours(rule: &Rule) -> bool {
    let parts = [
        modern::MODERN_RULES,
        modern_rounds::ROUNDS,
        modern_subscriptions::SUBSCRIPTIONS,
        modern_meta::META_AND_CACHING,
    ];
    parts.into_iter().flatten().any(|ours| *ours == rule)
}

/// A script against the findings of this part that it must give, a line each. That a side does not introduce itself is
/// beside the point of every one of them.
#[track_caller]
pub(super) fn check(script: &str, expected: &str) {
    let (_, mut meaning) = run(script);
    meaning.findings.sort_by_key(|finding| finding.at);
    let counts = |finding: &&Finding| is_ours(finding.rule) && finding.rule.id != "MOD-003";
    let found: Vec<_> = meaning.findings.iter().filter(counts).map(told).collect();
    assert_eq!(found.join("\n").trim(), expected.trim(), "of {script}");
}

/// A server that shows that it speaks the modern era.
const DISCOVERED: &str = r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":0,"method":"server/discover","params":{META}}
<- {"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}
"#;

#[track_caller]
fn check_after_discovery(script: &str, expected: &str) {
    check(&format!("{DISCOVERED}{script}"), expected);
}

#[test]
fn a_legacy_server_that_is_asked_in_the_modern_era_breaks_no_rule() {
    check(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
<- {"jsonrpc":"2.0","id":"s","method":"ping"}
-> {"jsonrpc":"2.0","id":"s","result":{}}
-> {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"note://gone",META}}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"gone"}}
-> {"jsonrpc":"2.0","id":3,"method":"server/discover","params":{META}}
<- {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"what?"}}
"#,
        "
2 MOD-004 warning by server: `tools/list`; the server may be of the legacy era
7 ERR-001 warning by server: -32002; the server may be of the legacy era
",
    );
}

#[test]
fn what_a_server_asks_the_old_way_is_told_once_it_shows_its_era() {
    let asked = r#"
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}
-> {"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}
"#;
    let both = "
2 MOD-006 error by server: `elicitation/create`
3 MOD-007 error by client: to `elicitation/create`
";
    let acknowledged = r#"-> {"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}"#;
    for (answer, expected) in [
        (r#"<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#, both),
        (
            r#"<- {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m","data":{"requiredCapabilities":{}}}}"#,
            both,
        ),
        (acknowledged, both),
        // A server of the legacy era, or one that has shown nothing yet.
        (
            r#"<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
            "4 MOD-004 warning by server: `tools/call`; the server may be of the legacy era",
        ),
        (r#"<- {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m"}}"#, ""),
        ("", ""),
        // The client turns to the legacy era, and the server serves both.
        (
            r#"-> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
            "",
        ),
    ] {
        check(&format!("{asked}{answer}"), expected);
    }
    let ping = asked.replace("elicitation/create", "ping");
    check(&format!(r#"{ping}<- {{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","content":[]}}}}"#), "");
    // However many there are.
    let request = |id: u32| format!(r#"<- {{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#);
    let requests: Vec<_> = (0..100).map(request).collect();
    let script = format!(
        r#"-> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a",META}}}}
{}
<- {{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","content":[]}}}}"#,
        requests.join("\n")
    );
    let told: Vec<_> = (2..12).map(|seq| format!("{seq} MOD-006 error by server: `roots/list`")).collect();
    check(&script, &told.join("\n"));
}

#[test]
fn a_connection_with_a_handshake_is_judged_by_the_legacy_era() {
    check(
        r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"roots/list"}
-> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
-> {"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"note://gone"}}
<- {"jsonrpc":"2.0","id":3,"error":{"code":-32002,"message":"gone"}}
"#,
        "",
    );
}

#[test]
fn a_server_may_serve_both_eras_on_one_connection() {
    check_after_discovery(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
<- {"jsonrpc":"2.0","id":1,"method":"roots/list"}
-> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
-> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[]}}
"#,
        "",
    );
}

#[test]
fn a_request_says_what_it_speaks_even_when_others_did() {
    check_after_discovery(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"_meta?"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":null}}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}
"#,
        "
3 MOD-001 error by client: `tools/call` without protocolVersion and clientCapabilities
5 MOD-001 error by client: `tools/call` without clientCapabilities
6 MOD-002 error by server: `tools/call`
",
    );
}

#[test]
fn a_method_that_is_gone_need_not_say_what_it_speaks() {
    check_after_discovery(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"ping?"}}
"#,
        "",
    );
}

#[test]
fn extensions_add_result_types_where_they_are_declared() {
    let with = |extensions: &str, result_type: &str| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"c","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{"extensions":{extensions}}}}}}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"resultType":{result_type},"taskId":"t","status":"working","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":null}}}}"#
        )
    };
    for (extensions, result_type, expected) in [
        (r#"{"io.modelcontextprotocol/tasks":{}}"#, r#""task""#, ""),
        (r#"{"com.example/later":{}}"#, r#""later""#, ""),
        ("{}", r#""later""#, "4 MOD-005 error by server: `later`"),
        (r#"{"io.modelcontextprotocol/tasks":{}}"#, r#""later""#, "4 MOD-005 error by server: `later`"),
        ("{}", "1", "4 MOD-005 error by server: it is no text"),
    ] {
        check_after_discovery(&with(extensions, result_type), expected);
    }
}

#[test]
fn codes_are_judged_by_their_range() {
    for (code, expected) in [
        ("-32700", ""),
        ("-32600", ""),
        ("-32603", ""),
        ("-32602", ""),
        ("-32601", ""),
        ("-32020", ""),
        ("-32021", "MOD-010 error by server: `data.requiredCapabilities`: it is missing"),
        ("-32022", "MOD-009 error by server: `data.supported` is no list of texts, `data.requested` is no text"),
        ("-32023", "ERR-002 error by server: -32023"),
        ("-32099", "ERR-002 error by server: -32099"),
        ("-32042", "ERR-001 error by server: -32042"),
        ("-32002", "ERR-001 error by server: -32002"),
        ("-32000", "ERR-003 note by server: -32000"),
        ("-32019", "ERR-003 note by server: -32019"),
        ("-32100", "ERR-004 warning by server: -32100"),
        ("-32768", "ERR-004 warning by server: -32768"),
        ("-32769", ""),
        ("-31999", ""),
        ("-1", ""),
        ("0", ""),
        ("1e300", ""),
    ] {
        let script = format!(
            r#"-> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a",META}}}}
<- {{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"no"}}}}"#
        );
        let expected = if expected.is_empty() { String::new() } else { format!("4 {expected}") };
        check_after_discovery(&script, &expected);
    }
}

#[test]
fn whether_a_server_lacks_discovery_may_be_known_only_later() {
    let refused = r#"
-> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what?"}}
"#;
    let served = r#"
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}
"#;
    let detail = "DSC-001 error by server: answered with -32601; other requests are served";
    check(&format!("{refused}{served}"), &format!("2 {detail}"));
    check(&format!("{served}{refused}"), &format!("4 {detail}"));
    check(refused, "");
}

#[test]
fn an_error_to_initialize_should_name_versions() {
    let refused = |error: &str| {
        format!(
            r#"
-> {{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}
<- {{"jsonrpc":"2.0","id":1,"error":{error}}}
"#
        )
    };
    for (error, expected) in [
        (r#"{"code":-32601,"message":"what?"}"#, "MOD-008 warning by server: the error names no version"),
        (r#"{"code":-32601,"message":"speak 2026-07-28"}"#, "MOD-008 note by client: the error names versions"),
        (
            r#"{"code":-32022,"message":"no","data":{"supported":["2027-01-01"],"requested":"2025-11-25"}}"#,
            "MOD-008 note by client: the error names versions",
        ),
    ] {
        let refused = refused(error);
        check_after_discovery(&refused, &format!("4 {expected}"));
        if error.contains("-32601") {
            // A client of the legacy era may be refused for many reasons, unless the server turns out to be modern.
            check(&refused, "");
            check(&format!("{refused}{}", DISCOVERED.replace("\"id\":0", "\"id\":2")), &format!("2 {expected}"));
        }
    }
}

#[test]
fn a_client_that_answers_shows_it_even_where_nobody_asked() {
    check_after_discovery(r#"-> {"jsonrpc":"2.0","id":9,"result":{}}"#, "3 MOD-007 error by client: to no request");
}

#[test]
fn cache_hints_are_for_complete_results() {
    let read = |method: &str, result: &str| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":1,"method":{method},META}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{{result}}}}}"#
        )
    };
    let list = r#""resources/list","params":{"more":0"#;
    for (hints, expected) in [
        (r#""ttlMs":0,"cacheScope":"public""#, ""),
        (r#""ttlMs":1.0,"cacheScope":"private""#, ""),
        (r#""ttlMs":-0,"cacheScope":"private""#, ""),
        (r#""ttlMs":1.5,"cacheScope":"private""#, "4 CCH-002 error by server: `1.5`"),
        (r#""ttlMs":-1e400,"cacheScope":"private""#, "4 CCH-002 error by server: `-1e400`"),
        (r#""ttlMs":"1","cacheScope":"private""#, "4 CCH-002 error by server: `\"1\"`"),
        (r#""ttlMs":1"#, "4 CCH-001 error by server: `resources/list`: no cacheScope"),
        (r#""cacheScope":"public""#, "4 CCH-001 error by server: `resources/list`: no ttlMs"),
        (
            r#""ttlMs":1,"cacheScope":"shared""#,
            "4 CCH-001 error by server: `resources/list`: cacheScope is neither public nor private",
        ),
    ] {
        let result = format!(r#""resultType":"complete","resources":[],{hints}"#);
        check_after_discovery(&read(list, &result), expected);
    }
    let no_list = r#""tools/call","params":{"name":"a""#;
    check_after_discovery(&read(no_list, r#""resultType":"complete","content":[]"#), "");
}

#[test]
fn pages_of_two_walks_may_differ() {
    let page = |id: u64, cursor: &str, next: &str, scope: &str| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{{cursor}META}}}}
<- {{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","tools":[],{next}"ttlMs":0,"cacheScope":"{scope}"}}}}
"#
        )
    };
    let (first, second) = (r#""nextCursor":"2","#, r#""cursor":"2","#);
    let right = [
        page(1, "", first, "private"),
        page(2, second, "", "private"),
        page(3, "", first, "public"),
        page(4, second, "", "public"),
    ];
    check_after_discovery(&right.concat(), "");
    let wrong = [page(1, "", first, "public"), page(2, r#""cursor":"\u0032","#, "", "private")];
    check_after_discovery(&wrong.concat(), "6 CCH-003 error by server: `tools/list`: private after public");
}

#[test]
fn what_is_kept_is_bounded() {
    let mut script = String::from(DISCOVERED);
    for id in 1..1000 {
        script += &format!(
            r#"-> {{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"_{id}":1}}}}}}
<- {{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"{id}"}}}}
-> {{"jsonrpc":"2.0","id":"l{id}","method":"subscriptions/listen","params":{{"notifications":{{}},META}}}}
-> {{"jsonrpc":"2.0","id":"p{id}","method":"tools/list","params":{{META}}}}
<- {{"jsonrpc":"2.0","id":"p{id}","result":{{"resultType":"complete","tools":[],"nextCursor":"{id}","ttlMs":0,"cacheScope":"public"}}}}
"#
        );
    }
    let (follower, _) = run(&script);
    let modern = &follower.state().modern;
    assert_eq!((modern.rounds.len(), modern.n_forgotten_rounds), (100, 899));
    assert_eq!((modern.subscriptions.len(), modern.n_forgotten_subscriptions), (256, 743));
    assert_eq!((modern.pages.len(), modern.told_keys.len()), (64, 256));
}
