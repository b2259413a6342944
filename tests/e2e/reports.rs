//! Sessions as reports: Markdown, one page for a browser, a table of calls, an archive of HTTP. What is in them, what is not, and
//! that a real browser shows them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{Scratch, talk};

fn recording(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings").join(name).to_str().unwrap().to_owned()
}

/// The file that an export writes, and what is told of it.
#[track_caller]
fn exported(scratch: &Scratch, reference: &str, file: &str, more: &[&str]) -> (String, String) {
    let path = scratch.path(file);
    let output = talk(scratch.tap([&["export", reference, "-o", path.to_str().unwrap()], more].concat()), b"");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    (fs::read_to_string(path).unwrap(), stderr)
}

/// A session in which everything that can be hostile to a page is.
fn hostile() -> Scratch {
    let scratch = Scratch::new();
    let script = r#"read -r line
printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"</pre></details><script>document.title=\"owned\"</script><img src=x onerror=document.title=1> ```` | \u202e"}]}}'
printf '%s\n' '<script>document.title="owned"</script>'
cat >/dev/null"#;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a\"><script>document.title='owned'</script>|b","arguments":{"password":"hunter2secret","token":"TOKEN"}}}"#;
    let token = format!("ghp_{}", "a1B2".repeat(9));
    talk(scratch.run_sh(script), format!("{}\n", call.replace("TOKEN", &token)).as_bytes());
    scratch
}

#[test]
fn a_session_as_markdown_and_as_a_table() {
    let scratch = Scratch::new();
    let demo = recording("demo.jsonl");
    let (text, told) = exported(&scratch, &demo, "a.md", &[]);
    assert_snapshot!("markdown", text);
    assert!(told.starts_with("15 entries\n"), "{told}");
    assert_snapshot!("table", exported(&scratch, &demo, "a.csv", &[]).0);
    // A part, and what fits.
    let (part, _) = exported(&scratch, &format!("{demo}:8..12"), "b.csv", &[]);
    assert_eq!(part.lines().count(), 3, "{part}");
    let (fitting, _) = exported(&scratch, &demo, "c.csv", &["is:error"]);
    assert!(fitting.lines().skip(1).all(|line| line.contains("error")), "{fitting}");
}

#[test]
fn a_page_shows_what_came_from_the_wire_as_text_in_a_real_browser() {
    let scratch = hostile();
    let (page, _) = exported(&scratch, "last", "a.html", &[]);
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("Content-Security-Policy"));
    let demo = Scratch::new();
    let (_, told) = exported(&demo, &recording("demo.jsonl"), "demo.html", &[]);
    assert!(told.contains("entries"));
    let Some(browser) = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()))
    else {
        // Browsers come from no registry of packages that tests install from, so that this is no failure even where nothing
        // may be skipped.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"skipped: the page in a browser: there is no chromium\n",
        );
        return;
    };
    let shown = |scratch: &Scratch, file: &str| {
        let profile = scratch.path("profile");
        let url = format!("file://{}", scratch.path(file).display());
        let output = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .env("HOME", scratch.path(""))
            .arg(url)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let dom = shown(&scratch, "a.html");
    assert!(dom.contains("<title>MCP session of peer</title>"), "{dom}");
    assert!(!dom.contains("<script") && !dom.contains("<img"), "{dom}");
    let dom = shown(&demo, "demo.html");
    for expected in ["tools/call forecast", "error -32602", "FRM-001", "<details id=\"m8\">"] {
        assert!(dom.contains(expected), "{expected}: {dom}");
    }
    assert_eq!(dom.matches("<details").count(), dom.matches("</details>").count());
}

#[test]
fn secrets_are_in_no_report_unless_they_are_to_stay() {
    let scratch = hostile();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    for file in ["a.md", "a.html", "a.csv"] {
        let (text, told) = exported(&scratch, "last", file, &[]);
        assert!(!text.contains(&token) && !text.contains("hunter2secret"), "{text}");
        if file != "a.csv" {
            assert!(text.contains("«secret 1»") && told.contains("«secret 1»"), "{told}");
        }
    }
    let (text, told) = exported(&scratch, "last", "b.md", &["--no-redact"]);
    assert!(text.contains(&token) && text.contains("Secrets were not looked for"), "{text}");
    assert!(told.contains("secrets were not looked for"), "{told}");
    for (arguments, says) in [
        (&["export", "last", "-o", "x.har"][..], "this session was on stdio"),
        (&["export", "last", "-o", "x.md", "--lossless"], "is no recording"),
        (&["export", "last", "-o", "x.pdf"], ".md, .html, .csv, .har"),
    ] {
        let output = talk(scratch.tap(arguments), b"");
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains(says), "{stderr}");
    }
}

#[test]
fn exchanges_over_http_as_an_archive() {
    let scratch = Scratch::new();
    let (text, _) = exported(&scratch, &recording("opencode-http.mcprec"), "a.har", &[]);
    let har: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(har["log"]["version"], "1.2");
    let entries = har["log"]["entries"].as_array().unwrap();
    assert!(entries.len() > 2, "{text}");
    // What every reader of the format needs (HAR 1.2).
    for entry in entries {
        for key in ["startedDateTime", "time", "request", "response", "cache", "timings"] {
            assert!(!entry[key].is_null(), "{key}: {entry}");
        }
        for key in ["method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"] {
            assert!(!entry["request"][key].is_null(), "{key}: {entry}");
        }
        for key in [
            "status",
            "statusText",
            "httpVersion",
            "cookies",
            "headers",
            "content",
            "redirectURL",
            "headersSize",
            "bodySize",
        ] {
            assert!(!entry["response"][key].is_null(), "{key}: {entry}");
        }
        for key in ["send", "wait", "receive"] {
            assert!(entry["timings"][key].as_f64().unwrap() >= 0.0, "{key}: {entry}");
        }
        assert!(entry["request"]["url"].as_str().unwrap().starts_with("http"), "{entry}");
        let started: &str = entry["startedDateTime"].as_str().unwrap();
        assert!(started.contains('T') && started.ends_with('Z'), "{started}");
    }
    let posted = entries.iter().filter_map(|entry| entry["request"]["postData"]["text"].as_str());
    assert!(
        posted.into_iter().any(|text| text.contains("\"method\":\"initialize\"") || text.contains("server/discover")),
        "{text}"
    );
}
