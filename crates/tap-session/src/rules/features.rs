//! The rules of tools. Those of pages, resources, elicitation and sampling are in the files below.

pub(crate) mod elicitation;
pub(crate) mod lists;
pub(crate) mod resources;
pub(crate) mod sampling;

use super::{ALL, C, D, E, I, MODERN, W};

rules! { TOOLS:
    TOL_001 {
        id: "TOL-001",
        name: "unknown-tool-called",
        severities: &[(ALL, W)],
        section: "server/tools, Calling Tools",
        title: "A tool was called that is not in the list of tools.",
        advice: "Call tools by a name from the newest list, and list again after `notifications/tools/list_changed`.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sub","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Unknown tool: sub"}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#,
        needs_whole: true,
    }
    TOL_002 {
        id: "TOL-002",
        name: "unknown-tool-not-error",
        severities: &[(ALL, W)],
        section: "server/tools, Error Handling",
        title: "The call of a tool that is not in the list was answered with a failure of the tool instead of an error.",
        advice: "Answer the call of an unknown tool with the error -32602.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sub","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Unknown tool: sub"}],"isError":true}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sub","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Unknown tool: sub"}}"#,
        needs_whole: true,
    }
    TOL_003 {
        id: "TOL-003",
        name: "args-invalid",
        severities: &[(ALL, I)],
        section: "server/tools, Data Types",
        title: "A tool was called with arguments that do not fit its input schema.",
        advice: "Check arguments against `inputSchema` before sending them, and let the model try again with what was wrong.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":"two"}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"`a` is no number"}],"isError":true}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":2}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#,
    }
    TOL_004 {
        id: "TOL-004",
        name: "validation-as-protocol-error",
        severities: &[(D.union(MODERN), I)],
        section: "server/tools, Error Handling; 2025-11-25 changelog",
        title: "Arguments that do not fit were answered with a protocol error, which the model may never see.",
        advice: "Answer with a result that has `isError` and says what was wrong, so that the model can correct itself.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":"two"}}}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"`a` is no number"}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":"two"}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"`a` is no number"}],"isError":true}}"#,
    }
    TOL_005 {
        id: "TOL-005",
        name: "structured-missing",
        severities: &[(C.union(D).union(MODERN), E)],
        section: "server/tools, Output Schema",
        title: "The tool has an output schema, and its result lacks structured content that fits it.",
        advice: "Give back `structuredContent` that fits `outputSchema`, or do not declare one.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"3"}]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}"#,
    }
    TOL_006 {
        id: "TOL-006",
        name: "structured-not-object",
        severities: &[(C.union(D), E)],
        section: "schema CallToolResult",
        title: "Structured content is no object, which it may be only since 2026-07-28.",
        advice: "Wrap the value in an object for clients of this revision.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"values\":[1]}"}],"structuredContent":{"values":[1]}}}"#,
    }
    TOL_007 {
        id: "TOL-007",
        name: "no-text-twin",
        severities: &[(C.union(D).union(MODERN), I)],
        section: "server/tools, Structured Content",
        title: "Structured content has no text beside it that says the same, for clients that know text alone.",
        advice: "Put the same JSON as text into `content`.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}],"structuredContent":{"sum":3}}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}"#,
    }
    TOL_008 {
        id: "TOL-008",
        name: "name-charset",
        severities: &[(D.union(MODERN), W)],
        section: "server/tools, Tool Names",
        title: "The name of a tool is not made of 1 to 128 letters, digits, `_`, `-` and `.`.",
        advice: "Rename the tool: other names are refused by some clients and models.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add two","inputSchema":{"type":"object"}}]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add_two","inputSchema":{"type":"object"}}]}}"#,
    }
    TOL_009 {
        id: "TOL-009",
        name: "duplicate-names",
        severities: &[(ALL, W)],
        section: "server/tools, Tool Names",
        title: "Two tools of one list have the same name.",
        advice: "Give each tool a name of its own: only one of them can be called.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}},{"name":"add","inputSchema":{"type":"object"}}]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}},{"name":"sub","inputSchema":{"type":"object"}}]}}"#,
    }
    TOL_010 {
        id: "TOL-010",
        name: "bad-input-schema",
        severities: &[(ALL, E)],
        section: "schema Tool; basic, JSON Schema Usage",
        title: "The input schema of a tool is missing, is not of the type object, or is no JSON Schema.",
        advice: "Write at least {\"type\":\"object\"}, also for a tool without parameters.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"properties":{}}}]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}"#,
    }
    TOL_011 {
        id: "TOL-011",
        name: "content-type-unknown",
        severities: &[(ALL, E)],
        section: "schema ContentBlock and SamplingMessage",
        title: "A block of content has a type that this revision does not have.",
        advice: "Use the types of the revision that was agreed on; older clients fail on newer ones.",
        wrong: r#"# 2024-11-05
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}}"#,
        right: r#"# 2024-11-05
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}}"#,
    }
    TOL_012 {
        id: "TOL-012",
        name: "unstable-order",
        severities: &[(MODERN, I)],
        section: "2026-07-28 server/tools, Listing Tools",
        title: "The same tools were listed in another order than before, which makes caches of prompts useless.",
        advice: "List tools in a fixed order, such as by name.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"add","inputSchema":{"type":"object"}},{"name":"sub","inputSchema":{"type":"object"}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"sub","inputSchema":{"type":"object"}},{"name":"add","inputSchema":{"type":"object"}}]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"add","inputSchema":{"type":"object"}},{"name":"sub","inputSchema":{"type":"object"}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"add","inputSchema":{"type":"object"}},{"name":"sub","inputSchema":{"type":"object"}}]}}"#,
    }
    TOL_013 {
        id: "TOL-013",
        name: "bad-base64",
        severities: &[(ALL, E)],
        section: "schema ImageContent, AudioContent, BlobResourceContents",
        title: "Binary data are not base64.",
        advice: "Encode `data` and `blob` with the standard alphabet and padding, without a `data:` prefix.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"image","data":"data:image/png;base64,AAAA","mimeType":"image/png"}]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}}"#,
    }
    TOL_014 {
        id: "TOL-014",
        name: "failure-as-protocol-error",
        severities: &[(ALL, I)],
        section: "server/tools, Error Handling",
        title: "A tool that exists was called with fitting arguments, and answered with a protocol error, which the model may never see.",
        advice: "Answer with a result that has `isError` when the tool failed, and keep errors for what is wrong with the request.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the file is locked"}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"the file is locked"}],"isError":true}}"#,
    }
}
