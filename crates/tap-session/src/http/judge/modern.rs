//! The rules of HTTP in the modern era: what headers repeat of the body, and which status goes with which error.
//!
//! Source: MCP 2026-07-28, basic/transports/streamable-http, Request Metadata; basic/index, `_meta` and Error Codes.

use tap_jsonrpc::Node;
use tap_protocol::{
    HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, Side, UNSUPPORTED_PROTOCOL_VERSION,
    meta,
};

use super::super::annotations::Annotations;
use super::super::exchange::{Exchange, Mismatch, Verb};
use super::super::head::Headers;
use super::super::mirror::{Mirrored, badly_written, compare, compare_value};
use super::super::mirrored::named_by;
use super::{Answered, Asked, Judge, http_modern as rule};
use crate::row::At;
use crate::rule::{DETAIL_LIMIT_BYTES, Rule, clipped, quoted, quoted_bytes};

/// Problems of the tools of one list that are told.
const PROBLEMS: usize = 10;

impl Judge<'_> {
    /// What holds of requests in the modern era. What a server must refuse is left in `exchange`.
    pub(in super::super) fn modern_request(
        &mut self,
        asked: &Asked<'_, '_>,
        annotations: &Annotations,
        exchange: &mut Exchange,
    ) {
        let (at, headers, client) = (asked.at, asked.request.headers, Side::Client);
        if headers.has("mcp-session-id") {
            self.find(&rule::HTT_014, at, client, "sent by the client");
        }
        if headers.has("last-event-id") {
            self.find(&rule::HTT_022, at, client, "`Last-Event-ID`");
        }
        if exchange.verb != Verb::Post {
            return;
        }
        if asked.body.method.as_deref() == Some("notifications/cancelled") {
            self.find(&rule::CAN_009, at, client, "");
        }
        let is_one_request = !asked.body.node.is_array() && !asked.body.requests.is_empty();
        // Which headers a notification needs is not defined.
        if !is_one_request {
            return;
        }
        if !headers.has("mcp-protocol-version") {
            self.find(&rule::HTT_005, at, client, "");
            refuse(exchange, "there is no `MCP-Protocol-Version`", true);
        }
        let declared = |key: &str| asked.body.params.and_then(|params| params.at(&["_meta", key]));
        exchange.lacks_meta = !declared(meta::PROTOCOL_VERSION).is_some_and(Node::is_string)
            || !declared(meta::CLIENT_CAPABILITIES).is_some_and(Node::is_object);
        if let Some(version) = asked.body.named_revision() {
            self.mirrored("MCP-Protocol-Version", headers, &version, asked, exchange);
        }
        let method = asked.body.method.as_deref().unwrap_or_default();
        if headers.has("mcp-method") {
            self.mirrored("Mcp-Method", headers, method, asked, exchange);
        } else {
            self.missing("Mcp-Method", method, asked, exchange);
        }
        self.name(method, asked, exchange);
        if method == "tools/call" {
            self.parameters(asked, annotations, exchange);
        }
        for (name, value) in headers.with_prefix("mcp-param-") {
            if let (Some(why), None) = (badly_written(value), &exchange.mismatch) {
                let detail = format!("`Mcp-Param-{name}`: {why}");
                self.find(&rule::HTT_010, at, client, detail.clone());
                refuse(exchange, &detail, false);
            }
        }
    }

    /// `Mcp-Name`, where the method needs it.
    fn name(&mut self, method: &str, asked: &Asked<'_, '_>, exchange: &mut Exchange) {
        let Some(member) = named_by(method) else {
            return;
        };
        let Some(expected) = asked.body.params.and_then(|params| params.get(member)?.text()) else {
            return;
        };
        if asked.request.headers.has("mcp-name") {
            self.mirrored("Mcp-Name", asked.request.headers, &expected, asked, exchange);
        } else {
            self.missing("Mcp-Name", &expected, asked, exchange);
        }
    }

    /// A header that is to say what the body says.
    fn mirrored(
        &mut self,
        name: &'static str,
        headers: Headers<'_>,
        expected: &str,
        asked: &Asked<'_, '_>,
        exchange: &mut Exchange,
    ) {
        for raw in headers.all(name) {
            self.compared(name, compare(raw, expected), &quoted(expected), asked.at, exchange);
        }
    }

    fn compared(&mut self, name: &str, mirrored: Mirrored, expected: &str, at: At, exchange: &mut Exchange) {
        let (rule, detail): (&'static Rule, String) = match mirrored {
            Mirrored::Same => return,
            Mirrored::BadlyWritten(why) => (&rule::HTT_010, format!("`{name}`: {why}")),
            Mirrored::Differs(said) => (&rule::HTT_006, format!("`{name}` says {said}, and the body {expected}")),
        };
        self.find(rule, at, Side::Client, detail.clone());
        refuse(exchange, &detail, false);
    }

    fn missing(&mut self, name: &str, expected: &str, asked: &Asked<'_, '_>, exchange: &mut Exchange) {
        let detail = format!("there is no `{name}`, and the body says {}", quoted(expected));
        self.find(&rule::HTT_006, asked.at, Side::Client, detail.clone());
        refuse(exchange, &detail, false);
    }

    /// The headers of a tool's annotated parameters.
    fn parameters(&mut self, asked: &Asked<'_, '_>, annotations: &Annotations, exchange: &mut Exchange) {
        let [name, arguments] = asked.body.params.map_or([None; 2], |params| params.pick(["name", "arguments"]));
        let annotated = name.and_then(|name| annotations.of(&name.text()?, asked.at_ns));
        for annotation in annotated.iter().flat_map(|annotated| annotated.iter()) {
            let header = format!("Mcp-Param-{}", annotation.header);
            let raw = asked.request.headers.get(&header);
            let detail = match (annotation.argument(arguments), raw) {
                (None, None) => continue,
                (Some(argument), Some(raw)) => {
                    if let Some(mirrored) = compare_value(raw, argument) {
                        let shown = quoted_bytes(argument.bytes());
                        self.compared(&header, mirrored, &shown, asked.at, exchange);
                    }
                    continue;
                }
                (Some(_), None) => format!("there is no `{header}` for {}", annotation.parameter()),
                (None, Some(_)) => format!("`{header}` is there, and the argument {} is not", annotation.parameter()),
            };
            self.find(&rule::HTT_008, asked.at, Side::Client, detail.clone());
            refuse(exchange, &detail, false);
        }
    }

    pub(super) fn modern_head(&mut self, exchange: &Exchange, status: u16, headers: Headers<'_>, at: At) {
        if headers.has("mcp-session-id") && exchange.is_accepted() {
            self.find_once(&rule::HTT_014, at, Side::Server, "minted by the server");
        }
        if exchange.verb != Verb::Post && exchange.is_accepted() {
            let verb = if exchange.verb == Verb::Get { "GET" } else { "DELETE" };
            self.find(&rule::HTT_018, at, Side::Server, format!("{verb} was answered with {status}"));
        }
        if exchange.is_sse && exchange.is_accepted() && headers.get("x-accel-buffering") != Some(b"no") {
            self.find_once(&rule::HTT_032, at, Side::Server, "");
        }
    }

    /// An event with an id, which the modern era has no use for.
    pub(in super::super) fn event_id_on_modern(&mut self, at: At) {
        if self.session.is_modern() {
            self.find_once(&rule::HTT_022, at, Side::Server, "an event with an `id`");
        }
    }

    /// An answer, in a body or on a stream.
    pub(in super::super) fn modern_answer(&mut self, exchange: &Exchange, answered: &Answered<'_, '_>, proved: bool) {
        let (body, at, server) = (answered.body, answered.at, Side::Server);
        if let (Some(mismatch), Some(result)) = (&exchange.mismatch, body.result)
            && (!mismatch.without_version || result.get("resultType").is_some())
            && let Some(finding) = self.find(&rule::HTT_007, at, server, mismatch.detail.clone())
        {
            finding.others.push(exchange.opened);
        }
        let code = body.error.and_then(|error| error.get("code")?.as_i64());
        let (Some(code), Some(status), false) = (code, exchange.status, exchange.is_sse) else {
            return;
        };
        let is_of_modern = matches!(code, HEADER_MISMATCH | MISSING_CLIENT_CAPABILITY | UNSUPPORTED_PROTOCOL_VERSION);
        let (rule, expected) = match code {
            METHOD_NOT_FOUND if proved && exchange.method.as_deref() != Some("server/discover") => {
                (&rule::HTT_026, 404)
            }
            INVALID_PARAMS if proved && exchange.lacks_meta => (&rule::HTT_027, 400),
            _ if is_of_modern => (&rule::HTT_027, 400),
            _ => return,
        };
        if status != expected
            && let Some(finding) = self.find(rule, at, server, format!("{code} came with {status}"))
        {
            finding.others.push(exchange.opened);
        }
    }

    /// Annotations of listed tools that are wrong.
    pub(in super::super) fn annotations(&mut self, problems: &[(String, String)], at: At) {
        for (tool, why) in problems.iter().take(PROBLEMS) {
            self.find(&rule::HTT_009, at, Side::Server, format!("tool {}: {why}", quoted(tool)));
        }
    }
}

fn refuse(exchange: &mut Exchange, detail: &str, without_version: bool) {
    exchange.mismatch.get_or_insert_with(|| Mismatch { detail: clipped(detail, DETAIL_LIMIT_BYTES), without_version });
}
