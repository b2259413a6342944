//! Rules of HTTP in the modern era: headers that repeat the body, statuses, and what was removed.

use super::{E, I, MODERN, W};

rules! { HTTP_MODERN:
    HTT_005 {
        id: "HTT-005",
        name: "version-header-missing",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/transports/streamable-http, Protocol Version Header",
        title: "A request has no header `MCP-Protocol-Version`.",
        advice: "Send the revision of the body's `_meta` in `MCP-Protocol-Version` with every POST.",
        wrong: r#"# http 2026-07-28
>> -MCP-Protocol-Version
>> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<< 400
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"no MCP-Protocol-Version"}}"#,
        right: r#"# http 2026-07-28
>> MCP-Protocol-Version: 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}"#,
    }
    HTT_006 {
        id: "HTT-006",
        name: "header-body-mismatch",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/transports/streamable-http, Server Validation",
        title: "A header does not say what the body says, or is not there.",
        advice: "Fill `Mcp-Method`, `Mcp-Name`, `Mcp-Param-…` and `MCP-Protocol-Version` from the body when it is sent.",
        wrong: r#"# http 2026-07-28
>> Mcp-Name: harmless
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dangerous",META}}
<< 400
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Mcp-Name differs"}}"#,
        right: r#"# http 2026-07-28
>> Mcp-Name: dangerous
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dangerous",META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
    HTT_007 {
        id: "HTT-007",
        name: "mismatch-accepted",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/transports/streamable-http, Server Validation",
        title: "The server did as it was told by a request whose headers do not say what the body says.",
        advice: "Compare headers and body, and answer 400 with the error -32020: whoever routes by headers is deceived otherwise.",
        wrong: r#"# http 2026-07-28
>> Mcp-Name: harmless
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dangerous",META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# http 2026-07-28
>> Mcp-Name: dangerous
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dangerous",META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
    HTT_008 {
        id: "HTT-008",
        name: "param-header-missing",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/transports/streamable-http, Custom Headers from Tool Parameters",
        title: "An argument that the tool wants in a header is not there, or the header is there without the argument.",
        advice: "Send `Mcp-Param-…` for each argument whose schema has `x-mcp-header`, and none for `null` or what is left out.",
        wrong: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}],"ttlMs":0,"cacheScope":"private"}}
>> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sql","arguments":{"region":"us-west1"},META}}
<< 400
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32020,"message":"no Mcp-Param-Region"}}"#,
        right: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}],"ttlMs":0,"cacheScope":"private"}}
>> Mcp-Param-Region: us-west1
>> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sql","arguments":{"region":"us-west1"},META}}
<< {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#,
    }
    HTT_009 {
        id: "HTT-009",
        name: "bad-x-mcp-header",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/transports/streamable-http, Schema Extension",
        title: "A tool wants an argument in a header, in a way that is not allowed.",
        advice: "Put `x-mcp-header`, with a header name that is unique in the tool, on strings, integers and booleans that are reached by `properties` alone.",
        wrong: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"the region"}}}}],"ttlMs":0,"cacheScope":"private"}}"#,
        right: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}],"ttlMs":0,"cacheScope":"private"}}"#,
    }
    HTT_010 {
        id: "HTT-010",
        name: "header-encoding",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/transports/streamable-http, Value Encoding",
        title: "A value that cannot stand in a header as it is was not wrapped, or was wrapped wrongly.",
        advice: "Write what is not visible ASCII, begins or ends with a space, or looks wrapped, as `=?base64?` + base64 of UTF-8 + `?=`.",
        wrong: r#"# http 2026-07-28
>> Mcp-Name: grüße
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"grüße",META}}
<< 400
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Mcp-Name is not ASCII"}}"#,
        right: r#"# http 2026-07-28
>> Mcp-Name: =?base64?Z3LDvMOfZQ==?=
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"grüße",META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
    HTT_014 {
        id: "HTT-014",
        name: "session-on-modern",
        severities: &[(MODERN, I)],
        section: "2026-07-28 basic/transports/streamable-http, Earlier Streamable HTTP Revisions",
        title: "There is a header `Mcp-Session-Id`, which this revision does not have.",
        advice: "Leave it out: every request says what it needs, and a server keeps nothing between them.",
        wrong: r#"# http 2026-07-28
>> Mcp-Session-Id: s1
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
    HTT_018 {
        id: "HTT-018",
        name: "get-or-delete-on-modern",
        severities: &[(MODERN, W)],
        section: "2026-07-28 basic/transports/streamable-http, Earlier Streamable HTTP Revisions",
        title: "A GET or DELETE of this revision was accepted, which has neither.",
        advice: "Answer GET and DELETE with 405; changes are told on the stream of `subscriptions/listen`.",
        wrong: r#"# http 2026-07-28
>> GET /mcp
<< 200
<< Content-Type: text/event-stream"#,
        right: r#"# http 2026-07-28
>> GET /mcp
<< 405"#,
    }
    HTT_022 {
        id: "HTT-022",
        name: "event-id-on-modern",
        severities: &[(MODERN, W)],
        section: "2026-07-28 basic/transports/streamable-http, Receiving Messages",
        title: "An event has an id, or a request a `Last-Event-ID`, and streams of this revision cannot be resumed.",
        advice: "Leave event ids out; a client whose stream broke asks again, with a new id.",
        wrong: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<< id: 1
<< data: {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<< data: {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
    HTT_026 {
        id: "HTT-026",
        name: "unknown-method-status",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/transports/streamable-http, Protocol Version Header",
        title: "The error -32601 came with another status than 404.",
        advice: "Answer a method that the server does not have with 404 and the error -32601.",
        wrong: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}
>> {"jsonrpc":"2.0","id":2,"method":"prompts/list","params":{META}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no prompts"}}"#,
        right: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}
>> {"jsonrpc":"2.0","id":2,"method":"prompts/list","params":{META}}
<< 404
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no prompts"}}"#,
    }
    HTT_027 {
        id: "HTT-027",
        name: "error-status",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/transports/streamable-http, Server Validation; basic/index, Error Codes",
        title: "An error about headers, revision, capabilities or `_meta` came with another status than 400.",
        advice: "Answer 400 with the errors -32020, -32021, -32022, and -32602 where `_meta` lacks what it needs.",
        wrong: r#"# http 2026-07-28
>> Mcp-Name: b
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Mcp-Name differs"}}"#,
        right: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<< 400
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"needs sampling","data":{"requiredCapabilities":{"sampling":{}}}}}"#,
    }
    HTT_032 {
        id: "HTT-032",
        name: "no-xaccel",
        severities: &[(MODERN, I)],
        section: "2026-07-28 basic/transports/streamable-http, Receiving Messages",
        title: "An event stream has no `X-Accel-Buffering: no`.",
        advice: "Send it with every event stream, or reverse proxies may hold events back.",
        wrong: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<< 200
<< Content-Type: text/event-stream
<<
<< data: {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# http 2026-07-28
>> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<< 200
<< Content-Type: text/event-stream
<< X-Accel-Buffering: no
<<
<< data: {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
    CAN_009 {
        id: "CAN-009",
        name: "http-cancel-notification",
        severities: &[(MODERN, I)],
        section: "2026-07-28 basic/patterns/cancellation",
        title: "The client posted `notifications/cancelled`, which over HTTP nobody expects.",
        advice: "Close the stream of the request instead: that is its cancellation.",
        wrong: r#"# http 2026-07-28
>>a {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow",META}}
>> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        right: r#"# http 2026-07-28
>>a {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow",META}}
>|a"#,
    }
}
