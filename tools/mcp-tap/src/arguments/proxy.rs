//! What can be asked of `proxy`: in front of a server, as a server on stdio, or between a host and all servers.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use http::Uri;
use tap_http::Resolve;

use super::live::Debugging;

/// Options of `proxy`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap proxy https://example.com/mcp\n  \
        mcp-tap proxy --listen 127.0.0.1:7000 http://localhost:3000/mcp\n  \
        mcp-tap proxy --name search https://example.com/sse\n  \
        mcp-tap proxy --bearer-env TOKEN https://example.com/mcp\n  \
        mcp-tap proxy --break 'tool:delete_*' https://example.com/mcp\n  \
        mcp-tap proxy --forward -- my-agent --its-options\n  \
        {\"command\":\"mcp-tap\",\"args\":[\"proxy\",\"--stdio\",\"https://example.com/mcp\"]}      in a host's configuration")]
pub(crate) struct Proxy {
    /// What to call the server [default: made from its address]
    #[arg(long, value_name = "NAME", env = "MCP_TAP_NAME", hide_env_values = true)]
    pub(crate) name: Option<String>,
    /// What stood in the host's configuration: written by `wrap`, for `unwrap`
    #[arg(long, value_name = "WHAT", hide = true)]
    pub(crate) was: Option<String>,
    /// Be a server on stdio for a host that starts us, in front of the server over HTTP
    #[arg(long, conflicts_with_all = ["listen", "allow_origin", "allow_host", "break_at", "fault", "fault_file"])]
    pub(crate) stdio: bool,
    /// Where hosts connect; port 0 is a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Also take requests of pages of this site, such as https://app.example.com
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Also take requests to this host name, when it is reached by another than localhost
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// Trust the certificates in this file (PEM) beside the system's; may be given several times
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) cacert: Vec<PathBuf>,
    /// How large the head of a request or an answer may be, bytes
    #[arg(long, value_name = "BYTES", default_value_t = tap_http::HEADER_LIMIT_BYTES, value_parser = parse_header_size)]
    pub(crate) max_header_size: usize,
    /// Serve TLS under the name of the server's URL, with a certificate of the local authority: for hosts that are led here
    /// by name, with a line in the hosts file
    #[arg(long, conflicts_with_all = ["forward", "stdio"])]
    pub(crate) tls: bool,
    /// Reach this host at this port at this address, whatever its name says; may be given several times
    #[arg(long, value_name = "HOST:PORT:ADDRESS", value_parser = parse_resolve)]
    pub(crate) resolve: Vec<Resolve>,
    /// The server's address, as it would stand in the host's configuration
    #[arg(value_name = "URL", value_hint = ValueHint::Url, value_parser = parse_url, required_unless_present = "forward")]
    pub(crate) url: Option<Uri>,
    #[command(flatten)]
    pub(crate) credentials: Credentials,
    #[command(flatten)]
    pub(crate) forwarding: Forwarding,
    #[command(flatten)]
    pub(crate) debugging: Debugging,
}

/// Takes the form that curl has.
fn parse_resolve(text: &str) -> Result<Resolve, String> {
    let form = || "it is HOST:PORT:ADDRESS, such as example.com:443:192.0.2.7".to_owned();
    let (host, rest) = text.split_once(':').filter(|(host, _)| !host.is_empty()).ok_or_else(form)?;
    let (port, address) = rest.split_once(':').ok_or_else(form)?;
    let address = address.trim_start_matches('[').trim_end_matches(']').parse().map_err(|_| form())?;
    Ok(Resolve { host: host.to_ascii_lowercase(), port: port.parse().map_err(|_| form())?, address })
}

/// What is added to requests on their way to a server.
#[derive(Debug, Args)]
pub(crate) struct Credentials {
    /// Send the token in this environment variable as `Authorization: Bearer`, where a client sends no such header
    #[arg(long, value_name = "VARIABLE", conflicts_with = "forward")]
    pub(crate) bearer_env: Option<String>,
    /// Send this header, where a client sends none of that name; ${VARIABLE} stands for a variable of the environment
    #[arg(long, value_name = "NAME: VALUE", conflicts_with = "forward")]
    pub(crate) header: Vec<String>,
    /// Send this header with the value of this environment variable, where a client sends none of that name
    #[arg(long, value_name = "NAME=VARIABLE", conflicts_with = "forward")]
    pub(crate) header_env: Vec<String>,
}

/// Options of `proxy --forward`.
//
// They say that the URL is in their way: where it is given, clap does not ask for a `forward` that it is in the way of.
#[derive(Debug, Args)]
pub(crate) struct Forwarding {
    /// Be a forward proxy (HTTPS_PROXY), which records each MCP server that is reached through it, and nothing else
    #[arg(long, conflicts_with_all = ["url", "stdio", "allow_origin", "allow_host", "break_at", "fault", "fault_file"])]
    pub(crate) forward: bool,
    /// Look into what goes to this host and those below it alone; may be given several times
    #[arg(long, value_name = "HOST", requires = "forward", conflicts_with = "url")]
    pub(crate) only: Vec<String>,
    /// Do not look into what goes to this host and those below it; may be given several times
    #[arg(long, value_name = "HOST", requires = "forward", conflicts_with = "url")]
    pub(crate) tunnel: Vec<String>,
    /// With --forward: start this command with the proxy in its environment, and end with it
    #[arg(last = true, value_name = "COMMAND", requires = "forward", conflicts_with = "url", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

pub(crate) fn parse_url(text: &str) -> Result<Uri, String> {
    text.parse().map_err(|error| format!("{error}; give it whole, such as https://example.com/mcp"))
}

fn parse_header_size(text: &str) -> Result<usize, String> {
    let smallest = tap_http::SMALLEST_HEADER_LIMIT_BYTES;
    match text.parse() {
        Ok(size) if (smallest..=1 << 30).contains(&size) => Ok(size),
        _ => Err(format!("a number of bytes from {smallest} on")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::arguments::Arguments;

    #[test]
    fn what_would_be_left_undone_is_refused() {
        let url = "https://example.com/mcp";
        for (arguments, taken) in [
            (&["--forward", "--", "agent", "--url", "x"][..], true),
            (&["--forward", "--only", "example.com"], true),
            (&["--forward", "--tunnel", "example.com"], true),
            (&["--forward"], true),
            (&[url], true),
            (&[url, "--", "agent"], false),
            (&["--stdio", url, "--", "agent"], false),
            (&["--", "agent"], false),
            (&["--only", "example.com", url], false),
            (&["--tunnel", "example.com", url], false),
            (&["--forward", url], false),
            (&[], false),
        ] {
            let parsed = Arguments::try_parse_from(["mcp-tap", "proxy"].iter().chain(arguments));
            assert_eq!(parsed.is_ok(), taken, "{arguments:?}: {:?}", parsed.err().map(|error| error.to_string()));
        }
    }
}
