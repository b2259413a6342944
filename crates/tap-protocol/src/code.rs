//! Error codes, by revision, and the ranges that codes come from.

use crate::revision::{Revision, Revisions};

/// The text was not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The JSON was not a request.
pub const INVALID_REQUEST: i64 = -32600;
/// The method does not exist, or its capability was not declared.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The params do not fit.
pub const INVALID_PARAMS: i64 = -32602;
/// The receiver failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// The user refused a sampling request.
pub const USER_REJECTED: i64 = -1;
/// There is no such resource; in the modern era [`INVALID_PARAMS`] says so.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// HTTP headers and body disagree.
pub const HEADER_MISMATCH: i64 = -32020;
/// The request did not declare a capability that its processing needs.
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// The server does not speak the revision that the request names.
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
/// A URL must be visited first.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;

/// An error code that a revision defines: one row of [`ERROR_CODES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode {
    /// The number in `error.code`.
    pub code: i64,
    /// Its name in the specification.
    pub name: &'static str,
    /// The revisions that define it.
    pub revisions: Revisions,
    /// What it says, for a reader who does not know the specification.
    pub meaning: &'static str,
}

/// Every code that a revision defines, smallest first.
///
/// Source: the constants of each schema; 2026-07-28, basic/index, Error Codes; −32002 from server/resources and −1 from
/// client/sampling, Error Handling, of the legacy revisions.
pub static ERROR_CODES: &[ErrorCode] = &[
    ErrorCode {
        code: PARSE_ERROR,
        name: "ParseError",
        revisions: Revisions::ALL,
        meaning: "the message was not valid JSON",
    },
    ErrorCode {
        code: INTERNAL_ERROR,
        name: "InternalError",
        revisions: Revisions::ALL,
        meaning: "the receiver failed while it worked on the request",
    },
    ErrorCode {
        code: INVALID_PARAMS,
        name: "InvalidParams",
        revisions: Revisions::ALL,
        meaning: "the params do not fit the method, or name something that does not exist",
    },
    ErrorCode {
        code: METHOD_NOT_FOUND,
        name: "MethodNotFound",
        revisions: Revisions::ALL,
        meaning: "the receiver does not have this method, or did not declare its capability",
    },
    ErrorCode {
        code: INVALID_REQUEST,
        name: "InvalidRequest",
        revisions: Revisions::ALL,
        meaning: "the message was JSON, but not a valid request",
    },
    ErrorCode {
        code: URL_ELICITATION_REQUIRED,
        name: "URLElicitationRequired",
        revisions: Revisions::only(Revision::V2025_11_25),
        meaning: "the user must visit a URL before the request can be made again",
    },
    ErrorCode {
        code: UNSUPPORTED_PROTOCOL_VERSION,
        name: "UnsupportedProtocolVersion",
        revisions: Revisions::MODERN,
        meaning: "the server does not speak the protocol version that the request names",
    },
    ErrorCode {
        code: MISSING_CLIENT_CAPABILITY,
        name: "MissingRequiredClientCapability",
        revisions: Revisions::MODERN,
        meaning: "the request did not declare a client capability that the server needs for it",
    },
    ErrorCode {
        code: HEADER_MISMATCH,
        name: "HeaderMismatch",
        revisions: Revisions::MODERN,
        meaning: "an HTTP header is missing, malformed, or disagrees with the body",
    },
    ErrorCode {
        code: RESOURCE_NOT_FOUND,
        name: "ResourceNotFound",
        revisions: Revisions::LEGACY,
        meaning: "there is no resource of this URI",
    },
    ErrorCode {
        code: USER_REJECTED,
        name: "UserRejected",
        revisions: Revisions::LEGACY,
        meaning: "the user refused the sampling request",
    },
];

/// What `code` means in `revision`, where that revision defines it.
#[must_use]
pub fn error_code(code: i64, revision: Revision) -> Option<&'static ErrorCode> {
    ERROR_CODES.iter().find(|row| row.code == code && row.revisions.contains(revision))
}

/// Whether JSON-RPC keeps this code for itself: −32768 to −32000. Applications take theirs from elsewhere.
///
/// Source: JSON-RPC 2.0, Error object; 2026-07-28, basic/index, Error Codes.
#[must_use]
pub const fn is_json_rpc_range(code: i64) -> bool {
    -32768 <= code && code <= -32000
}

/// Whether only the specification may define this code: −32099 to −32020. One that it does not define must not be sent.
///
/// Source: 2026-07-28, basic/index, Error Codes.
#[must_use]
pub const fn is_reserved_for_specification(code: i64) -> bool {
    -32099 <= code && code <= -32020
}

/// Whether implementations used this code before there was a rule: −32019 to −32000. It means nothing certain.
///
/// Source: 2026-07-28, basic/index, Error Codes, which excepts −32002 ([`RESOURCE_NOT_FOUND`]).
#[must_use]
pub const fn is_legacy_range(code: i64) -> bool {
    -32019 <= code && code <= -32000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stand_in_order_and_once() {
        assert!(ERROR_CODES.is_sorted_by(|left, right| left.code < right.code));
    }

    #[test]
    fn a_code_is_known_where_it_is_defined() {
        for (code, revision, expected) in [
            (-32700, Revision::V2024_11_05, Some("ParseError")),
            (-32603, Revision::V2026_07_28, Some("InternalError")),
            (-32002, Revision::V2025_11_25, Some("ResourceNotFound")),
            (-32002, Revision::V2026_07_28, None),
            (-32042, Revision::V2025_11_25, Some("URLElicitationRequired")),
            (-32042, Revision::V2025_06_18, None),
            (-32042, Revision::V2026_07_28, None),
            (-32022, Revision::V2025_11_25, None),
            (-32022, Revision::V2026_07_28, Some("UnsupportedProtocolVersion")),
            (0, Revision::V2026_07_28, None),
        ] {
            assert_eq!(error_code(code, revision).map(|row| row.name), expected, "{code} in {revision}");
        }
    }

    #[test]
    fn ranges_end_where_the_specification_says() {
        for (code, json_rpc, reserved, legacy) in [
            (-32769, false, false, false),
            (-32768, true, false, false),
            (-32100, true, false, false),
            (-32099, true, true, false),
            (-32020, true, true, false),
            (-32019, true, false, true),
            (-32000, true, false, true),
            (-31999, false, false, false),
        ] {
            let found = (is_json_rpc_range(code), is_reserved_for_specification(code), is_legacy_range(code));
            assert_eq!(found, (json_rpc, reserved, legacy), "{code}");
        }
    }
}
