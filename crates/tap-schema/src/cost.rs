//! What judging a value would cost: a walk over the pairs of a subschema and a part of the value, before the evaluation.
//!
//! The evaluation visits a pair as often as there are ways to it, and there can be 2^40 of them. Here each pair is
//! visited once, and its costs are sums over those of the pairs below, so that the costs of the root are bounds of what
//! the evaluation can come to. No short cut is assumed: `anyOf` may look at all its branches.

use std::collections::HashMap;

use crate::instance::{Content, Instance};
use crate::keyword::How;
use crate::limit::{MAX_PAIRS, MAX_STEPS, MAX_STEPS_DEEP};
use crate::plan::{Node, Plan};

/// What one pair costs at most. Sums stay at the largest number when they reach it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// The steps of finding out whether it is valid.
    pub(crate) steps: u64,
    /// The steps of finding out what it looks at, for an `unevaluated…` further up.
    looking: u64,
    /// The steps of finding all its errors, or the first.
    pub(crate) telling: u64,
    /// The memory of all its errors, in bytes.
    pub(crate) errors: u64,
    /// The memory of its errors as part of another error (`anyOf` keeps why each branch failed): each of those has a
    /// copy of the part of the value that it is about.
    inner_errors: u64,
    /// The memory of its first error.
    pub(crate) first_error: u64,
    /// How many pairs are below each other.
    depth: usize,
}

/// Why the costs are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unbounded {
    TooDeep,
    TooCostly,
}

/// What judging `instance` by `plan` costs.
pub(crate) fn measure(plan: &Plan, instance: &Instance<'_>) -> Result<Cost, Unbounded> {
    let mut walk = Walk { plan, instance, known: HashMap::new(), n_steps: 0 };
    walk.visit(0, instance.root(), 1)
}

struct Walk<'a> {
    plan: &'a Plan,
    instance: &'a Instance<'a>,
    known: HashMap<(usize, usize), Cost>,
    /// The steps of what was visited, each pair counted once; the walk itself takes about as many.
    n_steps: u64,
}

impl Walk<'_> {
    fn visit(&mut self, node: usize, part: usize, depth: usize) -> Result<Cost, Unbounded> {
        if MAX_STEPS_DEEP < depth {
            return Err(Unbounded::TooDeep);
        }
        if let Some(&cost) = self.known.get(&(node, part)) {
            self.step(1)?;
            return if MAX_STEPS_DEEP < depth + cost.depth { Err(Unbounded::TooDeep) } else { Ok(cost) };
        }
        let mut cost = self.own(node, part);
        self.step(cost.steps)?;
        let n_before = self.n_steps;
        self.visit_in_place(node, part, depth, &mut cost)?;
        if self.plan.nodes[node].has_parts_below {
            self.visit_below(node, part, depth, &mut cost)?;
        }
        if self.plan.nodes[node].is_unrolled {
            cost.steps = cost.steps.saturating_add(cost.looking);
        }
        // Looking for errors, a keyword may first ask whether there are any.
        cost.telling = cost.telling.saturating_add(cost.steps);
        if MAX_STEPS < cost.steps {
            return Err(Unbounded::TooCostly);
        }
        // Without parts, asking again is cheaper than remembering.
        if n_before < self.n_steps {
            if MAX_PAIRS <= self.known.len() as u64 {
                return Err(Unbounded::TooCostly);
            }
            self.known.insert((node, part), cost);
        }
        Ok(cost)
    }

    fn step(&mut self, n_steps: u64) -> Result<(), Unbounded> {
        self.n_steps = self.n_steps.saturating_add(n_steps);
        if MAX_STEPS < self.n_steps { Err(Unbounded::TooCostly) } else { Ok(()) }
    }

    /// What a subschema costs without its parts.
    fn own(&self, node: usize, part: usize) -> Cost {
        /// An error without what it points to and what it keeps.
        const ERROR_BYTES: u64 = 640;

        let node = &self.plan.nodes[node];
        let mut steps = 1 + node.n_keywords + node.n_listed;
        if node.is_unique {
            steps = steps.saturating_add(self.instance.steps_of_uniqueness(part));
        }
        let part = &self.instance.parts[part];
        if let Content::Text(text) = &part.content {
            let n_bytes = text.len() as u64;
            steps = steps.saturating_add(n_bytes / 16 + node.n_text.saturating_mul(n_bytes + 1));
        }
        if node.has_parts_below || self.plan.has_unevaluated {
            let names = node.n_name.saturating_mul(part.n_name_bytes);
            steps = steps.saturating_add(part.n_children + part.n_name_bytes / 16 + names);
        }
        let places = part.pointer_bytes + 2 * node.pointer_bytes + self.plan.way_bytes;
        let each = ERROR_BYTES + places + node.kept_bytes;
        // Some errors list names or items.
        let listed = if node.is_unrolled || !node.members.is_empty() { part.bytes } else { 0 };
        // `false` is no keyword, and fails.
        let n_errors = node.n_keywords.max(1);
        Cost {
            steps,
            looking: if self.plan.has_unevaluated { steps } else { 0 },
            telling: steps,
            errors: n_errors.saturating_mul(each).saturating_add(listed),
            inner_errors: n_errors.saturating_mul(each + part.bytes).saturating_add(listed),
            first_error: each.saturating_add(listed),
            depth: 1,
        }
    }

    fn visit_in_place(&mut self, node: usize, part: usize, depth: usize, cost: &mut Cost) -> Result<(), Unbounded> {
        let plan = self.plan;
        for &(how, index) in &plan.nodes[node].in_place {
            let below = self.visit(index, part, depth + 1)?;
            cost.add(how, below);
            if plan.has_unevaluated {
                // Up to 64 alternatives are kept apart, each with the conditions that it depends on.
                let n_asked = if how == How::If { 64 } else { 1 };
                let asked = below.steps.saturating_mul(n_asked).saturating_add(below.looking);
                cost.looking = cost.looking.saturating_add(asked);
            }
        }
        Ok(())
    }

    fn visit_below(&mut self, node: usize, part: usize, depth: usize, cost: &mut Cost) -> Result<(), Unbounded> {
        let (plan, instance) = (self.plan, self.instance);
        let node: &Node = &plan.nodes[node];
        match &instance.parts[part].content {
            Content::Plain | Content::Text(_) => {}
            Content::Array(items) => {
                for (position, &item) in items.iter().enumerate() {
                    if let Some(&index) = node.prefix.get(position) {
                        let below = self.visit(index, item, depth + 1)?;
                        cost.add(How::PrefixItem, below);
                    }
                    for &(how, index) in &node.items {
                        let below = self.visit(index, item, depth + 1)?;
                        cost.add(how, below);
                    }
                }
            }
            Content::Object(members) => {
                for member in members {
                    let property = node.properties.get(member.name);
                    if let Some(&index) = property {
                        let below = self.visit(index, member.value, depth + 1)?;
                        cost.add(How::Property, below);
                    }
                    for &(how, index) in &node.members {
                        if property.is_none() || how != How::AdditionalProperties {
                            let below = self.visit(index, member.value, depth + 1)?;
                            cost.add(how, below);
                        }
                    }
                    for &index in &node.names {
                        let below = self.visit(index, member.name_part, depth + 1)?;
                        cost.add(How::PropertyNames, below);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Cost {
    /// Adds what a part costs that applies in some way.
    fn add(&mut self, how: How, below: Self) {
        self.steps = self.steps.saturating_add(below.steps);
        self.depth = self.depth.max(below.depth + 1);
        if matches!(how, How::UnevaluatedProperties | How::UnevaluatedItems | How::Contains) {
            self.looking = self.looking.saturating_add(below.steps);
        }
        self.telling = self.telling.saturating_add(below.telling);
        self.inner_errors = self.inner_errors.saturating_add(below.inner_errors);
        match how {
            // Why a branch failed is told inside of one error.
            How::AnyOf | How::OneOf | How::PropertyNames => {
                self.errors = self.errors.saturating_add(below.inner_errors);
                self.first_error = self.first_error.saturating_add(below.inner_errors);
            }
            _ => {
                self.errors = self.errors.saturating_add(below.errors);
                self.first_error = self.first_error.max(below.first_error);
            }
        }
    }
}
