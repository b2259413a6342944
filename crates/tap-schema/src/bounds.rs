//! What is refused before it is compiled: endless references, and what would take too much stack, time or memory.

use crate::error::SchemaError;
use crate::keyword::How;
use crate::limit::{MAX_LEVELS, MAX_STEPS_DEEP, MAX_UNROLLED, MAX_UNROLLED_TOTAL};
use crate::outline::{Outline, Subschema};

/// How many references the evaluator's compiler follows on the stack; the targets of further ones wait on a list.
const REFERENCES_ON_THE_STACK: usize = 8;

/// Refuses what cannot be compiled or evaluated within bounds, whatever the value.
pub(crate) fn check(outline: &Outline<'_>) -> Result<(), SchemaError> {
    let in_place = postorder(outline, How::is_in_place).map_err(|index| SchemaError::EndlessReference {
        pointer: crate::error::shorten(&outline.subschemas[index].pointer),
    })?;
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

/// Whether the evaluator must know what other parts of the schema have looked at.
pub(crate) fn is_unrolled(subschema: &Subschema<'_>) -> bool {
    subschema.parts.iter().any(|part| matches!(part.how, How::UnevaluatedProperties | How::UnevaluatedItems))
}

/// How many levels compiling goes down, on the worst way through the schema.
fn levels(outline: &Outline<'_>) -> usize {
    let is_held = |how| !matches!(how, How::Held | How::Reference);
    // Without references, a schema is a tree.
    let order = postorder(outline, is_held).unwrap_or_default();
    let mut beyond = vec![0_usize; outline.subschemas.len()];
    let mut levels = beyond.clone();
    for _ in 0..=REFERENCES_ON_THE_STACK {
        for &index in &order {
            let down = outline.subschemas[index].parts.iter().map(|part| match part.how {
                How::Held => 0,
                How::Reference => beyond[part.index],
                how => levels[part.index] + how.levels(),
            });
            levels[index] = down.max().unwrap_or(0);
        }
        // What a reference adds itself, over its target.
        beyond = levels.iter().map(|levels| levels + 1).collect();
    }
    levels.into_iter().max().unwrap_or(0)
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
