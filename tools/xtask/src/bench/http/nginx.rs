//! nginx as a subject: where it is found, and how it is set up to be nothing but a reverse proxy.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::started::Started;
use crate::tidy::workspace_root;

/// An nginx that can be run.
#[derive(Debug)]
pub(super) struct Nginx {
    program: PathBuf,
}

impl Nginx {
    /// The installed one, or else one unpacked from the Debian package below `target`, which needs no root.
    ///
    /// The error says why there is none.
    pub(super) fn find() -> Result<Self, String> {
        let unpacked = workspace_root().join("target/nginx");
        let ours = unpacked.join("usr/sbin/nginx");
        let found = ["nginx".into(), "/usr/sbin/nginx".into(), ours.clone()].into_iter().find(|path| runs(path));
        match found {
            Some(program) => Ok(Self { program }),
            None => {
                unpack(&unpacked)?;
                match runs(&ours) {
                    true => Ok(Self { program: ours }),
                    false => Err("the one of the Debian package does not run here".to_owned()),
                }
            }
        }
    }

    /// Starts it in front of this URL. All its files are in `folder`.
    pub(super) fn start(&self, upstream: &str, folder: &Path) -> Result<Started, String> {
        let (authority, path) = upstream
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .ok_or_else(|| format!("{upstream} is no URL with http and a path"))?;
        let address = free_address()?;
        let configuration = folder.join("nginx.conf");
        let text = configuration_text(&address, authority, folder);
        fs::write(&configuration, text)
            .map_err(|error| format!("cannot write {}: {error}", configuration.display()))?;
        let mut command = Command::new(&self.program);
        command.args(["-e", "stderr", "-c"]).arg(&configuration).arg("-p").arg(folder);
        Started::listening_at(command, &address, format!("http://{address}/{path}"))
    }
}

fn runs(program: &Path) -> bool {
    let status = Command::new(program).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Fetches the package with `apt-get`, and unpacks it.
fn unpack(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let script = "apt-get -qq download nginx && dpkg-deb -x nginx_*.deb .";
    let output = Command::new("sh").args(["-c", script]).current_dir(folder).output();
    let output = output.map_err(|error| format!("cannot run sh: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("it is not installed, and its Debian package cannot be had: {}", said.trim()))
        }
    }
}

/// Nobody listens there; nginx cannot say which port it got, so it is told one.
fn free_address() -> Result<String, String> {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    address.map(|address| address.to_string()).map_err(|error| format!("no free port: {error}"))
}

/// Bodies are streamed both ways and connections kept, as a proxy for MCP must be set up; nothing is logged.
fn configuration_text(address: &str, upstream: &str, folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "daemon off;
worker_processes auto;
pid {folder}/nginx.pid;
error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    tcp_nodelay on;
    keepalive_requests 100000000;
    client_max_body_size 0;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream server {{
        server {upstream};
        keepalive 512;
        keepalive_requests 100000000;
    }}
    server {{
        listen {address};
        location / {{
            proxy_pass http://server;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_set_header Host {upstream};
            proxy_buffering off;
            proxy_request_buffering off;
            proxy_read_timeout 1h;
        }}
    }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_names_both_addresses_and_keeps_its_files_in_the_folder() {
        let text = configuration_text("127.0.0.1:1", "127.0.0.1:2", Path::new("/f"));
        for line in ["listen 127.0.0.1:1;", "server 127.0.0.1:2;", "pid /f/nginx.pid;", "proxy_temp_path /f/proxy;"] {
            assert!(text.contains(line), "{line}");
        }
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }
}
