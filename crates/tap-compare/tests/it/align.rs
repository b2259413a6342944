//! Two lists of calls side by side.

use proptest::prelude::*;
use tap_compare::{Dials, MatchKey, PairedBy, Pairing, Rules, align_calls, distance};

/// `tool:argument`.
fn request(short: &str) -> Vec<u8> {
    let (tool, argument) = short.split_once(':').unwrap();
    format!(r#"{{"method":"tools/call","params":{{"name":"{tool}","arguments":{{"x":{argument}}}}}}}"#).into_bytes()
}

fn keys(requests: &[Vec<u8>]) -> Vec<MatchKey> {
    requests.iter().map(|request| MatchKey::of(request, &Rules::default()).unwrap()).collect()
}

fn aligned(a: &[&str], b: &[&str]) -> Vec<String> {
    let requests = |short: &[&str]| short.iter().map(|short| request(short)).collect::<Vec<_>>();
    let (requests_a, requests_b) = (requests(a), requests(b));
    let near = |in_a: usize, in_b: usize| distance(&requests_a[in_a], &requests_b[in_b], &Dials::default());
    let pairings = align_calls(&keys(&requests_a), &keys(&requests_b), near);
    let side = |list: &[&str], index: Option<usize>| index.map_or("-".to_owned(), |index| list[index].to_owned());
    pairings.iter().map(|pairing| format!("{} {} {:?}", side(a, pairing.a), side(b, pairing.b), pairing.by)).collect()
}

#[test]
fn calls_find_each_other_by_key_and_then_by_nearness() {
    assert_eq!(
        aligned(&["a:1", "a:1", "b:1", "gone:1", "c:1"], &["new:1", "a:1", "b:2", "a:1", "c:1"]),
        ["- new:1 Alone", "a:1 a:1 Key", "b:1 b:2 Nearest", "a:1 a:1 Key", "gone:1 - Alone", "c:1 c:1 Key"]
    );
    assert_eq!(
        aligned(&["a:[1,2,3]", "a:[7,8,9]"], &["a:[7,8,0]", "a:[1,2,0]"]),
        ["a:[7,8,9] a:[7,8,0] Nearest", "a:[1,2,3] a:[1,2,0] Nearest"]
    );
    assert_eq!(aligned(&["a:1"], &[]), ["a:1 - Alone"]);
    assert_eq!(aligned(&[], &["a:1"]), ["- a:1 Alone"]);
    assert!(aligned(&[], &[]).is_empty());
}

/// Work is counted: how often two requests are compared.
#[test]
fn a_hundred_thousand_calls_are_few_comparisons() {
    let list = |salt: usize| -> Vec<Vec<u8>> {
        (0..100_000).map(|n| request(&format!("tool{}:{}", n % 10, if n % 4 == 0 { n + salt } else { n }))).collect()
    };
    let (a, b) = (keys(&list(0)), keys(&list(1_000_000)));
    let mut n_comparisons = 0;
    let pairings = align_calls(&a, &b, |_, _| {
        n_comparisons += 1;
        1
    });
    assert!(n_comparisons <= 20_000);
    assert_eq!(pairings.len(), 100_000);
    assert_eq!(pairings.iter().filter(|pairing| pairing.by == PairedBy::Key).count(), 75_000);
    assert_eq!(pairings.iter().filter(|pairing| pairing.by == PairedBy::Order).count(), 25_000);
}

proptest! {
    #[test]
    fn each_call_is_in_exactly_one_pairing(
        a in prop::collection::vec((0..4_u8, 0..4_u8), 0..30),
        b in prop::collection::vec((0..4_u8, 0..4_u8), 0..30),
    ) {
        let requests = |list: &[(u8, u8)]| list.iter().map(|(tool, x)| request(&format!("t{tool}:{x}"))).collect::<Vec<_>>();
        let (keys_a, keys_b) = (keys(&requests(&a)), keys(&requests(&b)));
        let pairings = align_calls(&keys_a, &keys_b, |x, y| x.abs_diff(y));
        let sorted = |of: fn(&Pairing) -> Option<usize>| {
            let mut all: Vec<usize> = pairings.iter().filter_map(of).collect();
            all.sort_unstable();
            all
        };
        prop_assert_eq!(sorted(|pairing| pairing.a), (0..a.len()).collect::<Vec<_>>());
        prop_assert_eq!(sorted(|pairing| pairing.b), (0..b.len()).collect::<Vec<_>>());
        // B stays in order, and of each tool nobody is alone on both sides.
        prop_assert!(pairings.iter().filter_map(|pairing| pairing.b).is_sorted());
        for pairing in &pairings {
            let (in_a, in_b) = (pairing.a.map(|index| &keys_a[index]), pairing.b.map(|index| &keys_b[index]));
            match (in_a, in_b) {
                (Some(in_a), Some(in_b)) => {
                    prop_assert_eq!(in_a.name(), in_b.name());
                    prop_assert_eq!(in_a == in_b, pairing.by == PairedBy::Key);
                }
                (Some(alone), None) => {
                    let is_other = |index: usize| keys_b[index].name() != alone.name();
                    let all_other = pairings.iter().all(|other| other.a.is_some() || other.b.is_none_or(is_other));
                    prop_assert!(all_other);
                }
                (None, other) => prop_assert!(other.is_some()),
            }
        }
    }
}
