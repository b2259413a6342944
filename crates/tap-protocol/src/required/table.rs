//! The rows of [`REQUIRED`].

use super::{Kind, Member};
use crate::field::Place;
use crate::meta;
use crate::revision::{Revision, Revisions};

/// What the params and the result of a method must have, in some revisions.
#[derive(Debug)]
pub(super) struct Required {
    pub(super) method: &'static str,
    pub(super) revisions: Revisions,
    pub(super) params: &'static [Member],
    pub(super) result: &'static [Member],
}

const fn any(path: &'static [&'static str]) -> Member {
    Member { path, kind: Kind::Any }
}

const fn text(path: &'static [&'static str]) -> Member {
    Member { path, kind: Kind::Text }
}

const fn number(path: &'static [&'static str]) -> Member {
    Member { path, kind: Kind::Number }
}

const fn number_or_null(path: &'static [&'static str]) -> Member {
    Member { path, kind: Kind::NumberOrNull }
}

const fn boolean(path: &'static [&'static str]) -> Member {
    Member { path, kind: Kind::Boolean }
}

const fn list(path: &'static [&'static str]) -> Member {
    Member { path, kind: Kind::List }
}

const fn object(path: &'static [&'static str]) -> Member {
    Member { path, kind: Kind::Object }
}

/// What every modern request of a client must have in `params`, and these.
///
/// Source: 2026-07-28, basic/index, Per-request protocol fields; `Implementation` of the schema.
macro_rules! modern_params {
    ($($path:expr),*) => {
        &[
            object(&["_meta"]),
            text(&["_meta", meta::PROTOCOL_VERSION]),
            object(&["_meta", meta::CLIENT_CAPABILITIES]),
            text(&["_meta", meta::CLIENT_INFO, "name"]),
            text(&["_meta", meta::CLIENT_INFO, "version"]),
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
            text(&["resultType"]),
            text(&["_meta", meta::SERVER_INFO, "name"]),
            text(&["_meta", meta::SERVER_INFO, "version"]),
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
        params: &[object(&["ref"]), object(&["argument"]), text(&["argument", "name"]), text(&["argument", "value"])],
        result: &[object(&["completion"]), list(&["completion", "values"])],
    },
    Required {
        method: "completion/complete",
        revisions: Revisions::MODERN,
        params: modern_params![
            object(&["ref"]),
            object(&["argument"]),
            text(&["argument", "name"]),
            text(&["argument", "value"])
        ],
        result: modern_result![object(&["completion"]), list(&["completion", "values"])],
    },
    Required {
        method: "elicitation/create",
        revisions: Revisions::only(Revision::V2025_06_18),
        params: &[text(&["message"]), object(&["requestedSchema"])],
        result: &[text(&["action"])],
    },
    Required {
        method: "elicitation/create",
        revisions: Revisions::since(Revision::V2025_11_25),
        params: &[text(&["message"])],
        result: &[text(&["action"])],
    },
    Required {
        method: "initialize",
        revisions: Revisions::LEGACY,
        params: &[
            text(&["protocolVersion"]),
            object(&["capabilities"]),
            object(&["clientInfo"]),
            text(&["clientInfo", "name"]),
            text(&["clientInfo", "version"]),
        ],
        result: &[
            text(&["protocolVersion"]),
            object(&["capabilities"]),
            object(&["serverInfo"]),
            text(&["serverInfo", "name"]),
            text(&["serverInfo", "version"]),
        ],
    },
    Required { method: "logging/setLevel", revisions: Revisions::LEGACY, params: &[text(&["level"])], result: &[] },
    Required {
        method: "notifications/cancelled",
        revisions: Revisions::ALL.difference(Revisions::only(Revision::V2025_11_25)),
        params: &[any(&["requestId"])],
        result: &[],
    },
    Required {
        method: "notifications/elicitation/complete",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[text(&["elicitationId"])],
        result: &[],
    },
    Required {
        method: "notifications/message",
        revisions: Revisions::ALL,
        params: &[text(&["level"]), any(&["data"])],
        result: &[],
    },
    Required {
        method: "notifications/progress",
        revisions: Revisions::ALL,
        params: &[any(&["progressToken"]), number(&["progress"])],
        result: &[],
    },
    Required {
        method: "notifications/resources/updated",
        revisions: Revisions::ALL,
        params: &[text(&["uri"])],
        result: &[],
    },
    Required {
        method: "notifications/subscriptions/acknowledged",
        revisions: Revisions::MODERN,
        params: &[object(&["notifications"])],
        result: &[],
    },
    Required {
        method: "notifications/tasks",
        revisions: Revisions::MODERN,
        params: &[
            text(&["taskId"]),
            text(&["status"]),
            text(&["createdAt"]),
            text(&["lastUpdatedAt"]),
            number_or_null(&["ttlMs"]),
        ],
        result: &[],
    },
    Required {
        method: "notifications/tasks/status",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[
            text(&["taskId"]),
            text(&["status"]),
            text(&["createdAt"]),
            text(&["lastUpdatedAt"]),
            number_or_null(&["ttl"]),
        ],
        result: &[],
    },
    Required {
        method: "prompts/get",
        revisions: Revisions::LEGACY,
        params: &[text(&["name"])],
        result: &[list(&["messages"])],
    },
    Required {
        method: "prompts/get",
        revisions: Revisions::MODERN,
        params: modern_params![text(&["name"])],
        result: modern_result![list(&["messages"])],
    },
    Required { method: "prompts/list", revisions: Revisions::LEGACY, params: &[], result: &[list(&["prompts"])] },
    Required {
        method: "prompts/list",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![list(&["prompts"]), number(&["ttlMs"]), text(&["cacheScope"])],
    },
    Required {
        method: "resources/directory/read",
        revisions: Revisions::MODERN,
        params: modern_params![text(&["uri"])],
        result: modern_result![list(&["resources"])],
    },
    Required { method: "resources/list", revisions: Revisions::LEGACY, params: &[], result: &[list(&["resources"])] },
    Required {
        method: "resources/list",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![list(&["resources"]), number(&["ttlMs"]), text(&["cacheScope"])],
    },
    Required {
        method: "resources/read",
        revisions: Revisions::LEGACY,
        params: &[text(&["uri"])],
        result: &[list(&["contents"])],
    },
    Required {
        method: "resources/read",
        revisions: Revisions::MODERN,
        params: modern_params![text(&["uri"])],
        result: modern_result![list(&["contents"]), number(&["ttlMs"]), text(&["cacheScope"])],
    },
    Required { method: "resources/subscribe", revisions: Revisions::LEGACY, params: &[text(&["uri"])], result: &[] },
    Required {
        method: "resources/templates/list",
        revisions: Revisions::LEGACY,
        params: &[],
        result: &[list(&["resourceTemplates"])],
    },
    Required {
        method: "resources/templates/list",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![list(&["resourceTemplates"]), number(&["ttlMs"]), text(&["cacheScope"])],
    },
    Required { method: "resources/unsubscribe", revisions: Revisions::LEGACY, params: &[text(&["uri"])], result: &[] },
    Required { method: "roots/list", revisions: Revisions::ALL, params: &[], result: &[list(&["roots"])] },
    Required {
        method: "sampling/createMessage",
        revisions: Revisions::ALL,
        params: &[list(&["messages"]), number(&["maxTokens"])],
        result: &[text(&["role"]), any(&["content"]), text(&["model"])],
    },
    Required {
        method: "server/discover",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![
            list(&["supportedVersions"]),
            object(&["capabilities"]),
            number(&["ttlMs"]),
            text(&["cacheScope"])
        ],
    },
    Required {
        method: "skills/get",
        revisions: Revisions::MODERN,
        params: modern_params![text(&["uri"])],
        result: modern_result![object(&["skill"]), number(&["ttlMs"]), text(&["cacheScope"])],
    },
    Required {
        method: "skills/list",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![list(&["skills"]), number(&["ttlMs"]), text(&["cacheScope"])],
    },
    Required {
        method: "subscriptions/listen",
        revisions: Revisions::MODERN,
        params: modern_params![object(&["notifications"])],
        result: modern_result![object(&["_meta"]), any(&["_meta", meta::SUBSCRIPTION_ID])],
    },
    Required {
        method: "tasks/cancel",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[text(&["taskId"])],
        result: &[
            text(&["taskId"]),
            text(&["status"]),
            text(&["createdAt"]),
            text(&["lastUpdatedAt"]),
            number_or_null(&["ttl"]),
        ],
    },
    Required {
        method: "tasks/cancel",
        revisions: Revisions::MODERN,
        params: modern_params![text(&["taskId"])],
        result: modern_result![],
    },
    Required {
        method: "tasks/get",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[text(&["taskId"])],
        result: &[
            text(&["taskId"]),
            text(&["status"]),
            text(&["createdAt"]),
            text(&["lastUpdatedAt"]),
            number_or_null(&["ttl"]),
        ],
    },
    Required {
        method: "tasks/get",
        revisions: Revisions::MODERN,
        params: modern_params![text(&["taskId"])],
        result: modern_result![
            text(&["taskId"]),
            text(&["status"]),
            text(&["createdAt"]),
            text(&["lastUpdatedAt"]),
            number_or_null(&["ttlMs"])
        ],
    },
    Required {
        method: "tasks/list",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[],
        result: &[list(&["tasks"])],
    },
    Required {
        method: "tasks/result",
        revisions: Revisions::only(Revision::V2025_11_25),
        params: &[text(&["taskId"])],
        result: &[],
    },
    Required {
        method: "tasks/update",
        revisions: Revisions::MODERN,
        params: modern_params![text(&["taskId"]), object(&["inputResponses"])],
        result: modern_result![],
    },
    Required {
        method: "tools/call",
        revisions: Revisions::LEGACY,
        params: &[text(&["name"])],
        result: &[list(&["content"])],
    },
    Required {
        method: "tools/call",
        revisions: Revisions::MODERN,
        params: modern_params![text(&["name"])],
        result: modern_result![list(&["content"])],
    },
    Required { method: "tools/list", revisions: Revisions::LEGACY, params: &[], result: &[list(&["tools"])] },
    Required {
        method: "tools/list",
        revisions: Revisions::MODERN,
        params: modern_params![],
        result: modern_result![list(&["tools"]), number(&["ttlMs"]), text(&["cacheScope"])],
    },
];

/// Members that need not be there, and are known to be sent as what they are not; by method and place.
///
/// Source: the properties of each schema, where every revision that has the member agrees.
pub(super) static OPTIONAL: &[(&str, Place, &[Member])] = &[
    ("prompts/get", Place::Params, &[object(&["arguments"])]),
    ("prompts/list", Place::Result, &[text(&["nextCursor"])]),
    ("resources/list", Place::Result, &[text(&["nextCursor"])]),
    ("resources/templates/list", Place::Result, &[text(&["nextCursor"])]),
    ("tasks/list", Place::Result, &[text(&["nextCursor"])]),
    ("tools/call", Place::Params, &[object(&["arguments"])]),
    ("tools/call", Place::Result, &[boolean(&["isError"])]),
    ("tools/list", Place::Result, &[text(&["nextCursor"])]),
];
