//! Rules of the subscriptions of the modern era.

use super::{E, MODERN};

rules! { SUBSCRIPTIONS:
    SUB_001 {
        id: "SUB-001",
        name: "no-ack-first",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/subscriptions, Acknowledgment",
        title: "A subscription delivered something before it was acknowledged.",
        advice: "Send notifications/subscriptions/acknowledged as the first message of each subscription.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
    }
    SUB_002 {
        id: "SUB-002",
        name: "unrequested-type",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/subscriptions, Opening a Stream",
        title: "A subscription delivered what the client did not ask it for.",
        advice: "Deliver only the types, and only the resources, that the filter names and that were acknowledged.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
<- {"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["note://a"]},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["note://a"]},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
<- {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note://a/1","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
    }
    SUB_003 {
        id: "SUB-003",
        name: "no-subscription-id",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/subscriptions, Receiving Notifications",
        title: "A message of a subscription does not say of which.",
        advice: "Put the id of the `subscriptions/listen` request into `_meta` as io.modelcontextprotocol/subscriptionId.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
    }
    SUB_004 {
        id: "SUB-004",
        name: "wrong-id-type",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/subscriptions, Receiving Notifications",
        title: "A subscriptionId is not the id of a `subscriptions/listen` request that is open.",
        advice: "Send the id of the `subscriptions/listen` request back exactly as it was: the same value and the same JSON type.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"1"}}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        needs_whole: true,
    }
    SUB_005 {
        id: "SUB-005",
        name: "ack-superset",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/subscriptions, Acknowledgment",
        title: "More was acknowledged than the client asked for.",
        advice: "Acknowledge what was asked for, or less.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
    }
    SUB_006 {
        id: "SUB-006",
        name: "request-scoped-on-listen",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/transports/streamable-http, Receiving",
        title: "A subscription delivered progress or a log message, which belong to other requests.",
        advice: "Send progress and log messages with the request that they are about, and without a subscriptionId.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
<- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
    }
    SUB_007 {
        id: "SUB-007",
        name: "change-outside-listen",
        severities: &[(MODERN, E)],
        section: "2026-07-28 basic/patterns/subscriptions; schema ToolListChangedNotification",
        title: "The server told of a change though nobody listens, or not where the client listens.",
        advice: "Tell of changes only on the stream of a `subscriptions/listen` request.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
        needs_whole: true,
    }
}
