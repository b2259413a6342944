//! The rows of [`REQUIRED`].

use crate::meta;
use crate::revision::{Revision, Revisions};

/// What the params and the result of a method must have, in some revisions.
#[derive(Debug)]
pub(super) struct Required {
    pub(super) method: &'static str,
    pub(super) revisions: Revisions,
    pub(super) params: &'static [&'static [&'static str]],
    pub(super) result: &'static [&'static [&'static str]],
}

/// What every modern request of a client must have in `params`, and these.
///
/// Source: 2026-07-28, basic/index, Per-request protocol fields; `Implementation` of the schema.
macro_rules! modern_params {
    ($($path:expr),*) => {
        &[
            &["_meta"],
            &["_meta", meta::PROTOCOL_VERSION],
            &["_meta", meta::CLIENT_CAPABILITIES],
            &["_meta", meta::CLIENT_INFO, "name"],
            &["_meta", meta::CLIENT_INFO, "version"],
            $($path),*
        ]
    };
}

/// What every modern result must have, and these.
///
/// Source: `Result`, `ResultMetaObject` and `Implementation` of the schema of 2026-07-28.
macro_rules! modern_result {
    ($($path:expr),*) => {
        &[
            &["resultType"],
            &["_meta", meta::SERVER_INFO, "name"],
            &["_meta", meta::SERVER_INFO, "version"],
            $($path),*
        ]
    };
}

/// One row for a method and the revisions in which it is the same; sorted by method. Methods that require nothing have
/// none. For the extensions: ext-tasks 2026-07-28, and the skills extension, specification/stable.
pub(super) static REQUIRED: &[Required] = &[
    Required {
        method: "completion/complete",
        revisions: Revisions::LEGACY,
        params: &[&["ref"], &["argument"], &["argument", "name"], &["argument", "value"]],
        result: &[&["completion"], &["completion", "values"]],
    },
    Required {
        method: "completion/complete",
        revisions: Revisions::MODERN,
        params: modern_params![&["ref"], &["argument"], &["argument", "name"], &["argument", "value"]],
        result: modern_result![&["completion"], &["completion", "values"]],
    },
    Required {
        method: "elicitation/create",
        revisions: Revisions::only(Revision::V2025_06_18),
        params: &[&["message"], &["requestedSchema"]],
        result: &[&["action"]],
    },
    Required {
        method: "elicitation/create",
        revisions: Revisions::since(Revision::V2025_11_25),
        params: &[&["message"]],
        result: &[&["action"]],
    },
    Required {
        method: "initialize",
        revisions: Revisions::LEGACY,
        params: &[
            &["protocolVersion"],
            &["capabilities"],
            &["clientInfo"],
            &["clientInfo", "name"],
            &["clientInfo", "version"],
        ],
        result: &[
            &["protocolVersion"],
            &["capabilities"],
            &["serverInfo"],
            &["serverInfo", "name"],
            &["serverInfo", "version"],
        ],
    },
    Required { method: "logging/setLevel", revisions: Revisions::LEGACY, params: &[&["level"]], result: &[] },
    Required {
        method: "notifications/cancelled",
        revisions: Revisions::ALL.difference(Revisions::only(Revision::V2025_11_25)),
        params: &[&["requestId"]],
        result: &[],
    },
    Required {
        method: "notifications/elicitation/complete",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[&["elicitationId"]],
        result: &[],
    },
    Required {
        method: "notifications/message",
        revisions: Revisions::ALL,
        params: &[&["level"], &["data"]],
        result: &[],
    },
    Required {
        method: "notifications/progress",
        revisions: Revisions::ALL,
        params: &[&["progressToken"], &["progress"]],
        result: &[],
    },
    Required { method: "notifications/resources/updated", revisions: Revisions::ALL, params: &[&["uri"]], result: &[] },
    Required {
        method: "notifications/subscriptions/acknowledged",
        revisions: Revisions::MODERN,
        params: &[&["notifications"]],
        result: &[],
    },
    Required {
        method: "notifications/tasks",
        revisions: Revisions::MODERN,
        params: &[&["taskId"], &["status"], &["createdAt"], &["lastUpdatedAt"], &["ttlMs"]],
        result: &[],
    },
    Required {
        method: "notifications/tasks/status",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[&["taskId"], &["status"], &["createdAt"], &["lastUpdatedAt"], &["ttl"]],
        result: &[],
    },
    Required { method: "prompts/get", revisions: Revisions::LEGACY, params: &[&["name"]], result: &[&["messages"]] },
    Required {
        method: "prompts/get",
        revisions: Revisions::MODERN,
        params: modern_params![&["name"]],
        result: modern_result![&["messages"]],
    },
    Required { method: "prompts/list", revisions: Revisions::LEGACY, params: &[], result: &[&["prompts"]] },
    Required {
        method: "prompts/list",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![&["prompts"], &["ttlMs"], &["cacheScope"]],
    },
    Required {
        method: "resources/directory/read",
        revisions: Revisions::MODERN,
        params: modern_params![&["uri"]],
        result: modern_result![&["resources"]],
    },
    Required { method: "resources/list", revisions: Revisions::LEGACY, params: &[], result: &[&["resources"]] },
    Required {
        method: "resources/list",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![&["resources"], &["ttlMs"], &["cacheScope"]],
    },
    Required { method: "resources/read", revisions: Revisions::LEGACY, params: &[&["uri"]], result: &[&["contents"]] },
    Required {
        method: "resources/read",
        revisions: Revisions::MODERN,
        params: modern_params![&["uri"]],
        result: modern_result![&["contents"], &["ttlMs"], &["cacheScope"]],
    },
    Required { method: "resources/subscribe", revisions: Revisions::LEGACY, params: &[&["uri"]], result: &[] },
    Required {
        method: "resources/templates/list",
        revisions: Revisions::LEGACY,
        params: &[],
        result: &[&["resourceTemplates"]],
    },
    Required {
        method: "resources/templates/list",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![&["resourceTemplates"], &["ttlMs"], &["cacheScope"]],
    },
    Required { method: "resources/unsubscribe", revisions: Revisions::LEGACY, params: &[&["uri"]], result: &[] },
    Required { method: "roots/list", revisions: Revisions::ALL, params: &[], result: &[&["roots"]] },
    Required {
        method: "sampling/createMessage",
        revisions: Revisions::ALL,
        params: &[&["messages"], &["maxTokens"]],
        result: &[&["role"], &["content"], &["model"]],
    },
    Required {
        method: "server/discover",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![&["supportedVersions"], &["capabilities"], &["ttlMs"], &["cacheScope"]],
    },
    Required {
        method: "skills/get",
        revisions: Revisions::MODERN,
        params: modern_params![&["uri"]],
        result: modern_result![&["skill"], &["ttlMs"], &["cacheScope"]],
    },
    Required {
        method: "skills/list",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![&["skills"], &["ttlMs"], &["cacheScope"]],
    },
    Required {
        method: "subscriptions/listen",
        revisions: Revisions::MODERN,
        params: modern_params![&["notifications"]],
        result: modern_result![&["_meta"], &["_meta", meta::SUBSCRIPTION_ID]],
    },
    Required {
        method: "tasks/cancel",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[&["taskId"]],
        result: &[&["taskId"], &["status"], &["createdAt"], &["lastUpdatedAt"], &["ttl"]],
    },
    Required {
        method: "tasks/cancel",
        revisions: Revisions::MODERN,
        params: modern_params![&["taskId"]],
        result: modern_result![],
    },
    Required {
        method: "tasks/get",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[&["taskId"]],
        result: &[&["taskId"], &["status"], &["createdAt"], &["lastUpdatedAt"], &["ttl"]],
    },
    Required {
        method: "tasks/get",
        revisions: Revisions::MODERN,
        params: modern_params![&["taskId"]],
        result: modern_result![&["taskId"], &["status"], &["createdAt"], &["lastUpdatedAt"], &["ttlMs"]],
    },
    Required {
        method: "tasks/list",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[],
        result: &[&["tasks"]],
    },
    Required {
        method: "tasks/result",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[&["taskId"]],
        result: &[],
    },
    Required {
        method: "tasks/update",
        revisions: Revisions::MODERN,
        params: modern_params![&["taskId"], &["inputResponses"]],
        result: modern_result![],
    },
    Required { method: "tools/call", revisions: Revisions::LEGACY, params: &[&["name"]], result: &[&["content"]] },
    Required {
        method: "tools/call",
        revisions: Revisions::MODERN,
        params: modern_params![&["name"]],
        result: modern_result![&["content"]],
    },
    Required { method: "tools/list", revisions: Revisions::LEGACY, params: &[], result: &[&["tools"]] },
    Required {
        method: "tools/list",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![&["tools"], &["ttlMs"], &["cacheScope"]],
    },
];
