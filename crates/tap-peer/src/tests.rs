//! The driver before servers that are shell scripts: real processes that say what a test has them say. What they hear is in
//! a file, word for word.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tap_protocol::{Revision, Revisions};
use tap_session::{ErrorReply, Kept, Refusal};
use tap_transport::{Ending, Launch};

use super::*;

/// Longer than anything takes.
const LIMIT: Duration = Duration::from_secs(30);

/// What every script can do: hear a line, which is noted, and say one.
const PRELUDE: &str = r#"
hear() { IFS= read -r line || exit 0; printf '%s\n' "$line" >> heard; }
say() { printf '%s\n' "$1"; }
rest() { while IFS= read -r line; do printf '%s\n' "$line" >> heard; done; }
legacy() { hear; say '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what?"}}'; hear
say '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":'"$1"',"serverInfo":{"name":"sh","version":"1"}}}'; hear; }
modern() { hear; say '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":'"$1"',"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"sh","version":"1"}}}}'; }
"#;

/// A script as a server, in a folder of its own.
struct Script {
    folder: tempfile::TempDir,
    target: Target,
}

impl Script {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let launch = Launch {
            program: "sh".into(),
            arguments: vec!["-c".into(), format!("{PRELUDE}{script}").into()],
            environment: Vec::new(),
            folder: Some(folder.path().into()),
        };
        let patience = Patience { close: Duration::from_millis(300), terminate: Duration::from_millis(300) };
        Self { folder, target: Target::Command(Box::new(ServerCommand { launch, patience })) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What it heard.
    fn heard(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("heard")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    async fn connect(&self) -> Client {
        self.connect_with(Arc::new(())).await
    }

    async fn connect_with(&self, handler: Arc<dyn Handler>) -> Client {
        let options = ClientOptions { handler, ..ClientOptions::default() };
        Client::connect(&self.target, &options).await.unwrap()
    }
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LIMIT, test).await.unwrap() });
}

fn text(kept: &Kept) -> String {
    String::from_utf8_lossy(&kept.0).into_owned()
}

/// The methods, or kinds, of lines.
fn methods(lines: &[String]) -> Vec<String> {
    let method = |line: &String| {
        let node = tap_jsonrpc::Node::new(line.as_bytes());
        node.get("method").and_then(|method| Some(method.text()?.into_owned())).unwrap_or_else(|| line.clone())
    };
    lines.iter().map(method).collect()
}

#[test]
fn a_session_is_opened_in_the_newest_era_that_the_server_speaks() {
    run(async {
        for (script, expected) in [
            ("modern '{}'; rest", Ok(Revision::V2026_07_28)),
            ("legacy '{}'; rest", Ok(Revision::V2025_11_25)),
            // Started again, since it goes away when it is asked something else first.
            (
                "if [ ! -e once ]; then touch once; hear; exit 1; fi; hear\nsay '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{},\"serverInfo\":{\"name\":\"sh\",\"version\":\"1\"}}}'; rest",
                Ok(Revision::V2024_11_05),
            ),
            (
                "hear; echo 'out of cheese' >&2; exit 7",
                Err("the server ended before the session was open (the server exited with code 7)"),
            ),
            (
                "hear; say '{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"no\",\"data\":{\"supported\":[\"2099-01-01\"],\"requested\":\"2026-07-28\"}}}'; rest",
                Err("the server speaks other revisions of MCP: 2099-01-01 (the server exited with code 0)"),
            ),
        ] {
            let server = Script::new(script);
            match (Client::connect(&server.target, &ClientOptions::default()).await, expected) {
                (Ok(client), Ok(revision)) => {
                    assert_eq!(client.opened().revision, revision, "{script}");
                    assert_eq!(client.opened().name.as_deref(), Some("sh"));
                    let end = client.close().await;
                    assert_eq!((end.process, end.was_forced), (Some(Ending::Exited(0)), false), "{script}");
                }
                (Err(error), Err(says)) => {
                    assert_eq!(error.to_string(), says, "{script}");
                    if let ConnectError::Refused { end, refusal } = error {
                        let words: &[&str] = if refusal == Refusal::Ended { &["out of cheese"] } else { &[] };
                        assert_eq!(end.last_words(3), words);
                    }
                }
                (result, _) => panic!("{script}: {result:?}"),
            }
        }
        let none = Launch { program: "/no/such/program".into(), ..Launch::default() };
        let target = Target::Command(Box::new(ServerCommand::new(none)));
        let error = Client::connect(&target, &ClientOptions::default()).await.unwrap_err();
        assert!(matches!(error, ConnectError::Spawn(_)), "{error}");
    });
}

#[test]
fn lists_are_asked_for_to_their_end_and_no_further() {
    run(async {
        let page = |id: u32, items: &str, next: &str| {
            format!("hear; say '{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"tools\":[{items}]{next}}}}}'\n")
        };
        let item = |name: &str| format!("{{\"name\":\"{name}\",\"inputSchema\":{{\"type\":\"object\"}}}}");
        let start = "legacy '{\"tools\":{}}'\n";
        // The same cursor in another spelling is the same cursor.
        let pages = [page(3, &item("a"), ",\"nextCursor\":\"n\\u0031\""), page(4, &item("b"), "")].concat();
        let looping =
            [page(3, &item("a"), ",\"nextCursor\":\"n1\""), page(4, &item("b"), ",\"nextCursor\":\"n1\"")].concat();
        for (pages, expected, cursor) in [
            (pages, (vec!["a", "b"], None), r#""cursor":"n\u0031""#),
            (looping, (vec!["a", "b"], Some(NotWhole::CursorRepeats)), r#""cursor":"n1""#),
        ] {
            let server = Script::new(&format!("{start}{pages}rest"));
            let client = server.connect().await;
            let listing = client.list(ListKind::Tools, CallOptions::default()).await.unwrap();
            let names: Vec<String> = listing.items.iter().map(|item| item.text("name").unwrap()).collect();
            assert_eq!((names.iter().map(String::as_str).collect(), listing.not_whole), expected);
            assert_eq!(listing.n_pages, 2);
            client.close().await;
            assert!(server.heard().last().unwrap().contains(cursor), "{:?}", server.heard());
        }
    });
}

#[test]
fn nothing_is_asked_that_was_not_offered() {
    run(async {
        for open in ["legacy '{}'; rest", "modern '{}'; rest"] {
            let server = Script::new(open);
            let client = server.connect().await;
            for kind in ListKind::ALL {
                let error = client.list(kind, CallOptions::default()).await.unwrap_err();
                assert!(matches!(error, ListError::Call(CallError::NotOffered { .. })), "{error}");
            }
            let error = client.complete("{}", ("a", "b"), None, CallOptions::default()).await.unwrap_err();
            assert_eq!(error.to_string(), "the server does not offer `completions`, which `completion/complete` needs");
            client.close().await;
            let heard = methods(&server.heard());
            assert!(!heard.iter().any(|method| method.contains("list") || method.contains("complete")), "{heard:?}");
        }
    });
}

#[test]
fn what_a_server_writes_comes_back_as_it_is_written() {
    run(async {
        let result = r#"{"content":[],"n":12345678901234567890123,"x":1e400,"s":"\ud800","s":2, "_meta":{}}"#;
        let server = Script::new(&format!(
            "legacy '{{\"tools\":{{}}}}'; hear; printf '%s\\n' '{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{result}}}'; rest"
        ));
        let client = server.connect().await;
        let arguments = r#"{"n":1e400,"s":"\ud800"}"#;
        let answer = client.call_tool("t", Some(arguments), CallOptions::default()).await.unwrap();
        assert_eq!(text(&answer), result);
        client.close().await;
        assert!(server.heard().last().unwrap().contains(&format!("\"arguments\":{arguments}")));
    });
}

#[test]
fn a_call_that_nobody_waits_for_is_cancelled() {
    run(async {
        let server = Script::new("legacy '{\"tools\":{}}'; hear; touch asked; rest");
        let client = server.connect().await;
        {
            let call = client.call_tool("t", None, CallOptions::default());
            let asked = async {
                while !server.path("asked").exists() {
                    tokio::time::sleep(Duration::from_millis(5)).await; // tidy: waits for something, with a limit.
                }
            };
            tokio::select! {
                _ = call => panic!("it was answered"),
                () = asked => {}
            }
        }
        let error = client
            .call_tool("t", None, CallOptions { limit: Some(Duration::from_millis(1)), ..CallOptions::default() })
            .await
            .unwrap_err();
        assert!(matches!(error, CallError::TimedOut(_)), "{error}");
        client.close().await;
        let heard = server.heard();
        assert_eq!(
            methods(&heard)[3..],
            ["tools/call", "notifications/cancelled", "tools/call", "notifications/cancelled"]
        );
        assert!(heard[4].contains("\"requestId\":3") && heard[6].contains("\"requestId\":4"), "{heard:?}");
    });
}

#[test]
fn progress_is_told_as_it_comes() {
    run(async {
        let server = Script::new(
            r#"legacy '{"tools":{}}'; hear
            say '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1,"total":2,"message":"half"}}'
            say '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":77,"progress":1}}'
            say '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":2}}'
            say '{"jsonrpc":"2.0","id":3,"result":{"content":[]}}'; rest"#,
        );
        let client = server.connect().await;
        let told = Arc::new(Mutex::new(Vec::new()));
        let shared = told.clone();
        let on_progress: OnProgress = Arc::new(move |progress| shared.lock().unwrap().push(progress));
        let options = CallOptions { on_progress: Some(on_progress), ..CallOptions::default() };
        client.call_tool("t", None, options).await.unwrap();
        let progress =
            |progress, total, message: Option<&str>| Progress { progress, total, message: message.map(Into::into) };
        assert_eq!(*told.lock().unwrap(), [progress(1.0, Some(2.0), Some("half")), progress(2.0, None, None)]);
        client.close().await;
    });
}

/// Says yes to every form, and hears everything.
fn yes(heard: &Arc<Mutex<Vec<String>>>) -> Arc<dyn Handler> {
    let notified = heard.clone();
    let answers = Answers::default()
        .roots(vec![("file:///a".into(), None)])
        .elicitation_by_form(|_| {
            Box::pin(std::future::ready(Ok(r#"{"action":"accept","content":{"n":1e400}}"#.into())))
        })
        .sampling(false, |_| Box::pin(std::future::ready(Err(Cannot(ErrorReply::new(-1, "not today"))))))
        .heard(move |notified_of| notified.lock().unwrap().push(notified_of.method));
    Arc::new(answers)
}

#[test]
fn the_same_handler_answers_requests_and_rounds_of_input() {
    run(async {
        let told = Arc::default();
        let legacy = Script::new(
            r#"legacy '{"tools":{}}'; hear
            say '{"jsonrpc":"2.0","id":"p","method":"ping"}'; hear
            say '{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}'; hear
            say '{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}'; hear
            say '{"jsonrpc":"2.0","id":"x","method":"tasks/list"}'; hear
            say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
            say '{"jsonrpc":"2.0","id":3,"result":{"content":[]}}'; rest"#,
        );
        let client = legacy.connect_with(yes(&told)).await;
        client.call_tool("t", None, CallOptions::default()).await.unwrap();
        client.close().await;
        assert_eq!(
            legacy.heard()[4..],
            [
                r#"{"jsonrpc":"2.0","id":"p","result":{}}"#,
                r#"{"jsonrpc":"2.0","id":"e","result":{"action":"accept","content":{"n":1e400}}}"#,
                r#"{"jsonrpc":"2.0","id":"s","error":{"code":-1,"message":"not today"}}"#,
                r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"this client has no `tasks/list`"}}"#,
            ]
        );
        assert_eq!(*told.lock().unwrap(), ["notifications/tools/list_changed"]);

        let ask = |id: u32, requests: &str| {
            format!(
                "hear; say '{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"input_required\",\"inputRequests\":{{{requests}}},\"requestState\":\"\\ud800\\u0041=\"}}}}'\n"
            )
        };
        let form = r#""k\u0065y":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}},"r":{"method":"roots/list"}"#;
        let done =
            "hear; say '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"complete\",\"content\":[]}}'; rest";
        let modern = Script::new(&format!("modern '{{\"tools\":{{}}}}'\n{}{done}", ask(2, form)));
        let client = modern.connect_with(yes(&told)).await;
        client.call_tool("t", Some(r#"{"a":1.0}"#), CallOptions::default()).await.unwrap();
        client.close().await;
        let retry = modern.heard().last().unwrap().clone();
        for part in [
            r#""inputResponses":{"k\u0065y":{"action":"accept","content":{"n":1e400}},"r":{"roots":[{"uri":"file:///a"}]}}"#,
            r#""requestState":"\ud800\u0041=""#,
            r#""arguments":{"a":1.0}"#,
        ] {
            assert!(retry.contains(part), "{part} is not in {retry}");
        }

        // What is declined, or was not declared, is not tried again.
        let sampling = r#""s":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;
        for (handler, why) in [
            (yes(&told), "the server asks for `sampling/createMessage` first: not today"),
            (
                Arc::new(()) as Arc<dyn Handler>,
                "the server asks for `sampling/createMessage` first: the client did not declare that it can be asked",
            ),
        ] {
            let modern = Script::new(&format!("modern '{{\"tools\":{{}}}}'\n{}rest", ask(2, sampling)));
            let client = modern.connect_with(handler).await;
            let error = client.call_tool("t", None, CallOptions::default()).await.unwrap_err();
            assert_eq!(error.to_string(), why);
            client.close().await;
            assert_eq!(methods(&modern.heard()), ["server/discover", "tools/call"]);
        }
    });
}

#[test]
fn a_server_that_goes_away_is_told_with_its_last_words() {
    run(async {
        let server = Script::new("legacy '{\"tools\":{}}'; hear; echo 'out of cheese' >&2; exit 3");
        let client = server.connect().await;
        let error = client.call_tool("t", None, CallOptions::default()).await.unwrap_err();
        let CallError::Over(end) = error else { panic!("{error}") };
        assert_eq!(end.how().unwrap(), "the server exited with code 3");
        assert_eq!(end.last_words(9), ["out of cheese"]);
        let later = client.call_tool("t", None, CallOptions::default()).await.unwrap_err();
        assert_eq!(later.to_string(), "the server exited with code 3");
        assert!(client.is_over());
    });
}

#[test]
fn a_server_that_does_not_want_to_end_is_ended_with_all_that_it_started() {
    run(async {
        for (trap, expected) in [("", Ending::Killed(15)), ("trap '' TERM; ", Ending::Killed(9))] {
            let server = Script::new(&format!(
                "mkfifo held; {trap}(exec 3> held; exec sleep 3600) > /dev/null 2>&1 &\nmodern '{{}}'; while :; do sleep 3600; done"
            ));
            let client = server.connect().await;
            // Has an end when nobody holds the other side any more.
            let held = server.path("held");
            let (opened, is_open) = tokio::sync::oneshot::channel();
            let reader = tokio::task::spawn_blocking(move || {
                let mut file = std::fs::File::open(held).unwrap();
                let _ = opened.send(());
                std::io::Read::read_to_end(&mut file, &mut Vec::new()).unwrap()
            });
            is_open.await.unwrap();
            let end = client.close().await;
            assert_eq!((end.process, end.was_forced), (Some(expected), true), "{trap}");
            assert_eq!(reader.await.unwrap(), 0);
        }
    });
}

#[test]
fn a_session_ends_when_nobody_has_it_any_more() {
    run(async {
        let server = Script::new("trap 'touch ended' EXIT; modern '{}'; rest");
        drop(server.connect().await);
        while !server.path("ended").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await; // tidy: waits for something, with a limit.
        }
    });
}

#[test]
fn a_server_that_went_away_is_there_again() {
    run(async {
        let server = Script::new(
            "legacy '{\"tools\":{}}'; hear; case \"$line\" in *die*) exit 1;; esac; say '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}'; rest",
        );
        let backoff = Backoff { first: Duration::from_millis(1), ..Backoff::default() };
        let standing = Standing::new(server.target.clone(), ClientOptions::default(), backoff, None);
        let (client, is_new) = standing.client().await.unwrap();
        assert!(is_new);
        assert!(!standing.client().await.unwrap().1);
        client.call_tool("die", None, CallOptions::default()).await.unwrap_err();
        client.over().await;
        assert!(standing.now().is_none());
        let (client, is_new) = standing.client().await.unwrap();
        assert!(is_new);
        client.call_tool("live", None, CallOptions::default()).await.unwrap();
        standing.close().await;
        assert!(client.is_over());
    });
}

#[test]
fn one_revision_alone_is_spoken_where_that_is_asked_for() {
    run(async {
        let server = Script::new(
            "hear; say '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-03-26\",\"capabilities\":{},\"serverInfo\":{\"name\":\"sh\",\"version\":\"1\"}}}'; rest",
        );
        let options = ClientOptions { revisions: Revisions::only(Revision::V2025_03_26), ..ClientOptions::default() };
        let client = Client::connect(&server.target, &options).await.unwrap();
        assert_eq!(client.opened().revision, Revision::V2025_03_26);
        client.close().await;
        assert_eq!(methods(&server.heard()), ["initialize", "notifications/initialized"]);
    });
}
