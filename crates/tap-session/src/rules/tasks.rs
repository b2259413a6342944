//! Rules of tasks, those of 2025-11-25 and those of the extension.

use super::{D, E, MODERN, W};

rules! { TASKS:
    TSK_001 {
        id: "TSK-001",
        name: "task-without-cap",
        severities: &[(D, E)],
        section: "2025-11-25 basic/utilities/tasks, Capability Negotiation",
        title: "A request is to become a task, and the receiver does not offer that.",
        advice: "Look for the request's kind in `tasks.requests` of the receiver's capabilities before sending `task`.",
        wrong: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#,
        right: r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}}"#,
    }
    TSK_002 {
        id: "TSK-002",
        name: "bad-initial-status",
        severities: &[(D, E)],
        section: "2025-11-25 basic/utilities/tasks, Task Status Lifecycle",
        title: "A task began with another status than `working`.",
        advice: "Create tasks as `working`, and change their status afterwards.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"input_required","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}}"#,
    }
    TSK_003 {
        id: "TSK-003",
        name: "bad-transition",
        severities: &[(D.union(MODERN), E)],
        section: "2025-11-25 basic/utilities/tasks, Task Status Lifecycle; ext-tasks, Task Status",
        title: "A task's status changed in a way that is not allowed.",
        advice: "Leave a task alone once it is `completed`, `failed` or `cancelled`, and use no statuses of your own.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}}
<- {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"cancelled","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:01Z","ttl":null}}
<- {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"completed","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:02Z","ttl":null}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}}
<- {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"completed","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:01Z","ttl":null}}"#,
    }
    TSK_004 {
        id: "TSK-004",
        name: "related-task-missing",
        severities: &[(D, E)],
        section: "2025-11-25 basic/utilities/tasks, Associating Task-Related Messages",
        title: "A message belongs to a task, and does not say to which.",
        advice: "Put `io.modelcontextprotocol/related-task` with the `taskId` into `_meta`, of results too.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}}
-> {"jsonrpc":"2.0","id":6,"method":"tasks/result","params":{"taskId":"a"}}
<- {"jsonrpc":"2.0","id":6,"result":{"content":[]}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}}
-> {"jsonrpc":"2.0","id":6,"method":"tasks/result","params":{"taskId":"a"}}
<- {"jsonrpc":"2.0","id":6,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}"#,
    }
    TSK_005 {
        id: "TSK-005",
        name: "result-before-terminal",
        severities: &[(D, E)],
        section: "2025-11-25 basic/utilities/tasks, Result Retrieval",
        title: "`tasks/result` was answered with a result before the task was over.",
        advice: "Answer `tasks/result` when the task is `completed`, `failed` or `cancelled`, and not before.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}}
-> {"jsonrpc":"2.0","id":6,"method":"tasks/result","params":{"taskId":"a"}}
<- {"jsonrpc":"2.0","id":6,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}
-> {"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":"a"}}
<- {"jsonrpc":"2.0","id":7,"result":{"taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}}
-> {"jsonrpc":"2.0","id":6,"method":"tasks/result","params":{"taskId":"a"}}
<- {"jsonrpc":"2.0","id":6,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}
-> {"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":"a"}}
<- {"jsonrpc":"2.0","id":7,"result":{"taskId":"a","status":"completed","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:01Z","ttl":null}}"#,
    }
    TSK_006 {
        id: "TSK-006",
        name: "poll-too-fast",
        severities: &[(D.union(MODERN), W)],
        section: "2025-11-25 basic/utilities/tasks, Getting Tasks; ext-tasks, Task Polling",
        title: "A task is polled more often than the side that runs it asked for.",
        advice: "Wait `pollInterval` (`pollIntervalMs` in the extension) milliseconds between two `tasks/get` of a task.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{"taskId":"a",TASKS_META}}
<- {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttlMs":null,"pollIntervalMs":5000}}
-> {"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"a",TASKS_META}}
<- {"jsonrpc":"2.0","id":6,"result":{"resultType":"complete","taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttlMs":null,"pollIntervalMs":5000}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{"taskId":"a",TASKS_META}}
<- {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttlMs":null,"pollIntervalMs":5000}}
++ 5000
-> {"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"a",TASKS_META}}
<- {"jsonrpc":"2.0","id":6,"result":{"resultType":"complete","taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttlMs":null,"pollIntervalMs":5000}}"#,
    }
    TSK_007 {
        id: "TSK-007",
        name: "cancel-terminal",
        severities: &[(D, E)],
        section: "2025-11-25 basic/utilities/tasks, Task Cancellation",
        title: "A task that was over was cancelled.",
        advice: "Refuse to cancel a task that is over, with -32602; to have asked is no fault where the end was on its way.",
        wrong: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}}
<- {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"completed","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:01Z","ttl":null}}
-> {"jsonrpc":"2.0","id":6,"method":"tasks/cancel","params":{"taskId":"a"}}
<- {"jsonrpc":"2.0","id":6,"result":{"taskId":"a","status":"completed","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:01Z","ttl":null}}"#,
        right: r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{}}}
<- {"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttl":null}}}
-> {"jsonrpc":"2.0","id":6,"method":"tasks/cancel","params":{"taskId":"a"}}
<- {"jsonrpc":"2.0","id":6,"result":{"taskId":"a","status":"cancelled","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:01Z","ttl":null}}"#,
    }
    TSK_008 {
        id: "TSK-008",
        name: "task-to-nondeclaring",
        severities: &[(MODERN, E)],
        section: "ext-tasks, Capability Negotiation",
        title: "The server made a task of a request that does not declare the tasks extension.",
        advice: "Make tasks only of requests with the extension in their `clientCapabilities`; refuse others with -32021 if need be.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t",META}}
<- {"jsonrpc":"2.0","id":5,"result":{"resultType":"task","taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttlMs":null}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t",TASKS_META}}
<- {"jsonrpc":"2.0","id":5,"result":{"resultType":"task","taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttlMs":null}}"#,
    }
    TSK_009 {
        id: "TSK-009",
        name: "task-result-type",
        severities: &[(MODERN, E)],
        section: "ext-tasks, Polymorphic Results; Task Polling; Task Cancellation",
        title: "A result has a `resultType` that it cannot have: those about tasks are `complete`, and only `tools/call` makes tasks.",
        advice: "Answer `tasks/get`, `tasks/update` and `tasks/cancel` with `complete`, whatever the task's status; use `task` for new tasks alone.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{"taskId":"a",TASKS_META}}
<- {"jsonrpc":"2.0","id":5,"result":{"resultType":"task","taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttlMs":null}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{"taskId":"a",TASKS_META}}
<- {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","taskId":"a","status":"working","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttlMs":null}}"#,
    }
    TSK_010 {
        id: "TSK-010",
        name: "input-key-reuse",
        severities: &[(MODERN, E)],
        section: "ext-tasks, Task Update Requests",
        title: "A task uses one key of `inputRequests` for two requests.",
        advice: "Make a new key for each request of a task: clients keep the keys that they answered.",
        wrong: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{"taskId":"a",TASKS_META}}
<- {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","taskId":"a","status":"input_required","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttlMs":null,"inputRequests":{"k":{"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}}}}}
-> {"jsonrpc":"2.0","id":6,"method":"tasks/update","params":{"taskId":"a","inputResponses":{"k":{"action":"decline"}},TASKS_META}}
<- {"jsonrpc":"2.0","id":6,"result":{"resultType":"complete"}}
-> {"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":"a",TASKS_META}}
<- {"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","taskId":"a","status":"input_required","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:01Z","ttlMs":null,"inputRequests":{"k":{"method":"elicitation/create","params":{"message":"age?","requestedSchema":{"type":"object","properties":{}}}}}}}"#,
        right: r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{"taskId":"a",TASKS_META}}
<- {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","taskId":"a","status":"input_required","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:00Z","ttlMs":null,"inputRequests":{"k":{"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}}}}}
-> {"jsonrpc":"2.0","id":6,"method":"tasks/update","params":{"taskId":"a","inputResponses":{"k":{"action":"decline"}},TASKS_META}}
<- {"jsonrpc":"2.0","id":6,"result":{"resultType":"complete"}}
-> {"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":"a",TASKS_META}}
<- {"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","taskId":"a","status":"input_required","createdAt":"2026-01-01T10:00:00Z","lastUpdatedAt":"2026-01-01T10:00:01Z","ttlMs":null,"inputRequests":{"k2":{"method":"elicitation/create","params":{"message":"age?","requestedSchema":{"type":"object","properties":{}}}}}}}"#,
    }
}
