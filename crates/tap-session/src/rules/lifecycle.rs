//! Rules of the handshake, of who may say what, and of capabilities.

use super::{A, ALL, B, C, D, E, I, LEGACY, MODERN, W};

rules! { LIFECYCLE:
    LIF_001 {
        id: "LIF-001",
        name: "first-not-initialize",
        severities: &[(LEGACY, E)],
        section: "basic/lifecycle, Initialization",
        title: "The client's first request is not `initialize`.",
        advice: "Send `initialize` first, or, in the modern era, put the `_meta` of 2026-07-28 into every request.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#,
        needs_whole: true,
    }
    LIF_002 {
        id: "LIF-002",
        name: "request-before-init-answer",
        severities: &[(LEGACY, W)],
        section: "basic/lifecycle, Initialization",
        title: "The client sent a request before `initialize` was answered.",
        advice: "Wait for the answer to `initialize`; until then only `ping` is allowed.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
-> {"jsonrpc":"2.0","id":2,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
<- {"jsonrpc":"2.0","id":2,"result":{}}"#,
        needs_whole: true,
    }
    LIF_003 {
        id: "LIF-003",
        name: "server-request-before-initialized",
        severities: &[(LEGACY, W)],
        section: "basic/lifecycle, Initialization",
        title: "The server sent a request before `notifications/initialized`.",
        advice: "Wait for `notifications/initialized`; until then only `ping` and log messages are allowed.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
<- {"jsonrpc":"2.0","id":0,"method":"roots/list"}
-> {"jsonrpc":"2.0","id":0,"result":{"roots":[]}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
<- {"jsonrpc":"2.0","id":0,"method":"roots/list"}
-> {"jsonrpc":"2.0","id":0,"result":{"roots":[]}}"#,
        needs_whole: true,
    }
    LIF_004 {
        id: "LIF-004",
        name: "initialized-missing",
        severities: &[(LEGACY, E)],
        section: "basic/lifecycle, Initialization",
        title: "The client used the session without having sent `notifications/initialized`.",
        advice: "Send `notifications/initialized` as soon as `initialize` was answered.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#,
        needs_whole: true,
    }
    LIF_005 {
        id: "LIF-005",
        name: "initialized-too-early",
        severities: &[(LEGACY, E)],
        section: "basic/lifecycle, Initialization",
        title: "`notifications/initialized` was sent before `initialize` was answered with a result.",
        advice: "Send `notifications/initialized` after the result of `initialize`.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        needs_whole: true,
    }
    LIF_006 {
        id: "LIF-006",
        name: "double-initialize",
        severities: &[(LEGACY, E)],
        section: "basic/lifecycle, Initialization",
        title: "`initialize` was sent again in a session that had been initialized.",
        advice: "Open a new connection for a new session.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"already initialized"}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"which version?"}}
-> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    }
    LIF_007 {
        id: "LIF-007",
        name: "init-params",
        severities: &[(LEGACY, E)],
        section: "schema InitializeRequest",
        title: "`initialize` lacks a member that it needs.",
        advice: "Send protocolVersion, capabilities, and clientInfo with a name and a version.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c"}}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    }
    LIF_008 {
        id: "LIF-008",
        name: "init-result",
        severities: &[(LEGACY, E)],
        section: "schema InitializeResult",
        title: "The result of `initialize` lacks a member that it needs.",
        advice: "Answer with protocolVersion, capabilities, and serverInfo with a name and a version.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
    }
    LIF_009 {
        id: "LIF-009",
        name: "version-not-echoed",
        severities: &[(LEGACY, W)],
        section: "basic/lifecycle, Version Negotiation",
        title: "The server answered `initialize` with another revision than was asked for, though it said that it supports that one.",
        advice: "Answer with the revision that the client asked for, where it is supported.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2025-06-18","2025-11-25"],"requested":"2026-07-28"}}}
-> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2025-06-18","2025-11-25"],"requested":"2026-07-28"}}}
-> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
    }
    LIF_010 {
        id: "LIF-010",
        name: "client-continues-on-unsupported",
        severities: &[(LEGACY, W)],
        section: "basic/lifecycle, Version Negotiation",
        title: "The server answered with a revision that nobody knows, and the client went on.",
        advice: "Disconnect when the server's revision is not one that the client supports.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    }
    LIF_011 {
        id: "LIF-011",
        name: "modern-version-in-initialize",
        severities: &[(LEGACY, E)],
        section: "2026-07-28 basic/versioning",
        title: "`initialize` names a revision that has no handshake.",
        advice: "Name 2025-11-25 or an older revision in `initialize`; 2026-07-28 is spoken without it.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
    }
    LIF_012 {
        id: "LIF-012",
        name: "method-not-in-revision",
        severities: &[(ALL, E)],
        section: "basic/lifecycle, Operation; schema of each revision",
        title: "The method does not exist in the revision that is spoken.",
        advice: "Use the methods of the agreed revision; see the finding for what replaced this one.",
        wrong: r#"# 2025-03-26
<- {"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}}
-> {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"what?"}}"#,
        right: r#"# 2025-06-18
-> {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"t"}}
<- {"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}}
-> {"jsonrpc":"2.0","id":5,"result":{"action":"decline"}}
<- {"jsonrpc":"2.0","id":6,"result":{"content":[]}}"#,
    }
    LIF_013 {
        id: "LIF-013",
        name: "direction",
        severities: &[(ALL, E)],
        section: "schema, unions of requests and notifications",
        title: "The method was sent by the wrong side.",
        advice: "Check which side may send it: clients call tools, servers ask for samples.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":5,"method":"tools/list"}
-> {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"what?"}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":5,"result":{"tools":[]}}"#,
    }
    LIF_014 {
        id: "LIF-014",
        name: "field-newer-than-revision",
        severities: &[(LEGACY, W), (MODERN, I)],
        section: "schema of each revision",
        title: "A member is used that the revision spoken does not have.",
        advice: "Leave it out for peers of this revision, or agree on one that has it; peers may ignore it.",
        wrong: r#"# 2025-03-26
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t"}}
<- {"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}}"#,
        right: r#"# 2025-06-18
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t"}}
<- {"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}}"#,
    }
    LIF_015 {
        id: "LIF-015",
        name: "unknown-method",
        severities: &[(ALL, W)],
        section: "basic/lifecycle, Operation",
        title: "The method is in no revision and in no extension that is known.",
        advice: "Check its spelling; if it is your own, declare it under `experimental` or `extensions`.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/run"}
<- {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"what?"}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t"}}
<- {"jsonrpc":"2.0","id":5,"result":{"content":[]}}"#,
    }
    LIF_016 {
        id: "LIF-016",
        name: "required-member",
        severities: &[(ALL, E)],
        section: "schema of each revision",
        title: "A message lacks a member that the schema requires, or has another kind of value there.",
        advice: "Send the member as the schema has it, or null where it allows that.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"resources/read","params":{}}
<- {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"which?"}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"file:///a"}}
<- {"jsonrpc":"2.0","id":5,"result":{"contents":[{"uri":"file:///a","text":""}]}}"#,
    }
    CAP_001 {
        id: "CAP-001",
        name: "server-capability-missing",
        severities: &[(A.union(B), W), (C.union(D), E)],
        section: "basic/lifecycle, Operation",
        title: "The client used a feature that the server did not declare.",
        advice: "Look at the capabilities in the answer to `initialize` before calling; or declare the feature in the server.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
-> {"jsonrpc":"2.0","id":2,"method":"prompts/list"}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no prompts"}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
-> {"jsonrpc":"2.0","id":2,"method":"prompts/list"}
<- {"jsonrpc":"2.0","id":2,"result":{"prompts":[]}}"#,
    }
    CAP_002 {
        id: "CAP-002",
        name: "client-capability-missing",
        severities: &[(A.union(B), W), (C.union(D), E)],
        section: "basic/lifecycle, Operation",
        title: "The server used a feature that the client did not declare.",
        advice: "Look at the capabilities in `initialize` before asking the client; or declare the feature in the client.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
<- {"jsonrpc":"2.0","id":0,"method":"roots/list"}
-> {"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no roots"}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
<- {"jsonrpc":"2.0","id":0,"method":"roots/list"}
-> {"jsonrpc":"2.0","id":0,"result":{"roots":[]}}"#,
    }
    CAP_003 {
        id: "CAP-003",
        name: "subcapability-missing",
        severities: &[(LEGACY, W)],
        section: "feature pages, Capabilities",
        title: "A part of a feature was used that was not declared, such as `listChanged` or `subscribe`.",
        advice: "Declare the part, or do not use it.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    }
    CAP_004 {
        id: "CAP-004",
        name: "undeclared-answered",
        severities: &[(LEGACY, I)],
        section: "basic/lifecycle, Operation",
        title: "A side answered a request for a feature that it did not declare.",
        advice: "Declare the feature, so that peers that follow the rules can use it.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
-> {"jsonrpc":"2.0","id":2,"method":"prompts/list"}
<- {"jsonrpc":"2.0","id":2,"result":{"prompts":[]}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
-> {"jsonrpc":"2.0","id":2,"method":"prompts/list"}
<- {"jsonrpc":"2.0","id":2,"result":{"prompts":[]}}"#,
    }
}
