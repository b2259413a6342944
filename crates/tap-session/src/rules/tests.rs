//! Tests of the table: each rule's wrong script breaks it, and its right script does not.

use std::collections::HashSet;

use super::*;
use crate::script::{findings, found};

/// Rules that a script of a few lines cannot break; each has a test of its own.
const WITHOUT_SCRIPT: &[&str] = &["TAP-001"];

fn with_scripts() -> impl Iterator<Item = &'static Rule> {
    rules().filter(|rule| !WITHOUT_SCRIPT.contains(&rule.id))
}

#[test]
fn every_rule_is_complete_and_has_an_id_of_its_own() {
    let mut seen = HashSet::new();
    for rule in rules() {
        assert!(seen.insert(rule.id), "{} is there twice", rule.id);
        assert!(seen.insert(rule.name), "{} is there twice", rule.name);
        assert!(!rule.severities.is_empty(), "{} holds in no revision", rule.id);
        for text in [rule.section, rule.title, rule.advice] {
            assert!(!text.is_empty(), "{} lacks a text", rule.id);
        }
        for sentence in [rule.title, rule.advice] {
            assert!(sentence.ends_with('.') && !sentence.contains(". "), "{}: one sentence: {sentence}", rule.id);
        }
        assert!(super::rule(rule.id) == Some(rule) && super::rule(&rule.name.to_uppercase()) == Some(rule));
        let mut covered = Revisions::NONE;
        for (revisions, _) in rule.severities {
            assert!(covered.intersection(*revisions).is_empty(), "{} has two severities for a revision", rule.id);
            covered = covered.union(*revisions);
        }
    }
}

#[test]
fn the_wrong_script_of_every_rule_breaks_it() {
    let mut failures = Vec::new();
    for rule in with_scripts() {
        let found = findings(rule.wrong);
        if !found.iter().any(|line| line.contains(rule.id)) {
            failures.push(format!("{} is not found in its wrong script; found: {found:#?}", rule.id));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_right_script_of_every_rule_breaks_no_rule_badly() {
    let mut failures = Vec::new();
    for rule in with_scripts() {
        for finding in found(rule.right) {
            // A handshake without its end, say, is no reason to add lines to an example.
            if finding.rule == rule || finding.severity == Severity::Error {
                failures.push(format!("{}: {}", rule.id, crate::script::told(&finding)));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
