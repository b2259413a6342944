//! Tests of log messages.

use super::{in_exchanges, of_this_part};
use crate::script::run;

fn log(level: &str) -> String {
    format!(
        "<- {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"level\":{level},\"data\":1}}}}"
    )
}

fn set(id: u64, level: &str) -> String {
    format!("-> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"logging/setLevel\",\"params\":{{\"level\":{level}}}}}")
}

fn done(id: u64) -> String {
    format!("<- {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")
}

/// A call of the modern era that asks for `level`, if that is not empty.
fn call(id: u64, level: &str) -> String {
    let meta =
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
    let level = if level.is_empty() { String::new() } else { format!(",\"io.modelcontextprotocol/logLevel\":{level}") };
    format!(
        "-> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"copy\",\"_meta\":{{{meta}{level}}}}}}}"
    )
}

/// A call of the legacy era with what means something in the modern one alone.
fn asks_in_legacy() -> String {
    r#"-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"copy","_meta":{"io.modelcontextprotocol/logLevel":"debug"}}}"#.into()
}

fn called(id: u64) -> String {
    format!("<- {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",\"content\":[]}}}}")
}

#[track_caller]
fn check(lines: &[String], expected: &str) {
    let found = of_this_part(&lines.join("\n"));
    assert_eq!(found, expected, "found:\n{found}");
}

#[test]
fn a_level_is_one_of_eight_names() {
    for (level, expected) in [
        (r#""debug""#, ""),
        (r#""emergency""#, ""),
        (r#""inf\u006f""#, ""),
        (r#""INFO""#, "4 LOG-001 error by server: `INFO`"),
        (r#""warn""#, "4 LOG-001 error by server: `warn`"),
        ("3", "4 LOG-001 error by server: 3"),
        ("null", "4 LOG-001 error by server: null"),
    ] {
        check(&["# 2025-11-25".into(), log(level)], expected);
    }
    check(&["# 2025-11-25".into(), set(1, r#""loud""#), done(1)], "4 LOG-001 error by client: `loud`");
    check(&[call(1, r#""loud""#), called(1)], "1 LOG-001 error by client: `loud`");
    // Where none need be named, null is mostly taken for that.
    let null = "null where the member should be left out";
    check(&[call(1, "null"), called(1)], &format!("1 LOG-001 warning by client: {null}"));
    check(&["# 2025-11-25".into(), set(1, "null"), done(1)], "4 LOG-001 error by client: null");
}

#[test]
fn a_level_holds_from_when_the_server_accepts_it() {
    let [info, error, debug] = [r#""info""#, r#""error""#, r#""debug""#];
    let refused = r#"<- {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#;
    let header = || "# 2025-06-18".to_owned();
    for (lines, expected) in [
        (vec![log(debug)], ""),
        // What a modern request asks for means nothing here.
        (
            vec![set(1, error), done(1), asks_in_legacy(), log(debug)],
            "7 LOG-002 warning by server: `debug`, and `error` was set",
        ),
        (vec![set(1, error), log(info), done(1), log(error)], ""),
        (vec![set(1, error), done(1), log(info)], "6 LOG-002 warning by server: `info`, and `error` was set"),
        (vec![set(1, error), refused.into(), log(info)], ""),
        // It may hold a moment before the server says so.
        (vec![set(1, error), done(1), set(2, debug), log(info), done(2), log(debug)], ""),
        (
            vec![set(1, debug), done(1), log(debug), set(2, error), log(debug), done(2), log(debug)],
            "10 LOG-002 warning by server: `debug`, and `error` was set",
        ),
    ] {
        check(&[vec![header()], lines].concat(), expected);
    }
}

#[test]
fn a_modern_server_logs_only_while_a_request_asks_for_it() {
    let [info, error, debug] = [r#""info""#, r#""error""#, r#""debug""#];
    let wait = || "++ 2000".to_owned();
    for (lines, expected) in [
        (vec![call(1, info), log(info), log(error), called(1)], ""),
        (vec![call(1, ""), log(info), called(1)], "2 LOG-003 error by server: `info`"),
        (vec![call(1, info), log(debug), called(1)], "2 LOG-004 error by server: `debug`; asked was `info`"),
        // It does not say to which request it belongs: the most that any of them asks for is allowed.
        (vec![call(1, error), call(2, debug), log(debug), called(1), called(2)], ""),
        (vec![call(1, ""), call(2, debug), log(debug), called(1), called(2)], ""),
        // Late for its request by a moment, or by much.
        (vec![call(1, info), called(1), log(info)], "3 LOG-003 warning by server: `info`"),
        (vec![call(1, info), called(1), wait(), log(info)], "3 LOG-003 error by server: `info`"),
        (
            vec![call(1, error), call(2, debug), called(2), log(debug), called(1)],
            "4 LOG-004 warning by server: `debug`; asked was `error`",
        ),
        (
            vec![call(1, error), call(2, debug), called(2), wait(), log(debug), called(1)],
            "4 LOG-004 error by server: `debug`; asked was `error`",
        ),
        (vec![call(1, ""), ".. 10".into(), log(info), called(1)], ""),
    ] {
        check(&lines, expected);
    }
}

#[test]
fn logs_of_one_exchange_are_not_judged_by_another() {
    let info = r#""info""#;
    let alone = "4 LOG-003 error by server: `info`";
    for (lines, expected) in [
        ([(1, call(1, info)), (1, log(info)), (2, call(1, "")), (2, log(info))], alone),
        ([(1, call(1, info)), (2, call(1, "")), (1, called(1)), (2, log(info))], alone),
        ([(1, call(1, info)), (2, call(1, "")), (2, called(1)), (1, log(info))], ""),
    ] {
        assert_eq!(in_exchanges(&lines), expected);
    }
}

#[test]
fn a_session_knows_its_level_and_what_was_logged() {
    let lines =
        ["# 2025-11-25".into(), set(1, r#""info""#), done(1), log(r#""info""#), log(r#""error""#), log(r#""loud""#)];
    let (follower, _) = run(&lines.join("\n"));
    let logging = &follower.state().logging;
    assert_eq!((logging.level, logging.set_at.map(|at| at.seq)), (Some("info"), Some(4)));
    let counts = ["debug", "info", "error", "loud"].map(|level| logging.n_of_level(level));
    assert_eq!((counts, logging.n_of_unknown_level, logging.n_messages()), ([0, 1, 1, 0], 1, 3));
}
