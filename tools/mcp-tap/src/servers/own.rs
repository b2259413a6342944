//! Our own form of a configuration of servers, in TOML: how each is started, and what a router is to make of it.
//!
//! A wrong value is told with its line and its key, and stops nothing but what it is about; so is a key that is not known.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tap_router::{Pattern, Policy, PolicyRule, ToolRules, Verdict};
use toml_edit::{Document, Item, TableLike, Value};

use super::{Configuration, Configured, Launch, Rules, filled};
use crate::failure::nearest;
use crate::text::shown;

/// What can stand in a server's table.
const KEYS: [&str; 14] = [
    "command", "args", "env", "cwd", "url", "headers", "enabled", "timeout", "parallel", "allow", "deny", "roles",
    "tools", "disabled",
];

/// What can stand in a tool's table.
const TOOL_KEYS: [&str; 3] = ["rename", "description", "input_schema"];

/// What can stand in a rule about calls.
const RULE_KEYS: [&str; 5] = ["server", "tool", "arguments", "then", "because"];

/// Something that is wrong: where, and what.
type Wrong = (Option<usize>, String);

/// Whether a text is in our own form, and not in that of a host which writes TOML as well.
pub(super) fn is_own(text: &str) -> bool {
    Document::parse(text).map_or(true, |document| document.get("servers").is_some_and(Item::is_table_like))
}

/// Reads a text. `Err` where nothing of it can be used.
pub(super) fn read(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Configuration, String> {
    let document = Document::parse(text).map_err(|error| format!("it is no TOML: {}", error.to_string().trim()))?;
    let servers = document.get("servers").and_then(Item::as_table_like);
    let servers = servers.ok_or("it names no servers: there is no table [servers.NAME]")?;
    let mut reader = Reader { text, configuration: Configuration::default(), variable: &variable };
    for (key, item) in document.iter() {
        match key {
            "servers" => {}
            _ if reader.about_calls(key, item)? => {}
            _ => reader.problem(item.span().map(|span| span.start), format!("`{}` is not known", shown(key, false))),
        }
    }
    for (name, item) in servers.iter() {
        reader.server(name, item);
    }
    Ok(reader.configuration)
}

/// Reads rules about calls that stand in a file of their own.
pub(super) fn read_policy(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Policy, String> {
    let document = Document::parse(text).map_err(|error| format!("it is no TOML: {}", error.to_string().trim()))?;
    let mut reader = Reader { text, configuration: Configuration::default(), variable: &variable };
    for (key, item) in document.iter() {
        match key {
            _ if reader.about_calls(key, item)? => {}
            // Servers may stand beside them, in the form that `--config` takes.
            "servers" => {}
            _ => return Err(format!("`{}` is not known", shown(key, false))),
        }
    }
    match reader.configuration.has_policy {
        true => Ok(reader.configuration.policy),
        false => Err("it has no rules: neither [[rules]] nor `otherwise`".into()),
    }
}

struct Reader<'a> {
    text: &'a str,
    configuration: Configuration,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Reader<'_> {
    /// In which line something is, from 1.
    fn line_of(&self, at: Option<usize>) -> Option<usize> {
        Some(self.text.get(..at?)?.matches('\n').count() + 1)
    }

    fn problem(&mut self, at: Option<usize>, what: String) {
        self.configuration.problems.push(match self.line_of(at) {
            Some(line) => format!("line {line}: {what}"),
            None => what,
        });
    }

    /// Takes what a key says about calls; false where it is about something else.
    fn about_calls(&mut self, key: &str, item: &Item) -> Result<bool, String> {
        match key {
            "rules" => self.policy(item)?,
            "otherwise" => {
                self.configuration.policy.rest = verdict(item).ok_or("`otherwise` is allow, ask or deny")?;
            }
            _ => return Ok(false),
        }
        self.configuration.has_policy = true;
        Ok(true)
    }

    /// The rules about calls. One that is wrong makes all of them worth nothing, since what it would have kept from being
    /// called is not known: then nothing of the file is used.
    fn policy(&mut self, item: &Item) -> Result<(), String> {
        let tables = item.as_array_of_tables().ok_or("`rules` are tables, each begun with [[rules]]")?;
        for (index, table) in tables.iter().enumerate() {
            let place = format!("rule {}", index + 1);
            let wrong = |(at, what): Wrong| {
                format!("{place}{}{what}", self.line_of(at).map(|line| format!(" (line {line})")).unwrap_or_default())
            };
            if let Some((key, item)) = table.iter().find(|(key, _)| !RULE_KEYS.contains(key)) {
                let near = nearest(key, RULE_KEYS.iter().copied()).map(|near| format!("; did you mean {near}?"));
                let what = format!(": `{}` is not known{}", shown(key, false), near.unwrap_or_default());
                return Err(wrong((at(item), what)));
            }
            let text = |key: &str| self.text_of(table, key).map_err(wrong);
            let arguments = self.pairs_of(table, "arguments").map_err(wrong)?;
            let then = table.get("then").and_then(verdict);
            let then =
                then.ok_or_else(|| wrong((table.get("then").and_then(at), ": `then` is allow, ask or deny".into())))?;
            let rule = PolicyRule {
                server: text("server")?.map(Pattern::new),
                tool: text("tool")?.map(Pattern::new),
                arguments: arguments.into_iter().map(|(path, value)| (path, Pattern::new(value))).collect(),
                verdict: then,
                because: text("because")?,
            };
            self.configuration.policy.rules.push(rule);
        }
        Ok(())
    }

    fn server(&mut self, name: &str, item: &Item) {
        let place = format!("servers.{}", shown(name, false));
        let Some(table) = item.as_table_like() else {
            return self.problem(at(item), format!("{place} is no table"));
        };
        self.unknown_keys(&place, table, &KEYS);
        let is = |key: &str| table.get(key).and_then(Item::as_bool);
        if is("enabled") == Some(false) || is("disabled") == Some(true) {
            return;
        }
        match self.launch(&place, table) {
            Ok(launch) => {
                let rules = self.rules(&place, table);
                self.configuration.servers.push(Configured { name: name.to_owned(), launch, rules });
            }
            Err((at_byte, what)) => self.problem(at_byte.or(at(item)), format!("{place}{what}; it is left out")),
        }
    }

    fn unknown_keys(&mut self, place: &str, table: &dyn TableLike, known: &[&str]) {
        let unknown: Vec<_> = table.iter().filter(|(key, _)| !known.contains(key)).collect();
        for (key, item) in unknown {
            let near = nearest(key, known.iter().copied()).map(|near| format!("; did you mean {near}?"));
            let what = format!("{place}.{} is not known{}", shown(key, false), near.unwrap_or_default());
            self.problem(at(item), what);
        }
    }

    fn launch(&self, place: &str, table: &dyn TableLike) -> Result<Launch, Wrong> {
        let _ = place;
        if let Some(program) = self.text_of(table, "command")? {
            let arguments = self.texts_of(table, "args")?;
            let command = std::iter::once(program).chain(arguments).map(OsString::from).collect();
            let folder = self.text_of(table, "cwd")?.map(PathBuf::from);
            return Ok(Launch::Command { command, environment: self.pairs_of(table, "env")?, folder });
        }
        match self.text_of(table, "url")? {
            Some(url) => Ok(Launch::Remote { url, headers: self.pairs_of(table, "headers")? }),
            None => Err((None, " has neither `command` nor `url`".into())),
        }
    }

    /// Wrong rules are told and left out, one by one.
    fn rules(&mut self, place: &str, table: &dyn TableLike) -> Rules {
        let mut rules = Rules::default();
        let mut wrong: Vec<Wrong> = Vec::new();
        let mut note = |result: Result<(), Wrong>| wrong.extend(result.err());
        note(self.text_of(table, "timeout").and_then(|text| {
            if let Some(text) = text {
                let limit = time(&text).ok_or_else(|| {
                    (table.get("timeout").and_then(at), format!(".timeout is no time: `{text}`, as in \"30s\""))
                })?;
                (rules.rules.limit, rules.has_limit) = (limit, true);
            }
            Ok(())
        }));
        if let Some(item) = table.get("parallel") {
            match item.as_integer().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0) {
                Some(n) => rules.rules.parallel = n,
                None => note(Err((at(item), ".parallel is no number from 1 on".into()))),
            }
        }
        note(
            self.texts_of(table, "allow")
                .map(|texts| rules.rules.allow = texts.into_iter().map(Pattern::new).collect()),
        );
        note(
            self.texts_of(table, "deny").map(|texts| rules.rules.deny = texts.into_iter().map(Pattern::new).collect()),
        );
        note(self.texts_of(table, "roles").map(|texts| rules.rules.roles = texts.into_iter().collect()));
        let mut tools = BTreeMap::new();
        let mut unknown = Vec::new();
        if let Some(item) = table.get("tools") {
            match item.as_table_like() {
                None => note(Err((at(item), ".tools is no table".into()))),
                Some(table) => {
                    for (name, item) in table.iter() {
                        let Some(table) = item.as_table_like() else {
                            note(Err((at(item), format!(".tools.{} is no table", shown(name, false)))));
                            continue;
                        };
                        unknown.push((name.to_owned(), item));
                        let mut of = |key: &str| {
                            self.text_of(table, key).unwrap_or_else(|(at, what)| {
                                note(Err((at, format!(".tools.{}{what}", shown(name, false)))));
                                None
                            })
                        };
                        let tool = ToolRules {
                            rename: of("rename"),
                            description: of("description"),
                            input_schema: of("input_schema"),
                        };
                        tools.insert(name.to_owned(), tool);
                    }
                }
            }
        }
        rules.rules.tools = tools;
        for (at, what) in wrong {
            self.problem(at, format!("{place}{what}"));
        }
        for (name, item) in unknown {
            if let Some(table) = item.as_table_like() {
                self.unknown_keys(&format!("{place}.tools.{}", shown(&name, false)), table, &TOOL_KEYS);
            }
        }
        rules
    }

    fn text_of(&self, table: &dyn TableLike, key: &str) -> Result<Option<String>, Wrong> {
        let Some(item) = table.get(key) else {
            return Ok(None);
        };
        let text = item.as_str().ok_or_else(|| (at(item), format!(".{key} is no text")))?;
        filled(text, &self.variable).map(Some).map_err(|what| (at(item), format!(".{key}: {what}")))
    }

    fn texts_of(&self, table: &dyn TableLike, key: &str) -> Result<Vec<String>, Wrong> {
        let Some(item) = table.get(key) else {
            return Ok(Vec::new());
        };
        let array = item.as_array().ok_or_else(|| (at(item), format!(".{key} is no array")))?;
        let text = |value: &Value| {
            let start = value.span().map(|span| span.start);
            let text = value.as_str().ok_or_else(|| (start, format!(".{key} holds something that is no text")))?;
            filled(text, &self.variable).map_err(|what| (start, format!(".{key}: {what}")))
        };
        array.iter().map(text).collect()
    }

    fn pairs_of(&self, table: &dyn TableLike, key: &str) -> Result<Vec<(String, String)>, Wrong> {
        let Some(item) = table.get(key) else {
            return Ok(Vec::new());
        };
        let pairs = item.as_table_like().ok_or_else(|| (at(item), format!(".{key} is no table")))?;
        let pair = |(name, item): (&str, &Item)| {
            let text = item.as_str().ok_or_else(|| (at(item), format!(".{key}.{name} is no text")))?;
            let value = filled(text, &self.variable).map_err(|what| (at(item), format!(".{key}.{name}: {what}")))?;
            Ok((name.to_owned(), value))
        };
        pairs.iter().map(pair).collect()
    }
}

fn verdict(item: &Item) -> Option<Verdict> {
    let text = item.as_str()?;
    Verdict::ALL.into_iter().find(|verdict| verdict.name() == text)
}

fn at(item: &Item) -> Option<usize> {
    item.span().map(|span| span.start)
}

/// `30s`, `500ms`, `2m`.
fn time(text: &str) -> Option<Duration> {
    let unit_at = text.find(|character: char| character.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.trim().parse::<f64>().ok()? * seconds).ok().filter(|time| !time.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_form_has_what_a_router_is_to_make_of_servers() {
        let text = r#"
[servers.files]
command = "npx"
args = ["-y", "${KEY}"]
env = { A = "${KEY}" }
timeout = "1.5s"
parallel = 2
allow = ["read_*"]
deny = ["*_secret"]
roles = ["reader"]

[servers.files.tools.read_text]
rename = "read"
description = "Reads."

[servers.web]
url = "https://example.com/mcp"
headers = { "X-Key" = "k" }

[servers.off]
command = "x"
enabled = false
"#;
        let read = read(text, |name| (name == "KEY").then(|| "secret".to_owned())).unwrap();
        assert_eq!(read.problems, [""; 0]);
        let [files, web] = read.servers.as_slice() else { panic!("{read:?}") };
        assert_eq!(
            files.launch,
            Launch::Command {
                command: ["npx", "-y", "secret"].map(OsString::from).into(),
                environment: vec![("A".into(), "secret".into())],
                folder: None,
            }
        );
        let rules = &files.rules.rules;
        assert_eq!((rules.limit, rules.parallel, files.rules.has_limit), (Duration::from_millis(1_500), 2, true));
        assert!(rules.uses_tool("read_text") && !rules.uses_tool("read_secret") && !rules.uses_tool("write"));
        assert_eq!(rules.tools["read_text"].rename.as_deref(), Some("read"));
        assert!(matches!(&web.launch, Launch::Remote { headers, .. } if headers.len() == 1));
    }

    #[test]
    fn rules_about_calls_are_all_right_or_nothing_is() {
        let servers = "[servers.a]\ncommand = \"x\"\n";
        let of = |text: &str| read(&format!("{text}\n{servers}"), |_| None);
        let found = of("otherwise = \"ask\"\n[[rules]]\ntool = \"write_*\"\narguments = { path = \"/etc/*\" }\nthen = \"deny\"\nbecause = \"no\"").unwrap();
        assert_eq!(found.problems, [""; 0]);
        assert_eq!(found.policy.rest, Verdict::Ask);
        let [rule] = found.policy.rules.as_slice() else { panic!("{found:?}") };
        assert_eq!((rule.verdict, rule.because.as_deref()), (Verdict::Deny, Some("no")));
        assert_eq!((rule.server.is_none(), rule.arguments.len()), (true, 1));
        for (text, expected) in [
            ("otherwise = \"yes\"", "`otherwise` is allow, ask or deny"),
            ("rules = 3", "`rules` are tables, each begun with [[rules]]"),
            ("[[rules]]\nthen = \"stop\"", "rule 1 (line 2): `then` is allow, ask or deny"),
            ("[[rules]]\ntool = \"a\"", "rule 1: `then` is allow, ask or deny"),
            (
                "[[rules]]\nthen = \"ask\"\n[[rules]]\nthen = \"ask\"\ntol = \"a\"",
                "rule 2 (line 5): `tol` is not known; did you mean tool?",
            ),
            ("[[rules]]\nthen = \"ask\"\ntool = 7", "rule 1 (line 3).tool is no text"),
            ("[[rules]]\nthen = \"ask\"\narguments = { n = 7 }", "rule 1 (line 3).arguments.n is no text"),
        ] {
            assert_eq!(of(text).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_its_key() {
        let text = r#"theme = "plain"
[servers.a]
command = "x"
timeuot = "3s"
timeout = "soon"
parallel = 0
allow = "all"
[servers.a.tools.t]
renam = "x"
description = 7
[servers.b]
command = ["x"]
[servers.c]
args = []
[servers.d]
command = "${NO}"
"#;
        let read = read(text, |_| None).unwrap();
        assert_eq!(read.servers.len(), 1);
        let mut problems = read.problems;
        problems.sort();
        assert_eq!(
            problems,
            [
                "line 10: servers.a.tools.t.description is no text",
                "line 12: servers.b.command is no text; it is left out",
                "line 13: servers.c has neither `command` nor `url`; it is left out",
                "line 16: servers.d.command: the environment has no `NO`, which it uses; it is left out",
                "line 1: `theme` is not known",
                "line 4: servers.a.timeuot is not known; did you mean timeout?",
                "line 5: servers.a.timeout is no time: `soon`, as in \"30s\"",
                "line 6: servers.a.parallel is no number from 1 on",
                "line 7: servers.a.allow is no array",
                "line 9: servers.a.tools.t.renam is not known; did you mean rename?",
            ]
        );
        assert!(super::read("[servers", |_| None).unwrap_err().starts_with("it is no TOML: "));
        assert_eq!(
            super::read("a = 1", |_| None).unwrap_err(),
            "it names no servers: there is no table [servers.NAME]"
        );
    }
}
