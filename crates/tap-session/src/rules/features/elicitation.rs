//! The rules of elicitation.

use crate::rules::{C, D, E, I, MODERN, W};

rules! { ELICITATION:
    ELI_001 {
        id: "ELI-001",
        name: "mode-unsupported",
        severities: &[(D.union(MODERN), E)],
        section: "client/elicitation, Capabilities",
        title: "The server asks in a mode that the client did not declare.",
        advice: "Ask by form or by URL only where `elicitation.form` or `elicitation.url` was declared; an empty `elicitation` means forms.",
        wrong: r#"-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"https://example.com","elicitationId":"e1"}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{}}},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"https://example.com","elicitationId":"e1"}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#,
    }
    ELI_002 {
        id: "ELI-002",
        name: "schema-not-flat",
        severities: &[(C.union(D).union(MODERN), E)],
        section: "client/elicitation, Requested Schema",
        title: "A form asks for an object, or for an array that is no choice from a list.",
        advice: "Ask for texts, numbers, booleans and choices, each as a property of its own.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"home":{"type":"object","properties":{"city":{"type":"string"}}}}}}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#,
        right: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"city":{"type":"string"}}}}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#,
    }
    ELI_003 {
        id: "ELI-003",
        name: "content-on-decline",
        severities: &[(C.union(D).union(MODERN), I)],
        section: "client/elicitation, Response Actions",
        title: "Content was sent with a refusal, or in answer to a URL.",
        advice: "Leave `content` out unless a form was accepted.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"decline","content":{}}}"#,
        right: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#,
    }
    ELI_004 {
        id: "ELI-004",
        name: "content-mismatch",
        severities: &[(C.union(D).union(MODERN), W)],
        section: "client/elicitation, Requested Schema",
        title: "What the user filled in does not fit the schema of the form.",
        advice: "Check the form against `requestedSchema` before sending it.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":7}}}"#,
        right: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ada"}}}"#,
    }
    ELI_005 {
        id: "ELI-005",
        name: "elicitation-id",
        severities: &[(D, E), (MODERN, W)],
        section: "client/elicitation, URL Mode; 2026-07-28 changelog",
        title: "A request by URL has no `elicitationId` in 2025-11-25, or it has one in 2026-07-28.",
        advice: "Send `elicitationId` in 2025-11-25 alone.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"https://example.com"}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#,
        right: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"https://example.com","elicitationId":"e1"}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#,
    }
    ELI_006 {
        id: "ELI-006",
        name: "secret-by-form",
        severities: &[(C.union(D).union(MODERN), W)],
        section: "client/elicitation, Security",
        title: "A form seems to ask for a password, a key or another secret, which then passes through the client and the model.",
        advice: "Ask for secrets by URL, on a page of your own.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"api_key":{"type":"string"}}}}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#,
        right: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"max_tokens":{"type":"integer"}}}}}
-> {"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#,
    }
}
