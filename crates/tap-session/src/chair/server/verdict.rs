//! Whether a request is one to be served, and what is wrong with it if not.

use tap_jsonrpc::Node;
use tap_protocol::{
    Era, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, MethodKind, Revision, Revisions,
    Side, UNSUPPORTED_PROTOCOL_VERSION, meta, method,
};

use super::{Server, Spoken};
use crate::chair::seat::Heard;
use crate::chair::{ErrorReply, write};
use crate::state::Kept;

/// What to do with a request.
pub(super) enum Verdict {
    /// Agree on this revision.
    Initialize(Revision),
    /// Say what the server is.
    Discover(Revision),
    /// Say that the server is there.
    Pong,
    /// Open a subscription.
    Listen(Revision),
    /// Serve it.
    Serve { revision: Revision, capabilities: Option<Kept> },
    /// Answer with an error.
    Refuse(ErrorReply),
}

fn refuse(code: i64, message: impl Into<String>) -> Verdict {
    Verdict::Refuse(ErrorReply::new(code, message))
}

impl Server {
    fn modern(&self) -> Revisions {
        self.options.revisions.intersection(Revisions::MODERN)
    }

    fn legacy(&self) -> Revisions {
        self.options.revisions.intersection(Revisions::LEGACY)
    }

    /// The versions of `server/discover`: those that can be named in a request.
    pub(super) fn supported(&self) -> Vec<u8> {
        write::array(self.modern().iter().map(Revision::as_str))
    }

    pub(super) fn verdict(&self, heard: &Heard<'_>) -> Verdict {
        let name = heard.method();
        if heard.node.get("params").is_some_and(|params| !params.is_object()) {
            return refuse(INVALID_PARAMS, "params are no object");
        }
        let version = heard.param(&["_meta", meta::PROTOCOL_VERSION]);
        let only_modern = method(name).is_some_and(|method| method.revisions().is_subset_of(Revisions::MODERN));
        match (self.spoken, name) {
            (_, "initialize") => self.handshake(heard),
            (Spoken::Legacy { revision, .. }, _) if version.is_some() => {
                refuse(INVALID_REQUEST, format!("this connection was initialized with {revision}"))
            }
            (Spoken::Legacy { revision, .. }, _) => self.legacy_request(name, revision),
            (Spoken::Modern { .. }, _) => self.modern_request(heard),
            (Spoken::Nothing, _) if !self.modern().is_empty() && (version.is_some() || only_modern) => {
                self.modern_request(heard)
            }
            (Spoken::Nothing, "ping") if !self.legacy().is_empty() => Verdict::Pong,
            (Spoken::Nothing, _) if self.legacy().is_empty() => self.modern_request(heard),
            (Spoken::Nothing, _) if only_modern => refuse(METHOD_NOT_FOUND, format!("there is no `{name}`")),
            (Spoken::Nothing, _) => refuse(INVALID_REQUEST, "the first request has to be `initialize`"),
        }
    }

    /// `initialize`: the revision that is asked for, if it can be, and otherwise the newest one.
    ///
    /// It is never part of a batch: before it there are none, and after it there is no second one.
    fn handshake(&self, heard: &Heard<'_>) -> Verdict {
        let newest = self.legacy().iter().next_back();
        let asked = heard.param(&["protocolVersion"]).and_then(Node::text);
        match (self.spoken, newest, asked) {
            (Spoken::Legacy { .. }, ..) => refuse(INVALID_REQUEST, "this connection was initialized before"),
            (Spoken::Modern { .. }, _, asked) | (Spoken::Nothing, None, asked) => {
                self.unsupported(asked.as_deref().unwrap_or_default())
            }
            (Spoken::Nothing, Some(_), None) => refuse(INVALID_PARAMS, "`protocolVersion` is missing"),
            (Spoken::Nothing, Some(newest), Some(asked)) => {
                let known = Revision::from_text(&asked).filter(|revision| self.legacy().contains(*revision));
                Verdict::Initialize(known.unwrap_or(newest))
            }
        }
    }

    fn unsupported(&self, asked: &str) -> Verdict {
        let data = write::Object::new().member("supported", &self.supported()).text("requested", asked).done();
        Verdict::Refuse(ErrorReply {
            data: Some(String::from_utf8_lossy(&data).into_owned()),
            ..ErrorReply::new(UNSUPPORTED_PROTOCOL_VERSION, "this server speaks other revisions")
        })
    }

    fn legacy_request(&self, name: &str, revision: Revision) -> Verdict {
        if name == "ping" {
            return Verdict::Pong;
        }
        let capabilities = self.state().client.capabilities.clone();
        self.method_of(name, revision, capabilities)
    }

    fn modern_request(&self, heard: &Heard<'_>) -> Verdict {
        let keys = [meta::PROTOCOL_VERSION, meta::CLIENT_CAPABILITIES];
        let [version, capabilities] = heard.param(&["_meta"]).map_or([None; 2], |meta| meta.pick(keys));
        let Some(version) = version.and_then(Node::text) else {
            return refuse(INVALID_PARAMS, format!("`_meta` has no text `{}`", keys[0]));
        };
        let Some(capabilities) = capabilities.filter(|capabilities| capabilities.is_object()) else {
            return refuse(INVALID_PARAMS, format!("`_meta` has no object `{}`", keys[1]));
        };
        let Some(revision) = Revision::from_text(&version).filter(|revision| self.modern().contains(*revision)) else {
            return self.unsupported(&version);
        };
        match heard.method() {
            "server/discover" => Verdict::Discover(revision),
            "subscriptions/listen" => Verdict::Listen(revision),
            name => self.method_of(name, revision, Some(heard.keep(capabilities))),
        }
    }

    /// Whether the revision has the method, and both sides have declared what it needs.
    fn method_of(&self, name: &str, revision: Revision, capabilities: Option<Kept>) -> Verdict {
        let Some(method) = method(name) else {
            // Of an extension, perhaps: who has declared one knows.
            return Verdict::Serve { revision, capabilities };
        };
        if method.kind == MethodKind::Notification {
            return refuse(INVALID_REQUEST, format!("`{name}` is a notification"));
        }
        if !method.may_send(revision, Side::Client) {
            return refuse(METHOD_NOT_FOUND, format!("there is no `{name}` for clients in {revision}"));
        }
        for need in method.needs(revision, Side::Client) {
            let (declared, code) = match need.declared_by {
                Side::Server => (Some(&self.capabilities), METHOD_NOT_FOUND),
                Side::Client => (capabilities.as_ref(), MISSING_CLIENT_CAPABILITY),
            };
            if declared.is_some_and(|declared| declared.declares(need.path)) {
                continue;
            }
            let message = format!("`{name}` needs the capability `{}`", need.path.join("."));
            return match (code, revision.era()) {
                (MISSING_CLIENT_CAPABILITY, Era::Modern) => {
                    let required = need
                        .path
                        .iter()
                        .rev()
                        .fold(b"{}".to_vec(), |inner, name| write::Object::new().member(name, &inner).done());
                    let data = write::Object::new().member("requiredCapabilities", &required).done();
                    let data = Some(String::from_utf8_lossy(&data).into_owned());
                    Verdict::Refuse(ErrorReply { data, ..ErrorReply::new(code, message) })
                }
                (MISSING_CLIENT_CAPABILITY, Era::Legacy) => refuse(INVALID_REQUEST, message),
                _ => refuse(code, message),
            };
        }
        Verdict::Serve { revision, capabilities }
    }
}
