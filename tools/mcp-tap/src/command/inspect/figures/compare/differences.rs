//! All that differs of one line: the messages of its calls are read again.

use tap_compare::{
    Accept, Change, Depth, Difference, DriftChange, DriftClass, ItemState, ListKind, Loose, Side, Step, compare_words,
    reasons,
};
use tap_inspector::{ComparePlace, LineDifferences};
use tap_jsonrpc::Node;

use super::Comparison;
use super::lines::Of;
use crate::comparing::gather::message;
use crate::comparing::report::{End, Pair, State};
use crate::failure::Failure;
use crate::text::{duration, pretty};

/// Places that are told of a line, and how much of a value, bytes.
const PLACES: usize = 60;
const VALUE_BYTES: usize = 4_096;

/// A text, or JSON, that is longer stands on lines of its own, bytes.
const SHORT_BYTES: usize = 60;

/// How much of what two texts begin with alike is left before what differs, bytes.
const BEFORE_BYTES: usize = 200;

impl Comparison {
    /// What differs of a line.
    pub(super) fn differences(&self, line: usize) -> Result<LineDifferences, Failure> {
        match self.lines.of(line) {
            Some(Of::Item(list, item)) => Ok(self.item(list, item)),
            Some(Of::Pair(index)) => self.pair(index),
            Some(Of::Itself) => Ok(self.itself(line)),
            None => Ok(LineDifferences::default()),
        }
    }

    /// What is of no message: who the servers are, how long calls took.
    fn itself(&self, line: usize) -> LineDifferences {
        let Some(values) = self.lines.beside(line) else {
            return LineDifferences::default();
        };
        let values = values.each_ref().map(|value| Some(value.clone()));
        let place = ComparePlace { words: "A and B".into(), values, ..ComparePlace::default() };
        LineDifferences { places: vec![place], n_places: 1, ..LineDifferences::default() }
    }

    fn item(&self, list: usize, item: usize) -> LineDifferences {
        let mut found = LineDifferences::default();
        let Some(listed) = self.comparing.lists.get(list) else {
            return found;
        };
        let Some(item) = listed.what.as_ref().ok().and_then(|drift| drift.items.get(item)) else {
            return found;
        };
        let kind = listed.kind;
        let told = item.changes.iter().take(PLACES);
        found.places = told.map(|change| drifted(kind, change)).collect();
        found.n_places = item.n_changes;
        if item.state != ItemState::Changed {
            let side = usize::from(item.state == ItemState::Added);
            let list = self.gathered.get(side).and_then(|gathered| gathered.lists.get(&kind));
            let is_it =
                |json: &&[u8]| Node::new(json).get(kind.key()).is_some_and(|identity| identity.is_text(&item.name));
            let definition = list.and_then(|list| list.iter().map(|json| &**json).find(is_it));
            let words = if side == 0 { "gone" } else { "new" };
            found.places.push(alone(side, words, definition));
            found.n_places = 1;
        }
        let meaning = match item.class {
            DriftClass::Breaking => {
                "BREAKING: who calls it as before may be refused, or get what it does not understand"
            }
            DriftClass::Prompt => "PROMPT: what the model reads changed; who calls it as before is served as before",
            DriftClass::Compatible => "COMPATIBLE: who calls it as before is served as before",
        };
        found.notes.push(meaning.into());
        found
    }

    fn pair(&self, index: usize) -> Result<LineDifferences, Failure> {
        let mut found = LineDifferences::default();
        let Some(pair) = self.comparing.again(self.both(), index, PLACES, None)? else {
            return Ok(found);
        };
        match (pair.state, &pair.a, &pair.b) {
            (State::OnlyA, Some(end), _) => self.only(0, end, &mut found)?,
            (State::OnlyB, _, Some(end)) => self.only(1, end, &mut found)?,
            _ => self.differing(index, &pair, &mut found)?,
        }
        Ok(found)
    }

    /// A call that is in one of them only: what was asked, and what was answered.
    fn only(&self, side: usize, end: &End, found: &mut LineDifferences) -> Result<(), Failure> {
        let Some(of) = self.found.get(side) else {
            return Ok(());
        };
        let calls = self.gathered.get(side).map_or(&[][..], |gathered| &gathered.calls);
        let answer = calls.iter().find(|call| call.at == end.at).and_then(|call| call.answer);
        let halves = [(Some(end.at), "what was asked", "params"), (answer, "what was answered", "result")];
        for (at, words, member) in halves {
            let Some(message) = at.map(|at| message(of, at)).transpose()?.flatten() else {
                continue;
            };
            let node = Node::new(&message);
            let value = node.get(member).or_else(|| node.get("error"));
            found.places.push(alone(side, words, value.map(Node::bytes)));
        }
        found.n_places = found.places.len();
        found.notes.push(format!("{}, {}", end.status, duration(end.latency_ns)));
        Ok(())
    }

    fn differing(&self, index: usize, pair: &Pair, found: &mut LineDifferences) -> Result<(), Failure> {
        for (side, comparison) in [(Side::Request, &pair.request), (Side::Response, &pair.answer)] {
            let mut accepted = reasons(comparison).into_iter().map(|reason| reason.accepted_by);
            for difference in comparison.differences.iter().take(PLACES) {
                let loose = accepted.next().unwrap_or_default().into_iter().filter_map(|accept| match accept {
                    Accept::Loose(Loose::Numbers) => Some("--loose numbers"),
                    Accept::Loose(Loose::Case) => Some("--loose case"),
                    Accept::Loose(Loose::Space) => Some("--loose space"),
                    Accept::Ignore(_) => None,
                });
                let rules = loose.collect();
                found.places.push(ComparePlace { rules, ..place(side, difference) });
            }
            let hidden = comparison.hidden.iter().take(PLACES);
            found.hidden.extend(hidden.map(|hidden| (hidden.path.dotted(side), hidden.by.name())));
        }
        (found.n_places, found.n_hidden) = (pair.n_differences(), pair.n_hidden());
        // Whether a looser depth accepts it is tried, not guessed.
        if pair.answer.n_differences > 0
            && let Some(shapes) = self.comparing.again(self.both(), index, 1, Some(Depth::Shape))?
            && shapes.answer.n_differences == 0
        {
            found.notes.push("--compare shape accepts all of the answer".into());
        }
        if let Some((a, b)) = pair.statuses() {
            found.notes.push(format!("{a} in A, {b} in B"));
        }
        if let Some((a, b)) = pair.rounds() {
            found.notes.push(format!("{a} rounds in A, {b} in B; only the last answers are compared"));
        }
        if let (Some(a), Some(b)) = (&pair.a, &pair.b) {
            found.notes.push(format!("it took {} in A, {} in B", duration(a.latency_ns), duration(b.latency_ns)));
        }
        found.notes.extend(pair.request.bounds.iter().chain(&pair.answer.bounds).map(|bound| bound.says().to_owned()));
        Ok(())
    }
}

/// One place at which two messages differ.
fn place(side: Side, difference: &Difference) -> ComparePlace {
    let path = difference.path.dotted(side);
    let mut words = difference.change.name().to_owned();
    if let Some(in_a) = &difference.path_in_a {
        words.push_str(&format!(", in A {}", in_a.dotted(side)));
    }
    if difference.change == Change::Reordered {
        words.push_str(": the same elements");
    }
    let ignore = tap_compare::PathPattern::parse(&path).ok().map(|pattern| pattern.as_str().to_owned());
    let (values, pieces) = values(difference.a.as_deref(), difference.b.as_deref());
    ComparePlace { path, words, values, pieces, ignore, ..ComparePlace::default() }
}

/// One change of a tool or the like.
fn drifted(kind: ListKind, change: &DriftChange) -> ComparePlace {
    let dotted = change.path.dotted(Side::Response);
    let path = dotted.strip_prefix("resp.").unwrap_or(&dotted).to_owned();
    // Schemas are judged whole: to leave out a part of one leaves what was found in it.
    let left_out = match change.path.0.first() {
        Some(Step::Member(schema)) if matches!(schema.as_str(), "inputSchema" | "outputSchema") => schema.as_str(),
        _ => &path,
    };
    let ignore = format!("result.{}[*].{left_out}", kind.member());
    let ignore = tap_compare::PathPattern::parse(&ignore).ok().map(|pattern| pattern.as_str().to_owned());
    let (values, pieces) = values(change.a.as_deref(), change.b.as_deref());
    let words = change.words.strip_prefix(&path).unwrap_or(&change.words).trim().to_owned();
    ComparePlace { path, words, class: Some(change.class), values, pieces, ignore, ..ComparePlace::default() }
}

/// Something that is in one of them only.
fn alone(side: usize, words: &str, json: Option<&[u8]>) -> ComparePlace {
    let (values, _) = if side == 0 { values(json, None) } else { values(None, json) };
    ComparePlace { words: format!("{words}, only in {}", ["A", "B"][side.min(1)]), values, ..ComparePlace::default() }
}

/// Both values as they are shown, and what changed in two texts.
fn values(a: Option<&[u8]>, b: Option<&[u8]>) -> ([Option<String>; 2], Vec<tap_compare::Piece>) {
    let text = |json: Option<&[u8]>| Some(Node::new(json?).text()?.into_owned());
    let (text_a, text_b) = (text(a), text(b));
    let are_texts = a.is_none() == text_a.is_none() && b.is_none() == text_b.is_none();
    let is_long =
        |text: &Option<String>| text.as_ref().is_some_and(|text| text.len() > SHORT_BYTES || text.contains('\n'));
    if are_texts && let (Some(a), Some(b)) = (&text_a, &text_b) {
        let (a, b) = around(a, b);
        let pieces = compare_words(&a, &b).unwrap_or_default();
        if is_long(&text_a) || is_long(&text_b) {
            return ([Some(a), Some(b)], pieces);
        }
        return ([json_of(text_a.as_deref()), json_of(text_b.as_deref())], pieces);
    }
    if are_texts && (is_long(&text_a) || is_long(&text_b)) {
        return ([text_a.map(|text| start(&text)), text_b.map(|text| start(&text))], Vec::new());
    }
    let json = |json: Option<&[u8]>| {
        let json = String::from_utf8_lossy(json?).into_owned();
        let json = if json.len() > SHORT_BYTES { pretty(&start(&json)) } else { json };
        Some(start(&json))
    };
    // Long values are told from where they begin to differ.
    let ([json_a, json_b], pieces) = ([json(a), json(b)], Vec::new());
    match (json_a, json_b) {
        (Some(json_a), Some(json_b)) if json_a == json_b => {
            let of =
                |json: Option<&[u8]>| json.map(|json| String::from_utf8_lossy(json).into_owned()).unwrap_or_default();
            let (a, b) = around(&of(a), &of(b));
            ([Some(a), Some(b)], pieces)
        }
        (json_a, json_b) => ([json_a, json_b], pieces),
    }
}

fn json_of(text: Option<&str>) -> Option<String> {
    text.map(|text| serde_json::Value::from(text).to_string())
}

/// The beginning of a text.
fn start(text: &str) -> String {
    let cut = text.floor_char_boundary(VALUE_BYTES);
    if cut < text.len() { format!("{}…", &text[..cut]) } else { text.to_owned() }
}

/// A part of two texts, from a little before they begin to differ.
fn around(a: &str, b: &str) -> (String, String) {
    let n_same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    if n_same < 2 * BEFORE_BYTES {
        return (start(a), start(b));
    }
    // Up to there they are the same, so that it is a border of characters in both.
    let from = a.floor_char_boundary(n_same - BEFORE_BYTES);
    let part = |text: &str| format!("…{}", start(text.get(from..).unwrap_or_default()));
    (part(a), part(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_from_where_they_differ() {
        let long = |end: &str| format!("\"{}{end}\"", "日本 ".repeat(3_000));
        let (told, pieces) = values(Some(long("a").as_bytes()), Some(long("b").as_bytes()));
        let [Some(a), Some(b)] = told else { panic!("{told:?}") };
        assert!(a.starts_with('…') && a.ends_with('a') && b.ends_with('b') && a.len() < 300, "{a}");
        assert!(pieces.iter().any(|piece| piece.of == tap_compare::PieceOf::B));
        for (a, b, expected) in [
            (Some("1"), Some("\"1\""), [Some("1"), Some("\"1\"")]),
            (Some("\"x\""), Some("\"y\""), [Some("\"x\""), Some("\"y\"")]),
            (Some("\"x\\ny\""), None, [Some("x\ny"), None]),
            (None, Some("{\"a\":1}"), [None, Some("{\"a\":1}")]),
        ] {
            let (told, _) = values(a.map(str::as_bytes), b.map(str::as_bytes));
            assert_eq!(told.each_ref().map(Option::as_deref), expected);
        }
        let deep = |end: u8| format!("[{}{end}]", "0,".repeat(9_000));
        let ([Some(a), Some(b)], _) = values(Some(deep(1).as_bytes()), Some(deep(2).as_bytes())) else { panic!() };
        assert!(a.ends_with("1]") && b.ends_with("2]"), "{a}");
    }
}
