//! Rules of the modern era, 2026-07-28: what each message says of itself, and error codes.

use super::{ALL, E, I, MODERN, W};

rules! { MODERN_RULES:
    MOD_001 {
        id: "MOD-001",
        name: "meta-missing",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic, _meta, Per-request protocol fields",
        title: "A request does not say which protocol version it speaks, or what its client can do.",
        advice: "Put io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities into `params._meta` of every request.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"clientCapabilities?"}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
    MOD_002 {
        id: "MOD-002",
        name: "meta-missing-accepted",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic, _meta, Per-request protocol fields",
        title: "A request that lacks what `_meta` must hold was answered with a result.",
        advice: "Answer such a request with the error -32602.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
    MOD_003 {
        id: "MOD-003",
        name: "no-client-info",
        severities: &[(MODERN, I)],
        section: "2026-07-28 basic, _meta",
        title: "A side does not say its name and version.",
        advice: "Put clientInfo into `_meta` of every request, and serverInfo into `_meta` of every result.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}"#,
    }
    MOD_004 {
        id: "MOD-004",
        name: "no-result-type",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic, ResultType",
        title: "A result has no `resultType`.",
        advice: "Put \"resultType\":\"complete\" into results that are complete.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
    MOD_005 {
        id: "MOD-005",
        name: "unknown-result-type",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic, ResultType",
        title: "A result has a `resultType` that neither the core nor an extension defines which the client declared.",
        advice: "Answer with \"complete\" or \"input_required\", or with a type of an extension that the request declares.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"done","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
    MOD_006 {
        id: "MOD-006",
        name: "server-request",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns",
        title: "The server sent a request.",
        advice: "Answer the client's request with \"input_required\" and put what you ask for into `inputRequests`.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}
<- {"jsonrpc":"2.0","id":0,"method":"roots/list"}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"roots":{"method":"roots/list"}}}}"#,
    }
    MOD_007 {
        id: "MOD-007",
        name: "client-response",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns",
        title: "The client sent an answer, though servers do not ask in this revision.",
        advice: "Ask again with `inputResponses` to give a server its input, and answer no requests.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}
<- {"jsonrpc":"2.0","id":0,"method":"roots/list"}
-> {"jsonrpc":"2.0","id":0,"result":{"roots":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"roots":{"method":"roots/list"}}}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","inputResponses":{"roots":{"roots":[]}},META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#,
    }
    MOD_008 {
        id: "MOD-008",
        name: "initialize-on-modern",
        // A note where the error names versions.
        severities: &[(ALL, W)],
        section: "2026-07-28 basic/versioning, Backward Compatibility",
        title: "`initialize` was sent to a server of the modern era, which refused it.",
        advice: "Name the supported versions in the error: it may be all that a client of the legacy era can show its user.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}
-> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no such method"}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}
-> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
    }
    MOD_009 {
        id: "MOD-009",
        name: "version-error-shape",
        severities: &[(MODERN, E)],
        section: "2026-07-28 schema UnsupportedProtocolVersionError",
        title: "The error -32022 does not say which versions are supported, or which one was asked for.",
        advice: "Put `supported`, a list of versions, and `requested` into `error.data`.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"not that version"}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"not that version","data":{"supported":["2027-01-01"],"requested":"2026-07-28"}}}"#,
    }
    MOD_010 {
        id: "MOD-010",
        name: "cap-error-shape",
        severities: &[(MODERN, E)],
        section: "2026-07-28 schema MissingRequiredClientCapabilityError",
        title: "The error -32021 does not say which capabilities are missing.",
        advice: "Put `requiredCapabilities`, shaped like clientCapabilities, into `error.data`.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"you cannot do that","data":["elicitation"]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"you cannot do that","data":{"requiredCapabilities":{"elicitation":{}}}}}"#,
    }
    MOD_011 {
        id: "MOD-011",
        name: "cap-exceeded",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/mrtr, Server Requirements 7",
        title: "`inputRequests` ask for what the client did not declare in this request.",
        advice: "Ask only for what clientCapabilities of the same request declare; otherwise answer with the error -32021.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"roots":{"method":"roots/list"}}}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"roots":{"method":"roots/list"}}}}"#,
    }
    MOD_012 {
        id: "MOD-012",
        name: "caps-inferred",
        severities: &[(MODERN, W)],
        section: "2026-07-28 basic, Statelessness",
        title: "`inputRequests` ask for what the client declared in an earlier request, and not in this one.",
        advice: "Read the capabilities of each request anew: a client may declare others each time.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"roots":{"method":"roots/list"}}}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32021,"message":"roots?","data":{"requiredCapabilities":{"roots":{}}}}}"#,
    }
    DSC_001 {
        id: "DSC-001",
        name: "discover-missing",
        severities: &[(MODERN, E)],
        section: "2026-07-28 server/discover",
        title: "The server serves requests of the modern era, and does not know `server/discover`.",
        advice: "Implement `server/discover`: every server of the modern era must.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}"#,
    }
    ERR_001 {
        id: "ERR-001",
        name: "retired-code",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic, Error Codes",
        title: "An error has a code that this revision retired.",
        advice: "Answer -32602 instead of -32002, and \"input_required\" instead of -32042.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"resources":{}},"ttlMs":0,"cacheScope":"private"}}
-> {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"note://gone",META}}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"no such resource"}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"note://gone",META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such resource"}}"#,
    }
    ERR_002 {
        id: "ERR-002",
        name: "reserved-code",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic, Error Codes",
        title: "An error has a code that the specification keeps for itself and has not defined.",
        advice: "Take codes of your own from outside -32768 to -32000.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32050,"message":"out of paper"}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":50,"message":"out of paper"}}"#,
    }
    ERR_003 {
        id: "ERR-003",
        name: "legacy-range",
        severities: &[(MODERN, I)],
        section: "2026-07-28 basic, Error Codes",
        title: "An error has a code from -32019 to -32000, which mean nothing certain.",
        advice: "Take codes of your own from outside -32768 to -32000, and do not read a meaning into these.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"too slow"}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"too slow"}}"#,
    }
    ERR_004 {
        id: "ERR-004",
        name: "new-code-in-jsonrpc-range",
        severities: &[(MODERN, W)],
        section: "2026-07-28 basic, Error Codes",
        title: "An error has a code of its own in the range that JSON-RPC keeps for itself.",
        advice: "Take codes of your own from outside -32768 to -32000.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32500,"message":"out of paper"}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":500,"message":"out of paper"}}"#,
    }
}
