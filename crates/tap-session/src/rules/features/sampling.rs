//! The rules of sampling.

use crate::rules::{ALL, D, E, MODERN};

rules! { SAMPLING:
    SMP_001 {
        id: "SMP-001",
        name: "tool-result-mixed",
        severities: &[(D.union(MODERN), E)],
        section: "client/sampling, Message Content Constraints",
        title: "A message of the user has results of tools beside other blocks.",
        advice: "Put all results of tools into a message that has nothing else.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"assistant","content":{"type":"tool_use","id":"u1","name":"add","input":{}}},{"role":"user","content":[{"type":"tool_result","toolUseId":"u1","content":[]},{"type":"text","text":"so?"}]}]}}
-> {"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"4"}}}"#,
        right: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"assistant","content":{"type":"tool_use","id":"u1","name":"add","input":{}}},{"role":"user","content":[{"type":"tool_result","toolUseId":"u1","content":[]}]}]}}
-> {"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"4"}}}"#,
    }
    SMP_002 {
        id: "SMP-002",
        name: "tool-use-unbalanced",
        severities: &[(D.union(MODERN), E)],
        section: "client/sampling, Message Content Constraints",
        title: "The use of a tool has no result in the next message, or a result has no use of a tool in the message before.",
        advice: "Follow a message that uses tools with one that has a result for each use.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"assistant","content":{"type":"tool_use","id":"u1","name":"add","input":{}}},{"role":"user","content":{"type":"text","text":"so?"}}]}}
-> {"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"4"}}}"#,
        right: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"assistant","content":{"type":"tool_use","id":"u1","name":"add","input":{}}},{"role":"user","content":[{"type":"tool_result","toolUseId":"u1","content":[]}]}]}}
-> {"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"4"}}}"#,
    }
    SMP_003 {
        id: "SMP-003",
        name: "tools-without-cap",
        severities: &[(D.union(MODERN), E)],
        section: "client/sampling, Capabilities",
        title: "The server offers tools to the model, and the client did not declare `sampling.tools`.",
        advice: "Leave `tools` and `toolChoice` out unless `sampling.tools` was declared.",
        wrong: r#"-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
<- {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[],"tools":[]}}
-> {"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"4"}}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{"tools":{}}},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
<- {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[],"tools":[]}}
-> {"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"4"}}}"#,
    }
    SMP_004 {
        id: "SMP-004",
        name: "no-max-tokens",
        severities: &[(ALL, E)],
        section: "schema CreateMessageRequest",
        title: "A request for sampling has no `maxTokens`.",
        advice: "Say with `maxTokens` how long the answer may be.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[]}}
-> {"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"4"}}}"#,
        right: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[]}}
-> {"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"4"}}}"#,
    }
}
