//! What is seen of one message, with all that is known of it before it takes effect.

use bytes::Bytes;
use tap_frame::{Direction, Frame};
use tap_jsonrpc::{Node, Notes};
use tap_protocol::{Method, Revisions, Side, meta};

use super::KEPT_LIMIT_BYTES;
use crate::row::{At, MessageRow};
use crate::state::Kept;

/// How much of a message a part that is kept may keep in memory beside itself, bytes: to copy a part costs more than that.
const KEPT_BESIDE_BYTES: usize = 1024;

/// One message, with all that is known of it before it takes effect.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) row: &'a MessageRow,
    /// The message.
    pub(crate) node: Node<'a>,
    /// What is odd about it.
    pub(crate) notes: Notes,
    pub(crate) scope: u64,
    /// Who sent it.
    pub(crate) side: Side,
    /// Of a request or notification: what the specification says of its method.
    pub(crate) method: Option<&'static Method>,
    /// The revisions that it may be of.
    pub(crate) revisions: Revisions,
    pub(crate) params: Option<Node<'a>>,
    pub(crate) result: Option<Node<'a>>,
    pub(crate) error: Option<Node<'a>>,
    /// `_meta` of its `params` or `result`.
    pub(crate) meta: Option<Node<'a>>,
    /// What is in there that the specification gives a meaning.
    pub(crate) said: Said<'a>,
    /// Members of its `params` or `result` that several rules look at.
    pub(crate) parts: Parts<'a>,
}

/// Members of `params` and of `result` that several rules look at, found in one walk.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parts<'a> {
    pub(super) meta: Option<Node<'a>>,
    /// Of either.
    pub(crate) task: Option<Node<'a>>,
    pub(crate) request_state: Option<Node<'a>>,
    /// Of `params`.
    pub(crate) name: Option<Node<'a>>,
    pub(crate) arguments: Option<Node<'a>>,
    pub(crate) input_responses: Option<Node<'a>>,
    /// Of a `result`.
    pub(crate) result_type: Option<Node<'a>>,
    pub(crate) content: Option<Node<'a>>,
    pub(crate) structured_content: Option<Node<'a>>,
    pub(crate) is_error: Option<Node<'a>>,
    pub(crate) input_requests: Option<Node<'a>>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(params: Option<Node<'a>>, result: Option<Node<'a>>) -> Self {
        match (params, result) {
            (Some(params), _) => {
                let [meta, name, arguments, task, input_responses, request_state] =
                    params.pick(["_meta", "name", "arguments", "task", "inputResponses", "requestState"]);
                Self { meta, name, arguments, task, input_responses, request_state, ..Self::default() }
            }
            (None, Some(result)) => {
                let [meta, result_type, content, structured_content, is_error, task, input_requests, request_state] =
                    result.pick([
                        "_meta",
                        "resultType",
                        "content",
                        "structuredContent",
                        "isError",
                        "task",
                        "inputRequests",
                        "requestState",
                    ]);
                Self {
                    meta,
                    result_type,
                    content,
                    structured_content,
                    is_error,
                    task,
                    input_requests,
                    request_state,
                    ..Self::default()
                }
            }
            (None, None) => Self::default(),
        }
    }
}

/// The members of `_meta` that the specification gives a meaning, found in one walk.
#[derive(Clone, Copy, Default)]
pub(crate) struct Said<'a> {
    pub(crate) protocol_version: Option<Node<'a>>,
    pub(crate) client_capabilities: Option<Node<'a>>,
    pub(crate) client_info: Option<Node<'a>>,
    pub(crate) server_info: Option<Node<'a>>,
    pub(crate) log_level: Option<Node<'a>>,
    pub(crate) progress_token: Option<Node<'a>>,
    pub(crate) subscription_id: Option<Node<'a>>,
    pub(crate) related_task: Option<Node<'a>>,
}

impl<'a> Said<'a> {
    pub(super) fn of(meta: Option<Node<'a>>) -> Self {
        let Some(meta) = meta else {
            return Self::default();
        };
        let [
            protocol_version,
            client_capabilities,
            client_info,
            server_info,
            log_level,
            progress_token,
            subscription_id,
            related_task,
        ] = meta.pick([
            meta::PROTOCOL_VERSION,
            meta::CLIENT_CAPABILITIES,
            meta::CLIENT_INFO,
            meta::SERVER_INFO,
            meta::LOG_LEVEL,
            meta::PROGRESS_TOKEN,
            meta::SUBSCRIPTION_ID,
            meta::RELATED_TASK,
        ]);
        Self {
            protocol_version,
            client_capabilities,
            client_info,
            server_info,
            log_level,
            progress_token,
            subscription_id,
            related_task,
        }
    }
}

impl Seen<'_> {
    pub(crate) fn at(&self) -> At {
        self.row.at
    }

    pub(crate) fn at_ns(&self) -> u64 {
        self.row.at_ns
    }

    pub(crate) fn direction(&self) -> Direction {
        self.row.stream.direction()
    }

    /// The method's name as written; of an answer the method of its request.
    pub(crate) fn method_name(&self) -> &str {
        self.row.method.as_deref().unwrap_or_default()
    }

    /// Whether it is of the modern era for certain.
    pub(crate) fn is_modern(&self) -> bool {
        !self.revisions.is_empty() && self.revisions.is_subset_of(Revisions::MODERN)
    }

    /// Whether it is of the legacy era for certain.
    pub(crate) fn is_legacy(&self) -> bool {
        !self.revisions.is_empty() && self.revisions.is_subset_of(Revisions::LEGACY)
    }

    /// A member of its `params`.
    pub(crate) fn param(&self, name: &str) -> Option<Node<'_>> {
        self.params?.get(name)
    }

    /// Keeps a part of the message, unless it is very long: without copying it where it is most of the message.
    pub(crate) fn keep(&self, node: Node<'_>) -> Option<Kept> {
        let bytes = node.bytes();
        if bytes.len() > KEPT_LIMIT_BYTES {
            return None;
        }
        if self.is_shared(bytes) {
            Some(Kept(self.frame.bytes.slice_ref(bytes)))
        } else {
            Some(Kept(Bytes::copy_from_slice(bytes)))
        }
    }

    /// How much memory it takes to keep a part of the message, bytes.
    pub(super) fn kept_bytes(&self, node: Node<'_>) -> usize {
        if self.is_shared(node.bytes()) { self.frame.bytes.len() } else { node.bytes().len() }
    }

    fn is_shared(&self, bytes: &[u8]) -> bool {
        let (inside, part) = (self.frame.bytes.as_ptr_range(), bytes.as_ptr_range());
        inside.start <= part.start
            && part.end <= inside.end
            && self.frame.bytes.len() <= 2 * bytes.len() + KEPT_BESIDE_BYTES
    }
}
