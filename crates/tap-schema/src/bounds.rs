//! What is refused before it is compiled: endless references, and what would take too much stack, time or memory.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::error::{SchemaError, shorten};
use crate::keyword::How;
use crate::limit::{MAX_COMPILE_STEPS, MAX_LEVELS, MAX_STEPS_DEEP, MAX_UNROLLED, MAX_UNROLLED_TOTAL};
use crate::outline::{Outline, Subschema};

/// How many references the evaluator's compiler follows on the stack; the targets of further ones wait on a list.
const REFERENCES_ON_THE_STACK: usize = 8;

/// Refuses what cannot be compiled or evaluated within bounds, whatever the value.
pub(crate) fn check(outline: &Outline<'_>) -> Result<(), SchemaError> {
    let in_place = postorder(outline, How::is_in_place)
        .map_err(|index| SchemaError::EndlessReference { pointer: shorten(&outline.subschemas[index].pointer) })?;
    check_comparisons(outline, &in_place)?;
    // Both are sums over what applies to the same value; the order has every part before the whole.
    let mut depths = vec![0_usize; outline.subschemas.len()];
    let mut unrolled = vec![0_u64; outline.subschemas.len()];
    let mut n_unrolled = 0_u64;
    let mut deepest_unrolled = 0;
    for index in in_place {
        let subschema = &outline.subschemas[index];
        let parts = || subschema.parts.iter().filter(|part| part.how.is_in_place());
        let depth = 1 + parts().map(|part| depths[part.index]).max().unwrap_or(0);
        // Names are gathered in a set for each subschema that is looked into.
        let n_names = subschema.parts.len() as u64 / 8;
        let n = parts().map(|part| unrolled[part.index]).fold(1 + n_names, u64::saturating_add);
        depths[index] = depth;
        unrolled[index] = n;
        if MAX_STEPS_DEEP < depth {
            return Err(SchemaError::TooDeep);
        }
        if is_unrolled(subschema) {
            n_unrolled = n_unrolled.saturating_add(n);
            deepest_unrolled = deepest_unrolled.max(depth);
            if MAX_UNROLLED < n {
                return Err(SchemaError::TooCostly);
            }
        }
    }
    if MAX_UNROLLED_TOTAL < n_unrolled {
        return Err(SchemaError::TooCostly);
    }
    // Looking into parts has frames of its own, a third larger than those of compiling them.
    if MAX_LEVELS < levels(outline) + 2 * deepest_unrolled {
        return Err(SchemaError::TooDeep);
    }
    Ok(())
}

/// Refuses what the evaluator would compare all with all, when it looks for a faster way to judge.
///
/// It merges the properties that the branches of `allOf` have (11 seconds for 500 references to 2,000 properties), looks
/// for a property that tells the branches of `anyOf` and `oneOf` apart (5 seconds for six levels of twelve references),
/// and looks up required names among the properties one by one.
fn check_comparisons(outline: &Outline<'_>, in_place: &[usize]) -> Result<(), SchemaError> {
    /// Following a reference parses it.
    const STEPS_OF_A_VISIT: u64 = 100;

    #[derive(Clone, Copy, Default)]
    struct Sums {
        /// The names that it has itself, or by reference.
        n_merged: u64,
        /// The same, looking into `allOf` as well, and how many subschemas are looked into.
        n_names: u64,
        n_visits: u64,
    }

    let mut sums = vec![Sums::default(); outline.subschemas.len()];
    let mut n_steps = 0_u64;
    for &index in in_place {
        let subschema = &outline.subschemas[index];
        let of = |how: fn(How) -> bool, sum: fn(&Sums) -> u64| {
            let parts = subschema.parts.iter().filter(|part| how(part.how));
            parts.map(|part| sum(&sums[part.index])).fold(0, u64::saturating_add)
        };
        let is_reference = |how| how == How::Reference;
        let is_looked_into = |how| matches!(how, How::Reference | How::AllOf);
        let is_branch = |how| matches!(how, How::AnyOf | How::OneOf);
        let n_properties = subschema.parts.iter().filter(|part| part.how == How::Property).count() as u64;
        let n_required = subschema.value.get("required").and_then(Value::as_array).map_or(0, Vec::len) as u64;
        let n_own = n_properties + n_required;

        let n_merged = of(|how| how == How::AllOf, |sums| sums.n_merged);
        let n_compared = of(is_branch, |sums| sums.n_names).saturating_add(STEPS_OF_A_VISIT);
        n_steps = n_steps
            .saturating_add(n_merged.saturating_mul(n_merged))
            .saturating_add(of(is_branch, |sums| sums.n_visits).saturating_mul(n_compared))
            .saturating_add(n_properties * n_required);
        if MAX_COMPILE_STEPS < n_steps {
            return Err(SchemaError::TooCostly);
        }
        let found = Sums {
            n_merged: of(is_reference, |sums| sums.n_merged).saturating_add(n_own),
            n_names: of(is_looked_into, |sums| sums.n_names).saturating_add(n_own),
            n_visits: of(is_looked_into, |sums| sums.n_visits).saturating_add(1),
        };
        sums[index] = found;
    }
    Ok(())
}

/// Whether the evaluator must know what other parts of the schema have looked at.
pub(crate) fn is_unrolled(subschema: &Subschema<'_>) -> bool {
    subschema.parts.iter().any(|part| matches!(part.how, How::UnevaluatedProperties | How::UnevaluatedItems))
}

/// How many levels compiling goes down at most.
///
/// The smaller of two bounds: one counts the same target again each time that a reference leads to it, and the other
/// forgets which references lead where, but counts each target once, as recursive schemas need.
fn levels(outline: &Outline<'_>) -> usize {
    let is_held = |how| !matches!(how, How::Held | How::Reference);
    // Without references, a schema is a tree.
    let order = postorder(outline, is_held).unwrap_or_default();
    let mut beyond = vec![0_usize; outline.subschemas.len()];
    let mut levels = beyond.clone();
    let mut alone = Vec::new();
    for n_references in 0..=REFERENCES_ON_THE_STACK {
        for &index in &order {
            let down = outline.subschemas[index].parts.iter().map(|part| match part.how {
                How::Held => 0,
                How::Reference => beyond[part.index],
                how => levels[part.index] + how.levels(),
            });
            levels[index] = down.max().unwrap_or(0);
        }
        // A reference is a level, too.
        beyond = levels.iter().map(|levels| levels + 1).collect();
        if n_references == 0 {
            alone.clone_from(&beyond);
        }
    }
    let parts = outline.subschemas.iter().flat_map(|subschema| &subschema.parts);
    let targets: BTreeSet<usize> = parts.filter(|part| part.how == How::Reference).map(|part| part.index).collect();
    // The schema itself is compiled once as the whole, and once more as a target.
    let mut once: Vec<usize> = targets.into_iter().chain([0]).map(|index| alone[index]).collect();
    once.sort_unstable_by(|one, other| other.cmp(one));
    let of_some = once.iter().take(REFERENCES_ON_THE_STACK + 1).sum();
    levels.into_iter().max().unwrap_or(0).min(of_some)
}

/// The reached subschemas, each after the parts of it that `follows` tells to follow; or one that is part of itself.
fn postorder(outline: &Outline<'_>, follows: impl Fn(How) -> bool) -> Result<Vec<usize>, usize> {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; outline.subschemas.len()];
    let mut order = Vec::new();
    // A stack on the heap: chains of references may be as long as the schema.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for start in 0..outline.subschemas.len() {
        if !outline.subschemas[start].is_reached || states[start] != State::New {
            continue;
        }
        states[start] = State::Open;
        open.push((start, 0));
        while let Some((index, next)) = open.last_mut() {
            let Some(part) = outline.subschemas[*index].parts.get(*next) else {
                states[*index] = State::Done;
                order.push(*index);
                open.pop();
                continue;
            };
            *next += 1;
            if !follows(part.how) {
                continue;
            }
            match states[part.index] {
                State::New => {
                    states[part.index] = State::Open;
                    open.push((part.index, 0));
                }
                State::Open => return Err(part.index),
                State::Done => {}
            }
        }
    }
    Ok(order)
}
