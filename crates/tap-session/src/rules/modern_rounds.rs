//! Rules of calls that go on over several requests, in the modern era.

use super::{E, MODERN, W};

rules! { ROUNDS:
    MRT_001 {
        id: "MRT-001",
        name: "wrong-method",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/mrtr, Supported Requests",
        title: "A request was answered `input_required` that cannot be.",
        advice: "Answer only tools/call, prompts/get and resources/read with \"input_required\".",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}"#,
    }
    MRT_002 {
        id: "MRT-002",
        name: "empty",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/mrtr, Server Requirements 6",
        title: "A result asks for input with neither `inputRequests` nor `requestState`.",
        advice: "Say in `inputRequests` what is needed, or give a `requestState` to come back with.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}"#,
    }
    MRT_003 {
        id: "MRT-003",
        name: "bad-embedded",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/mrtr, InputRequests",
        title: "`inputRequests` hold something that is no request of the three that there are.",
        advice: "Put objects with `method` and `params` there, of elicitation/create, sampling/createMessage or roots/list, without `jsonrpc` and `id`.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"p":{"method":"ping"}}}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}}"#,
    }
    MRT_004 {
        id: "MRT-004",
        name: "retry-same-id",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/mrtr, Client Requirements 3",
        title: "A request that brings the input has the id of the request that was answered `input_required`.",
        advice: "Give each round an id of its own: it is a request like any other.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","requestState":"s",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","requestState":"s",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#,
    }
    MRT_005 {
        id: "MRT-005",
        name: "state-changed",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/mrtr, Client Requirements 2",
        title: "A request that brings the input has another `requestState` than the server gave.",
        advice: "Send `requestState` back exactly as it came, and leave it out where none came.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","requestState":"S",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","requestState":"s",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#,
    }
    MRT_006 {
        id: "MRT-006",
        name: "params-changed",
        severities: &[(MODERN, W)],
        section: "2026-07-28 basic/patterns/mrtr, Basic Workflow",
        title: "A request that brings the input has other params than the one that was answered `input_required`.",
        advice: "Send the whole request again as it was, with `inputResponses` and `requestState` added.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":1},META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","requestState":"s",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":1},META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":{"n":1},"requestState":"s",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#,
    }
    MRT_007 {
        id: "MRT-007",
        name: "missing-responses",
        severities: &[(MODERN, W)],
        section: "2026-07-28 basic/patterns/mrtr, Client Requirements 1, Error Handling",
        title: "A request that brings the input lacks some of what was asked for.",
        advice: "Answer every key of `inputRequests` in `inputResponses`; do not ask again while one is missing.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}},"requestState":"s"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","requestState":"s",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}},"requestState":"s"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","inputResponses":{"r":{"roots":[]}},"requestState":"s",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#,
    }
    MRT_008 {
        id: "MRT-008",
        name: "state-elsewhere",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/mrtr, Client Requirements 4",
        title: "`requestState` or `inputResponses` stand in another request than the one that was answered `input_required`.",
        advice: "Bring input and state back in the same request: the same method, and the same tool, prompt or resource.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b","requestState":"s",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}
-> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","requestState":"s",META}}
<- {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[]}}"#,
    }
    MRT_009 {
        id: "MRT-009",
        name: "cache-hints-on-interim",
        severities: &[(MODERN, W)],
        section: "2026-07-28 server/utilities/caching",
        title: "A result that asks for input says how long it may be cached.",
        advice: "Leave ttlMs and cacheScope out of results that are not complete.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"note://a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s","ttlMs":0,"cacheScope":"private"}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"note://a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}"#,
    }
}
