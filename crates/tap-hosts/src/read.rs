//! From a text to the servers in it, and to what is wrong with them.

use crate::document::{Document, DocumentError, Format};
use crate::node::{Map, Member, Node, Value};
use crate::server::{CommandLine, Launch, Remote, Server};
use crate::shape::{Shape, Words};

/// What a configuration says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Read {
    /// The servers, in the order in which they are written. Of those with one name in one place the last is meant.
    pub servers: Vec<Server>,
    /// What is not as it should be. The rest was read.
    pub problems: Vec<Problem>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1.
    pub line: usize,
    /// Where: `mcpServers.github.args[1]`.
    pub key: String,
    /// What is wrong. No value of the configuration is in it.
    pub what: String,
}

/// Reads the servers of a configuration.
///
/// # Errors
///
/// When the text is not of its format. What is wrong within it is among the [problems](Read::problems).
pub fn read(text: &str, format: Format, shape: Shape) -> Result<Read, DocumentError> {
    let document = Document::parse(text, format)?;
    Ok(Reader::read(&document, shape).0)
}

/// A server's members, where they are.
pub(crate) struct Found<'d> {
    pub(crate) server: Server,
    /// The map that the command is in: the server's, or in older files of Zed's that of its `command`.
    pub(crate) map: &'d Node,
    /// What the members of that map are called.
    pub(crate) command_key: &'static str,
}

pub(crate) struct Reader<'d> {
    document: &'d Document<'d>,
    shape: Shape,
    words: &'static Words,
    problems: Vec<Problem>,
}

/// Members that are read for themselves, besides those that have another name elsewhere.
const READ: [&str; 8] =
    ["type", "transport", "disabled", "enabled", "envFile", "env_vars", "env_http_headers", "bearer_token_env_var"];

impl<'d> Reader<'d> {
    pub(crate) fn read(document: &'d Document<'d>, shape: Shape) -> (Read, Vec<Found<'d>>) {
        let mut this = Self { document, shape, words: shape.words(), problems: Vec::new() };
        let mut found = Vec::new();
        let root = &document.root;
        if !matches!(root.value, Value::Map(_) | Value::Null) {
            this.wrong(root.span.start, "", "a map", root);
        }
        this.servers(root, "", None, &mut found);
        if shape == Shape::ClaudeCode {
            for project in root.at(&["projects"]).and_then(Node::map).into_iter().flat_map(|map| &map.0) {
                let path = format!("projects.{}.", project.key);
                this.servers(&project.value, &path, Some(&project.key), &mut found);
            }
        }
        let servers = found.iter().map(|found| found.server.clone()).collect();
        (Read { servers, problems: this.problems }, found)
    }

    fn wrong(&mut self, at: usize, key: &str, expected: &str, node: &Node) {
        self.problem(at, key, format!("{expected} is expected here, not {}", node.kind()));
    }

    fn problem(&mut self, at: usize, key: &str, what: impl Into<String>) {
        self.problems.push(Problem { line: self.document.line(at), key: key.to_owned(), what: what.into() });
    }

    fn servers(&mut self, below: &'d Node, path: &str, project: Option<&str>, found: &mut Vec<Found<'d>>) {
        let Some(servers) = below.at(self.shape.servers()) else {
            return;
        };
        let path = format!("{path}{}", self.shape.servers().join("."));
        match &servers.value {
            Value::Null => {}
            Value::Map(map) if self.shape != Shape::Continue => {
                for (index, member) in map.0.iter().enumerate() {
                    // Of two with one name hosts know the last.
                    if map.0.iter().skip(index + 1).any(|later| later.key == member.key) {
                        self.problem(
                            member.key_span.start,
                            &format!("{path}.{}", member.key),
                            "there is another below",
                        );
                        continue;
                    }
                    let path = format!("{path}.{}", member.key);
                    found.extend(self.server(&member.key, &member.value, member.key_span.start, path, project));
                }
            }
            Value::List(list) if self.shape == Shape::Continue => {
                for (index, node) in list.iter().enumerate() {
                    let path = format!("{path}[{index}]");
                    let name = node.at(&["name"]);
                    let Some(text) = name.and_then(Node::text) else {
                        self.problem(name.map_or(node.span.start, |name| name.span.start), &path, "it has no `name`");
                        continue;
                    };
                    found.extend(self.server(text, node, node.span.start, path, project));
                }
            }
            _ => {
                let expected = if self.shape == Shape::Continue { "a list" } else { "a map" };
                self.wrong(servers.span.start, &path, expected, servers);
            }
        }
    }

    fn server(
        &mut self,
        name: &str,
        node: &'d Node,
        at: usize,
        path: String,
        project: Option<&str>,
    ) -> Option<Found<'d>> {
        let Some(map) = node.map() else {
            self.wrong(at, &path, "a map", node);
            return None;
        };
        if let Some(merge) = map.get("<<") {
            self.problem(merge.key_span.start, &path, "what is merged with `<<` is not read");
        }
        let (launch, place, command_key) = self.launch(node, map, &path);
        let flag = |name: &str| match map.get(name).map(|member| &member.value.value) {
            Some(Value::Bool(flag)) => Some(*flag),
            _ => None,
        };
        let is_enabled = flag("enabled").unwrap_or(true) && !flag("disabled").unwrap_or(false);
        let words = self.words;
        let is_read = |key: &str| {
            let known = [words.command, words.arguments, words.environment, words.headers];
            known.contains(&key) || words.folder.contains(&key) || words.url.contains(&key) || READ.contains(&key)
        };
        let others = map.0.iter().filter(|member| !is_read(&member.key));
        let server = Server {
            name: name.to_owned(),
            folder_of_project: project.map(str::to_owned),
            launch,
            is_enabled,
            line: self.document.line(at),
            path,
            others: others.map(|member| (member.key.clone(), member.value.clone())).collect(),
        };
        Some(Found { server, map: place, command_key })
    }

    fn launch(&mut self, node: &'d Node, map: &'d Map, path: &str) -> (Launch, &'d Node, &'static str) {
        let words = self.words;
        let kind = map.get("type").or_else(|| map.get("transport"));
        let source = map.get("source").filter(|_| self.shape == Shape::Zed);
        let kind_text = kind.or(source).and_then(|kind| self.text(kind, path));
        let command = map.get(words.command).filter(|member| member.value.value != Value::Null);
        let url = words.url.iter().find_map(|word| map.get(word)).filter(|member| member.value.value != Value::Null);
        // As it once was in Zed.
        let inner = command.filter(|_| self.shape == Shape::Zed);
        if let Some((inner, inner_map)) = inner.and_then(|inner| Some((inner, inner.value.map()?))) {
            let launch = self.command(inner_map, map, inner_map.get("path"), &format!("{path}.command"));
            return (launch, &inner.value, "path");
        }
        let says_http = kind_text.as_deref().is_some_and(|kind| {
            ["http", "sse", "remote", "websocket"].iter().any(|word| kind.to_ascii_lowercase().contains(word))
        });
        let launch = match (command, url) {
            (Some(command), url) if !(says_http && url.is_some()) => self.command(map, map, Some(command), path),
            (_, Some(url)) => {
                let transport = kind_text.filter(|_| kind.is_some());
                self.remote(map, url, transport, path)
            }
            _ => match kind_text {
                // What the host has in itself.
                Some(kind) if kind != words.stdio && kind != "custom" && !says_http => Launch::Other(kind),
                _ => {
                    let what = format!("it has neither `{}` nor `{}`", words.command, words.url[0]);
                    let at = map.0.first().map_or(node.span.start, |member| member.key_span.start);
                    self.problem(at, path, what);
                    Launch::Other(String::new())
                }
            },
        };
        (launch, node, words.command)
    }

    fn command(&mut self, map: &Map, outer: &Map, command: Option<&Member>, path: &str) -> Launch {
        let words = self.words;
        let Some(command) = command else {
            return Launch::Other(String::new());
        };
        let mut line = CommandLine::default();
        if words.is_one_list {
            let Some(mut list) = self.texts(Some(command), path) else {
                return Launch::Other(String::new());
            };
            if list.is_empty() {
                self.problem(command.value.span.start, &format!("{path}.{}", command.key), "it is empty");
                return Launch::Other(String::new());
            }
            line.command = list.remove(0);
            line.arguments = list;
        } else {
            let Some(text) = self.text(command, path) else {
                return Launch::Other(String::new());
            };
            line.command = text;
            line.arguments = self.texts(map.get(words.arguments), path).unwrap_or_default();
        }
        line.environment = self.pairs(map.get(words.environment), path);
        line.environment_file = outer.get("envFile").and_then(|member| self.text(member, path));
        line.passed_on = self.texts(outer.get("env_vars"), path).unwrap_or_default();
        let folder = words.folder.iter().find_map(|word| outer.get(word));
        line.folder =
            folder.filter(|folder| folder.value.value != Value::Null).and_then(|folder| self.text(folder, path));
        Launch::Command(line)
    }

    fn remote(&mut self, map: &Map, url: &Member, transport: Option<String>, path: &str) -> Launch {
        let Some(text) = self.text(url, path) else {
            return Launch::Other(String::new());
        };
        Launch::Http(Remote {
            url: text,
            headers: self.pairs(map.get(self.words.headers), path),
            headers_from_environment: self.pairs(map.get("env_http_headers"), path),
            bearer_variable: map.get("bearer_token_env_var").and_then(|member| self.text(member, path)),
            transport,
        })
    }

    fn text(&mut self, member: &Member, path: &str) -> Option<String> {
        let text = member.value.text().map(str::to_owned);
        if text.is_none() {
            self.wrong(member.value.span.start, &format!("{path}.{}", member.key), "a text", &member.value);
        }
        text
    }

    /// A list of texts; `None` where it is no list. What is no text in it is told and left out.
    fn texts(&mut self, member: Option<&Member>, path: &str) -> Option<Vec<String>> {
        let member = member.filter(|member| member.value.value != Value::Null)?;
        let path = format!("{path}.{}", member.key);
        let Some(list) = member.value.list() else {
            self.wrong(member.value.span.start, &path, "a list of texts", &member.value);
            return None;
        };
        let mut texts = Vec::new();
        for (index, node) in list.iter().enumerate() {
            match node.text() {
                Some(text) => texts.push(text.to_owned()),
                None => self.wrong(node.span.start, &format!("{path}[{index}]"), "a text", node),
            }
        }
        Some(texts)
    }

    /// Names and texts. Numbers and yes or no are taken as they are written, as most hosts do.
    fn pairs(&mut self, member: Option<&Member>, path: &str) -> Vec<(String, String)> {
        let Some(member) = member.filter(|member| member.value.value != Value::Null) else {
            return Vec::new();
        };
        let path = format!("{path}.{}", member.key);
        let Some(map) = member.value.map() else {
            self.wrong(member.value.span.start, &path, "a map of texts", &member.value);
            return Vec::new();
        };
        let mut pairs: Vec<(String, String)> = Vec::new();
        for Member { key, value, .. } in &map.0 {
            let text = match &value.value {
                Value::Text(text) | Value::Bare(text) => text.clone(),
                Value::Bool(flag) => flag.to_string(),
                Value::Null => continue,
                Value::List(_) | Value::Map(_) => {
                    self.wrong(value.span.start, &format!("{path}.{key}"), "a text", value);
                    continue;
                }
            };
            pairs.retain(|(before, _)| before != key);
            pairs.push((key.clone(), text));
        }
        pairs
    }
}
