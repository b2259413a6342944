//! The configuration file: read once, and what is wrong in it told with the nearest that would be right.
//!
//! Nothing wrong in it stops anything but a file that is no TOML at all, or one that was named and cannot be read. It is the user's own file; no folder's is ever read.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tap_inspector::{KEYMAP, Keys, Theme};
use toml_edit::{Item, TableLike, Value};

use crate::arguments::Global;
use crate::failure::{Failure, nearest};
use crate::paths::default_configuration;
use crate::quantity::{parse_age, parse_size};

/// What can stand at the top.
const TOP: [&str; 5] = ["theme", "mouse", "keys", "colours", "record"];

/// What can stand under `[record]`.
const RECORD: [&str; 2] = ["max_age", "max_size"];

/// The themes.
pub(crate) const THEMES: [&str; 3] = ["terminal", "blue-and-orange", "plain"];

/// What is configured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configuration {
    /// The file, whether it is there or not; `None` where there is no place for one.
    pub(crate) path: Option<PathBuf>,
    pub(crate) theme: Option<String>,
    pub(crate) mouse: Option<bool>,
    pub(crate) keys: Keys,
    /// Keys as they were set: what for, and which.
    pub(crate) set_keys: Vec<(String, Vec<String>)>,
    /// A meaning and its style.
    pub(crate) colours: Vec<(String, String)>,
    /// How old recordings may get.
    pub(crate) max_age: Option<Duration>,
    /// How much the database may hold, bytes.
    pub(crate) max_size: Option<u64>,
    /// What is wrong.
    pub(crate) problems: Vec<String>,
}

impl Configuration {
    /// Reads the file that is named, or the default one if it is there.
    pub(crate) fn read(global: &Global) -> Result<Self, Failure> {
        Self::read_from(global.config.clone())
    }

    /// The same of the file that was named, if one was.
    pub(crate) fn read_from(named: Option<PathBuf>) -> Result<Self, Failure> {
        let (path, is_named) = match named {
            Some(path) => (Some(path), true),
            None => (default_configuration().ok(), false),
        };
        let Some(path) = path else {
            return Ok(Self::default());
        };
        Self::read_at(path, is_named)
    }

    fn read_at(path: PathBuf, is_named: bool) -> Result<Self, Failure> {
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&path, &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_named => {
                Ok(Self { path: Some(path), ..Self::default() })
            }
            Err(error) => {
                let why = format!("cannot read {}: {error}", path.display());
                match is_named {
                    true => Err(Failure::new(why)),
                    // Nobody asked for it: what is looked at does not depend on it.
                    false => Ok(Self { path: Some(path), problems: vec![why], ..Self::default() }),
                }
            }
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let document = toml_edit::Document::parse(text).map_err(|error| {
            let line = error.span().map(|span| format!(":{}", line_of(text, span.start))).unwrap_or_default();
            Failure::new(format!("{}{line}: {}", path.display(), error.message()))
        })?;
        let mut this = Self { path: Some(path.into()), ..Self::default() };
        let mut reader = Reader { path, text, problems: Vec::new() };
        for (name, item) in document.as_table() {
            let key = document.as_table().key(name).and_then(toml_edit::Key::span);
            match name {
                "theme" => this.theme = reader.theme(item),
                "mouse" => this.mouse = reader.expect(item, "true or false", |value| value.as_bool()),
                "keys" => reader.keys(item, &mut this),
                "colours" => reader.colours(item, &mut this),
                "record" => reader.record(item, &mut this),
                _ => reader.unknown(key, "key", name, TOP.into_iter()),
            }
        }
        this.problems = reader.problems;
        Ok(this)
    }

    /// Puts the colours that are set into a theme.
    pub(crate) fn colour(&self, theme: &mut Theme) {
        for (meaning, style) in &self.colours {
            // Those that cannot be are among the problems.
            let _ = theme.set(meaning, style);
        }
    }
}

/// Reads values, and gathers what is wrong with them.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn problem(&mut self, at: Option<std::ops::Range<usize>>, what: &str) {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let line = at.map(|at| format!(":{}", line_of(self.text, at.start))).unwrap_or_default();
        self.problems.push(format!("{name}{line}: {what}"));
    }

    fn unknown<'k>(
        &mut self,
        at: Option<std::ops::Range<usize>>,
        kind: &str,
        name: &str,
        known: impl Iterator<Item = &'k str>,
    ) {
        let near = nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        self.problem(at, &format!("there is no {kind} `{name}`{near}"));
    }

    fn expect<T>(&mut self, item: &Item, what: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let found = item.as_value().and_then(read);
        if found.is_none() {
            self.problem(item.span(), &format!("{what} is expected here"));
        }
        found
    }

    fn theme(&mut self, item: &Item) -> Option<String> {
        let name = self.expect(item, "a theme's name", |value| value.as_str().map(str::to_owned))?;
        if !THEMES.contains(&name.as_str()) {
            self.unknown(item.span(), "theme", &name, THEMES.into_iter());
            return None;
        }
        Some(name)
    }

    /// The members of a table, each with where its key stands.
    fn table<'i>(&mut self, item: &'i Item) -> Vec<(&'i str, &'i Item, Option<std::ops::Range<usize>>)> {
        let Some(table) = item.as_table_like() else {
            self.problem(item.span(), "a table is expected here");
            return Vec::new();
        };
        let key = |name| TableLike::key(table, name).and_then(toml_edit::Key::span);
        table.iter().map(|(name, item)| (name, item, key(name))).collect()
    }

    fn keys(&mut self, item: &Item, to: &mut Configuration) {
        for (name, item, at) in self.table(item) {
            let one = |value: &Value| value.as_str().map(|key| vec![key.to_owned()]);
            let many = |value: &Value| {
                let keys = value.as_array()?.iter().map(|key| key.as_str().map(str::to_owned));
                keys.collect::<Option<Vec<_>>>()
            };
            let Some(keys) = self.expect(item, "a key, or a list of keys", |value| one(value).or_else(|| many(value)))
            else {
                continue;
            };
            if !KEYMAP.iter().any(|binding| binding.name == name) {
                self.unknown(at, "action", name, KEYMAP.iter().map(|binding| binding.name));
                continue;
            }
            match to.keys.set(name, &keys) {
                Ok(()) => to.set_keys.push((name.into(), keys)),
                Err(why) => self.problem(item.span(), &why),
            }
        }
    }

    fn record(&mut self, item: &Item, to: &mut Configuration) {
        for (name, item, at) in self.table(item) {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            match name {
                "max_age" => {
                    let read = self.expect(item, "a length of time such as \"30d\"", text).map(|text| parse_age(&text));
                    to.max_age = self.parsed(item, read);
                }
                "max_size" => {
                    let read = self.expect(item, "a size such as \"5G\"", text).map(|text| parse_size(&text));
                    to.max_size = self.parsed(item, read);
                }
                _ => self.unknown(at, "key of [record]", name, RECORD.into_iter()),
            }
        }
    }

    fn parsed<T>(&mut self, item: &Item, read: Option<Result<T, String>>) -> Option<T> {
        match read? {
            Ok(value) => Some(value),
            Err(why) => {
                self.problem(item.span(), &why);
                None
            }
        }
    }

    fn colours(&mut self, item: &Item, to: &mut Configuration) {
        for (name, item, at) in self.table(item) {
            let Some(style) = self.expect(item, "a style", |value| value.as_str().map(str::to_owned)) else {
                continue;
            };
            if !Theme::MEANINGS.contains(&name) {
                self.unknown(at, "meaning", name, Theme::MEANINGS.into_iter());
                continue;
            }
            match Theme::plain().set(name, &style) {
                Ok(()) => to.colours.push((name.into(), style)),
                Err(why) => self.problem(item.span(), &why),
            }
        }
    }
}

/// The line that a byte stands in, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Configuration, String> {
        Configuration::parse(Path::new("/x/config.toml"), text).map_err(|failure| failure.message)
    }

    #[test]
    fn what_is_right_is_taken() {
        let text = "theme = 'blue-and-orange'\nmouse = false\n[keys]\nmark = 'x'\njump = ['ctrl-g', 'f7']\n[colours]\nbad = 'bold 208'\n[record]\nmax_age = '30d'\nmax_size = '5G'\n";
        let read = parse(text).unwrap();
        assert_eq!((read.theme.as_deref(), read.mouse), (Some("blue-and-orange"), Some(false)));
        assert_eq!(read.set_keys.len(), 2);
        assert_eq!((read.max_age, read.max_size), (Some(Duration::from_secs(30 * 86_400)), Some(5 << 30)));
        assert_eq!(read.colours, [("bad".to_owned(), "bold 208".to_owned())]);
        assert_eq!(read.problems, Vec::<String>::new());
        assert_eq!(parse("").unwrap().problems, Vec::<String>::new());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_the_nearest_and_the_rest_is_taken() {
        for (text, expected) in [
            ("\nthem = 'plain'", "config.toml:2: there is no key `them`; did you mean `theme`?"),
            ("zzz = 1", "config.toml:1: there is no key `zzz`"),
            ("theme = 'plane'", "config.toml:1: there is no theme `plane`; did you mean `plain`?"),
            ("theme = 7", "config.toml:1: a theme's name is expected here"),
            ("mouse = 'no'", "config.toml:1: true or false is expected here"),
            ("keys = 1", "config.toml:1: a table is expected here"),
            ("[keys]\nmrak = 'x'", "config.toml:2: there is no action `mrak`; did you mean `mark`?"),
            (
                "[keys]\nmark = 'xx'",
                "config.toml:2: there is no key `xx`; keys are called as in the help: j, ctrl-d, enter, f5",
            ),
            ("[record]\nmax_age = 30", "config.toml:2: a length of time such as \"30d\" is expected here"),
            ("[record]\nmax_age = '30'", "config.toml:2: `30` is no length of time; such are 90m, 12h, 30d, 2w"),
            ("[record]\nmax_size = 'big'", "config.toml:2: `big` is no size; such are 500M, 5G, 1T"),
            (
                "[record]\nmaxsize = '5G'",
                "config.toml:2: there is no key of [record] `maxsize`; did you mean `max_size`?",
            ),
            ("[keys]\nmark = [1]", "config.toml:2: a key, or a list of keys is expected here"),
            ("[colours]\nbadd = 'red'", "config.toml:2: there is no meaning `badd`; did you mean `bad`?"),
        ] {
            let read = parse(&format!("{text}\n")).unwrap();
            assert_eq!(read.problems, [expected], "{text}");
        }
        let read = parse("them = 1\nmouse = true\n[keys]\nmrak = 'x'\nmark = 'x'\n").unwrap();
        assert_eq!((read.problems.len(), read.mouse, read.set_keys.len()), (2, Some(true), 1));
    }

    #[test]
    fn a_file_that_cannot_be_read_stops_only_who_named_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("bytes.toml"), b"theme = '\xff'").unwrap();
        std::fs::create_dir(at("folder.toml")).unwrap();
        // The last is below something that is no folder.
        for name in ["bytes.toml", "folder.toml", "bytes.toml/config.toml"] {
            let read = Configuration::read_at(at(name), false).map_err(|failure| failure.message).unwrap();
            assert!(
                matches!(&*read.problems, [one] if one.starts_with("cannot read /")),
                "{name}: {:?}",
                read.problems
            );
            let failure = Configuration::read_at(at(name), true).unwrap_err();
            assert!(failure.message.starts_with("cannot read /"), "{name}: {}", failure.message);
        }
        let missing = Configuration::read_at(at("missing.toml"), false).map_err(|failure| failure.message).unwrap();
        assert_eq!(missing.problems, Vec::<String>::new());
        assert!(Configuration::read_at(at("missing.toml"), true).is_err());
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_line() {
        let error = parse("theme = 'plain'\nmouse = = 1\n").unwrap_err();
        assert!(error.starts_with("/x/config.toml:2: "), "{error}");
    }
}
