//! Rules of the HTTP transports: of all eras, and of sessions in the legacy era.

use super::{A, ALL, B, C, D, E, I, MODERN, W};
use tap_protocol::Revisions;

/// Where there is Streamable HTTP.
const STREAMABLE: Revisions = ALL.difference(A);
/// Where it has sessions.
const SESSIONS: Revisions = B.union(C).union(D);

rules! { HTTP:
    HTT_001 {
        id: "HTT-001",
        name: "accept",
        severities: &[(STREAMABLE, E)],
        section: "basic/transports, Sending Messages to the Server",
        title: "The client does not say that it accepts both JSON and event streams (for GET: event streams).",
        advice: "Send `Accept: application/json, text/event-stream` with each POST, and `Accept: text/event-stream` with GET.",
        wrong: r#"# http 2025-11-25
>> Accept: application/json
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< 406"#,
        right: r#"# http 2025-11-25
>> Accept: application/json, text/event-stream
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    HTT_002 {
        id: "HTT-002",
        name: "content-type",
        severities: &[(ALL, W)],
        section: "basic/transports, Sending Messages to the Server",
        title: "A body is not declared as what it is to be: JSON, or an event stream for an answer.",
        advice: "Send `Content-Type: application/json` with each body that is a message, and `text/event-stream` with a stream.",
        wrong: r#"# http 2025-11-25
>> Content-Type: text/plain
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"# http 2025-11-25
>> Content-Type: application/json; charset=utf-8
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    HTT_003 {
        id: "HTT-003",
        name: "version-header-missing-legacy",
        severities: &[(C.union(D), E)],
        section: "basic/transports, Protocol Version Header",
        title: "A request after the handshake has no header `MCP-Protocol-Version`.",
        advice: "Send the agreed revision in `MCP-Protocol-Version` with every request after `initialize`: POST, GET and DELETE.",
        wrong: r#"# http 2025-11-25
>> -MCP-Protocol-Version
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"# http 2025-11-25
>> MCP-Protocol-Version: 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    HTT_004 {
        id: "HTT-004",
        name: "version-header-mismatch",
        severities: &[(C.union(D), W)],
        section: "basic/transports, Protocol Version Header",
        title: "The header `MCP-Protocol-Version` names another revision than the one that was agreed.",
        advice: "Send the `protocolVersion` of the answer to `initialize`, not the one that was asked for.",
        wrong: r#"# http 2025-06-18
>> MCP-Protocol-Version: 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"# http 2025-06-18
>> MCP-Protocol-Version: 2025-06-18
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    HTT_011 {
        id: "HTT-011",
        name: "session-missing",
        severities: &[(SESSIONS, E)],
        section: "basic/transports, Session Management",
        title: "A request of a session does not have the id that the server gave to it.",
        advice: "Send the `Mcp-Session-Id` of the answer to `initialize` with every request after it.",
        wrong: r#"# http 2025-11-25
>> -Mcp-Session-Id
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< 400"#,
        right: r#"# http 2025-11-25
>> Mcp-Session-Id: s1
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    HTT_012 {
        id: "HTT-012",
        name: "session-charset",
        severities: &[(SESSIONS, E)],
        section: "basic/transports, Session Management",
        title: "A session id has characters that are not visible ASCII.",
        advice: "Make session ids of the bytes 0x21 to 0x7E alone, such as a UUID.",
        wrong: r#"# http
>> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<< 200
<< Content-Type: application/json
<< Mcp-Session-Id: my session
<<
<< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
        right: r#"# http
>> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<< 200
<< Content-Type: application/json
<< Mcp-Session-Id: my-session
<<
<< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
    }
    HTT_013 {
        id: "HTT-013",
        name: "session-after-404",
        severities: &[(SESSIONS, E)],
        section: "basic/transports, Session Management",
        title: "The client goes on with a session that the server does not know any more.",
        advice: "After 404 begin a new session, with `initialize` and without the old id.",
        wrong: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< 404
>> {"jsonrpc":"2.0","id":2,"method":"ping"}
<< 404"#,
        right: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< 404
>> -Mcp-Session-Id
>> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<< {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
    }
    HTT_015 {
        id: "HTT-015",
        name: "notification-status",
        severities: &[(STREAMABLE, E)],
        section: "basic/transports, Sending Messages to the Server",
        title: "A notification or an answer was accepted with something else than 202 and no body.",
        advice: "Answer what asks for nothing with `202 Accepted` and an empty body.",
        wrong: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
<< 200"#,
        right: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
<< 202"#,
    }
    HTT_016 {
        id: "HTT-016",
        name: "request-202",
        severities: &[(STREAMABLE, E)],
        section: "basic/transports, Sending Messages to the Server",
        title: "A request was answered with 202, which is for what asks for nothing.",
        advice: "Answer a request with its response as JSON, or with an event stream that will have it.",
        wrong: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< 202"#,
        right: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< data: {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    HTT_017 {
        id: "HTT-017",
        name: "get-status",
        severities: &[(SESSIONS, E)],
        section: "basic/transports, Listening for Messages from the Server",
        title: "A GET was answered with neither an event stream nor 405, in a session that works.",
        advice: "Answer GET with `Content-Type: text/event-stream`, or with 405 where the server has nothing to say by itself.",
        wrong: r#"# http 2025-11-25
>> GET /mcp
<< 200
<< Content-Type: text/html"#,
        right: r#"# http 2025-11-25
>> GET /mcp
<< 405"#,
    }
    HTT_019 {
        id: "HTT-019",
        name: "response-on-get-stream",
        severities: &[(SESSIONS, E)],
        section: "basic/transports, Listening for Messages from the Server",
        title: "The server sent an answer on a stream that a GET opened and that resumes nothing.",
        advice: "Send an answer on the stream of the POST that asked, or on the GET that resumes it.",
        wrong: r#"# http 2025-11-25
>>get GET /mcp
>>post {"jsonrpc":"2.0","id":1,"method":"ping"}
<<get data: {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"# http 2025-11-25
>>get GET /mcp
>>post {"jsonrpc":"2.0","id":1,"method":"ping"}
<<post data: {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    HTT_020 {
        id: "HTT-020",
        name: "broadcast",
        severities: &[(SESSIONS, E)],
        section: "basic/transports, Multiple Connections",
        title: "The server sent the same message on two streams.",
        advice: "Send each message on one of the open streams, whichever.",
        wrong: r#"# http 2025-11-25
>>a GET /mcp
>>b GET /mcp
<<a data: {"jsonrpc":"2.0","id":1,"method":"ping"}
<<b data: {"jsonrpc":"2.0","id":1,"method":"ping"}
>> {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"# http 2025-11-25
>>a GET /mcp
>>b GET /mcp
<<a data: {"jsonrpc":"2.0","id":1,"method":"ping"}
>> {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    HTT_021 {
        id: "HTT-021",
        name: "event-id-dup",
        severities: &[(SESSIONS, E)],
        section: "basic/transports, Resumability and Redelivery",
        title: "Two events of a session have the same id.",
        advice: "Make event ids unique in the session, over all its streams: put the stream into the id.",
        wrong: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< id: 1
<< data: {"jsonrpc":"2.0","id":1,"result":{}}
>> {"jsonrpc":"2.0","id":2,"method":"ping"}
<< id: 1
<< data: {"jsonrpc":"2.0","id":2,"result":{}}"#,
        right: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< id: a/1
<< data: {"jsonrpc":"2.0","id":1,"result":{}}
>> {"jsonrpc":"2.0","id":2,"method":"ping"}
<< id: b/1
<< data: {"jsonrpc":"2.0","id":2,"result":{}}"#,
    }
    HTT_023 {
        id: "HTT-023",
        name: "retry-ignored",
        severities: &[(D, E)],
        section: "2025-11-25 basic/transports, Sending Messages to the Server",
        title: "The client came back to a stream sooner than its `retry` allows.",
        advice: "Wait for as many milliseconds as the last `retry` says before resuming a stream that the server closed.",
        wrong: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< id: 1
<< retry: 500
<< data:
++ 100
>> GET /mcp
>> Last-Event-ID: 1
<< id: 2
<< data: {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< id: 1
<< retry: 500
<< data:
<|
++ 500
>> GET /mcp
>> Last-Event-ID: 1
<< id: 2
<< data: {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    HTT_024 {
        id: "HTT-024",
        name: "stream-no-response",
        severities: &[(B.union(C).union(MODERN), W), (D, I)],
        section: "basic/transports, Sending Messages to the Server",
        title: "The stream of a request ended without its answer.",
        advice: "Close a stream after the answer; from 2025-11-25 on it may end earlier, after an event with an id.",
        wrong: r#"# http 2025-06-18
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< data:
<|"#,
        right: r#"# http 2025-06-18
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< data: {"jsonrpc":"2.0","id":1,"result":{}}
<|"#,
    }
    HTT_025 {
        id: "HTT-025",
        name: "stream-not-closed",
        severities: &[(STREAMABLE, W)],
        section: "basic/transports, Sending Messages to the Server",
        title: "The server left the stream of a request open after its answer.",
        advice: "Close the stream once the answer is sent: connections are few, and some clients wait for the end.",
        wrong: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< data: {"jsonrpc":"2.0","id":1,"result":{}}
++ 10000
<|"#,
        right: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< data: {"jsonrpc":"2.0","id":1,"result":{}}
<|
++ 10000"#,
    }
    HTT_028 {
        id: "HTT-028",
        name: "multi-message-body",
        severities: &[(A.union(C).union(D).union(MODERN), E)],
        section: "basic/transports, Sending Messages to the Server",
        title: "A POST has an array of messages.",
        advice: "Send each message in a POST of its own.",
        wrong: r#"# http 2025-11-25
>> [{"jsonrpc":"2.0","id":1,"method":"ping"}]
<< 400"#,
        right: r#"# http 2025-03-26
>> [{"jsonrpc":"2.0","id":1,"method":"ping"}]
<< [{"jsonrpc":"2.0","id":1,"result":{}}]"#,
    }
    HTT_029 {
        id: "HTT-029",
        name: "origin",
        severities: &[(STREAMABLE, I)],
        section: "basic/transports, Security Warning",
        title: "A request that a page of another origin seems to have made was not refused.",
        advice: "Check `Origin`, and answer 403 unless it is allowed: any web page can reach a server on localhost.",
        wrong: r#"# http 2025-11-25
>> Host: localhost:3000
>> Origin: https://evil.example
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"# http 2025-11-25
>> Host: localhost:3000
>> Origin: https://evil.example
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< 403"#,
    }
    HTT_030 {
        id: "HTT-030",
        name: "token-in-query",
        severities: &[(STREAMABLE, E)],
        section: "basic/authorization, Access Token Usage",
        title: "An access token is in the URL.",
        advice: "Send access tokens in the header `Authorization: Bearer …`: URLs end up in logs.",
        wrong: r#"# http 2025-11-25
>> POST /mcp?access_token=secret
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"# http 2025-11-25
>> Authorization: Bearer secret
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    HTT_031 {
        id: "HTT-031",
        name: "auth-not-every-request",
        severities: &[(STREAMABLE, W)],
        section: "basic/authorization, Access Token Usage",
        title: "A request has no `Authorization`, and an earlier one of the same session had it.",
        advice: "Send `Authorization` with every request, GET and DELETE included.",
        wrong: r#"# http 2025-11-25
>> Authorization: Bearer secret
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}
>> {"jsonrpc":"2.0","id":2,"method":"ping"}
<< 401"#,
        right: r#"# http 2025-11-25
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< 401
>> Authorization: Bearer secret
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    CAN_010 {
        id: "CAN-010",
        name: "disconnect-not-cancel",
        severities: &[(SESSIONS, I)],
        section: "basic/transports, Sending Messages to the Server",
        title: "The client went away from the stream of a request without cancelling it, so that it goes on.",
        advice: "Send `notifications/cancelled` where the answer is not wanted: in these revisions a disconnect says nothing.",
        wrong: r#"# http 2025-11-25
>>a {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
<<a data:
>|a"#,
        right: r#"# http 2025-11-25
>>a {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
<<a data:
>> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
>|a"#,
    }
    SSE_001 {
        id: "SSE-001",
        name: "endpoint-first",
        severities: &[(A, E)],
        section: "2024-11-05 basic/transports, HTTP with SSE",
        title: "The event `endpoint` is not the first one of the stream.",
        advice: "Send `endpoint` as soon as the stream is open: the client cannot say anything before.",
        wrong: r#"# http
>>sse GET /sse
<<sse event: ready
<<sse data: {}
<<sse
<<sse event: endpoint
<<sse data: /message?s=1"#,
        right: r#"# http
>>sse GET /sse
<<sse event: endpoint
<<sse data: /message?s=1"#,
    }
    SSE_002 {
        id: "SSE-002",
        name: "post-elsewhere",
        severities: &[(A, E)],
        section: "2024-11-05 basic/transports, HTTP with SSE",
        title: "The client posts to another URI than the event `endpoint` says.",
        advice: "Post every message to the URI of `endpoint`, resolved against the URL of the stream.",
        wrong: r#"# http
>>sse GET /sse
<<sse event: endpoint
<<sse data: /message?s=1
>> POST /messages
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< 404"#,
        right: r#"# http
>>sse GET /sse
<<sse event: endpoint
<<sse data: /message?s=1
>> POST /message?s=1
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< 202
<<sse data: {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    SSE_003 {
        id: "SSE-003",
        name: "event-name",
        severities: &[(A, E)],
        section: "2024-11-05 basic/transports, HTTP with SSE",
        title: "The server sent a message in an event that is not called `message`.",
        advice: "Send every message as an event `message`: clients listen to no other.",
        wrong: r#"# http 2024-11-05
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<<sse event: response
<<sse data: {"jsonrpc":"2.0","id":1,"result":{}}"#,
        right: r#"# http 2024-11-05
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<<sse event: message
<<sse data: {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
}
