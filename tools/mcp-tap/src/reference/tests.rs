//! Tests of references.

use super::*;

#[track_caller]
fn check(written: &str, place: Place, part: Part) {
    let reference: Reference = written.parse().unwrap();
    assert_eq!((reference.place, reference.part), (place, part), "{written}");
}

#[test]
fn every_form_of_a_reference_is_understood() {
    let named = |name: &str, count| Place::Named(name.into(), count);
    let one = |seq, member| Part::One(At { seq, member });
    check("last", Place::Last(1), Part::All);
    check("last.2", Place::Last(2), Part::All);
    check("last:7", Place::Last(1), one(7, 0));
    check("github.2:42", named("github", 2), one(42, 0));
    check("github:10..40", named("github", 1), Part::Range { first: Some(10), last: Some(40) });
    check("github:..42", named("github", 1), Part::Range { first: None, last: Some(42) });
    check("github:10..", named("github", 1), Part::Range { first: Some(10), last: None });
    check("last:7.3", Place::Last(1), one(7, 3));
    check("@before-fix", Place::Label("before-fix".into()), Part::All);
    check("@before-fix:7", Place::Label("before-fix".into()), one(7, 0));
    check("last:@here", Place::Last(1), Part::All);
    check("7f3a", named("7f3a", 1), Part::All);
    check("recordings/a.jsonl:3", Place::File("recordings/a.jsonl".into()), one(3, 0));
    check("x.jsonl", Place::File("x.jsonl".into()), Part::All);
    check("other.db:5", Place::File("other.db".into()), one(5, 0));
    check("./a:b/x", Place::File("./a:b/x".into()), Part::All);
}

#[test]
fn a_number_behind_a_slash_is_a_session_inside_only_where_there_is_no_such_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    std::fs::create_dir(path("recordings")).unwrap();
    std::fs::write(path("recordings/2"), "").unwrap();
    std::fs::write(path("x.jsonl"), "").unwrap();
    let file = |name: &str| Place::File(path(name).into());
    let named = |name: &str, count| Place::Named(name.into(), count);
    let all = Part::All;
    let one = Part::One(At { seq: 14, member: 0 });
    for (written, place, number, part) in [
        ("last/2".into(), Place::Last(1), Some(2), all),
        ("last.3/2".into(), Place::Last(3), Some(2), all),
        ("search.2/1:14".into(), named("search", 2), Some(1), one),
        ("7f3a/10".into(), named("7f3a", 1), Some(10), all),
        ("search/0".into(), named("search", 1), Some(0), all),
        ("search/007".into(), named("search", 1), Some(7), all),
        // A file that is there is what is meant, whatever its name ends in.
        (path("recordings/2"), file("recordings/2"), None, all),
        (format!("{}:14", path("recordings/2")), file("recordings/2"), None, one),
        (path("x.jsonl"), file("x.jsonl"), None, all),
        // One in which there is no such file may hold the session.
        (format!("{}/3", path("x.jsonl")), file("x.jsonl"), Some(3), all),
        (format!("{}/3:14", path("x.jsonl")), file("x.jsonl"), Some(3), one),
        (format!("{}/1", path("recordings/2")), file("recordings/2"), Some(1), all),
        ("other.db/4".into(), Place::File("other.db".into()), Some(4), all),
        // No number, no session.
        (path("recordings/a"), file("recordings/a"), None, all),
        ("search/".into(), Place::File("search/".into()), None, all),
        ("search/2a".into(), Place::File("search/2a".into()), None, all),
        ("search/-2".into(), Place::File("search/-2".into()), None, all),
        ("/2".into(), Place::File("/2".into()), None, all),
        ("x/99999999999999999999".into(), Place::File("x/99999999999999999999".into()), None, all),
    ] {
        let reference: Reference = written.parse().unwrap();
        assert_eq!((reference.meant(), reference.part), ((&place, number), part), "{written}");
    }
}

#[test]
fn a_wrong_reference_says_what_would_be_right() {
    for (written, says) in [
        ("", "a session is missing"),
        (":7", "a session is missing"),
        ("last:", "number is missing"),
        ("last:0", "count from 1"),
        ("last:9..3", "ends before it begins"),
        ("last:@", "no bookmark's name"),
        ("last:@a b", "no bookmark's name"),
        ("last:1.0", "count from 1"),
        ("last.0", "last.1 is the newest"),
        ("last:99999999999999999999", "no message number"),
        ("last/2:", "number is missing"),
        ("last/2:0", "count from 1"),
    ] {
        let error = written.parse::<Reference>().unwrap_err();
        assert!(error.contains(says), "{written}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_reference_or_told_why_not(text in r"([a-z0-9.:@/]|\PC){0,20}") {
        match text.parse::<Reference>() {
            Ok(reference) => proptest::prop_assert!(!reference.written.is_empty()),
            Err(why) => proptest::prop_assert!(!why.is_empty()),
        }
    }
}
