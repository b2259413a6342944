//! The rules of resources and roots.

use crate::rules::{ALL, E, LEGACY, MODERN, W};

rules! { RESOURCES:
    RES_001 {
        id: "RES-001",
        name: "not-found-code",
        severities: &[(LEGACY, W), (MODERN, E)],
        section: "server/resources, Error Handling",
        title: "That a resource is not there was said with another code than the one for it, or with empty contents.",
        advice: "Answer with the error -32002, or with -32602 in 2026-07-28.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"note://a"}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Resource not found"}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"note://a"}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found"}}"#,
    }
    RES_002 {
        id: "RES-002",
        name: "update-not-subscribed",
        severities: &[(LEGACY, W)],
        section: "server/resources, Subscriptions",
        title: "A resource was said to be updated to which the client is not subscribed.",
        advice: "Send `notifications/resources/updated` only between `resources/subscribe` and `resources/unsubscribe`.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note://a"}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://a"}}
<- {"jsonrpc":"2.0","id":1,"result":{}}
<- {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note://a"}}"#,
        needs_whole: true,
    }
    RES_003 {
        id: "RES-003",
        name: "text-and-blob",
        severities: &[(ALL, E)],
        section: "schema TextResourceContents, BlobResourceContents",
        title: "The contents of a resource have both a text and a blob, or neither.",
        advice: "Give back `text` for text and `blob` for everything else.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"note://a"}}
<- {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"note://a"}]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"note://a"}}
<- {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"note://a","text":""}]}}"#,
    }
    ROT_001 {
        id: "ROT-001",
        name: "non-file-root",
        severities: &[(ALL, E)],
        section: "client/roots, Data Types",
        title: "The URI of a root does not begin with file://.",
        advice: "Name folders as file:// URIs.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"roots/list"}
-> {"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"/home/me"}]}}"#,
        right: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":1,"method":"roots/list"}
-> {"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///home/me"}]}}"#,
    }
}
