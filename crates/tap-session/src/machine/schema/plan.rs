//! What is looked for in a message: paths of members, walked all at once.

use std::borrow::Cow;
use std::sync::LazyLock;

use tap_jsonrpc::{Key, Node};
use tap_protocol::{
    ANY_METHOD, EACH_ELEMENT, EACH_MEMBER, Kind, METHODS, Member, Method, Place, Revision, Revisions, fields, meta,
    optional_members, required_params, required_result,
};

/// Member names from `params` or `result` down.
type Path = &'static [&'static str];

/// What is looked for in the `params` or the `result` of one method, in some revisions.
///
/// Members are the bits of a number, so that a walk needs no memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    paths: Vec<Path>,
    /// By path: what is to be there.
    kinds: Vec<Kind>,
    /// Those that the revisions do not have.
    pub(super) foreign: u64,
    /// Those that must be there, and that no other rule asks for.
    required: u64,
    /// Those that are of some kind, and those of them that may be `null` instead.
    typed: u64,
    nullable: u64,
    /// `resultType` and `task` of a result, which say what kind of result it is.
    result_type: u64,
    task: u64,
    /// Those that begin with the name of a member, and those that are no longer than that.
    named: u64,
    short: u64,
    /// The lengths of these names, bytes: most members of a message have another length than all of them.
    lengths: u64,
}

/// What a walk came by.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Walked<'a> {
    /// Members that are there.
    pub(super) found: u64,
    /// Members whose objects are there.
    held: u64,
    /// Members that are there, and are not what they should be.
    pub(super) wrong: u64,
    pub(super) result_type: Option<Node<'a>>,
    pub(super) task: Option<Node<'a>>,
}

impl Plan {
    fn new(method: &str, known: Option<&Method>, place: Place, revisions: Revisions) -> Self {
        let mut plan = Self::default();
        // That a method is not there at all has a rule of its own.
        if known.is_some_and(|method| method.revisions().intersection(revisions).is_empty()) {
            return plan;
        }
        for field in fields(method) {
            // That a tool's schema may name its dialect was said late, and is so for all that is JSON Schema.
            let is_dialect = field.path.last() == Some(&"$schema");
            if field.place == place && !is_dialect && field.revisions.intersection(revisions).is_empty() {
                plan.foreign |= plan.add(field.path);
            }
        }
        let required = |revision| match place {
            Place::Params => required_params(method, revision),
            Place::Result => required_result(method, revision),
        };
        // Where the revision is not known: what each of them requires.
        let first = revisions.iter().next().map(required).unwrap_or_default();
        for member in first.iter().filter(|member| !has_own_rule(known, place, member.path)) {
            if revisions.iter().all(|revision| required(revision).contains(member)) {
                plan.required |= plan.add_typed(member);
            }
        }
        for member in optional_members(method, place) {
            // Who has nothing to put there may say so.
            plan.nullable |= plan.add_typed(member);
        }
        if place == Place::Result {
            plan.result_type = plan.add(&["resultType"]);
            if matches!(method, "tools/call" | "sampling/createMessage" | "elicitation/create") {
                plan.task = plan.add(&["task"]);
            }
        }
        let all = plan.all();
        plan.named = plan.some_of(all, |path| path.first() != Some(&EACH_ELEMENT));
        plan.short = plan.some_of(all, |path| path.len() == 1);
        plan.lengths =
            plan.paths.iter().filter_map(|path| path.first()).fold(0, |set, name| set | length_bit(name.len()));
        if plan.paths.iter().any(|path| path.first() == Some(&EACH_MEMBER)) {
            plan.lengths = u64::MAX;
        }
        plan
    }

    fn all(&self) -> u64 {
        let all = u32::try_from(self.paths.len()).ok().and_then(|n_paths| 1_u64.checked_shl(n_paths));
        all.map_or(u64::MAX, |bit| bit - 1)
    }

    /// Adds a path, unless it is there, and gives back its bit.
    fn add(&mut self, path: Path) -> u64 {
        let index = self.paths.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.paths.push(path);
            self.kinds.push(Kind::Any);
            self.paths.len() - 1
        });
        // A path beyond the last bit is not looked for; a test makes sure that there is none.
        u32::try_from(index).ok().and_then(|index| 1_u64.checked_shl(index)).unwrap_or_default()
    }

    /// Adds a member that must be what it is said to be.
    fn add_typed(&mut self, member: &Member) -> u64 {
        let bit = self.add(member.path);
        if let Some(kind) = self.kinds.get_mut(bit.trailing_zeros() as usize).filter(|_| member.kind != Kind::Any) {
            *kind = member.kind;
            self.typed |= bit;
        }
        bit
    }

    /// The paths of these members.
    pub(super) fn paths_of(&self, which: u64) -> impl Iterator<Item = Path> {
        bits(which).filter_map(|index| self.paths.get(index).copied())
    }

    /// The paths of these members, and what they should be.
    pub(super) fn typed_paths_of(&self, which: u64) -> impl Iterator<Item = (Path, Kind)> {
        bits(which).filter_map(|index| Some((*self.paths.get(index)?, *self.kinds.get(index)?)))
    }

    /// The members that must be there and are not, of the objects that are there.
    pub(super) fn lacking(&self, walked: &Walked<'_>) -> u64 {
        self.required & walked.held & !walked.found
    }

    /// Looks for all of them in one walk. Where there are no params, it is as if there were none in them.
    pub(super) fn walk<'a>(&self, node: Option<Node<'a>>) -> Walked<'a> {
        let mut walked = Walked::default();
        match node {
            Some(node) if node.is_object() => {
                walked.held = self.short;
                for (key, value) in node.members() {
                    if self.lengths & length_bit(key.bytes().len().saturating_sub(2)) != 0 || key.has_escapes() {
                        self.member(&key, value, self.named, self.short, 0, &mut walked);
                    }
                }
            }
            Some(node) => self.step(node, self.all(), 0, &mut walked),
            None => walked.held = self.short,
        }
        walked
    }

    /// Those of some paths that are such.
    fn some_of(&self, which: u64, is_such: impl Fn(Path) -> bool) -> u64 {
        let such = bits(which).filter(|index| self.paths.get(*index).is_some_and(|path| is_such(path)));
        such.fold(0, |set, index| set | 1 << index)
    }

    /// Goes on with some of the paths from the node that their first `depth` steps lead to. As deep as the longest path.
    fn step<'a>(&self, node: Node<'a>, which: u64, depth: usize, walked: &mut Walked<'a>) {
        if node.is_array() {
            let deeper = self.some_of(which, |path| path.get(depth) == Some(&EACH_ELEMENT));
            if deeper != 0 {
                node.elements().for_each(|element| self.step(element, deeper, depth + 1, walked));
            }
            return;
        }
        if !node.is_object() {
            return;
        }
        // An array's step is no name, though a member may be called so.
        let which = self.some_of(which, |path| path.get(depth) != Some(&EACH_ELEMENT));
        let last = self.some_of(which, |path| path.len() == depth + 1);
        walked.held |= last;
        for (key, value) in node.members() {
            self.member(&key, value, which, last, depth, walked);
        }
    }

    /// Whether a value is what the member of a path should be.
    fn is_of_kind(&self, index: usize, value: Node<'_>) -> bool {
        let fits = match self.kinds.get(index).copied().unwrap_or(Kind::Any) {
            Kind::Any => true,
            Kind::Text => value.is_string(),
            Kind::Number => value.is_number(),
            Kind::NumberOrNull => value.is_number() || value.is_null(),
            Kind::Boolean => value.as_bool().is_some(),
            Kind::List => value.is_array(),
            Kind::Object => value.is_object(),
        };
        fits || self.nullable & (1 << index) != 0 && value.is_null()
    }

    /// One member of an object: which of the paths end here, and which go on below.
    fn member<'a>(&self, key: &Key<'a>, value: Node<'a>, which: u64, last: u64, depth: usize, walked: &mut Walked<'a>) {
        let step = |index: usize| self.paths.get(index).and_then(|path| path.get(depth)).copied().unwrap_or_default();
        let mut deeper = 0;
        for index in bits(which) {
            if !key.is(step(index)) && step(index) != EACH_MEMBER {
                continue;
            }
            let bit = 1 << index;
            if last & bit != 0 {
                walked.found |= bit;
                if self.typed & bit != 0 && !self.is_of_kind(index, value) {
                    walked.wrong |= bit;
                }
                if bit == self.result_type {
                    walked.result_type = Some(value);
                } else if bit == self.task {
                    walked.task = Some(value);
                }
            } else {
                deeper |= bit;
            }
        }
        if deeper != 0 {
            self.step(value, deeper, depth + 1, walked);
        }
    }
}

/// What a value must be, in words.
pub(super) fn name_of_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Any => "value",
        Kind::Text => "text",
        Kind::Number | Kind::NumberOrNull => "number",
        Kind::Boolean => "boolean",
        Kind::List => "list",
        Kind::Object => "object",
    }
}

/// The bit that stands for names of this length; long ones share the last.
fn length_bit(n_bytes: usize) -> u64 {
    1 << n_bytes.min(63)
}

/// The places of the bits that are set.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let index = set.trailing_zeros();
        set &= set.checked_sub(1)?;
        Some(index as usize)
    })
}

/// Whether another rule tells that a member is missing.
fn has_own_rule(known: Option<&Method>, place: Place, path: &[&str]) -> bool {
    let method = known.map_or("", |method| method.name);
    let is_cacheable = known.is_some_and(|method| method.cacheable);
    match (method, place, path) {
        // LIF-007 and LIF-008.
        ("initialize", ..) => true,
        // MOD-001; MOD-004.
        (_, Place::Params, ["_meta"] | ["_meta", meta::PROTOCOL_VERSION | meta::CLIENT_CAPABILITIES]) => true,
        (_, Place::Result, ["resultType"]) => true,
        // CCH-001.
        (_, Place::Result, ["ttlMs" | "cacheScope"]) => is_cacheable,
        // CAN-007; PRG-005 and PRG-009; LOG-001; SMP-004; SUB-003.
        ("notifications/cancelled", Place::Params, ["requestId"])
        | ("notifications/progress", Place::Params, ["progressToken" | "progress"])
        | ("notifications/message" | "logging/setLevel", Place::Params, ["level"])
        | ("sampling/createMessage", Place::Params, ["maxTokens"])
        | ("subscriptions/listen", Place::Result, ["_meta"] | ["_meta", meta::SUBSCRIPTION_ID]) => true,
        _ => false,
    }
}

/// A path as text: `tools[].title`.
pub(super) fn name_of(path: &[&str]) -> String {
    let mut name = String::new();
    for step in path {
        match *step {
            EACH_ELEMENT => name.push_str("[]"),
            EACH_MEMBER => name.push_str(".*"),
            step => {
                if !name.is_empty() {
                    name.push('.');
                }
                name.push_str(step);
            }
        }
    }
    name
}

const PLACES: [Place; 2] = [Place::Params, Place::Result];

/// The plans for one revision each, which is what nearly every message has: by method, and one for unknown methods at the
/// end; by place; by revision.
static PLANS: LazyLock<Vec<[[Plan; Revision::ALL.len()]; PLACES.len()]>> = LazyLock::new(|| {
    let of = |name: &str, known| {
        PLACES.map(|place| Revision::ALL.map(|revision| Plan::new(name, known, place, Revisions::only(revision))))
    };
    let known = METHODS.iter().map(|method| of(method.name, Some(method)));
    known.chain([of(ANY_METHOD, None)]).collect()
});

/// The plan for a message of one of these revisions.
pub(super) fn plan(
    name: &str,
    known: Option<&'static Method>,
    place: Place,
    revisions: Revisions,
) -> Cow<'static, Plan> {
    let mut each = revisions.iter();
    let (Some(revision), None) = (each.next(), each.next()) else {
        return Cow::Owned(Plan::new(name, known, place, revisions));
    };
    let index = known.and_then(|known| METHODS.element_offset(known)).unwrap_or(METHODS.len());
    let plan = PLANS.get(index).and_then(|places| places.get(place as usize)?.get(revision as usize));
    plan.map_or_else(Cow::default, Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_has_room_for_its_paths() {
        let longest = PLANS.iter().flatten().flatten().map(|plan| plan.paths.len()).max();
        assert!(longest.is_some_and(|longest| longest < 64), "{longest:?}");
    }

    #[test]
    fn a_walk_comes_by_every_path() {
        let plan = plan(
            "tools/list",
            tap_protocol::method("tools/list"),
            Place::Result,
            Revisions::only(Revision::V2024_11_05),
        );
        for (text, found) in [
            (r#"{"tools":[{"name":"a"},{"title":"T","icons":[]}]}"#, "tools[].icons, tools[].title"),
            (r#"{"tools":[{"outputSchema":{"$schema":"x"}}]}"#, "tools[].outputSchema"),
            (r#"{"tools":{"title":1,"[]":{"title":1}},"title":2}"#, ""),
            (r#"{"ttlMs":1}"#, "ttlMs"),
            ("[]", ""),
        ] {
            let walked = plan.walk(Some(Node::new(text.as_bytes())));
            let names: Vec<_> = plan.paths_of(walked.found & plan.foreign).map(name_of).collect();
            assert_eq!(names.join(", "), found, "{text}");
        }
    }
}
