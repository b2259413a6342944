//! Files that nobody would write, made at random: what is wrapped is read behind the tap, and taken out it leaves every byte.

use proptest::prelude::*;

use super::editing::{check_wrapped, unwrap_all, wrap_all};
use crate::{Format, Shape};

/// White space and comments between tokens of JSON.
fn gap() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => Just(String::new()),
        3 => Just(" ".to_owned()),
        1 => Just("\n".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just("\n      ".to_owned()),
        1 => Just("/* \"command\": [,] */".to_owned()),
        1 => Just("// } ü \"args\"\n".to_owned()),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

/// A string of JSON, which TOML and YAML read as the same.
fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => "[a-z@/._-]{1,6}",
        1 => Just("\\u0041".to_owned()),
        1 => Just("\\\"".to_owned()),
        1 => Just("\\\\".to_owned()),
        1 => Just("ü日".to_owned()),
        1 => Just(" , ]}#: ".to_owned()),
    ];
    prop::collection::vec(piece, 1..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn list(strings: Vec<String>, gaps: &[String], trailing: bool) -> String {
    let mut text = "[".to_owned();
    for (index, string) in strings.iter().enumerate() {
        let gap = |at: usize| gaps.get((index * 2 + at) % gaps.len()).unwrap();
        text.push_str(&format!("{}{}{string}{}", if index > 0 { "," } else { "" }, gap(0), gap(1)));
    }
    let comma = if trailing && !strings.is_empty() { "," } else { "" };
    format!("{text}{comma}{}]", gaps[0])
}

/// Members of a server of JSON, each with its key.
fn members(opencode: bool) -> impl Strategy<Value = Vec<String>> {
    let gaps = || prop::collection::vec(gap(), 3..6);
    let strings = || prop::collection::vec(string(), 0..4);
    let headers =
        (prop::collection::btree_map("[A-Z][a-z]{1,5}", string(), 0..3), gaps()).prop_map(|(headers, gaps)| {
            let pairs: Vec<String> =
                headers.iter().map(|(name, value)| format!("{}\"{name}\"{}:{value}", gaps[0], gaps[1])).collect();
            format!("{{{}{}}}", pairs.join(","), gaps[2])
        });
    let command = (string(), strings(), gaps(), any::<bool>(), any::<bool>()).prop_map(
        move |(command, arguments, gaps, trailing, has_arguments)| {
            if opencode {
                let all = [vec![command], arguments].concat();
                return vec![format!("\"command\"{}:{}", gaps[1], list(all, &gaps, trailing))];
            }
            let mut members = vec![format!("\"command\"{}:{}{command}", gaps[0], gaps[1])];
            if has_arguments {
                members.push(format!("\"args\"{}:{}", gaps[1], list(arguments, &gaps, trailing)));
            }
            members
        },
    );
    let kind = if opencode { "remote" } else { "sse" };
    let remote = ("[a-z]{1,8}", gaps(), prop::option::of(headers), any::<bool>()).prop_map(
        move |(host, gaps, headers, has_kind)| {
            let url = if host.len() > 4 && !opencode { "serverUrl" } else { "url" };
            let mut members = vec![format!("\"{url}\"{}:{}\"https://{host}.example/?a=b,c\"", gaps[0], gaps[1])];
            members.extend(headers.map(|headers| format!("\"headers\"{}:{headers}", gaps[1])));
            members.extend(has_kind.then(|| format!("\"type\":{}\"{kind}\"", gaps[2])));
            members
        },
    );
    let other = prop_oneof![
        Just("\"timeout\": 3".to_owned()),
        Just("\"disabled\":true".to_owned()),
        Just("\"x\":{\"command\":[\"y\"],\"args\":{}}".to_owned()),
        // The last of them is meant, whatever the first is.
        Just("\"cwd\":\"/a\",\"cwd\" : \"/b\"".to_owned()),
    ];
    (prop_oneof![3 => command.boxed(), 1 => remote.boxed()], prop::collection::vec(other, 0..2))
        .prop_map(|(members, others)| [members, others].concat())
        .prop_shuffle()
}

fn json(shape: Shape) -> impl Strategy<Value = String> {
    let server = (string(), members(shape == Shape::Opencode), prop::collection::vec(gap(), 4..5), any::<bool>());
    let servers = prop::collection::vec(server, 0..4);
    (servers, prop::collection::vec(gap(), 4..5), any::<bool>(), any::<bool>()).prop_map(
        move |(servers, gaps, mark, trailing)| {
            let write =
                |(index, (name, members, gaps, trailing)): (usize, (String, Vec<String>, Vec<String>, bool))| {
                    // Names that are all different, for of two with one name one is not meant.
                    let name = format!("\"{index}{}", &name[1..]);
                    let joined = members.join(&format!("{},{}", gaps[0], gaps[1]));
                    let comma = if trailing { "," } else { "" };
                    format!("{name}{}:{}{{{}{joined}{}{comma}{}}}", gaps[0], gaps[1], gaps[2], gaps[3], gaps[1])
                };
            let written: Vec<String> = servers.into_iter().enumerate().map(write).collect();
            let comma = if trailing && !written.is_empty() { "," } else { "" };
            let body = format!("{{{}{comma}{}}}", written.join(&format!("{},", gaps[0])), gaps[1]);
            let (before, after) = match shape {
                Shape::VsCodeSettings => ("{\"mcp\":{\"servers\":", "}}"),
                Shape::Opencode => ("{\"x\":[],\"mcp\":", "}"),
                _ => ("{\"mcpServers\":", "}"),
            };
            let mark = if mark { "\u{feff}" } else { "" };
            format!("{mark}{}{before}{}{body}{}{after}{}", gaps[2], gaps[3], gaps[0], gaps[1])
        },
    )
}

fn toml() -> impl Strategy<Value = String> {
    let gap = || prop::sample::select(vec!["", " ", "  ", "\t"]);
    let end = || prop::sample::select(vec!["", " # \"x\" = [", "   "]);
    let string =
        || prop_oneof![4 => string(), 1 => Just("'a\\b'".to_owned()), 1 => Just("\"\"\"m\n n\"\"\"".to_owned())];
    let strings = prop::collection::vec(string(), 0..4);
    let breaks = prop::sample::select(vec!["", " ", "\n  ", "\n # c ]\n"]);
    let server = (string(), prop::option::of((strings, breaks)), gap(), end(), 0..5_u8, any::<bool>());
    (prop::collection::vec(server, 0..4), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(servers, windows, mark, at_end)| {
        let mut text = String::new();
        let mut tables = String::new();
        for (index, (command, arguments, gap, end, form, first)) in servers.into_iter().enumerate() {
            let list = arguments.map(|(arguments, breaks)| format!("[{breaks}{}{breaks}]", arguments.join(&format!(",{breaks}"))));
            match form {
                0 => text.push_str(&format!(
                    "mcp_servers.s{index}.command{gap}={gap}{command}{end}\n{}",
                    list.map(|list| format!("{gap}mcp_servers.s{index}.args = {list}{end}\n")).unwrap_or_default()
                )),
                1 if !command.starts_with("\"\"\"") => {
                    let list = list.filter(|list| !list.contains('\n')).map(|list| format!(",{gap}args={list}"));
                    text.push_str(&format!("mcp_servers.s{index} = {{{gap}command = {command}{gap}{}}}{end}\n", list.unwrap_or_default()));
                }
                2 => tables.push_str(&format!(
                    "[mcp_servers.s{index}]{end}\n{gap}url = \"https://e.x/\"{end}\n{gap}bearer_token_env_var={gap}'T'\n[mcp_servers.s{index}.http_headers]\n{gap}X-A = {command}{end}\n"
                )),
                _ => {
                    let line = format!("{gap}command{gap}={gap}{command}{end}\n");
                    let list = list.map(|list| format!("{gap}args = {list}{end}\n")).unwrap_or_default();
                    let both = if first { format!("{line}{list}") } else { format!("{list}{line}") };
                    tables.push_str(&format!("\n{gap}[ mcp_servers . s{index} ]{end}\n{both}{gap}enabled = true{end}\n"));
                }
            }
        }
        let mut all = format!("{}{text}{tables}", if mark { "\u{feff}" } else { "" });
        if at_end {
            all.truncate(all.trim_end_matches('\n').len());
        }
        if windows { all.replace('\n', "\r\n") } else { all }
    })
}

fn yaml() -> impl Strategy<Value = String> {
    let end = || prop::sample::select(vec!["", " # cmd: [x", "  "]);
    let string = || {
        prop_oneof![
            3 => "[a-z@/._-]{0,5}[a-z]",
            1 => string(),
            1 => Just("'it''s'".to_owned()),
            1 => Just("größe".to_owned()),
            1 => Just("a b".to_owned()),
        ]
        .prop_filter("a word of YAML's, or no plain text", |text| {
            !matches!(text.as_str(), "null" | "true" | "false") && !text.starts_with(['@', '-', '.'])
        })
    };
    let strings = prop::collection::vec(string(), 0..4);
    let server = (string(), prop::option::of((strings, any::<bool>(), 0..4_usize)), end(), 0..4_u8, any::<bool>());
    (prop::collection::vec(server, 1..4), 1..5_usize, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(servers, indent, windows, mark, at_end)| {
            let mut all = format!("{}A: 'é'\nextensions:\n", if mark { "\u{feff}" } else { "" });
            let (one, two) = (" ".repeat(indent), " ".repeat(indent * 2));
            for (index, (command, arguments, end, form, first)) in servers.into_iter().enumerate() {
                let flow = |arguments: &[String]| format!("[{}]", arguments.join(", "));
                match form {
                    0 => {
                        let list = arguments.map(|(arguments, ..)| format!(", args: {}", flow(&arguments)));
                        all.push_str(&format!("{one}s{index}: {{ cmd: {command}{} , type: stdio }}{end}\n", list.unwrap_or_default()));
                    }
                    1 => all.push_str(&format!(
                        "{one}s{index}:{end}\n{two}type: streamable_http{end}\n{two}uri: https://e.x/a{end}\n{two}headers:\n{two} X-A: {command}{end}\n"
                    )),
                    _ => {
                        let line = format!("{two}cmd: {command}{end}\n");
                        let list = arguments.map(|(arguments, is_flow, further)| {
                            if is_flow || arguments.is_empty() {
                                return format!("{two}args: {}{end}\n", flow(&arguments));
                            }
                            let items: String =
                                arguments.iter().map(|each| format!("{two}{}-  {each}{end}\n", " ".repeat(further))).collect();
                            format!("{two}args:{end}\n{items}")
                        });
                        let list = list.unwrap_or_default();
                        let both = if first { format!("{line}{list}") } else { format!("{list}{line}") };
                        all.push_str(&format!("{one}s{index}:{end}\n{both}{two}type: stdio{end}\n\n"));
                    }
                }
            }
            if at_end {
                all.truncate(all.trim_end_matches('\n').len());
            }
            if windows { all.replace('\n', "\r\n") } else { all }
        },
    )
}

/// Whatever the text is, all its servers are wrapped, and unwrapped it is what it was.
fn check(text: &str, format: Format, shape: Shape) -> Result<(), TestCaseError> {
    let wrapped = wrap_all(text, format, shape);
    let why: Vec<String> =
        wrapped.refused.iter().map(|refused| format!("{}: {}", refused.server.path, refused.why)).collect();
    prop_assert!(why.is_empty(), "{why:?}\n{text}");
    check_wrapped(text, format, shape, &wrapped);
    let back = unwrap_all(&wrapped.text, format, shape);
    prop_assert_eq!(&back.text, text, "{}", wrapped.text);
    prop_assert_eq!(back.changed.len(), wrapped.changed.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn json_is_as_it_was(text in json(Shape::McpServers)) {
        check(&text, Format::Json, Shape::McpServers)?;
    }

    #[test]
    fn settings_are_as_they_were(text in json(Shape::VsCodeSettings)) {
        check(&text, Format::Json, Shape::VsCodeSettings)?;
    }

    #[test]
    fn lists_as_commands_are_as_they_were(text in json(Shape::Opencode)) {
        check(&text, Format::Json, Shape::Opencode)?;
    }

    #[test]
    fn toml_is_as_it_was(text in toml()) {
        check(&text, Format::Toml, Shape::Codex)?;
    }

    #[test]
    fn yaml_is_as_it_was(text in yaml()) {
        check(&text, Format::Yaml, Shape::Goose)?;
    }

    /// No text makes it panic, and what it takes it gives back.
    #[test]
    fn any_text_is_refused_or_exact(text in "[\\[\\]{}:,\"'a-c\\n #&*!|>-]{0,60}") {
        for (format, shape, before) in [
            (Format::Yaml, Shape::Goose, "extensions:\n a:\n  cmd: "),
            (Format::Yaml, Shape::Continue, "mcpServers:\n - name: x\n   command: "),
            (Format::Json, Shape::McpServers, "{\"mcpServers\":{\"a\":{\"command\":\"x\""),
            (Format::Toml, Shape::Codex, "[mcp_servers.a]\ncommand = "),
        ] {
            let text = format!("{before}{text}");
            if let Ok(wrapped) = crate::wrap(&text, format, shape, &super::editing::tap(), &mut |_| true) {
                let back = crate::unwrap(&wrapped.text, format, shape, &mut |_| true).unwrap();
                prop_assert_eq!(back.text, text);
            }
        }
    }
}
