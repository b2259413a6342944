//! The rows of [`METHODS`].

use super::MethodKind::{Notification, Request};
use super::Senders::{Both, Client, Server};
use super::{Extension, Method, Need, SKILLS_EXTENSION, Side, TASKS_EXTENSION};
use crate::revision::{Revision, Revisions};

/// Every method of every revision, of the tasks extension and of the skills extension; sorted by name.
///
/// Source: the unions `ClientRequest`, `ServerRequest`, `ClientNotification`, `ServerNotification` and `InputRequest` of
/// each schema; capabilities from the page of each feature; 2026-07-28, basic/patterns/mrtr, Supported Requests, and
/// server/utilities/caching; ext-tasks 2026-07-28; SEP-2640 for skills.
pub static METHODS: &[Method] = &[
    Method {
        senders: &[(Revisions::ALL, Client)],
        // The first release has no capability for it.
        needs: &[server(Revisions::since(Revision::V2025_03_26), &["completions"])],
        ..request("completion/complete")
    },
    Method {
        senders: &[(ELICITATION.intersection(Revisions::LEGACY), Server)],
        needs: &[client(ELICITATION, &["elicitation"])],
        embedded: Revisions::MODERN,
        replaced_by: Some(INPUT_REQUESTS),
        ..request("elicitation/create")
    },
    Method {
        senders: &[(Revisions::LEGACY, Client)],
        replaced_by: Some("`_meta` on every request, and `server/discover`"),
        cancellable: false,
        ..request("initialize")
    },
    Method {
        senders: &[(Revisions::LEGACY, Client)],
        needs: &[server(Revisions::LEGACY, &["logging"])],
        replaced_by: Some("`_meta[\"io.modelcontextprotocol/logLevel\"]` on each request"),
        ..request("logging/setLevel")
    },
    // The modern server ends a subscription with it, on stdio, and cancels nothing else.
    Method { senders: &[(Revisions::ALL, Both)], ..notification("notifications/cancelled") },
    Method {
        senders: &[(URL_ELICITATION, Server)],
        needs: &[client(URL_ELICITATION, &["elicitation", "url"])],
        replaced_by: Some("asking again with `inputResponses`: the result tells the outcome"),
        ..notification("notifications/elicitation/complete")
    },
    Method {
        senders: &[(Revisions::LEGACY, Client)],
        replaced_by: Some("nothing: there is no handshake to finish"),
        ..notification("notifications/initialized")
    },
    Method {
        senders: &[(Revisions::ALL, Server)],
        needs: &[own_server(Revisions::ALL, &["logging"])],
        ..notification("notifications/message")
    },
    Method {
        senders: &[(Revisions::LEGACY, Both), (Revisions::MODERN, Server)],
        ..notification("notifications/progress")
    },
    Method {
        senders: &[(Revisions::ALL, Server)],
        needs: &[own_server(Revisions::ALL, &["prompts", "listChanged"])],
        ..notification("notifications/prompts/list_changed")
    },
    Method {
        senders: &[(Revisions::ALL, Server)],
        needs: &[own_server(Revisions::ALL, &["resources", "listChanged"])],
        ..notification("notifications/resources/list_changed")
    },
    Method {
        senders: &[(Revisions::ALL, Server)],
        needs: &[own_server(Revisions::ALL, &["resources", "subscribe"])],
        ..notification("notifications/resources/updated")
    },
    Method {
        senders: &[(Revisions::LEGACY, Client)],
        needs: &[own_client(Revisions::LEGACY, &["roots", "listChanged"])],
        replaced_by: Some("nothing: the server asks for `roots/list` in `inputRequests` when it needs them"),
        ..notification("notifications/roots/list_changed")
    },
    Method { senders: &[(Revisions::MODERN, Server)], ..notification("notifications/subscriptions/acknowledged") },
    Method {
        senders: &[(Revisions::MODERN, Server)],
        needs: &[client(Revisions::MODERN, &["extensions", TASKS_EXTENSION])],
        extension: Some(TASKS),
        ..notification("notifications/tasks")
    },
    Method {
        senders: &[(CORE_TASKS, Both)],
        replaced_by: Some("`notifications/tasks` of the tasks extension"),
        ..notification("notifications/tasks/status")
    },
    Method {
        senders: &[(Revisions::ALL, Server)],
        needs: &[own_server(Revisions::ALL, &["tools", "listChanged"])],
        ..notification("notifications/tools/list_changed")
    },
    Method {
        senders: &[(Revisions::LEGACY, Both)],
        replaced_by: Some("`server/discover`, where a sign of life is wanted"),
        ..request("ping")
    },
    Method {
        senders: &[(Revisions::ALL, Client)],
        needs: &[server(Revisions::ALL, &["prompts"])],
        rounds: true,
        ..request("prompts/get")
    },
    Method {
        senders: &[(Revisions::ALL, Client)],
        needs: &[server(Revisions::ALL, &["prompts"])],
        paginated: true,
        cacheable: true,
        ..request("prompts/list")
    },
    Method {
        senders: &[(Revisions::MODERN, Client)],
        needs: &[server(Revisions::MODERN, &["extensions", SKILLS_EXTENSION, "directoryRead"])],
        extension: Some(SKILLS),
        paginated: true,
        ..request("resources/directory/read")
    },
    Method {
        senders: &[(Revisions::ALL, Client)],
        needs: &[server(Revisions::ALL, &["resources"])],
        paginated: true,
        cacheable: true,
        ..request("resources/list")
    },
    Method {
        senders: &[(Revisions::ALL, Client)],
        needs: &[server(Revisions::ALL, &["resources"])],
        cacheable: true,
        rounds: true,
        ..request("resources/read")
    },
    Method {
        senders: &[(Revisions::LEGACY, Client)],
        needs: &[server(Revisions::LEGACY, &["resources", "subscribe"])],
        replaced_by: Some("`subscriptions/listen` with `resourceSubscriptions`"),
        ..request("resources/subscribe")
    },
    Method {
        senders: &[(Revisions::ALL, Client)],
        needs: &[server(Revisions::ALL, &["resources"])],
        paginated: true,
        cacheable: true,
        ..request("resources/templates/list")
    },
    Method {
        senders: &[(Revisions::LEGACY, Client)],
        needs: &[server(Revisions::LEGACY, &["resources", "subscribe"])],
        replaced_by: Some("cancelling `subscriptions/listen`"),
        ..request("resources/unsubscribe")
    },
    Method {
        senders: &[(Revisions::LEGACY, Server)],
        needs: &[client(Revisions::ALL, &["roots"])],
        embedded: Revisions::MODERN,
        replaced_by: Some(INPUT_REQUESTS),
        ..request("roots/list")
    },
    Method {
        senders: &[(Revisions::LEGACY, Server)],
        needs: &[client(Revisions::ALL, &["sampling"])],
        embedded: Revisions::MODERN,
        replaced_by: Some(INPUT_REQUESTS),
        ..request("sampling/createMessage")
    },
    Method { senders: &[(Revisions::MODERN, Client)], cacheable: true, ..request("server/discover") },
    Method {
        senders: &[(Revisions::MODERN, Client)],
        needs: &[server(Revisions::MODERN, &["extensions", SKILLS_EXTENSION])],
        extension: Some(SKILLS),
        cacheable: true,
        ..request("skills/get")
    },
    Method {
        senders: &[(Revisions::MODERN, Client)],
        needs: &[server(Revisions::MODERN, &["extensions", SKILLS_EXTENSION])],
        extension: Some(SKILLS),
        paginated: true,
        cacheable: true,
        ..request("skills/list")
    },
    Method { senders: &[(Revisions::MODERN, Client)], ..request("subscriptions/listen") },
    Method {
        senders: &[(CORE_TASKS, Both), (Revisions::MODERN, Client)],
        needs: &[
            server(CORE_TASKS, &["tasks", "cancel"]),
            client(CORE_TASKS, &["tasks", "cancel"]),
            server(Revisions::MODERN, &["extensions", TASKS_EXTENSION]),
            own_client(Revisions::MODERN, &["extensions", TASKS_EXTENSION]),
        ],
        extension: Some(TASKS),
        ..request("tasks/cancel")
    },
    Method {
        senders: &[(CORE_TASKS, Both), (Revisions::MODERN, Client)],
        needs: &[
            server(CORE_TASKS, &["tasks"]),
            client(CORE_TASKS, &["tasks"]),
            server(Revisions::MODERN, &["extensions", TASKS_EXTENSION]),
            own_client(Revisions::MODERN, &["extensions", TASKS_EXTENSION]),
        ],
        extension: Some(TASKS),
        ..request("tasks/get")
    },
    Method {
        senders: &[(CORE_TASKS, Both)],
        needs: &[server(CORE_TASKS, &["tasks", "list"]), client(CORE_TASKS, &["tasks", "list"])],
        replaced_by: Some("nothing: the tasks extension has no list"),
        paginated: true,
        ..request("tasks/list")
    },
    Method {
        senders: &[(CORE_TASKS, Both)],
        needs: &[server(CORE_TASKS, &["tasks"]), client(CORE_TASKS, &["tasks"])],
        replaced_by: Some("`tasks/get` of the tasks extension, which holds the result"),
        ..request("tasks/result")
    },
    Method {
        senders: &[(Revisions::MODERN, Client)],
        needs: &[
            server(Revisions::MODERN, &["extensions", TASKS_EXTENSION]),
            own_client(Revisions::MODERN, &["extensions", TASKS_EXTENSION]),
        ],
        extension: Some(TASKS),
        ..request("tasks/update")
    },
    Method {
        senders: &[(Revisions::ALL, Client)],
        needs: &[server(Revisions::ALL, &["tools"])],
        rounds: true,
        ..request("tools/call")
    },
    Method {
        senders: &[(Revisions::ALL, Client)],
        needs: &[server(Revisions::ALL, &["tools"])],
        paginated: true,
        cacheable: true,
        ..request("tools/list")
    },
];

const ELICITATION: Revisions = Revisions::since(Revision::V2025_06_18);
const URL_ELICITATION: Revisions = Revisions::only(Revision::V2025_11_25);
const CORE_TASKS: Revisions = Revisions::only(Revision::V2025_11_25);
const INPUT_REQUESTS: &str = "`inputRequests` in a result of `input_required`";

const TASKS: Extension = Extension { name: TASKS_EXTENSION, revisions: Revisions::MODERN };
const SKILLS: Extension = Extension { name: SKILLS_EXTENSION, revisions: Revisions::MODERN };

/// A request without needs that can be cancelled, and nothing more.
const fn request(name: &'static str) -> Method {
    Method {
        name,
        kind: Request,
        senders: &[],
        needs: &[],
        embedded: Revisions::NONE,
        extension: None,
        replaced_by: None,
        cancellable: true,
        paginated: false,
        cacheable: false,
        rounds: false,
    }
}

/// A notification without needs.
const fn notification(name: &'static str) -> Method {
    Method { kind: Notification, cancellable: false, ..request(name) }
}

/// What the server must have declared before the client sends.
const fn server(revisions: Revisions, path: &'static [&'static str]) -> Need {
    Need { revisions, sender: Side::Client, declared_by: Side::Server, path }
}

/// What the client must have declared before the server sends.
const fn client(revisions: Revisions, path: &'static [&'static str]) -> Need {
    Need { revisions, sender: Side::Server, declared_by: Side::Client, path }
}

/// What the server must have declared before it sends.
const fn own_server(revisions: Revisions, path: &'static [&'static str]) -> Need {
    Need { revisions, sender: Side::Server, declared_by: Side::Server, path }
}

/// What the client must have declared before it sends.
const fn own_client(revisions: Revisions, path: &'static [&'static str]) -> Need {
    Need { revisions, sender: Side::Client, declared_by: Side::Client, path }
}
