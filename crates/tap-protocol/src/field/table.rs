//! The rows of [`FIELDS`].

use super::{ANY_METHOD, EACH_ELEMENT, EACH_MEMBER, Field, Place};
use crate::meta;
use crate::revision::{Revision, Revisions};

/// Every member that came or went between revisions; sorted by method, place and path.
///
/// Not here: `_meta` itself, which every params and result may have in every revision although older schemas list it in
/// few places; capabilities, which have [a table of their own](crate::CAPABILITIES); what stands below a new member.
///
/// Source: the properties of each schema, one beside the other; for the tasks extension, ext-tasks 2026-07-28.
pub static FIELDS: &[Field] = &[
    params(ANY_METHOD, &["_meta", meta::CLIENT_CAPABILITIES], Revisions::MODERN),
    params(ANY_METHOD, &["_meta", meta::CLIENT_INFO], Revisions::MODERN),
    params(ANY_METHOD, &["_meta", meta::LOG_LEVEL], Revisions::MODERN),
    params(ANY_METHOD, &["_meta", meta::PROTOCOL_VERSION], Revisions::MODERN),
    params(ANY_METHOD, &["_meta", meta::SUBSCRIPTION_ID], Revisions::MODERN),
    result(ANY_METHOD, &["_meta", meta::SERVER_INFO], Revisions::MODERN),
    result(ANY_METHOD, &["resultType"], Revisions::MODERN),
    params("completion/complete", &["context"], SINCE_2025_06_18),
    params("completion/complete", &["ref", "title"], SINCE_2025_06_18),
    params("elicitation/create", &["elicitationId"], ONLY_2025_11_25),
    params("elicitation/create", &["mode"], SINCE_2025_11_25),
    params("elicitation/create", &["requestedSchema", "$schema"], SINCE_2025_11_25),
    params("elicitation/create", &["requestedSchema", "properties", EACH_MEMBER, "items"], SINCE_2025_11_25),
    params("elicitation/create", &["requestedSchema", "properties", EACH_MEMBER, "maxItems"], SINCE_2025_11_25),
    params("elicitation/create", &["requestedSchema", "properties", EACH_MEMBER, "minItems"], SINCE_2025_11_25),
    params("elicitation/create", &["requestedSchema", "properties", EACH_MEMBER, "oneOf"], SINCE_2025_11_25),
    params("elicitation/create", &["task"], ONLY_2025_11_25),
    params("elicitation/create", &["url"], SINCE_2025_11_25),
    result("elicitation/create", &["task"], ONLY_2025_11_25),
    params("initialize", &["clientInfo", "description"], ONLY_2025_11_25),
    params("initialize", &["clientInfo", "icons"], ONLY_2025_11_25),
    params("initialize", &["clientInfo", "title"], LEGACY_SINCE_2025_06_18),
    params("initialize", &["clientInfo", "websiteUrl"], ONLY_2025_11_25),
    result("initialize", &["serverInfo", "description"], ONLY_2025_11_25),
    result("initialize", &["serverInfo", "icons"], ONLY_2025_11_25),
    result("initialize", &["serverInfo", "title"], LEGACY_SINCE_2025_06_18),
    result("initialize", &["serverInfo", "websiteUrl"], ONLY_2025_11_25),
    params("notifications/progress", &["message"], SINCE_2025_03_26),
    params("prompts/get", &["inputResponses"], Revisions::MODERN),
    params("prompts/get", &["requestState"], Revisions::MODERN),
    result("prompts/get", &["inputRequests"], Revisions::MODERN),
    result("prompts/get", &["messages", EACH_ELEMENT, "content", "_meta"], SINCE_2025_06_18),
    result("prompts/get", &["messages", EACH_ELEMENT, "content", "annotations", "lastModified"], SINCE_2025_06_18),
    result("prompts/get", &["messages", EACH_ELEMENT, "content", "icons"], SINCE_2025_11_25),
    result("prompts/get", &["messages", EACH_ELEMENT, "content", "resource", "_meta"], SINCE_2025_06_18),
    result("prompts/get", &["requestState"], Revisions::MODERN),
    result("prompts/list", &["cacheScope"], Revisions::MODERN),
    result("prompts/list", &["prompts", EACH_ELEMENT, "_meta"], SINCE_2025_06_18),
    result("prompts/list", &["prompts", EACH_ELEMENT, "arguments", EACH_ELEMENT, "title"], SINCE_2025_06_18),
    result("prompts/list", &["prompts", EACH_ELEMENT, "icons"], SINCE_2025_11_25),
    result("prompts/list", &["prompts", EACH_ELEMENT, "title"], SINCE_2025_06_18),
    result("prompts/list", &["ttlMs"], Revisions::MODERN),
    result("resources/list", &["cacheScope"], Revisions::MODERN),
    result("resources/list", &["resources", EACH_ELEMENT, "_meta"], SINCE_2025_06_18),
    result("resources/list", &["resources", EACH_ELEMENT, "annotations", "lastModified"], SINCE_2025_06_18),
    result("resources/list", &["resources", EACH_ELEMENT, "icons"], SINCE_2025_11_25),
    result("resources/list", &["resources", EACH_ELEMENT, "title"], SINCE_2025_06_18),
    result("resources/list", &["ttlMs"], Revisions::MODERN),
    params("resources/read", &["inputResponses"], Revisions::MODERN),
    params("resources/read", &["requestState"], Revisions::MODERN),
    result("resources/read", &["cacheScope"], Revisions::MODERN),
    result("resources/read", &["contents", EACH_ELEMENT, "_meta"], SINCE_2025_06_18),
    result("resources/read", &["inputRequests"], Revisions::MODERN),
    result("resources/read", &["requestState"], Revisions::MODERN),
    result("resources/read", &["ttlMs"], Revisions::MODERN),
    result("resources/templates/list", &["cacheScope"], Revisions::MODERN),
    result("resources/templates/list", &["resourceTemplates", EACH_ELEMENT, "_meta"], SINCE_2025_06_18),
    result(
        "resources/templates/list",
        &["resourceTemplates", EACH_ELEMENT, "annotations", "lastModified"],
        SINCE_2025_06_18,
    ),
    result("resources/templates/list", &["resourceTemplates", EACH_ELEMENT, "icons"], SINCE_2025_11_25),
    result("resources/templates/list", &["resourceTemplates", EACH_ELEMENT, "title"], SINCE_2025_06_18),
    result("resources/templates/list", &["ttlMs"], Revisions::MODERN),
    result("roots/list", &["roots", EACH_ELEMENT, "_meta"], SINCE_2025_06_18),
    params("sampling/createMessage", &["messages", EACH_ELEMENT, "_meta"], SINCE_2025_11_25),
    params("sampling/createMessage", &["messages", EACH_ELEMENT, "content", "_meta"], SINCE_2025_06_18),
    params(
        "sampling/createMessage",
        &["messages", EACH_ELEMENT, "content", "annotations", "lastModified"],
        SINCE_2025_06_18,
    ),
    params("sampling/createMessage", &["task"], ONLY_2025_11_25),
    params("sampling/createMessage", &["toolChoice"], SINCE_2025_11_25),
    params("sampling/createMessage", &["tools"], SINCE_2025_11_25),
    result("sampling/createMessage", &["content", "_meta"], SINCE_2025_06_18),
    result("sampling/createMessage", &["content", "annotations", "lastModified"], SINCE_2025_06_18),
    result("sampling/createMessage", &["task"], ONLY_2025_11_25),
    result("tasks/cancel", &["createdAt"], ONLY_2025_11_25),
    result("tasks/cancel", &["lastUpdatedAt"], ONLY_2025_11_25),
    result("tasks/cancel", &["pollInterval"], ONLY_2025_11_25),
    result("tasks/cancel", &["status"], ONLY_2025_11_25),
    result("tasks/cancel", &["statusMessage"], ONLY_2025_11_25),
    result("tasks/cancel", &["taskId"], ONLY_2025_11_25),
    result("tasks/cancel", &["ttl"], ONLY_2025_11_25),
    result("tasks/get", &["error"], Revisions::MODERN),
    result("tasks/get", &["inputRequests"], Revisions::MODERN),
    result("tasks/get", &["pollInterval"], ONLY_2025_11_25),
    result("tasks/get", &["pollIntervalMs"], Revisions::MODERN),
    result("tasks/get", &["result"], Revisions::MODERN),
    result("tasks/get", &["ttl"], ONLY_2025_11_25),
    result("tasks/get", &["ttlMs"], Revisions::MODERN),
    params("tools/call", &["inputResponses"], Revisions::MODERN),
    params("tools/call", &["requestState"], Revisions::MODERN),
    params("tools/call", &["task"], ONLY_2025_11_25),
    result("tools/call", &["content", EACH_ELEMENT, "_meta"], SINCE_2025_06_18),
    result("tools/call", &["content", EACH_ELEMENT, "annotations", "lastModified"], SINCE_2025_06_18),
    result("tools/call", &["content", EACH_ELEMENT, "icons"], SINCE_2025_11_25),
    result("tools/call", &["content", EACH_ELEMENT, "resource", "_meta"], SINCE_2025_06_18),
    result("tools/call", &["inputRequests"], Revisions::MODERN),
    result("tools/call", &["requestState"], Revisions::MODERN),
    result("tools/call", &["structuredContent"], SINCE_2025_06_18),
    result("tools/call", &["task"], ONLY_2025_11_25),
    result("tools/list", &["cacheScope"], Revisions::MODERN),
    result("tools/list", &["tools", EACH_ELEMENT, "_meta"], SINCE_2025_06_18),
    result("tools/list", &["tools", EACH_ELEMENT, "annotations"], SINCE_2025_03_26),
    result("tools/list", &["tools", EACH_ELEMENT, "execution"], ONLY_2025_11_25),
    result("tools/list", &["tools", EACH_ELEMENT, "icons"], SINCE_2025_11_25),
    result("tools/list", &["tools", EACH_ELEMENT, "inputSchema", "$schema"], SINCE_2025_11_25),
    result("tools/list", &["tools", EACH_ELEMENT, "outputSchema"], SINCE_2025_06_18),
    result("tools/list", &["tools", EACH_ELEMENT, "outputSchema", "$schema"], SINCE_2025_11_25),
    result("tools/list", &["tools", EACH_ELEMENT, "title"], SINCE_2025_06_18),
    result("tools/list", &["ttlMs"], Revisions::MODERN),
];

const SINCE_2025_03_26: Revisions = Revisions::since(Revision::V2025_03_26);
const SINCE_2025_06_18: Revisions = Revisions::since(Revision::V2025_06_18);
const SINCE_2025_11_25: Revisions = Revisions::since(Revision::V2025_11_25);
const ONLY_2025_11_25: Revisions = Revisions::only(Revision::V2025_11_25);
const LEGACY_SINCE_2025_06_18: Revisions = Revisions::LEGACY.intersection(SINCE_2025_06_18);

const fn params(method: &'static str, path: &'static [&'static str], revisions: Revisions) -> Field {
    Field { method, place: Place::Params, path, revisions }
}

const fn result(method: &'static str, path: &'static [&'static str], revisions: Revisions) -> Field {
    Field { method, place: Place::Result, path, revisions }
}
