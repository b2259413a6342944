//! Rules of progress, cancellation, completion, logging, pings and requests of the server.

use super::{A, ALL, B, C, D, E, I, LEGACY, MODERN, W};

rules! { PROGRESS:
    PRG_001 {
        id: "PRG-001",
        name: "unknown-token",
        severities: &[(ALL, E)],
        section: "basic/utilities/progress; 2026-07-28: basic/patterns/progress, Behavior Requirements",
        title: "Progress was sent with a token that no request supplied.",
        advice: "Send progress with the token from the request's `_meta.progressToken` alone, of the same JSON type; send none where the request has no token.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"u","progress":1}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        needs_whole: true,
    }
    PRG_002 {
        id: "PRG-002",
        name: "after-end",
        severities: &[(ALL, E)],
        section: "basic/utilities/progress; 2026-07-28: basic/patterns/progress, Implementation Notes",
        title: "Progress was sent after the request had been answered.",
        advice: "Send all progress before the answer, and stop what reports progress before answering.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
++ 2000
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
    }
    PRG_003 {
        id: "PRG-003",
        name: "after-task-terminal",
        severities: &[(D, E)],
        section: "basic/utilities/progress, Behavior Requirements",
        title: "Progress was sent for a task that had ended.",
        advice: "Send no more progress once the task is completed, failed or cancelled.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","task":{},"_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"x","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}}
<- {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"x","status":"completed","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","task":{},"_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"x","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}
<- {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"x","status":"completed","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}"#,
    }
    PRG_004 {
        id: "PRG-004",
        name: "not-increasing",
        severities: &[(ALL, E)],
        section: "basic/utilities/progress; 2026-07-28: basic/patterns/progress, Progress Flow",
        title: "The progress of a request did not increase.",
        advice: "Make `progress` larger with each notification for a token, and send none when nothing has moved on.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":3}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
    }
    PRG_005 {
        id: "PRG-005",
        name: "token-type",
        severities: &[(ALL, E)],
        section: "basic/utilities/progress; 2026-07-28: basic/patterns/progress, Progress Flow",
        title: "A progress token is neither a string nor a whole number.",
        advice: "Use a string or a whole number as the token, and repeat it in each `notifications/progress`.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":{"n":1}}}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":1}}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
    }
    PRG_006 {
        id: "PRG-006",
        name: "token-reuse",
        severities: &[(ALL, E)],
        section: "basic/utilities/progress; 2026-07-28: basic/patterns/progress, Progress Flow",
        title: "A request has the progress token of another one that is still in flight.",
        advice: "Make a new token for each request; the id of the request will do.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"u"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#,
    }
    PRG_007 {
        id: "PRG-007",
        name: "exceeds-total",
        severities: &[(ALL, I)],
        section: "basic/utilities/progress; 2026-07-28: basic/patterns/progress, Progress Flow",
        title: "The progress of a request is more than its total.",
        advice: "Send a `total` that is not exceeded, or none while it is not known.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":5,"total":4}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":4,"total":4}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
    }
    PRG_008 {
        id: "PRG-008",
        name: "client-progress",
        severities: &[(MODERN, E)],
        section: "2026-07-28: basic/patterns/progress; schema ClientNotification",
        title: "The client sent progress, which only servers do.",
        advice: "Do not send `notifications/progress` from a client: the server sends no requests to which it could belong.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy",META}}
-> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    }
    PRG_009 {
        id: "PRG-009",
        name: "progress-type",
        severities: &[(ALL, E)],
        section: "schema ProgressNotification",
        title: "`progress` is missing or no number, or `total` is no number.",
        advice: "Send both as numbers, and leave `total` out while it is not known.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":"half"}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.5,"total":1}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
    }
    CAN_001 {
        id: "CAN-001",
        name: "cancel-initialize",
        severities: &[(LEGACY, E)],
        section: "basic/utilities/cancellation, Behavior Requirements",
        title: "The client cancelled its `initialize` request.",
        advice: "Close the connection instead, if the handshake takes too long.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    }
    CAN_002 {
        id: "CAN-002",
        name: "cancel-unknown",
        severities: &[(ALL, W)],
        section: "basic/utilities/cancellation; 2026-07-28: basic/patterns/cancellation, Behavior Requirements",
        title: "A cancellation names an id that its sender gave to no request.",
        advice: "Put the id of the request into `requestId` just as it was sent, of the same JSON type.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        needs_whole: true,
    }
    CAN_003 {
        id: "CAN-003",
        name: "cancel-finished",
        severities: &[(ALL, I)],
        section: "basic/utilities/cancellation; 2026-07-28: basic/patterns/cancellation, Timing Considerations",
        title: "A request was cancelled after its answer had passed.",
        advice: "Nothing has to be done, as the two may cross; if it happens always, forget requests that were answered.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    }
    CAN_004 {
        id: "CAN-004",
        name: "cancel-wrong-direction",
        severities: &[(LEGACY, E)],
        section: "basic/utilities/cancellation, Behavior Requirements",
        title: "A cancellation names a request of the peer, and not one of its sender's.",
        advice: "Cancel your own requests alone; answer a request that you do not want to fulfil with an error.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
<- {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}
<- {"jsonrpc":"2.0","id":8,"result":{"content":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}"#,
        needs_whole: true,
    }
    CAN_005 {
        id: "CAN-005",
        name: "response-after-cancel",
        severities: &[(LEGACY, I), (MODERN, W)],
        section: "basic/utilities/cancellation; 2026-07-28: basic/patterns/cancellation, Behavior Requirements; 2026-07-28: basic/transports/stdio",
        title: "A request was answered although it had been cancelled.",
        advice: "Send no answer to a request after its cancellation was read; a client ignores one that crosses it.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
++ 2000
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    }
    CAN_006 {
        id: "CAN-006",
        name: "cancel-task-request",
        severities: &[(D, E)],
        section: "basic/utilities/cancellation, Behavior Requirements; basic/utilities/tasks",
        title: "A request that becomes a task was cancelled with `notifications/cancelled`.",
        advice: "Cancel a task with `tasks/cancel`, once the answer has told its `taskId`.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","task":{}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
<- {"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"x","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","task":{}}}
<- {"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"x","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}}
-> {"jsonrpc":"2.0","id":2,"method":"tasks/cancel","params":{"taskId":"x"}}
<- {"jsonrpc":"2.0","id":2,"result":{"taskId":"x","status":"cancelled","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}"#,
    }
    CAN_007 {
        id: "CAN-007",
        name: "missing-request-id",
        severities: &[(A.union(B).union(C).union(MODERN), E), (D, W)],
        section: "schema CancelledNotification",
        title: "A cancellation does not say which request it cancels.",
        advice: "Put the id of the request into `params.requestId`.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"user"}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":"t"}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"user"}}"#,
    }
    CAN_008 {
        id: "CAN-008",
        name: "server-cancel",
        severities: &[(MODERN, E)],
        section: "2026-07-28: basic/patterns/cancellation",
        title: "The server cancelled something else than a subscription.",
        advice: "Answer a request that is given up with an error; cancel nothing but `subscriptions/listen`.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy",META}}
<- {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{META,"notifications":{"toolsListChanged":true}}}
<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{"toolsListChanged":true}}}
<- {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    }
    CMP_001 {
        id: "CMP-001",
        name: "too-many-values",
        severities: &[(ALL, E)],
        section: "server/utilities/completion; schema CompleteResult",
        title: "A completion has more than 100 values.",
        advice: "Return the best 100 values, and say `hasMore` and `total` for the rest.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"completion":{"values":["a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a"]}}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"completion":{"values":["a","a"]}}}"#,
    }
    LOG_001 {
        id: "LOG-001",
        name: "level-unknown",
        severities: &[(ALL, E)],
        section: "server/utilities/logging, Log Levels",
        title: "A log level is none of the eight.",
        advice: "Use debug, info, notice, warning, error, critical, alert or emergency, in lower case.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warn","data":"half way"}}"#,
        right: r#"# 2025-11-25
<- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":"half way"}}"#,
    }
    LOG_002 {
        id: "LOG-002",
        name: "below-set-level",
        severities: &[(LEGACY, W)],
        section: "server/utilities/logging, Setting Log Level",
        title: "The server sent a log message below the level that the client had set.",
        advice: "Send messages of the level of the last `logging/setLevel` and above alone.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}
<- {"jsonrpc":"2.0","id":1,"result":{}}
<- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"half way"}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}
<- {"jsonrpc":"2.0","id":1,"result":{}}
<- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"half way"}}"#,
    }
    LOG_003 {
        id: "LOG-003",
        name: "unsolicited-log",
        severities: &[(MODERN, E)],
        section: "server/utilities/logging, Per-request log level",
        title: "The server sent a log message, and no request in flight asks for any.",
        advice: "Send log messages only while a request is worked on that has `io.modelcontextprotocol/logLevel` in its `_meta`; write others to stderr.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy",META}}
<- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"half way"}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info"}}}
<- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"half way"}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        needs_whole: true,
    }
    LOG_004 {
        id: "LOG-004",
        name: "below-level",
        severities: &[(MODERN, E)],
        section: "server/utilities/logging, Per-request log level",
        title: "The server sent a log message below the level that the request asks for.",
        advice: "Send messages of the request's `io.modelcontextprotocol/logLevel` and above alone.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"error"}}}
<- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"half way"}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"error"}}}
<- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"half way"}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
        needs_whole: true,
    }
    PNG_001 {
        id: "PNG-001",
        name: "ping-nonempty",
        severities: &[(LEGACY, W)],
        section: "basic/utilities/ping",
        title: "The result of a ping is not empty.",
        advice: "Answer a ping with `{}`.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{"status":"ok"}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
    }
    PNG_002 {
        id: "PNG-002",
        name: "ping-unanswered",
        severities: &[(LEGACY, W)],
        section: "basic/utilities/ping",
        title: "A ping was not answered.",
        advice: "Answer pings at once, also while a long request is worked on.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#,
        needs_whole: true,
    }
    SRV_001 {
        id: "SRV-001",
        name: "unassociated-server-request",
        severities: &[(B.union(C).union(D), W)],
        section: "SEP-2260",
        title: "The server asked for sampling, elicitation or roots outside any request of the client.",
        advice: "Ask the client only while working on one of its requests, as later revisions allow nothing else.",
        wrong: r#"# 2025-11-25
<- {"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":10}}
-> {"jsonrpc":"2.0","id":0,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"Ho"}}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy"}}
<- {"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":10}}
-> {"jsonrpc":"2.0","id":0,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"Ho"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        needs_whole: true,
    }
}
