//! Tests of tasks: both eras, both directions, and what crosses on the wire.

use super::*;
use crate::captures::{captures, follow};
use crate::script::{check, run, told};

#[test]
fn explore() {
    let mut all = std::collections::BTreeMap::new();
    for capture in captures() {
        let (follower, meaning) = follow(&capture);
        for finding in &meaning.findings {
            if ["TSK", "LIF-014", "LIF-016"].iter().any(|id| finding.rule.id.starts_with(id)) {
                let text = told(finding).split_once(' ').unwrap().1.to_owned();
                all.entry(text).or_insert_with(Vec::new).push(format!("{}:{}", capture.name, finding.at.seq));
            }
        }
        if follower.state().tasks.n_seen > 0 {
            println!("{} {:#?}", capture.name, follower.state().tasks);
            println!("{:?}", meaning.links);
        }
    }
    for (text, names) in all {
        println!("{text}: {} {:?}", names.len(), &names[..names.len().min(6)]);
    }
}
