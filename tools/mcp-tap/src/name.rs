//! What to call a server that nobody gave a name.

use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::path::Path;

use http::uri::Authority;

/// Programs that only run another one, which is the first argument that is no option.
const RUNNERS: [&str; 14] =
    ["npx", "uvx", "bunx", "pnpx", "node", "deno", "bun", "python", "python3", "uv", "pipx", "sh", "bash", "env"];

/// Words that a runner takes before what it runs.
const RUNNER_WORDS: [&str; 6] = ["run", "exec", "dlx", "x", "tool", "python"];

/// What the files and folders are called in which a package keeps what it runs: they say nothing of the server.
const PLACES: [&str; 12] =
    ["index", "main", "__main__", "server", "cli", "bin", "dist", "build", "src", "lib", "out", "node_modules"];

/// A short name from a command line: `npx -y @modelcontextprotocol/server-filesystem@1.2 /src` is `filesystem`.
pub(crate) fn name_of(program: &OsStr, arguments: &[OsString]) -> String {
    let stem = |word: &OsStr| Path::new(word).file_name().unwrap_or(word).to_string_lossy().into_owned();
    let program = stem(program);
    if !RUNNERS.contains(&program.trim_end_matches(".exe")) {
        return shorten(&program);
    }
    let mut words = arguments.iter().map(|word| word.to_string_lossy());
    let mut found = None;
    while let Some(word) = words.next() {
        match word.as_ref() {
            // `python -m mcp_server_time`
            "-m" => {
                found = words.next();
                break;
            }
            word if word.starts_with('-') || word.contains('=') || RUNNER_WORDS.contains(&word) => {}
            _ => {
                found = Some(word);
                break;
            }
        }
    }
    match found {
        Some(word) if !word.contains(char::is_whitespace) => of_path(&word),
        _ => program,
    }
}

/// A short name from the path of a script, or from a package: where the file says nothing, the folder does.
fn of_path(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != "." && *part != "..").collect();
    let says_much = |part: &&&str| !PLACES.contains(&without_ending(part));
    // A package may be called so, and a script that stands alone.
    let found = if parts.len() > 1 && path.contains('.') { parts.iter().rev().find(says_much) } else { None };
    shorten(found.or(parts.last()).copied().unwrap_or(path))
}

/// A short name from a URL's host and port: `mcp.example.com` is `example`, `127.0.0.1:3000` is `localhost-3000`.
///
/// Many servers are at one address, so its port stands in the name. It has no character that a reference gives a meaning.
pub(crate) fn name_of_host(authority: &Authority) -> String {
    let host = authority.host().trim_end_matches('.').to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    let is_here = host == "localhost" || address.is_some_and(|address| address.is_loopback());
    let parts: Vec<&str> = host.split('.').collect();
    let name = match (address, parts.as_slice()) {
        _ if is_here => "localhost".into(),
        (Some(address), _) => address.to_string(),
        (None, [.., name, _]) => return shorten(name),
        (None, _) => return shorten(&host),
    };
    let port = authority.port().map(|port| format!("-{port}")).unwrap_or_default();
    format!("{name}{port}").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// A file's name without what says which kind it is of.
fn without_ending(name: &str) -> &str {
    let endings = [".js", ".mjs", ".cjs", ".ts", ".py", ".exe", ".sh"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

fn shorten(word: &str) -> String {
    let mut short = word;
    if let Some((name, _)) = short.split_once('@').filter(|(name, _)| !name.is_empty()) {
        short = name;
    }
    short = without_ending(short);
    for beginning in ["mcp-server-", "mcp_server_", "server-", "mcp-"] {
        short = short.strip_prefix(beginning).filter(|rest| !rest.is_empty()).unwrap_or(short);
    }
    for ending in ["-mcp-server", "_mcp_server", "-mcp", "_mcp", "-server"] {
        short = short.strip_suffix(ending).filter(|rest| !rest.is_empty()).unwrap_or(short);
    }
    // A name stands in references, so it must not look like one of their parts.
    let name: String =
        short.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
    if name.is_empty() { "server".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_a_person_would_say() {
        for (command, expected) in [
            ("npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /src", "filesystem"),
            ("npx -y mcp-server-everything", "everything"),
            ("uvx mcp-server-time --local-timezone UTC", "time"),
            ("uv run --directory=/x mcp-server-git", "git"),
            ("python3 -u server.py", "server"),
            ("python -m mcp_server_fetch", "fetch"),
            ("/usr/bin/node /opt/weather-mcp/dist/index.js", "weather"),
            ("node node_modules/@modelcontextprotocol/server-everything/dist/index.js", "everything"),
            ("python3 src/main.py", "main"),
            ("python3 ../notes/src/__main__.py", "notes"),
            ("/opt/bin/github-mcp-server stdio", "github"),
            ("tap-echo-server", "tap-echo"),
            ("docker run -i mcp/time", "docker"),
            ("server", "server"),
            ("node", "node"),
            ("env A=1 my.tool", "my-tool"),
        ] {
            let mut words = command.split(' ').map(OsString::from);
            let program = words.next().unwrap();
            assert_eq!(name_of(&program, &words.collect::<Vec<_>>()), expected, "{command}");
        }
        assert_eq!(name_of("sh".as_ref(), &["-c".into(), "exec server --flag".into()]), "sh");
    }

    #[test]
    fn a_server_over_http_is_called_by_its_host_and_one_at_an_address_by_its_port_too() {
        for (authority, expected) in [
            ("mcp.example.com", "example"),
            ("mcp.example.com:8443", "example"),
            ("Example.COM.", "example"),
            ("search.localhost:3000", "search"),
            ("search-mcp:3000", "search"),
            ("localhost", "localhost"),
            ("LocalHost:18401", "localhost-18401"),
            ("127.0.0.1:18401", "localhost-18401"),
            ("127.0.0.9", "localhost"),
            ("[::1]:80", "localhost-80"),
            ("192.168.1.5:8080", "192-168-1-5-8080"),
            ("[2001:db8::1]:8080", "2001-db8--1-8080"),
        ] {
            assert_eq!(name_of_host(&authority.parse().unwrap()), expected, "{authority}");
        }
    }
}
