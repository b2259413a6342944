//! Rules of `_meta`, of cache hints, and of what is deprecated.

use super::{C, D, E, I, MODERN, W};

rules! { META_AND_CACHING:
    CCH_001 {
        id: "CCH-001",
        name: "hints-missing",
        severities: &[(MODERN, E)],
        section: "2026-07-28 server/utilities/caching",
        title: "A result does not say how long, and for whom, it may be cached.",
        advice: "Put ttlMs and cacheScope into every complete result of the lists, of resources/read and of server/discover.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}"#,
    }
    CCH_002 {
        id: "CCH-002",
        name: "ttl-negative",
        severities: &[(MODERN, E)],
        section: "2026-07-28 server/utilities/caching, Time-to-Live",
        title: "`ttlMs` is negative, or no whole number.",
        advice: "Send whole milliseconds, 0 for what is stale at once.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":-1,"cacheScope":"private"}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}"#,
    }
    CCH_003 {
        id: "CCH-003",
        name: "scope-mixed",
        severities: &[(MODERN, E)],
        section: "2026-07-28 server/utilities/caching, Interaction with Pagination",
        title: "Pages of one list differ in `cacheScope`.",
        advice: "Give all pages of a list the same cacheScope.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"nextCursor":"2","ttlMs":0,"cacheScope":"private"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"2",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"nextCursor":"2","ttlMs":0,"cacheScope":"private"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"2",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[],"ttlMs":60000,"cacheScope":"private"}}"#,
    }
    DEP_001 {
        id: "DEP-001",
        name: "deprecated-feature",
        severities: &[(MODERN, I)],
        section: "2026-07-28 deprecated",
        title: "A feature is in use that is deprecated.",
        advice: "Nothing has to be done yet; plan to do without roots, sampling, includeContext and logging.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"e":{"method":"elicitation/create","params":{"mode":"form","message":"Which folder?","requestedSchema":{"type":"object","properties":{"folder":{"type":"string"}}}}}}}}"#,
    }
    META_001 {
        id: "META-001",
        name: "key-format",
        severities: &[(C.union(D).union(MODERN), W)],
        section: "basic, _meta",
        title: "A key of `_meta` is not spelled as keys must be.",
        advice: "Write keys as labels with dots, a slash and a name, such as com.example/key, or as a name alone.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"_trace":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"com.example/trace":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
    }
    META_002 {
        id: "META-002",
        name: "reserved-prefix",
        severities: &[(C.union(D).union(MODERN), W)],
        section: "basic, _meta",
        title: "A key of `_meta` has a prefix that the specification keeps for itself, and is none of its keys.",
        advice: "Use a prefix of your own, such as com.example/.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/speed":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"com.example/speed":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
    }
    TRC_001 {
        id: "TRC-001",
        name: "trace-format",
        severities: &[(MODERN, W)],
        section: "2026-07-28 basic, _meta, OpenTelemetry trace context",
        title: "`traceparent`, `tracestate` or `baggage` is not written as its standard says.",
        advice: "Write them as W3C Trace Context and W3C Baggage say, and leave out what cannot be.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"traceparent":"1234"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
}
