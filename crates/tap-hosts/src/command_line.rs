//! The command line of the tap in a configuration: how it is written, and what it says of the server behind it.

use crate::server::{CommandLine, Launch, Remote};

/// What the tap is called, wherever it lies.
const NAMES: [&str; 2] = ["mcp-tap", "mcp-tap.exe"];

/// Options that take a value in the argument behind them. Others are taken to be flags.
const WITH_VALUE: [&str; 12] = [
    "--name",
    "--was",
    "--db",
    "--color",
    "--config",
    "--cacert",
    "--max-header-size",
    "--resolve",
    "--bearer-env",
    "--header",
    "--header-env",
    "--listen",
];

/// What variables are called that carry the values of headers.
pub(crate) const HEADER_VARIABLE: &str = "MCP_TAP_HEADER_";

/// How the tap is to be put before servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tap {
    /// The program, as the host is to find it.
    pub program: String,
    /// Options behind `run` or `proxy --stdio`.
    pub options: Vec<String>,
}

/// The tap before a server, as a configuration has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tapped {
    /// The tap's program.
    pub program: String,
    /// How the host would come to the server without it.
    pub behind: Launch,
    /// In which argument the server's command, or its address, is.
    pub(crate) at: usize,
    pub(crate) was: Was,
    /// Headers, each with the variable that has its value.
    pub(crate) headers: Vec<(String, String)>,
}

/// What was there before and cannot be told from what is there now: the value of `--was`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Was {
    /// There was no member for arguments.
    pub(crate) no_arguments: bool,
    /// What the members for the address, the type's value, the headers and the bearer token's variable were.
    pub(crate) url: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) headers: Option<String>,
    pub(crate) bearer: Option<String>,
}

impl Was {
    pub(crate) fn write(&self) -> Option<String> {
        let named = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name}:{value}"));
        let parts = [
            self.no_arguments.then(|| "no-args".to_owned()),
            named("url", &self.url),
            named("type", &self.kind),
            named("headers", &self.headers),
            named("bearer", &self.bearer),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(","))
    }

    fn read(text: &str) -> Self {
        let mut was = Self::default();
        for part in text.split(',') {
            match part.split_once(':') {
                None => was.no_arguments |= part == "no-args",
                Some(("url", value)) => was.url = Some(value.into()),
                Some(("type", value)) => was.kind = Some(value.into()),
                Some(("headers", value)) => was.headers = Some(value.into()),
                Some(("bearer", value)) => was.bearer = Some(value.into()),
                Some(_) => {}
            }
        }
        was
    }
}

impl Tap {
    /// What stands between the program and the server's own command.
    pub(crate) fn before_command(&self, name: &str, was: &Was) -> Vec<String> {
        let mut words = self.begin(&["run"], name, was);
        words.push("--".into());
        words
    }

    /// What stands between the program and the server's address.
    pub(crate) fn before_address(&self, name: &str, remote: &Remote, was: &Was) -> Vec<String> {
        let mut words = self.begin(&["proxy", "--stdio"], name, was);
        for (index, (header, _)) in remote.headers.iter().enumerate() {
            words.extend(["--header-env".into(), format!("{header}={HEADER_VARIABLE}{}", index + 1)]);
        }
        if let Some(variable) = &remote.bearer_variable {
            words.extend(["--bearer-env".into(), variable.clone()]);
        }
        words
    }

    fn begin(&self, command: &[&str], name: &str, was: &Was) -> Vec<String> {
        let mut words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        words.extend(self.options.iter().cloned());
        // So that a name that begins with a dash is none of our options.
        words.push(format!("--name={name}"));
        words.extend(was.write().map(|was| format!("--was={was}")));
        words
    }
}

impl Tapped {
    /// What a command line says, if it is the tap's.
    pub(crate) fn of(line: &CommandLine) -> Option<Self> {
        let program = line.command.rsplit(['/', '\\']).next().unwrap_or_default();
        if !NAMES.contains(&program) {
            return None;
        }
        let (command, rest) = line.arguments.split_first()?;
        let options = Options::read(rest);
        let is_bridge = command == "proxy" && options.has("--stdio");
        if command != "run" && !is_bridge {
            return None;
        }
        let at = options.end + 1;
        let meant = line.arguments.get(at)?.clone();
        let was = options.value("--was").map(Was::read).unwrap_or_default();
        let behind = match is_bridge {
            false => Launch::Command(CommandLine {
                command: meant,
                arguments: line.arguments.get(at + 1..).unwrap_or_default().to_vec(),
                ..line.clone()
            }),
            true => Launch::Http(Remote {
                url: meant,
                headers: options.values(line),
                headers_from_environment: Vec::new(),
                bearer_variable: options.value("--bearer-env").map(str::to_owned),
                transport: was.kind.clone(),
            }),
        };
        let headers = options.headers().map(|(header, variable)| (header.to_owned(), variable.to_owned())).collect();
        Some(Self { program: line.command.clone(), behind, at, was, headers })
    }
}

/// Options of a command line, up to the first argument that is none.
struct Options<'a> {
    read: Vec<(&'a str, Option<&'a str>)>,
    /// Where they end.
    end: usize,
}

impl<'a> Options<'a> {
    fn read(words: &'a [String]) -> Self {
        let mut this = Self { read: Vec::new(), end: 0 };
        while let Some(word) = words.get(this.end) {
            if word == "--" {
                this.end += 1;
                break;
            }
            if !word.starts_with('-') {
                break;
            }
            this.end += 1;
            if let Some((name, value)) = word.split_once('=') {
                this.read.push((name, Some(value)));
            } else if WITH_VALUE.contains(&word.as_str()) {
                this.read.push((word, words.get(this.end).map(String::as_str)));
                this.end += 1;
            } else {
                this.read.push((word, None));
            }
        }
        this
    }

    fn has(&self, name: &str) -> bool {
        self.read.iter().any(|(read, _)| *read == name)
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        self.read.iter().find(|(read, _)| *read == name).and_then(|(_, value)| *value)
    }

    /// Headers, each with the variable that has its value.
    fn headers(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let named = self.read.iter().filter(|(name, _)| *name == "--header-env");
        named.filter_map(|(_, value)| value.and_then(|value| value.split_once('=')))
    }

    /// The headers that are sent, with their values where the configuration has them.
    fn values(&self, line: &CommandLine) -> Vec<(String, String)> {
        let value_of = |variable: &str| {
            let found = line.environment.iter().find(|(name, _)| name == variable);
            found.map(|(_, value)| value.clone())
        };
        self.headers().filter_map(|(header, variable)| Some((header.to_owned(), value_of(variable)?))).collect()
    }
}
