//! Rules of framing and of JSON-RPC: what a line is, and what a message is.

use super::{A, ALL, B, C, D, E, I, LEGACY, MODERN, W};

rules! { FRAMING:
    FRM_001 {
        id: "FRM-001",
        name: "non-json-stdout",
        severities: &[(ALL, E)],
        section: "basic/transports",
        title: "The server sent something that is no JSON-RPC message.",
        advice: "Send nothing but messages: banners, logs and debug prints belong on stderr, not on stdout.",
        wrong: "<- Server listening...\n<- {\"level\":\"info\",\"msg\":\"ready\"}",
        right: "!! Server listening...",
    }
    FRM_002 {
        id: "FRM-002",
        name: "non-json-stdin",
        severities: &[(ALL, E)],
        section: "basic/transports",
        title: "The client sent something that is no JSON-RPC message.",
        advice: "Send the server nothing but JSON-RPC messages.",
        wrong: "-> hello",
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    FRM_003 {
        id: "FRM-003",
        name: "embedded-newline",
        severities: &[(ALL, E)],
        section: "basic/transports, stdio",
        title: "A message was written over several lines.",
        advice: "Serialize each message on one line, without pretty printing, and end it with one newline.",
        wrong: r#"-> {"jsonrpc":"2.0",
-> "id":1,
-> "method":"ping"}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    FRM_004 {
        id: "FRM-004",
        name: "not-utf8",
        severities: &[(A, W), (B.union(C).union(D).union(MODERN), E)],
        section: "basic/transports, introduction",
        title: "A message is not UTF-8, or starts with a byte order mark.",
        advice: "Encode messages as UTF-8 without a byte order mark.",
        wrong: r#"-> \xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    FRM_005 {
        id: "FRM-005",
        name: "unterminated-tail",
        severities: &[(ALL, W)],
        section: "basic/transports, stdio",
        title: "The stream ended in the middle of a line.",
        advice: "End every message, the last one too, with a newline and flush it before exiting.",
        wrong: r#"<- {"jsonrpc":"2.0","method":"notifications/message","par␄"#,
        right: "!! bye",
    }
    FRM_006 {
        id: "FRM-006",
        name: "crlf-line",
        severities: &[(ALL, I)],
        section: "basic/transports, stdio",
        title: "Lines end with a carriage return and a newline.",
        advice: "Nothing has to be done, as JSON allows it; write a newline alone if some peer cannot read it.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}␍
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    RPC_001 {
        id: "RPC-001",
        name: "bad-version",
        severities: &[(ALL, E)],
        section: "basic, Messages",
        title: "The member `jsonrpc` is missing or is not \"2.0\".",
        advice: "Put \"jsonrpc\":\"2.0\" into every message.",
        wrong: r#"-> {"id":1,"method":"ping"}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    RPC_002 {
        id: "RPC-002",
        name: "null-id",
        severities: &[(ALL, E)],
        section: "basic, Requests",
        title: "A request has the id null.",
        advice: "Give each request an id that is a string or a whole number; leave the id out of notifications.",
        wrong: r#"-> {"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        right: r#"-> {"jsonrpc":"2.0","id":0,"method":"ping"}
<- {"jsonrpc":"2.0","id":0,"result":{}}"#,
    }
    RPC_003 {
        id: "RPC-003",
        name: "id-type",
        severities: &[(ALL, E)],
        section: "basic, Requests; schema RequestId",
        title: "An id is neither a string nor a whole number.",
        advice: "Use strings or whole numbers for ids.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1.5,"method":"ping"}
<- {"jsonrpc":"2.0","id":1.5,"result":{}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":"1.5","method":"ping"}
<- {"jsonrpc":"2.0","id":"1.5","result":{}}"#,
    }
    RPC_004 {
        id: "RPC-004",
        name: "id-reuse-session",
        severities: &[(LEGACY, E)],
        section: "basic, Requests",
        title: "A request has an id that its sender used before in this session.",
        advice: "Count ids up, or make random ones; never use one twice within a session.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":7,"method":"ping"}
<- {"jsonrpc":"2.0","id":7,"result":{}}
-> {"jsonrpc":"2.0","id":7,"method":"ping"}
<- {"jsonrpc":"2.0","id":7,"result":{}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":7,"method":"ping"}
<- {"jsonrpc":"2.0","id":7,"result":{}}
-> {"jsonrpc":"2.0","id":8,"method":"ping"}
<- {"jsonrpc":"2.0","id":8,"result":{}}"#,
    }
    RPC_005 {
        id: "RPC-005",
        name: "id-reuse-inflight",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic, Requests",
        title: "A request has the id of another one of the same sender that was not answered yet.",
        advice: "Give each request that is in flight an id of its own: its answers cannot be told apart otherwise.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b",META}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","completion":{"values":[]}}}
-> {"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","completion":{"values":[]}}}"#,
    }
    RPC_006 {
        id: "RPC-006",
        name: "unknown-response-id",
        severities: &[(ALL, E)],
        section: "basic, Responses",
        title: "An answer has no id, or one that no request of the other side has.",
        advice: "Send the request's id back exactly as it was: the same value and the same JSON type.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":"1","result":{}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
        needs_whole: true,
    }
    RPC_007 {
        id: "RPC-007",
        name: "duplicate-response",
        severities: &[(ALL, E)],
        section: "basic, Responses",
        title: "A request was answered twice.",
        advice: "Answer each request once.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    RPC_008 {
        id: "RPC-008",
        name: "result-and-error",
        severities: &[(ALL, E)],
        section: "basic, Responses",
        title: "A message has both a result and an error, or an id and neither.",
        advice: "Answer with `result` or with `error`, never with both.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{},"error":{"code":-32603,"message":"no"}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#,
    }
    RPC_009 {
        id: "RPC-009",
        name: "error-shape",
        severities: &[(ALL, E)],
        section: "basic, Error Responses",
        title: "An error has no whole number as its code, or no text as its message.",
        advice: "Answer errors as {\"code\": whole number, \"message\": text}; put everything else into `data`.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"error":{"code":"E_FAIL"}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"it failed"}}"#,
    }
    RPC_010 {
        id: "RPC-010",
        name: "error-null-id",
        severities: &[(ALL, I)],
        section: "schema JSONRPCErrorResponse",
        title: "An error has the id null, or none.",
        advice: "Nothing has to be done if the request could not be read; otherwise send its id back.",
        wrong: r#"<- {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot read that"}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"it failed"}}"#,
    }
    RPC_011 {
        id: "RPC-011",
        name: "notification-with-id",
        severities: &[(ALL, E)],
        section: "basic, Notifications",
        title: "A notification has an id, which makes it a request.",
        advice: "Leave `id` out of notifications.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":5,"method":"notifications/tools/list_changed"}"#,
        right: r#"# 2025-11-25
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    }
    RPC_012 {
        id: "RPC-012",
        name: "response-to-notification",
        severities: &[(ALL, E)],
        section: "basic, Notifications",
        title: "A notification was answered.",
        advice: "Do not answer messages that have no id, not even with an error.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
<- {"jsonrpc":"2.0","id":null,"result":{}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
        needs_whole: true,
    }
    RPC_013 {
        id: "RPC-013",
        name: "batch-unsupported",
        severities: &[(A.union(C).union(D).union(MODERN), E)],
        section: "2025-06-18 changelog; 2026-07-28 basic/transports/stdio",
        title: "Messages were sent as a batch, which this revision does not have.",
        advice: "Send each message on a line of its own: batches exist in 2025-03-26 alone.",
        wrong: r#"# 2025-06-18
-> [{"jsonrpc":"2.0","id":7,"method":"ping"}]
<- [{"jsonrpc":"2.0","id":7,"result":{}}]"#,
        right: r#"# 2025-03-26
-> [{"jsonrpc":"2.0","id":7,"method":"ping"}]
<- [{"jsonrpc":"2.0","id":7,"result":{}}]"#,
    }
    RPC_014 {
        id: "RPC-014",
        name: "batch-initialize",
        severities: &[(LEGACY, E)],
        section: "2025-03-26 basic/lifecycle, Initialization",
        title: "`initialize` was sent inside a batch.",
        advice: "Send `initialize` alone: before it is answered nobody knows whether there are batches.",
        wrong: r#"-> [{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}]"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    }
    RPC_015 {
        id: "RPC-015",
        name: "batch-mixed",
        severities: &[(B, E)],
        section: "2025-03-26 basic/transports, Sending Messages to the Server",
        title: "A batch is empty, or holds answers beside requests or notifications.",
        advice: "Put requests and notifications into one batch and answers into another, and send no empty one.",
        wrong: r#"# 2025-03-26
-> []"#,
        right: r#"# 2025-03-26
-> [{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]
<- {"jsonrpc":"2.0","id":7,"result":{}}"#,
    }
    RPC_016 {
        id: "RPC-016",
        name: "params-not-object",
        severities: &[(ALL, E)],
        section: "basic, Requests",
        title: "`params` is not an object.",
        advice: "Send parameters by name in an object, or leave `params` out.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping","params":{}}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    RPC_017 {
        id: "RPC-017",
        name: "result-not-object",
        severities: &[(ALL, E)],
        section: "basic, Responses",
        title: "`result` is not an object.",
        advice: "Answer with an object; an empty one says that it worked.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":"pong"}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    RPC_018 {
        id: "RPC-018",
        name: "duplicate-json-key",
        severities: &[(ALL, W)],
        section: "RFC 8259, 4",
        title: "An object has the same member twice.",
        advice: "Write each member once: parsers differ in which of two they take.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    RPC_019 {
        id: "RPC-019",
        name: "unsafe-integer",
        severities: &[(ALL, I)],
        section: "RFC 8259, 6",
        title: "A whole number as id, progress token or argument is beyond 2^53, where many parsers round.",
        advice: "Send such numbers as strings.",
        wrong: r#"-> {"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}
<- {"jsonrpc":"2.0","id":9007199254740993,"result":{}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":"9007199254740993","method":"ping"}
<- {"jsonrpc":"2.0","id":"9007199254740993","result":{}}"#,
    }
    RPC_020 {
        id: "RPC-020",
        name: "unanswered",
        severities: &[(ALL, W)],
        section: "basic/lifecycle, Timeouts",
        title: "A request was never answered and never cancelled.",
        advice: "Answer every request, with an error if need be; who gives up waiting should say so with a cancellation.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
        needs_whole: true,
    }
    TAP_001 {
        id: "TAP-001",
        name: "not-followed",
        severities: &[(ALL, W)],
        section: "a limit of mcp-tap",
        title: "More requests wait for an answer than are followed, so that answers to some will look as if nobody had asked.",
        advice: "Find out why nothing is answered: no real session has 100,000 requests in flight.",
        wrong: "",
        right: "",
    }
}
