//! The bodies of the fuzz targets: what must hold for every rule, placeholder and pair of messages, or else they panic.
//!
//! One module for two users: `fuzz_targets/*.rs` run it for as long as one likes, `tests/fuzz.rs` runs it over the corpus
//! and mutations of it in every test run.

use tap_compare::{
    Dials, Markers, MatchKey, Options, Path, PathPattern, Rules, Side, Step, compare, has_placeholder,
    placeholder_problem,
};

/// Target `rules`: a path, rules as a header has them, or a text with placeholders.
pub(crate) fn rules(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Ok(pattern) = PathPattern::parse(text) {
        assert_eq!(pattern.as_str(), text);
        assert_eq!(PathPattern::parse(pattern.as_str()).as_ref(), Ok(&pattern));
        let member = |name: &str| Step::Member(name.into());
        let path = Path(vec![member("params"), member("arguments"), Step::Element(3), member("id"), Step::Inside]);
        for side in [Side::Request, Side::Response] {
            let _ = (pattern.matches(side, &path), pattern.matches(side, &Path::default()));
        }
    }
    if let Ok(rules) = Rules::parse(text) {
        let written = serde_json::to_string(&rules).expect("rules are JSON");
        assert_eq!(Rules::parse(&written).as_ref(), Ok(&rules), "{written}");
        let _ = rules.dials(Some("t"));
    }
    let problem = placeholder_problem(text);
    assert!(problem.is_none() || text.contains('«'), "{problem:?}");
    let json = serde_json::Value::from(text).to_string();
    let message = format!("{{\"id\":1,\"result\":{json}}}");
    // Whatever it means, it stands for itself.
    let dials = Dials::default();
    let options = Options::new(&dials, Side::Response);
    if !has_placeholder(&message) {
        assert!(compare(message.as_bytes(), message.as_bytes(), &options, &mut Markers::new()).is_same());
    }
}

/// Target `messages`: two messages, a line each.
pub(crate) fn messages(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (a, b) = (&input[..end], input.get(end + 1..).unwrap_or_default());
    let dials = Dials::default();
    for side in [Side::Request, Side::Response] {
        let plain = Options { placeholders: false, ..Options::new(&dials, side) };
        let one_way = compare(a, b, &plain, &mut Markers::new());
        let other_way = compare(b, a, &plain, &mut Markers::new());
        let are_json = [a, b].iter().all(|json| serde_json::from_slice::<&serde_json::value::RawValue>(json).is_ok());
        if are_json {
            assert_eq!(one_way.is_same(), other_way.is_same());
            assert!(compare(a, a, &plain, &mut Markers::new()).is_same());
        }
        let _ = compare(a, b, &Options::new(&dials, side), &mut Markers::new());
    }
    let rules = Rules::default();
    assert_eq!(MatchKey::of(a, &rules), MatchKey::of(a, &rules));
    let _ = MatchKey::of(b, &rules);
}
