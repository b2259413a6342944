//! Command lines that can be pasted into a shell: whatever was recorded, each word is taken literally, by sh, bash, zsh and
//! fish alike, and holds nothing that acts on the terminal or the line editor that it is pasted into.

use crate::data::HttpRequest;

/// A word as a shell takes it literally. `None` where it cannot be written so: it has control characters, or others that
/// cannot be seen.
pub(crate) fn word(text: &str) -> Option<String> {
    if text.chars().any(tap_text::is_hidden) {
        return None;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | ',' | ':' | '@' | '%');
    if !text.is_empty() && text.chars().all(is_plain) {
        return Some(text.into());
    }
    let mut out = String::from("'");
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => out.push_str(r#"'"'"'"#),
            // Fish reads a backslash before a quote or another one as an escape, between single quotes too.
            '\\' if matches!(chars.peek(), None | Some('\\' | '\'')) => out.push_str(r#"'"\\"'"#),
            c => out.push(c),
        }
    }
    out.push('\'');
    Some(out)
}

/// JSON with what cannot be seen as escapes, which says the same. Outside of strings nothing of that kind can be JSON.
pub(super) fn visible(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if tap_text::is_hidden(c) => {
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// A command that makes a call of a tool again, on the server of a session; of a tool whose name looks like an option, which has to
/// stand behind `--` and leaves no room for a session, on that of the newest one.
pub(super) fn call(session: &str, name: &str, arguments: &str) -> Option<String> {
    let is_option = |text: &str| text.is_empty() || text.starts_with('-');
    let whose = match is_option(name) {
        true => "--".to_owned(),
        false if is_option(session) => return None,
        false => format!("--session {}", word(session)?),
    };
    Some(format!("mcp-tap call {whose} {} {}", word(name)?, word(&visible(arguments))?))
}

/// A `curl` command that sends a request of HTTP again. What is not recorded is taken from the environment: of a field
/// `authorization`, from `AUTHORIZATION`. `None` where there is something that cannot be written safely.
pub(super) fn curl(request: &HttpRequest) -> Option<String> {
    let mut command = String::new();
    let mut end = format!("curl --globoff --request {} --url {}", word(&request.verb)?, word(&request.url)?);
    for (name, value) in &request.fields {
        // A name that is none would be read as something else, such as a file.
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)) {
            continue;
        }
        let field = match value {
            // Without a value the field is sent when there is a semicolon behind its name.
            Some(value) if value.trim().is_empty() => word(&format!("{name};"))?,
            Some(value) => word(&format!("{name}: {value}"))?,
            None => {
                let variable: String = name
                    .chars()
                    .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
                    .collect();
                // A variable begins with no digit.
                let variable =
                    if variable.starts_with(|c: char| c.is_ascii_digit()) { format!("_{variable}") } else { variable };
                format!("{}\"${variable}\"", quoted_word(&format!("{name}: "))?)
            }
        };
        end.push_str(" \\\n  --header ");
        end.push_str(&field);
    }
    match &request.body {
        None => end.push_str(" \\\n  --data-binary @body"),
        Some(body) if body.is_empty() => {}
        Some(body) => match std::str::from_utf8(body).ok().and_then(word) {
            Some(body) => {
                end.push_str(" \\\n  --data-raw ");
                end.push_str(&body);
            }
            None => {
                // Byte by byte, for what no word can hold.
                command.push_str("printf '");
                for byte in body {
                    match byte {
                        b'a'..=b'z'
                        | b'A'..=b'Z'
                        | b'0'..=b'9'
                        | b' '
                        | b'"'
                        | b'{'
                        | b'}'
                        | b'['
                        | b']'
                        | b':'
                        | b','
                        | b'.'
                        | b'_'
                        | b'/' => command.push(char::from(*byte)),
                        byte => command.push_str(&format!("\\{byte:03o}")),
                    }
                }
                command.push_str("' | ");
                end.push_str(" \\\n  --data-binary @-");
            }
        },
    }
    Some(command + &end)
}

/// A word in quotes, so that something can follow it.
fn quoted_word(text: &str) -> Option<String> {
    let word = word(text)?;
    Some(if word.starts_with('\'') { word } else { format!("'{word}'") })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    /// What a shell makes of a command line: the words behind `curl` or `mcp-tap`, and what comes on their input.
    fn run(shell: &str, command: &str) -> Option<(Vec<Vec<u8>>, Vec<u8>)> {
        // Each word with a zero byte behind it; then what is piped in.
        let (show, command) = match shell {
            "fish" => (
                "function curl; for a in $argv; printf '%s\\0' $a; end; printf 'END\\0'; if contains -- @- $argv; cat; end; end\n\
                 function mcp-tap; curl $argv; end",
                command.to_owned(),
            ),
            _ => (
                "curl() { for a in \"$@\"; do printf '%s\\0' \"$a\"; done; printf 'END\\0'; case \"$*\" in *@-*) cat;; esac; }",
                // A function can have no hyphen in its name.
                command.replacen("mcp-tap ", "curl ", 1),
            ),
        };
        let script = format!("{show}\n{command}\n");
        let started = Command::new(shell)
            .arg("-c")
            .arg(&script)
            .current_dir(std::env::temp_dir())
            .env("AUTHORIZATION", "it's \"$(secret)\"")
            .stdin(Stdio::null())
            .output();
        let output = started.ok()?;
        assert!(output.stderr.is_empty(), "{shell}: {script}\n{}", String::from_utf8_lossy(&output.stderr));
        let end = output.stdout.windows(5).position(|window| window == b"\0END\0").expect("all of it was run");
        let words = output.stdout[..end].split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        Some((words, output.stdout[end + 5..].to_vec()))
    }

    /// The shells that are here; sh is everywhere.
    fn shells() -> impl Iterator<Item = &'static str> {
        ["sh", "bash", "dash", "zsh", "fish"].into_iter().filter(|shell| {
            *shell == "sh" || Command::new(shell).arg("-c").arg("true").status().is_ok_and(|status| status.success())
        })
    }

    const HOSTILE: &[&str] = &[
        "'; touch owned; '",
        "$(touch owned)",
        "`touch owned`",
        "a\\",
        "\\'; touch owned; #",
        "'\\''",
        "\\\\'",
        "!!",
        "~",
        "*",
        "",
        "-x",
        "@/etc/passwd",
        "a b\"c",
        "%n%s",
        "{a,b}",
        "<x",
        "日本",
        "#",
        "a=b",
        "&",
        "\\\\\\",
        "'",
        "\"$HOME\"",
    ];

    #[test]
    fn shells_take_words_literally() {
        for shell in shells() {
            for name in HOSTILE {
                let arguments = format!("{{\"x\":{}}}", crate::tree::quoted(name));
                let command = call("demo", name, &arguments).unwrap();
                let (words, _) = run(shell, &command).unwrap();
                let is_option = name.is_empty() || name.starts_with('-');
                let whose: &[&str] = if is_option { &["--"] } else { &["--session", "demo"] };
                let expected = [&["call"], whose, &[name, &*arguments]].concat();
                let expected: Vec<Vec<u8>> = expected.iter().map(|word| word.as_bytes().to_vec()).collect();
                assert_eq!(words, expected, "{shell}: {command}");
            }
        }
    }

    #[test]
    fn curl_sends_what_was_sent() {
        let bodies: Vec<Vec<u8>> = HOSTILE
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .chain([b"\x1b[201~\ntouch owned\n".to_vec(), vec![0, 255, b'%', b'\\', b'\''], b"{\"a\":\n1}\n".to_vec()])
            .collect();
        for shell in shells() {
            for (body, text) in bodies.iter().zip(HOSTILE.iter().cycle()) {
                let request = HttpRequest {
                    verb: "POST".into(),
                    url: format!("https://example.com/mcp?q={text}[1]"),
                    fields: vec![
                        ("accept".into(), Some(format!("x {text}"))),
                        ("authorization".into(), None),
                        ("empty".into(), Some(String::new())),
                        ("@/etc/passwd".into(), Some("x".into())),
                    ],
                    body: Some(body.clone()),
                };
                let (words, input) = run(shell, &curl(&request).unwrap()).unwrap();
                let words: Vec<String> = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
                let mut expected = vec![
                    "--globoff".to_owned(),
                    "--request".into(),
                    "POST".into(),
                    "--url".into(),
                    request.url.clone(),
                    "--header".into(),
                    format!("accept: x {text}"),
                    "--header".into(),
                    "authorization: it's \"$(secret)\"".into(),
                    "--header".into(),
                    "empty;".into(),
                ];
                match std::str::from_utf8(body).ok().filter(|text| !text.chars().any(tap_text::is_hidden)) {
                    Some("") => {}
                    Some(body) => expected.extend(["--data-raw".to_owned(), body.to_owned()]),
                    None => {
                        expected.extend(["--data-binary".to_owned(), "@-".into()]);
                        assert_eq!(&input, body, "{shell}");
                    }
                }
                assert_eq!(words, expected, "{shell}: {}", curl(&request).unwrap());
            }
        }
        assert!(!std::env::temp_dir().join("owned").exists());
    }

    #[test]
    fn what_acts_on_a_terminal_is_in_no_command() {
        for text in ["a\u{1b}[201~", "a\nb", "\u{202e}x", "\u{7f}"] {
            assert_eq!(word(text), None, "{text:?}");
            assert_eq!((call("demo", text, "{}"), call(text, "find", "{}")), (None, None));
        }
        assert_eq!(visible("{\"a\":\n\"\u{7f}\u{e0041}\"}"), "{\"a\": \"\\u007f\\udb40\\udc41\"}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn any_word_is_taken_literally(text in "[ -~é日]{0,40}") {
            let command = format!("curl {} x", word(&text).unwrap());
            for shell in shells() {
                let (words, _) = run(shell, &command).unwrap();
                prop_assert_eq!(&words, &vec![text.clone().into_bytes(), b"x".to_vec()], "{}: {}", shell, command);
            }
        }
    }
}
