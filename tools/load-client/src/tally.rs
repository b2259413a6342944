//! What became of the answers to a run of calls.

use serde::Serialize;
use serde_json::Value;

use crate::message::{Text, response_id};

/// What became of the answers to a run of calls.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    /// Answers that came byte for byte as the server wrote them.
    pub(crate) exact: u64,
    /// Answers that mean the same but are written otherwise.
    pub(crate) altered: u64,
    /// Answers that mean something else.
    pub(crate) wrong: u64,
    /// Answers that did not follow the one to the call before; the server answers in order.
    pub(crate) out_of_order: u64,
    /// Second answers to one call.
    pub(crate) repeated: u64,
    /// Lines that answer no call of ours.
    pub(crate) extra_lines: u64,
}

/// Takes the answers to the calls `first_id..first_id + n_calls`, and counts.
pub(crate) struct Answers<'a> {
    text: &'a Text,
    first_id: u64,
    answered: Vec<bool>,
    n_answered: usize,
    next_index: usize,
    /// The answer that the call `next_index` should get, built anew for each line.
    expected: Vec<u8>,
    tally: Tally,
}

impl<'a> Answers<'a> {
    pub(crate) fn new(text: &'a Text, first_id: u64, n_calls: usize) -> Self {
        Self {
            text,
            first_id,
            answered: vec![false; n_calls],
            n_answered: 0,
            next_index: 0,
            expected: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Takes one line. True when it is the first answer to a call.
    pub(crate) fn take(&mut self, line: &[u8]) -> bool {
        // Nearly each line is the very answer that comes next. Parsing only the others keeps the client quick: a
        // slow one would hide what a tap costs.
        let (id, text) = (self.first_id + self.next_index as u64, self.text);
        text.write_answer(&mut self.expected, id);
        if line == self.expected && self.answered.get(self.next_index) == Some(&false) {
            self.note(self.next_index);
            self.tally.exact += 1;
            return true;
        }
        let Some(index) = self.index_of(line) else {
            self.tally.extra_lines += 1;
            return false;
        };
        if self.answered[index] {
            self.tally.repeated += 1;
            return false;
        }
        if index != self.next_index {
            self.tally.out_of_order += 1;
        }
        self.note(index);
        self.judge(line, self.first_id + index as u64);
        true
    }

    pub(crate) fn n_answered(&self) -> usize {
        self.n_answered
    }

    pub(crate) fn into_tally(self) -> Tally {
        self.tally
    }

    fn note(&mut self, index: usize) {
        self.answered[index] = true;
        self.n_answered += 1;
        self.next_index = index + 1;
    }

    fn index_of(&self, line: &[u8]) -> Option<usize> {
        let id: u64 = response_id(line)?.parse().ok()?;
        let index = usize::try_from(id.checked_sub(self.first_id)?).ok()?;
        (index < self.answered.len()).then_some(index)
    }

    fn judge(&mut self, line: &[u8], id: u64) {
        self.text.write_answer(&mut self.expected, id);
        if line == self.expected {
            self.tally.exact += 1;
            return;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(answer) if answer["result"]["content"][0]["text"] == self.text.of(id) => self.tally.altered += 1,
            _ => self.tally.wrong += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_to(text: &Text, id: u64) -> String {
        let mut line = Vec::new();
        text.write_answer(&mut line, id);
        String::from_utf8(line).unwrap()
    }

    /// Ten calls from id 100 on; `lines` makes the answers.
    #[track_caller]
    fn check(lines: impl FnOnce(&Text) -> Vec<String>, expected: &Tally) {
        let text = Text::small("test");
        let mut answers = Answers::new(&text, 100, 10);
        let n_first = lines(&text).into_iter().filter(|line| answers.take(line.as_bytes())).count();
        assert_eq!(answers.n_answered(), n_first);
        assert_eq!(answers.into_tally(), *expected);
    }

    #[test]
    fn answers_in_order_are_exact() {
        check(|text| (100..110).map(|id| answer_to(text, id)).collect(), &Tally { exact: 10, ..Tally::default() });
    }

    #[test]
    fn swapped_answers_are_out_of_order_but_exact() {
        check(
            |text| [101, 100, 102].map(|id| answer_to(text, id)).to_vec(),
            &Tally { exact: 3, out_of_order: 3, ..Tally::default() },
        );
    }

    #[test]
    fn a_second_answer_is_repeated() {
        check(
            |text| [100, 100, 101].map(|id| answer_to(text, id)).to_vec(),
            &Tally { exact: 2, repeated: 1, ..Tally::default() },
        );
    }

    #[test]
    fn a_line_more_after_the_last_answer_is_extra() {
        check(
            |text| (100..111).map(|id| answer_to(text, id)).collect(),
            &Tally { exact: 10, extra_lines: 1, ..Tally::default() },
        );
    }

    #[test]
    fn an_answer_printed_again_is_altered_and_another_text_is_wrong() {
        check(
            |text| {
                vec![
                    answer_to(text, 100).replace(":", ": "),
                    answer_to(text, 101).replace("call", "lost"),
                    r#"{"id":102,"error":{}}"#.to_owned(),
                ]
            },
            &Tally { altered: 1, wrong: 2, ..Tally::default() },
        );
    }

    #[test]
    fn what_answers_no_call_is_extra() {
        check(
            |_| {
                vec![
                    "banner".to_owned(),
                    r#"{"method":"ping","id":100}"#.to_owned(),
                    r#"{"id":99,"result":{}}"#.to_owned(),
                ]
            },
            &Tally { extra_lines: 3, ..Tally::default() },
        );
    }
}
