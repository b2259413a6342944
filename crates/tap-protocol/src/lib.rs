//! What MCP is: revisions, eras, methods, capabilities, error codes, fields. Tables, and questions to them.
//!
//! May know: what the specification says, in any revision. Must not know: messages of a session, I/O, clocks. A row says
//! in which [`Revisions`] it holds, so that one table serves all of them; what a peer did wrong is for others to say.
//!
//! The tests compare every table with the JSON Schemas of the five revisions, both ways.
//!
//! Start reading at [`Revision`], then [`METHODS`].

mod capability;
mod code;
mod content;
mod field;
mod list;
mod method;
mod required;
mod revision;

pub mod meta;

pub use capability::{CAPABILITIES, Capability, capability};
pub use code::{
    ERROR_CODES, ErrorCode, HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY, PARSE_ERROR, RESOURCE_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, URL_ELICITATION_REQUIRED,
    USER_REJECTED, error_code, is_json_rpc_range, is_legacy_range, is_reserved_for_specification,
};
pub use content::{
    CACHE_SCOPES, ContentPlace, LOG_LEVELS, RESULT_TYPES, TASK_RESULT_TYPE, TASK_STATUSES, content_types, is_terminal,
    log_level,
};
pub use field::{ANY_METHOD, EACH_ELEMENT, EACH_MEMBER, FIELDS, Field, Place, fields};
pub use list::ListKind;
pub use method::{
    Extension, METHODS, Method, MethodKind, Need, SKILLS_EXTENSION, Senders, Side, TASKS_EXTENSION, method,
};
pub use required::{Kind, Member, optional_members, required_params, required_result};
pub use revision::{Era, Revision, Revisions};
