//! The redactor: which values were found, and which marker stands for each.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::detect::{HOME, Kind, PRIVATE_KEY, markers};
use crate::known::Known;
use crate::rule::Rule;
use crate::walk::Walk;

/// How many places that were not judged are told.
const UNJUDGED: usize = 50;

/// Replaces secrets by markers: `«secret 1»`, `«secret 2»`, `«home»`; the same secret by the same marker.
///
/// Markers are numbered by where they first appear. Those that are in the text already keep their numbers: so all of it is
/// given to the redactor twice, first to look, with what comes back thrown away, then, after [`settle`](Self::settle), to
/// replace. What was found in one place is to be replaced in all others as well: so it is looked at once more before, if
/// [`looks_again`](Self::looks_again) says so.
#[derive(Debug, Default)]
pub struct Redactor {
    pub(crate) rules: Vec<Rule>,
    pub(crate) homes: Vec<String>,
    values: HashMap<(bool, String), usize>,
    found: Vec<Found>,
    /// How many of them are secrets, and how many home folders.
    n_found: [u32; 2],
    /// Values that are looked for wherever they stand.
    pub(crate) known: Option<Known>,
    /// Numbers of markers that were in the text, by whether they are of a home folder.
    taken: BTreeMap<(bool, u32), u64>,
    unjudged: Vec<Unjudged>,
    /// What was found, where somebody asks for it.
    pub(crate) findings: Option<Vec<Finding>>,
    /// Streams of lines that are inside of a private key.
    in_private_key: BTreeSet<String>,
}

#[derive(Debug)]
struct Found {
    is_home: bool,
    kind: Kind,
    number: u32,
    count: u64,
}

/// Something that looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// The place in the message: `params.arguments.password`.
    pub path: String,
    /// Where it begins in what was looked at, bytes.
    pub at: usize,
}

/// A marker, and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The marker.
    pub marker: String,
    /// What it is, where it was not there before.
    pub kind: Option<Kind>,
    /// How often.
    pub count: u64,
}

/// Something long and mixed that could be a secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unjudged {
    /// The place in the message.
    pub path: String,
    /// How long it is, bytes.
    pub length: usize,
}

impl Redactor {
    /// A redactor that knows these home folders, beside those that look like one, and these rules.
    #[must_use]
    pub fn new(rules: Vec<Rule>, homes: Vec<String>) -> Self {
        // `/` or an empty name would be everywhere.
        let homes = homes.into_iter().map(|home| home.trim_end_matches('/').to_owned());
        Self { rules, homes: homes.filter(|home| home.len() > 1).collect(), ..Self::default() }
    }

    /// The value of a member of a record, which is JSON, with markers; `None` where nothing is to be replaced.
    pub fn member(&mut self, name: &str, json: &str) -> Option<String> {
        Walk::new(self, Some(name)).json(json)
    }

    /// A message, which is JSON, with markers; `None` where nothing is to be replaced.
    pub fn message(&mut self, json: &str) -> Option<String> {
        Walk::new(self, None).json(json)
    }

    /// What is found in a whole record of a text recording, folded or not, without what is in the members `but`.
    pub fn record(&mut self, json: &str, but: &[&str]) -> Vec<Finding> {
        self.findings = Some(Vec::new());
        Walk::new(self, None).record(json, but);
        self.findings.take().unwrap_or_default()
    }

    /// What is found in the text of a member of a record that is bytes.
    pub fn bytes(&mut self, name: &str, text: &str) -> Vec<Finding> {
        self.findings = Some(Vec::new());
        Walk::new(self, Some(name)).text(text);
        self.findings.take().unwrap_or_default()
    }

    /// A line of text, which is the member `name` of a record, with markers; `None` where nothing is to be replaced. A private
    /// key may go on over several lines of a stream.
    pub fn line(&mut self, name: &str, stream: &str, text: &str) -> Option<String> {
        if self.in_private_key.contains(stream) && (text.contains("-----END ") || is_of_private_key(text)) {
            if text.contains("-----END ") {
                self.in_private_key.remove(stream);
            }
            self.see(text);
            let is_to_go = !text.trim().is_empty() && !has_placeholder(text);
            return is_to_go.then(|| self.marker(PRIVATE_KEY, text));
        }
        self.in_private_key.remove(stream);
        let begun = text.rfind("-----BEGIN ").and_then(|at| text.get(at..));
        let goes_on = begun.is_some_and(|begun| {
            let behind = begun.split_once("PRIVATE KEY").map(|(_, behind)| behind.replacen(" BLOCK", "", 1));
            let behind = behind.as_deref().and_then(|behind| behind.strip_prefix("-----"));
            behind.is_some_and(is_of_private_key)
        });
        if goes_on {
            self.in_private_key.insert(stream.into());
        }
        Walk::new(self, Some(name)).text(text)
    }

    /// Whether all of the text is to be looked at once more, because there are values now that are looked for in all of it and
    /// not only where their name stands. Then numbers are given anew.
    pub fn looks_again(&mut self) -> bool {
        if self.known.is_some() {
            return false;
        }
        let values = self.values.iter().filter(|((is_home, _), _)| !is_home);
        let known =
            Known::of(values.filter_map(|((_, value), index)| Some((value.as_str(), self.found.get(*index)?.kind))));
        if known.is_none() {
            return false;
        }
        let (rules, homes) = (std::mem::take(&mut self.rules), std::mem::take(&mut self.homes));
        *self = Self { rules, homes, known, ..Self::default() };
        true
    }

    /// Gives the markers their numbers: all of the text was looked at.
    ///
    /// Gives back which are in it.
    pub fn settle(&mut self) -> Vec<Replaced> {
        let mut next = [1_u32, 1];
        let taken: BTreeSet<(bool, u32)> = self.taken.keys().copied().collect();
        for found in &mut self.found {
            let next = &mut next[usize::from(found.is_home)];
            while taken.contains(&(found.is_home, *next)) {
                *next += 1;
            }
            found.number = *next;
            *next += 1;
        }
        let replaced = self.replaced();
        self.found.iter_mut().for_each(|found| found.count = 0);
        self.taken.values_mut().for_each(|count| *count = 0);
        self.unjudged.clear();
        self.in_private_key.clear();
        replaced
    }

    /// Which markers are in the text, in the order of their numbers.
    #[must_use]
    pub fn replaced(&self) -> Vec<Replaced> {
        let mut all: BTreeMap<(bool, u32), Replaced> = BTreeMap::new();
        for found in &self.found {
            let marker = marker(found.is_home, found.number);
            let replaced = Replaced { marker, kind: Some(found.kind), count: found.count };
            all.insert((found.is_home, found.number), replaced);
        }
        for ((is_home, number), count) in &self.taken {
            let before = Replaced { marker: marker(*is_home, *number), kind: None, count: 0 };
            all.entry((*is_home, *number)).or_insert(before).count += count;
        }
        all.into_values().filter(|replaced| replaced.count > 0).collect()
    }

    /// What looks like a secret and was not replaced, with the places; each place once.
    #[must_use]
    pub fn unjudged(&self) -> &[Unjudged] {
        &self.unjudged
    }

    /// The marker for a value.
    pub(crate) fn marker(&mut self, kind: Kind, value: &str) -> String {
        let found = self.number(kind, value);
        marker(found.0, found.1)
    }

    /// Whether the marker is of a home folder, and its number.
    pub(crate) fn number(&mut self, kind: Kind, value: &str) -> (bool, u32) {
        let is_home = kind == HOME;
        let next = self.found.len();
        let index = *self.values.entry((is_home, value.to_owned())).or_insert(next);
        if index == next {
            let n_found = &mut self.n_found[usize::from(is_home)];
            *n_found += 1;
            self.found.push(Found { is_home, kind, number: *n_found, count: 0 });
        }
        let Some(found) = self.found.get_mut(index) else {
            return (is_home, 1);
        };
        found.count += 1;
        (is_home, found.number)
    }

    pub(crate) fn tell(&mut self, kind: Kind, path: String, at: usize) {
        if let Some(findings) = &mut self.findings {
            findings.push(Finding { kind, path, at });
        }
    }

    /// Counts the markers that are in a text already.
    pub(crate) fn see(&mut self, text: &str) {
        for marker in markers(text) {
            *self.taken.entry(marker).or_default() += 1;
        }
    }

    pub(crate) fn doubt(&mut self, path: String, length: usize) {
        if self.unjudged.len() < UNJUDGED && !self.unjudged.iter().any(|known| known.path == path) {
            self.unjudged.push(Unjudged { path, length });
        }
    }
}

/// Whether a line can be one of a private key: base64 and nothing else, or what stands before it.
fn is_of_private_key(line: &str) -> bool {
    let line = line.trim();
    let heads = ["Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: ", "Hash: ", "Charset: "];
    line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
        || heads.iter().any(|head| line.starts_with(head))
        || has_placeholder(line)
}

fn marker(is_home: bool, number: u32) -> String {
    match (is_home, number) {
        (true, 1) => "«home»".into(),
        (true, number) => format!("«home {number}»"),
        (false, number) => format!("«secret {number}»"),
    }
}

/// Whether a text holds something that is a placeholder in a fixture: `«any»`, `«secret 1»`, `«re:…»`.
#[must_use]
pub fn has_placeholder(text: &str) -> bool {
    let words = ["any", "string", "number", "uuid", "time", "path", "home", "secret"];
    text.match_indices('«').any(|(at, mark)| {
        let inner = text.get(at + mark.len()..).and_then(|rest| rest.split_once('»')).map_or("", |(inner, _)| inner);
        inner.starts_with("re:") || words.contains(&inner.split(' ').next().unwrap_or_default())
    })
}
