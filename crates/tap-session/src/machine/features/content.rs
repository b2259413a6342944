//! Blocks of content: their types, and the data and resources in them.

use tap_jsonrpc::Node;
use tap_protocol::{ContentPlace, Revision, content_types};

use super::{Several, base64};
use crate::machine::{Out, Seen};
use crate::rule::{Severity, quoted};
use crate::rules::features as rule;
use crate::rules::features::resources::RES_003;

/// Looks at the blocks of one message, and tells afterwards what was wrong with them.
pub(super) struct Blocks<'s> {
    seen: &'s Seen<'s>,
    place: ContentPlace,
    types: Several,
    data: Several,
    data_mild: Several,
    resources: Several,
}

impl<'s> Blocks<'s> {
    pub(super) fn new(seen: &'s Seen<'s>, place: ContentPlace) -> Self {
        let [types, data, data_mild, resources] = Default::default();
        Self { seen, place, types, data, data_mild, resources }
    }

    /// A block, or an array of them.
    pub(super) fn look(&mut self, content: Node<'_>) {
        if content.is_array() {
            content.elements().for_each(|block| self.block(self.place, block));
        } else {
            self.block(self.place, content);
        }
    }

    fn block(&mut self, place: ContentPlace, block: Node<'_>) {
        if !block.is_object() {
            self.types.add(|| "a block that is no object".into());
            return;
        }
        let [kind, data, resource, content] = block.pick(["type", "data", "resource", "content"]);
        let Some(kind) = kind.and_then(Node::text) else {
            self.types.add(|| "a block without a type".into());
            return;
        };
        if !self.is_known(place, &kind) {
            self.types.add(|| quoted(&kind));
            return;
        }
        match &*kind {
            "image" | "audio" => {
                if let Some(data) = data {
                    self.data(&kind, data);
                }
            }
            "resource" => {
                if let Some(resource) = resource {
                    self.resource(resource);
                }
            }
            // What a tool gave back, inside the messages of a sampling request.
            "tool_result" if place == ContentPlace::Sampling => {
                for inner in content.into_iter().flat_map(Node::elements) {
                    self.block(ContentPlace::ToolOrPrompt, inner);
                }
            }
            _ => {}
        }
    }

    /// Whether the type is one of the place, in one of the revisions that it may be.
    fn is_known(&self, place: ContentPlace, kind: &str) -> bool {
        let known = |revision: Revision| content_types(place, revision).contains(&kind);
        self.seen.revisions.iter().any(known)
    }

    fn data(&mut self, what: &str, data: Node<'_>) {
        if let Some(fault) = base64::fault(data) {
            let several = if fault.is_mild() { &mut self.data_mild } else { &mut self.data };
            several.add(|| format!("{what}: {}", fault.name()));
        }
    }

    /// The contents of a resource: a text, or data.
    pub(super) fn resource(&mut self, resource: Node<'_>) {
        let there = |node: Option<Node<'_>>| node.is_some_and(|node| !node.is_null());
        let [uri, text, blob] = resource.pick(["uri", "text", "blob"]);
        let what = match (there(text), there(blob)) {
            (true, false) => return,
            (true, true) => "both text and blob",
            (false, false) => "neither text nor blob",
            (false, true) => {
                if let Some(blob) = blob {
                    self.data("blob", blob);
                }
                return;
            }
        };
        self.resources.add(|| match uri.and_then(Node::text) {
            Some(uri) => format!("{}: {what}", quoted(&uri)),
            None => what.into(),
        });
    }

    /// Tells what was wrong.
    pub(super) fn tell(self, out: &mut Out<'_>) {
        self.types.tell(&rule::TOL_011, self.seen, out);
        self.data.tell(&rule::TOL_013, self.seen, out);
        if let Some(finding) = self.data_mild.tell(&rule::TOL_013, self.seen, out) {
            finding.severity = Severity::Warning;
        }
        self.resources.tell(&RES_003, self.seen, out);
    }
}
