//! The keys of `_meta`: those that the specification defines, how a key is spelled, and which ones are not free.

use crate::revision::{Revision, Revisions};

/// The version that a modern request speaks. Required there.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What the client can do, for this request. Required on a modern one.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The client's name and version, on a modern request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The server's name and version, on a modern result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The lowest level of log messages that a modern request asks for.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The id of the `subscriptions/listen` request that a modern notification belongs to, with its JSON type.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The task that a message of 2025-11-25 belongs to.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// Text for the model while a task of 2025-11-25 runs.
pub const MODEL_IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";
/// The token that progress notifications for a request will carry.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// W3C Trace Context: the caller's span.
pub const TRACEPARENT: &str = "traceparent";
/// W3C Trace Context: what vendors add.
pub const TRACESTATE: &str = "tracestate";
/// W3C Baggage.
pub const BAGGAGE: &str = "baggage";

/// A message that carries `_meta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetaPlace {
    /// In a request's `params`.
    Request,
    /// In a notification's `params`.
    Notification,
    /// In a `result`.
    Result,
}

/// A key of `_meta` that the core specification defines: one row of [`META_KEYS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetaKey {
    /// The whole key, prefix included.
    pub name: &'static str,
    /// Where it stands.
    pub places: &'static [MetaPlace],
    /// The revisions that define it.
    pub revisions: Revisions,
}

/// Every key that the core specification defines.
///
/// Source: 2026-07-28, basic/index, `_meta`, Reserved keys; 2025-11-25, basic/utilities/tasks; `progressToken` from
/// `RequestParams` of each schema. The trace keys were in use before 2026-07-28 named them.
pub static META_KEYS: &[MetaKey] = &[
    MetaKey { name: PROGRESS_TOKEN, places: &[MetaPlace::Request], revisions: Revisions::ALL },
    MetaKey { name: PROTOCOL_VERSION, places: &[MetaPlace::Request], revisions: Revisions::MODERN },
    MetaKey { name: CLIENT_CAPABILITIES, places: &[MetaPlace::Request], revisions: Revisions::MODERN },
    MetaKey { name: CLIENT_INFO, places: &[MetaPlace::Request], revisions: Revisions::MODERN },
    MetaKey { name: LOG_LEVEL, places: &[MetaPlace::Request], revisions: Revisions::MODERN },
    MetaKey { name: SERVER_INFO, places: &[MetaPlace::Result], revisions: Revisions::MODERN },
    MetaKey {
        name: SUBSCRIPTION_ID,
        places: &[MetaPlace::Notification, MetaPlace::Result],
        revisions: Revisions::MODERN,
    },
    MetaKey {
        name: RELATED_TASK,
        places: &[MetaPlace::Request, MetaPlace::Notification, MetaPlace::Result],
        revisions: Revisions::only(Revision::V2025_11_25),
    },
    MetaKey {
        name: MODEL_IMMEDIATE_RESPONSE,
        places: &[MetaPlace::Result],
        revisions: Revisions::only(Revision::V2025_11_25),
    },
    MetaKey {
        name: TRACEPARENT,
        places: &[MetaPlace::Request, MetaPlace::Notification, MetaPlace::Result],
        revisions: Revisions::MODERN,
    },
    MetaKey {
        name: TRACESTATE,
        places: &[MetaPlace::Request, MetaPlace::Notification, MetaPlace::Result],
        revisions: Revisions::MODERN,
    },
    MetaKey {
        name: BAGGAGE,
        places: &[MetaPlace::Request, MetaPlace::Notification, MetaPlace::Result],
        revisions: Revisions::MODERN,
    },
];

/// The row of a key that the core specification defines, in whatever revision.
#[must_use]
pub fn meta_key(name: &str) -> Option<&'static MetaKey> {
    META_KEYS.iter().find(|key| key.name == name)
}

/// Whether a key of `_meta` is spelled as the specification wants it: labels with dots and a slash, or none of them, and
/// a name, which may be empty.
///
/// Source: 2025-06-18 to 2026-07-28, basic/index, `_meta`. Older revisions have no rule.
#[must_use]
pub fn key_is_well_formed(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => prefix.split('.').all(is_label) && is_name(name),
        None => is_name(key),
    }
}

/// Whether the specification keeps this key for itself: by its prefix, or because `revision` gives the bare key a
/// meaning.
///
/// A key that is reserved and has no row in [`META_KEYS`] comes from an official extension, or from a mistake.
///
/// Source: basic/index, `_meta`. 2025-06-18 reserves a prefix in which `mcp` or `modelcontextprotocol` is followed by a
/// label; from 2025-11-25 on, one whose second label is either of them. Older revisions reserve no prefix.
#[must_use]
pub fn key_is_reserved(key: &str, revision: Revision) -> bool {
    let Some((prefix, _)) = key.split_once('/') else {
        return meta_key(key).is_some_and(|row| row.revisions.contains(revision));
    };
    let is_ours = |label: &str| matches!(label, "mcp" | "modelcontextprotocol");
    match revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 => false,
        Revision::V2025_06_18 => {
            let before_last = prefix.rsplit_once('.').map_or("", |(rest, _)| rest);
            before_last.split('.').any(is_ours)
        }
        Revision::V2025_11_25 | Revision::V2026_07_28 => prefix.split('.').nth(1).is_some_and(is_ours),
    }
}

/// Starts with a letter, ends with a letter or digit; letters, digits and hyphens between.
fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// Empty, or letters and digits at both ends; letters, digits, `-`, `_` and `.` between.
fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_none_or(u8::is_ascii_alphanumeric)
        && bytes.last().is_none_or(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}
