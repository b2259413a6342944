//! Tests of the ids that were used.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn id(text: &str) -> RawId {
    RawId::from_token(text.as_bytes())
}

#[test]
fn ids_are_remembered_as_they_were_written() {
    let mut used = UsedIds::default();
    for text in ["0", "1", "2", "\"a\"", "9"] {
        used.insert(&id(text));
    }
    for (text, expected) in [
        ("0", true),
        ("2", true),
        ("9", true),
        ("3", false),
        ("1.0", false),
        ("\"1\"", false),
        ("-0", false),
        ("\"a\"", true),
        ("\"b\"", false),
        ("99999999999999999999", false),
    ] {
        assert_eq!(used.contains(&id(text)), expected, "{text}");
    }
    assert_eq!(used.runs(), [(0, 2), (9, 9)]);
}

#[test]
fn what_is_remembered_of_ids_is_bounded() {
    let mut used = UsedIds::default();
    for number in 0..3 * USED_IDS {
        used.insert(&id(&(number * 2).to_string()));
        used.insert(&id(&format!("\"{number}\"")));
    }
    assert!(used.runs().len() <= USED_IDS + 1 && used.n_others() <= USED_IDS);
    assert!(used.n_forgotten > 0);
}

proptest! {
    #[test]
    fn whole_numbers_are_remembered_in_any_order(numbers in prop::collection::vec(-20..40i64, 0..80)) {
        let mut used = UsedIds::default();
        let mut expected = BTreeSet::new();
        for number in numbers {
            let raw_id = id(&number.to_string());
            prop_assert_eq!(used.contains(&raw_id), expected.contains(&number));
            used.insert(&raw_id);
            expected.insert(number);
            let found: BTreeSet<i64> = used.runs().into_iter().flat_map(|(first, last)| first..=last).collect();
            prop_assert_eq!(&found, &expected);
            prop_assert!(used.runs().windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
        }
    }
}
