//! Drift: what a server offered in A, and what it offers in B. Whom a change breaks, and what the model reads differently.

use std::collections::HashMap;

use tap_jsonrpc::Node;
use tap_protocol::ListKind;

use crate::compare::{Options, compare_values};
use crate::difference::Difference;
use crate::path::{Path, Side, Step};
use crate::placeholder::Markers;
use crate::rules::Dials;
use crate::schema;

/// Changes of one item that are listed.
const CHANGES_LIMIT: usize = 200;

/// Whom a change matters to; the last is the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DriftClass {
    /// Who calls as before is served as before.
    Compatible,
    /// What the model reads changed: it may do something else.
    Prompt,
    /// Who calls as before may be refused, or get what it does not understand.
    Breaking,
}

impl DriftClass {
    /// As it is shown: `BREAKING`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compatible => "COMPATIBLE",
            Self::Prompt => "PROMPT",
            Self::Breaking => "BREAKING",
        }
    }
}

/// One thing about an item that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftChange {
    /// Where in the item: `inputSchema.properties.path.type`.
    pub path: Path,
    /// Whom it matters to.
    pub class: DriftClass,
    /// What changed, in a few words: `required +dryRun`.
    pub words: String,
    /// The JSON of A, if there is any.
    pub a: Option<Box<[u8]>>,
    /// The JSON of B, if there is any.
    pub b: Option<Box<[u8]>>,
}

/// What became of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemState {
    /// Only in B.
    Added,
    /// Only in A.
    Removed,
    /// In both, and not the same.
    Changed,
}

/// A tool, prompt, resource or template that is not the same in both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftItem {
    /// Its name or address.
    pub name: String,
    /// What became of it.
    pub state: ItemState,
    /// What changed about it, the worst first; nothing of what is only in one.
    pub changes: Vec<DriftChange>,
    /// How many changes there are; more than are listed, where there are too many.
    pub n_changes: usize,
    /// Of the worst change.
    pub class: DriftClass,
}

/// What is not the same of two lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    /// In the order of A, and then what B has more.
    pub items: Vec<DriftItem>,
    /// Items that are the same.
    pub n_same: usize,
    /// Differences that rules hide.
    pub n_hidden: usize,
}

impl Drift {
    /// How many there are that this became of.
    #[must_use]
    pub fn count(&self, state: ItemState) -> usize {
        self.items.iter().filter(|item| item.state == state).count()
    }

    /// The worst class, if anything changed.
    #[must_use]
    pub fn worst(&self) -> Option<DriftClass> {
        self.items.iter().map(|item| item.class).max()
    }
}

/// Compares two lists, each as all of its pages together: the elements of `result.tools` and so on. Their order means nothing.
///
/// Of several with one name, the first of A is held against the first of B.
#[must_use]
pub fn drift(kind: ListKind, a: &[Node<'_>], b: &[Node<'_>], dials: &Dials, markers: &mut Markers) -> Drift {
    let names = |items: &[Node<'_>]| {
        let mut n_seen: HashMap<String, usize> = HashMap::new();
        let named = items.iter().map(|item| {
            let name = item.get(kind.key()).and_then(Node::text).unwrap_or_default().into_owned();
            let n = n_seen.entry(name.clone()).or_default();
            *n += 1;
            (name, *n)
        });
        named.collect::<Vec<_>>()
    };
    let (names_a, names_b) = (names(a), names(b));
    let by_name: HashMap<_, _> = names_b.iter().enumerate().map(|(index, name)| (name, index)).collect();
    let mut is_known = vec![false; b.len()];
    let mut drift = Drift::default();
    let alone =
        |name: &str, state, class| DriftItem { name: name.to_owned(), state, changes: Vec::new(), n_changes: 0, class };
    for (name, item) in names_a.iter().zip(a) {
        let Some(&index) = by_name.get(name) else {
            drift.items.push(alone(&name.0, ItemState::Removed, DriftClass::Breaking));
            continue;
        };
        is_known[index] = true;
        match changed(kind, &name.0, *item, (b[index], index), dials, markers, &mut drift.n_hidden) {
            Some(item) => drift.items.push(item),
            None => drift.n_same += 1,
        }
    }
    let added = names_b.iter().zip(is_known).filter(|(_, is_known)| !is_known);
    drift.items.extend(added.map(|(name, _)| alone(&name.0, ItemState::Added, DriftClass::Compatible)));
    drift
}

fn changed(
    kind: ListKind,
    name: &str,
    a: Node<'_>,
    (b, index): (Node<'_>, usize),
    dials: &Dials,
    markers: &mut Markers,
    n_hidden: &mut usize,
) -> Option<DriftItem> {
    let at = Path(vec![Step::Member("result".into()), Step::Member(kind.member().to_owned()), Step::Element(index)]);
    // In a description of a tool a value is a value: nothing about it is loose, and only paths are left out.
    let dials = Dials { ignore: dials.ignore.clone(), volatile: dials.volatile.clone(), ..Dials::default() };
    let comparison = compare_values(a, b, &at, &Options::new(&dials, Side::Response), markers);
    *n_hidden += comparison.n_hidden;
    if comparison.is_same() {
        return None;
    }
    let mut changes = Vec::new();
    let mut is_schema_done = [false; 2];
    for difference in &comparison.differences {
        let steps = &difference.path.0[at.0.len().min(difference.path.0.len())..];
        let schema = [(kind == ListKind::Tools, "inputSchema"), (kind == ListKind::Tools, "outputSchema")]
            .into_iter()
            .position(|(is_there, key)| is_there && steps.first() == Some(&Step::Member(key.into())));
        match schema {
            Some(which) if steps.len() > 1 || (difference.a.is_some() && difference.b.is_some()) => {
                if !std::mem::replace(&mut is_schema_done[which], true) {
                    schema_changes(which, a, b, &mut changes);
                }
            }
            _ => changes.push(plain(kind, steps, difference)),
        }
    }
    // What the judge of schemas does not know is a change all the same.
    for (which, key) in ["inputSchema", "outputSchema"].into_iter().enumerate() {
        let is_told = |change: &DriftChange| change.path.0.first() == Some(&Step::Member(key.into()));
        if is_schema_done[which] && !changes.iter().any(is_told) {
            let json = |node: Node<'_>| node.get(key).map(|node| node.bytes().into());
            changes.push(DriftChange {
                path: Path(vec![Step::Member(key.into())]),
                class: DriftClass::Compatible,
                words: "changed, and accepts the same".into(),
                a: json(a),
                b: json(b),
            });
        }
    }
    changes.sort_by_key(|change| std::cmp::Reverse(change.class));
    let class = changes.iter().map(|change| change.class).max().unwrap_or(DriftClass::Compatible);
    let n_changes = changes.len() + (comparison.n_differences - comparison.differences.len());
    changes.truncate(CHANGES_LIMIT);
    Some(DriftItem { name: name.to_owned(), state: ItemState::Changed, changes, n_changes, class })
}

fn schema_changes(which: usize, a: Node<'_>, b: Node<'_>, changes: &mut Vec<DriftChange>) {
    let (key, direction) = if which == 0 {
        ("inputSchema", schema::Direction::Input)
    } else {
        ("outputSchema", schema::Direction::Output)
    };
    if let (Some(a), Some(b)) = (a.get(key), b.get(key)) {
        changes.extend(schema::compare(a, b, direction, Path(vec![Step::Member(key.into())])));
    }
}

/// A change that is not in a schema.
fn plain(kind: ListKind, steps: &[Step], difference: &Difference) -> DriftChange {
    let first = match steps.first() {
        Some(Step::Member(key)) => key.as_str(),
        _ => "",
    };
    let (a, b) = (difference.a.as_deref().map(Node::new), difference.b.as_deref().map(Node::new));
    let class = match (kind, first) {
        (_, "description" | "title" | "annotations") => DriftClass::Prompt,
        (ListKind::Tools, "inputSchema") => DriftClass::Breaking,
        (ListKind::Tools, "outputSchema") if b.is_none() => DriftClass::Breaking,
        (ListKind::Tools, "execution") => {
            // 2025-11-25: a tool that has to be called as a task refuses whoever calls it as before.
            let is_required = b.is_some_and(|b| {
                b.is_text("required") || b.get("taskSupport").is_some_and(|support| support.is_text("required"))
            });
            if is_required { DriftClass::Breaking } else { DriftClass::Compatible }
        }
        (ListKind::Prompts, "arguments") => argument(steps, a, b),
        (ListKind::Resources, "name") | (ListKind::Templates, "name") => DriftClass::Prompt,
        _ => DriftClass::Compatible,
    };
    let path = Path(steps.to_vec());
    let dotted = path.dotted(Side::Response);
    let place = dotted.strip_prefix("resp.").unwrap_or(&dotted);
    DriftChange {
        words: format!("{place} {}", difference.change.name()),
        path,
        class,
        a: difference.a.clone(),
        b: difference.b.clone(),
    }
}

/// A change of a prompt's arguments.
fn argument(steps: &[Step], a: Option<Node<'_>>, b: Option<Node<'_>>) -> DriftClass {
    let requires = |node: Node<'_>| node.get("required").and_then(Node::as_bool) == Some(true);
    match steps.get(2) {
        // A whole argument, or all of them.
        None => match (a, b) {
            (_, None) => DriftClass::Breaking,
            (None, Some(added)) if requires(added) || added.elements().any(requires) => DriftClass::Breaking,
            (None, Some(_)) => DriftClass::Compatible,
            (Some(_), Some(_)) => DriftClass::Breaking,
        },
        Some(Step::Member(key)) if key == "required" => match b.and_then(Node::as_bool) {
            Some(true) => DriftClass::Breaking,
            _ => DriftClass::Compatible,
        },
        Some(Step::Member(key)) if matches!(key.as_str(), "description" | "title") => DriftClass::Prompt,
        Some(_) => DriftClass::Compatible,
    }
}
