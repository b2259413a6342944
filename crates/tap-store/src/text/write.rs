//! Records to text: on one line, or folded.

use std::io::Write;

use serde_json::{Map, Value};

use super::fold::{Style, columns, fold};

/// A record that is to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Names, and values as JSON, in the order in which they are written.
    pub(super) members: Vec<(String, String)>,
    /// When it was, nanoseconds since the session opened.
    pub(super) at_ns: u64,
    /// Whether that is written.
    pub(super) has_time: bool,
    /// A message that stands verbatim in it.
    pub(super) message: Option<String>,
    /// The first of all, which has no time.
    pub(super) is_header: bool,
}

impl Entry {
    pub(super) fn new(record: Map<String, Value>, at_ns: u64, message: Option<String>) -> Self {
        let members = record.into_iter().map(|(name, value)| (name, value.to_string())).collect();
        Self { members, at_ns, has_time: true, message, is_header: false }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.members.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a member that is a string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Puts JSON in the place of a member, or behind all others.
    pub(super) fn put_json(&mut self, name: &str, json: String) {
        match self.members.iter_mut().find(|(known, _)| known == name) {
            Some((_, value)) => *value = json,
            None => self.members.push((name.into(), json)),
        }
    }

    pub(super) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.put_json(name, value.into().to_string());
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.members.retain(|(known, _)| known != name);
    }
}

/// Writes records, one after another.
pub(super) struct RecordWriter<'a, W> {
    out: &'a mut W,
    fold_columns: usize,
    text: String,
}

impl<'a, W: Write> RecordWriter<'a, W> {
    pub(super) fn new(out: &'a mut W, fold_columns: usize) -> Self {
        Self { out, fold_columns, text: String::new() }
    }

    pub(super) fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }

    pub(super) fn write(&mut self, entry: &Entry) -> std::io::Result<()> {
        self.text.clear();
        // The name with its colon, and the value.
        let mut members: Vec<(String, String)> = entry
            .members
            .iter()
            .map(|(name, value)| (format!("{}:", Value::from(name.as_str())), value.clone()))
            .collect();
        if entry.has_time && !entry.is_header {
            let at_ns = entry.at_ns;
            members.push(("\"at\":".into(), format!("{}.{:09}", at_ns / 1_000_000_000, at_ns % 1_000_000_000)));
        }
        let width = self.fold_columns;
        let message = entry.message.as_deref();
        // Two brackets, a comma or colon behind each.
        let n_columns = members.iter().map(|(name, value)| columns(name) + columns(value) + 1).sum::<usize>() + 1;
        let whole = n_columns + message.map_or(0, |message| columns(message) + "\"msg\":,".len());
        let style = (0 < width && width < whole).then(|| message.map_or(Some(Style::Compact), Style::of)).flatten();
        match (style, message) {
            (None, _) => {
                self.begin(&members, message.is_some());
                self.text.push_str(message.unwrap_or_default());
            }
            (Some(style), Some(message)) => {
                if style == Style::Spaced {
                    members.push(("\"style\":".into(), "\"spaced\"".into()));
                }
                self.begin(&members, true);
                let column = columns(&self.text);
                fold(&mut self.text, message, width, column, 1, 1);
            }
            (Some(_), None) => self.broken(&members),
        }
        self.text.push_str("}\n");
        self.out.write_all(self.text.as_bytes())
    }

    /// All up to the message.
    fn begin(&mut self, members: &[(String, String)], has_message: bool) {
        let mut separator = "{";
        for (name, value) in members {
            self.text.extend([separator, name, value]);
            separator = ",";
        }
        match (has_message, members.is_empty()) {
            (true, _) => self.text.extend([separator, "\"msg\":"]),
            (false, true) => self.text.push('{'),
            (false, false) => {}
        }
    }

    /// As many members on a line as fit.
    fn broken(&mut self, members: &[(String, String)]) {
        self.text.push('{');
        let mut column = 1;
        for (index, member) in members.iter().enumerate() {
            if 0 < index {
                self.text.push(',');
                column += 1;
            }
            let n_columns = columns(&member.0) + columns(&member.1);
            if 0 < index && self.fold_columns < column + n_columns + 1 {
                self.text.push_str("\n ");
                column = 1;
            }
            let begin = self.text.len();
            let level = if index == 0 { 1 } else { 2 };
            let (name, value) = member;
            self.text.push_str(name);
            fold(&mut self.text, value, self.fold_columns, column + columns(name), level, 1);
            let written = self.text.get(begin..).unwrap_or_default();
            column = match written.rsplit_once('\n') {
                Some((_, last)) => columns(last),
                None => column + n_columns,
            };
        }
    }
}
