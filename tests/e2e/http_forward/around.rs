//! A command that the proxy is started around, and clients of others that are such commands.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use super::World;
use super::server::{Server, json};
use crate::support::{is_running, piped, skip, talk, wait_for, wait_until};

#[test]
fn a_command_has_it_in_its_environment_and_its_end_is_ours() {
    let world = World::new();
    let script = "echo \"$HTTPS_PROXY $https_proxy $NODE_USE_ENV_PROXY\"; cat; test -s \"$SSL_CERT_FILE\" && \
                  test -s \"$NODE_EXTRA_CA_CERTS\" && exit 7";
    let output = talk(world.tap(&["proxy", "--forward", "--", "sh", "-c", script]), b"from stdin");
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    let (first, rest) = told.split_once('\n').unwrap();
    let words: Vec<&str> = first.split(' ').collect();
    assert!(words[0].starts_with("http://127.0.0.1:") && words[0] == words[1] && words[2] == "1", "{told}");
    assert_eq!(rest, "from stdin");

    let missing = talk(world.tap(&["proxy", "--forward", "--", "no-such-program"]), b"");
    assert_eq!(missing.status.code(), Some(127));

    for (signal, script, code) in [
        (nix::sys::signal::Signal::SIGTERM, "trap 'exit 9' TERM; echo $$; while :; do sleep 0.01; done", Some(9)),
        (nix::sys::signal::Signal::SIGINT, "echo $$; exec sleep 1000", None),
    ] {
        let mut command = world.tap(&["proxy", "--forward", "--", "sh", "-c", script]);
        let mut tap = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(tap.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = nix::unistd::Pid::from_raw(i32::try_from(tap.id()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
        let status = wait_for(&mut tap);
        let killed_by = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!((status.code(), killed_by), (code, code.is_none().then_some(signal as i32)));
        wait_until("no orphan is left", || !is_running(line.trim().parse().unwrap()));
    }
}

#[test]
fn a_command_does_not_outlive_a_tap_that_was_killed() {
    let world = World::new();
    let mut command = world.tap(&["proxy", "--forward", "--", "sh", "-c", "echo $$; exec sleep 1000"]);
    let mut tap = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(tap.stdout.take().unwrap()).read_line(&mut line).unwrap();
    tap.kill().unwrap();
    wait_for(&mut tap);
    wait_until("the command is gone", || !is_running(line.trim().parse().unwrap()));
}

#[test]
fn all_that_start_at_once_have_one_authority_and_nobody_else_its_key() {
    let world = World::new();
    let print = ["proxy", "--forward", "--", "sh", "-c", "cat \"$DENO_CERT\""];
    let taps: Vec<Child> = (0..8).map(|_| piped(world.tap(&print)).spawn().unwrap()).collect();
    let outputs: Vec<_> = taps.into_iter().map(|tap| tap.wait_with_output().unwrap()).collect();
    assert!(outputs.iter().all(|output| output.status.success() && output.stdout == outputs[0].stdout));
    assert_eq!(
        outputs.iter().filter(|output| String::from_utf8_lossy(&output.stderr).contains("made a local")).count(),
        1
    );
    let mode = |name: &str| world.scratch.path(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("xdg/mcp-tap"), mode("xdg/mcp-tap/authority.pem")), (0o700, 0o600));

    let key = world.scratch.path("xdg/mcp-tap/authority.pem");
    std::fs::write(&key, "something else").unwrap();
    let broken = world.tap(&print).output().unwrap();
    assert_eq!(broken.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&broken.stderr).contains("delete it"));
    assert_eq!(std::fs::read(&key).unwrap(), b"something else");
}

#[test]
fn clients_of_others_take_it_by_the_environment_alone() {
    let world = World::new();
    let server = Server::start(Some(&world.pki), |_, asked| json(format!("{} {:?}", asked.target, asked.version)));
    let url = format!("https://{}", server.host());
    let post = "-H 'Accept: application/json, text/event-stream' -H 'Content-Type: application/json' -d '{}'";
    let version = "-w ' %{http_version}'";
    let python =
        "import os, urllib.request as u; print(u.urlopen(os.environ['URL'] + '/python').read().decode(), end='')";
    let node = "const p = new URL(process.env.HTTPS_PROXY); const u = new URL(process.env.URL); \
        require('http').request({host: p.hostname, port: p.port, method: 'CONNECT', path: u.host}).on('connect', (r, s) => \
        require('http').get({host: u.host, path: '/node', createConnection: () => \
        require('tls').connect({socket: s, servername: u.hostname})}, (r) => r.pipe(process.stdout))).end()";
    for (program, command, expected) in [
        ("curl", format!("curl -sS --http1.1 {url}/curl {post} {version}"), "/curl HTTP/2.0 1.1"),
        ("curl", format!("curl -sS --http2 {url}/curl2 {post} {version}"), "/curl2 HTTP/2.0 2"),
        ("python3", format!("python3 -c \"{python}\""), "/python HTTP/2.0"),
        ("node", format!("node -e \"{node}\""), "/node HTTP/2.0"),
    ] {
        if Command::new("sh")
            .args(["-c", &format!("{program} --version >/dev/null 2>&1")])
            .status()
            .is_ok_and(|s| !s.success())
        {
            skip(program, "it is not there");
            continue;
        }
        let mut tap = world.tap(&["proxy", "--forward", "--", "sh", "-c", &command]);
        let output = tap.env("URL", &url).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        // A client of HTTP/1.1 gets an answer of a server that was asked over HTTP/2.
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{told}");
        assert!(output.status.success() && !told.contains("certificate for"), "{told}");
    }
    assert!(world.origins().iter().all(|origin| *origin == url), "{:?}", world.origins());
}
