//! `mcp-tap agent`: the classic example with real servers and a script in the model's place, recorded and replayed; and with a provider
//! over HTTP.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use tap_models::Format;

use crate::inspector::Terminal;
use crate::provider::fake::{Fake, Way};
use crate::router::{configured, sh};
use crate::support::{LIMIT, Scratch, TAP, talk};

/// A server with `add`, `get_weather` and `get_time`, or one with `read` and `write`: Python, and no package.
const SERVER: &str = r#"
import json, os, sys
which = sys.argv[1]
folder = sys.argv[2] if len(sys.argv) > 2 else "."
def schema(**types):
    return {"type": "object", "properties": {n: {"type": t} for n, t in types.items()}, "required": list(types)}
TOOLS = {
    "office": {"add": schema(a="number", b="number"), "get_weather": schema(city="string"), "get_time": schema(zone="string"),
               "old_weather": schema(city="string"), "translate": schema(text="string")},
    "files": {"read": schema(path="string"), "write": schema(path="string", text="string")},
}[which]
gone = set()
n_asked = 0
def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
def ask(method, params):
    global n_asked
    n_asked += 1
    say({"jsonrpc": "2.0", "id": "s%d" % n_asked, "method": method, "params": params})
    return json.loads(sys.stdin.readline())
def call(name, arguments):
    if name == "add":
        return str(arguments["a"] + arguments["b"])
    if name == "get_weather":
        return "%s: 21 degrees, sunny" % arguments["city"]
    if name == "get_time":
        return "12:00 in %s" % arguments["zone"]
    if name == "old_weather":
        gone.add("old_weather")
        say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        raise ValueError("the old station is closed")
    if name == "translate":
        answer = ask("sampling/createMessage", {"maxTokens": 50, "messages": [{"role": "user", "content": {"type": "text", "text": arguments["text"]}}]})
        if "error" in answer:
            raise ValueError("nobody translates: " + answer["error"]["message"])
        content = answer["result"]["content"]
        return "translated: " + content["text"]
    path = os.path.join(folder, os.path.basename(arguments["path"]))
    if name == "read":
        return open(path).read()
    open(path, "w").write(arguments["text"])
    return "written"
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if number is None:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": which, "version": "1"},
                  "instructions": "Ask for the " + which + " politely."}
    elif method == "tools/list":
        result = {"tools": [{"name": n, "description": n, "inputSchema": s} for n, s in TOOLS.items() if n not in gone]}
    elif method == "tools/call":
        try:
            result = {"content": [{"type": "text", "text": call(message["params"]["name"], message["params"]["arguments"])}]}
        except Exception as error:
            result = {"content": [{"type": "text", "text": str(error)}], "isError": True}
    else:
        say({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "what?"}})
        continue
    say({"jsonrpc": "2.0", "id": number, "result": result})
"#;

/// A folder with both servers' configuration in it, and a file to read.
pub(crate) fn servers(scratch: &Scratch) -> String {
    let script = scratch.path("server.py");
    std::fs::write(&script, SERVER).unwrap();
    std::fs::write(scratch.path("notes.txt"), "pears\napples\n").unwrap();
    let server = |which: &str| json!({"command": "python3", "args": [script, which, scratch.path(".")]});
    configured(scratch, &json!({"office": server("office"), "files": server("files")}))
}

fn script(scratch: &Scratch, text: &str) -> String {
    let path = scratch.path("turns.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn agent(scratch: &Scratch, words: &[&str]) -> Output {
    // In a session of its own, so that nobody at the terminal of the tests is asked.
    let tap = scratch.tap([&["agent"], words].concat());
    let mut command = std::process::Command::new("setsid");
    command.arg("--wait").arg(TAP).args(tap.get_args());
    for (name, value) in tap.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    talk(command, b"")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn events(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The question that needs two tools, as the README has it.
const QUESTION: &str = "what is the weather in Beijing, and what is 12 + 30?";

const TWO_TOOLS: &str = r#"
[[turn]]
expect = ["weather in Beijing", "12 + 30"]
text = "I will look."
input_tokens = 100
output_tokens = 10
[[turn.calls]]
name = "office__get_weather"
arguments = { city = "Beijing" }
[[turn.calls]]
name = "office__add"
arguments = { a = 12, b = 30 }

[[turn]]
expect = ["21 degrees", "42"]
text = "It is sunny in Beijing, 21 degrees, and 12 + 30 is 42."
"#;

#[test]
fn the_classic_example() {
    let write = "[[turn]]\n[[turn.calls]]\nname = \"files__write\"\narguments = { path = \"notes.txt\", text = \"apples\\npears\\n\" }\n";
    for (what, question, turns, words, code, says, n_calls) in [
        ("two tools", QUESTION, TWO_TOOLS.to_owned(), &["--yes"][..], 0, "12 + 30 is 42.", 2),
        (
            "an unknown tool, and the right one",
            "add 1 and 2",
            r#"
[[turn]]
calls = [{ name = "office__ad", arguments = { a = 1, b = 2 } }]
[[turn]]
expect = ["there is no tool `office__ad`", "office__add"]
calls = [{ name = "office__add", arguments = { a = 1, b = 2 } }]
[[turn]]
expect = ["3"]
text = "three"
"#
            .to_owned(),
            &["--yes"],
            0,
            "three",
            2,
        ),
        (
            "arguments that do not fit",
            "add",
            r#"
[[turn]]
calls = [{ name = "office__add", arguments = { a = "one" } }]
[[turn]]
expect = ["do not fit", "it was not called"]
text = "I cannot."
"#
            .to_owned(),
            &["--yes"],
            0,
            "I cannot.",
            1,
        ),
        (
            "a tool that fails and is gone then, and another way",
            "the weather in Bern?",
            r#"
[[turn]]
calls = [{ name = "office__old_weather", arguments = { city = "Bern" } }]
[[turn]]
expect = ["the old station is closed"]
calls = [{ name = "office__get_weather", arguments = { city = "Bern" } }]
[[turn]]
expect = ["Bern: 21 degrees"]
text = "Sunny."
"#
            .to_owned(),
            &["--yes"],
            0,
            "Sunny.",
            2,
        ),
        (
            "a file is read, reordered and written back",
            "sort notes.txt",
            format!(
                "[[turn]]\ncalls = [{{ name = \"files__read\", arguments = {{ path = \"notes.txt\" }} }}]\n{}[[turn]]\nexpect = [\"written\"]\ntext = \"Sorted.\"\n",
                write.replacen("[[turn]]\n", "[[turn]]\nexpect = [\"pears\"]\n", 1)
            ),
            &["--yes"],
            0,
            "Sorted.",
            2,
        ),
        // Nobody is there to ask, and nobody said that it is allowed.
        (
            "the write is refused",
            "sort notes.txt",
            write.to_owned(),
            &[],
            4,
            "a call was refused: files__write: nobody to ask",
            1,
        ),
        (
            "the write is refused, and the model goes on",
            "sort notes.txt",
            format!("{write}[[turn]]\nexpect = [\"nobody to ask\"]\ntext = \"I may not write.\"\n"),
            &["--go-on-refused"],
            0,
            "I may not write.",
            1,
        ),
        (
            "a server asks the model in the middle of a call",
            "translate",
            r#"
[[turn]]
calls = [{ name = "office__translate", arguments = { text = "Guten Tag" } }]
[[turn]]
expect = ["Guten Tag"]
text = "Good day"
[[turn]]
expect = ["translated: Good day"]
text = "It says: good day."
"#
            .to_owned(),
            &["--yes", "--allow-sampling", "1"],
            0,
            "It says: good day.",
            1,
        ),
        (
            "too many rounds",
            "?",
            "[[turn]]\ncalls = [{ name = \"office__get_time\", arguments = { zone = \"UTC\" } }]\n".repeat(3),
            &["--yes", "--max-rounds", "2"],
            3,
            "the model was asked 2 times",
            2,
        ),
        (
            "too many calls",
            "?",
            "[[turn]]\ncalls = [{ name = \"office__get_time\", arguments = { zone = \"UTC\" } }]\n".repeat(3),
            &["--yes", "--max-calls", "1"],
            3,
            "1 calls were made",
            1,
        ),
        (
            "too many tokens",
            QUESTION,
            TWO_TOOLS.to_owned(),
            &["--yes", "--max-tokens", "50"],
            3,
            "110 tokens were spent",
            2,
        ),
        (
            "an answer that is cut",
            "?",
            "[[turn]]\ntext = \"so\"\nstop = \"length\"\n".to_owned(),
            &[],
            3,
            "cut at its limit",
            0,
        ),
        (
            "a model that refuses",
            "?",
            "[[turn]]\nstop = \"refused\"\n".to_owned(),
            &[],
            4,
            "the model will not answer",
            0,
        ),
        ("another question", "what?", TWO_TOOLS.to_owned(), &[], 1, "expects `weather in Beijing`", 0),
    ] {
        let scratch = Scratch::new();
        let file = servers(&scratch);
        let turns = script(&scratch, &turns);
        let output = agent(&scratch, &[&["--config", &file, "--script", &turns], words, &[question]].concat());
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{what}: {out}{err}");
        assert!(out.contains(says) || err.contains(says), "{what}: {out}{err}");
        // What the tests of the model's words are about is in the recording, and judged as what it is.
        let audit = talk(scratch.tap(["audit", "--json"]), b"");
        let audited = text(&audit.stdout).lines().count();
        let unknown = usize::from(what.starts_with("an unknown") || what.starts_with("arguments"));
        assert_eq!(audited + unknown, n_calls, "{what}: {}", text(&audit.stdout));
        let notes = std::fs::read_to_string(scratch.path("notes.txt")).unwrap();
        assert_eq!(notes == "apples\npears\n", what.contains("written back"), "{what}: {notes}");
        let checked = talk(scratch.tap(["check", "agent", "--level", "warning"]), b"");
        assert!(checked.status.success(), "{what}: {}", text(&checked.stdout));
        // The same run again, with nothing but the recording.
        let replayed = agent(&scratch, &["--replay", "agent", "--json"]);
        let last = events(&replayed).pop().unwrap();
        assert_eq!(replayed.status.code(), Some(code), "{what}: {}{}", text(&replayed.stdout), text(&replayed.stderr));
        assert!(last["ending"].is_string(), "{what}: {last}");
    }
}

#[test]
fn a_run_is_replayed_from_a_file_without_servers_and_what_differs_is_told() {
    let scratch = Scratch::new();
    let file = servers(&scratch);
    let turns = script(&scratch, TWO_TOOLS);
    let output = agent(&scratch, &["--config", &file, "--script", &turns, "--yes", "-q", QUESTION]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "It is sunny in Beijing, 21 degrees, and 12 + 30 is 42.\n");
    let run = scratch.path("run.jsonl");
    let run = run.to_str().unwrap();
    assert!(talk(scratch.tap(["export", "agent", "-o", run]), b"").status.success());
    let other = Scratch::new();
    // Nothing is there but the file: no server, no model, no database. Each time the same.
    let once = agent(&other, &["--replay", run, "--json"]);
    for _ in 0..3 {
        let again = agent(&other, &["--replay", run, "--json"]);
        let without_times = |output: &Output| {
            let mut events = events(output);
            events.iter_mut().filter_map(Value::as_object_mut).for_each(|event| drop(event.remove("ms")));
            events
        };
        assert_eq!(without_times(&again), without_times(&once));
        assert!(again.status.success() && !Path::new(&other.path("tap.db")).exists());
    }
    // Real tools say the same: nothing differs.
    let live = ["--replay", run, "--live", "tools", "--config", &file, "--yes", "--json"];
    let same = agent(&scratch, &live);
    assert!(same.status.success(), "{}{}", text(&same.stdout), text(&same.stderr));
    // A server that says something else does.
    let changed = SERVER.replace("21 degrees", "9 degrees");
    std::fs::write(scratch.path("server.py"), changed).unwrap();
    let differs = agent(&scratch, &live);
    let told: Vec<Value> = events(&differs).into_iter().filter(|event| event.get("different").is_some()).collect();
    assert_eq!((differs.status.code(), told.len()), (Some(5), 1), "{}", text(&differs.stdout));
    assert!(told[0]["different"].as_str().unwrap().contains("9 degrees"), "{told:?}");
    // A model that calls something else is told what the recording has not.
    let other_turns = script(
        &other,
        &TWO_TOOLS
            .replace("a = 12", "a = 13")
            .replace("expect = [\"21 degrees\", \"42\"]", "expect = [\"not called\"]"),
    );
    let output = agent(&other, &["--replay", run, "--live", "model", "--json", "--script", &other_turns]);
    let told: Vec<Value> = events(&output).into_iter().filter(|event| event.get("different").is_some()).collect();
    assert_eq!((output.status.code(), told.len()), (Some(5), 1), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(
        told[0]["different"].as_str().unwrap().contains("`office__add` was not called with these arguments"),
        "{told:?}"
    );
    // One that says the same is no different, and needs no server for it.
    let output = agent(&other, &["--replay", run, "--live", "model", "-q", "--script", &turns]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let both = agent(&other, &["--replay", run, "--script", &turns]);
    assert!(both.status.code() == Some(2) && text(&both.stderr).contains("so does --script"), "{}", text(&both.stderr));
    let not_a_run = agent(&scratch, &["--replay", "office"]);
    assert!(text(&not_a_run.stderr).contains("is no run of an agent"), "{}", text(&not_a_run.stderr));
}

#[test]
fn every_step_is_in_the_recording() {
    let scratch = Scratch::new();
    let file = servers(&scratch);
    let turns = script(&scratch, TWO_TOOLS);
    let output = agent(&scratch, &["--config", &file, "--script", &turns, "--yes", QUESTION]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let log = text(&talk(scratch.tap(["log", "-s", "agent"]), b"").stdout);
    for step in ["agent/model", "office__get_weather", "office__add"] {
        assert!(log.contains(step), "{step}: {log}");
    }
    let log = text(&talk(scratch.tap(["log", "-s", "agent", "--frames"]), b"").stdout);
    assert!(log.contains("agent/user") && log.contains("agent/end"), "{log}");
    let sessions = text(&talk(scratch.tap(["ls", "--json"]), b"").stdout);
    assert_eq!(sessions.lines().count(), 3, "{sessions}");
    // What the server says of itself, and where the call belongs in the trace.
    let messages = text(&talk(scratch.tap(["export", "agent", "-o", "-", "--lossless"]), b"").stdout);
    assert!(messages.contains("Ask for the office politely."), "{messages}");
    let messages = text(&talk(scratch.tap(["export", "office", "-o", "-", "--lossless"]), b"").stdout);
    assert!(messages.contains("traceparent"), "{messages}");
}

#[test]
fn each_provider_s_model_calls_tools_and_no_key_is_kept() {
    const CALLS: &[(&str, &str)] = &[("office__add", r#"{"a":12,"b":30}"#), ("office__get_time", r#"{"zone":"UTC"}"#)];
    const KEY: &str = "key-of-nobody-81a5";
    for format in Format::ALL {
        let scratch = Scratch::new();
        let file = servers(&scratch);
        let fake = Fake::start(&[Way::Calls(CALLS), Way::Answers]);
        let (model, base) = (format!("{}:some-model", format.name()), fake.base(format));
        let words = [
            "agent",
            "--config",
            &file,
            "--yes",
            "--model",
            &model,
            "--base-url",
            &base,
            "--key-env",
            "NOBODY_S_KEY",
            QUESTION,
        ];
        let mut tap = scratch.tap(words);
        tap.env("NOBODY_S_KEY", KEY);
        let output = talk(tap, b"");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() && out.contains("Hello, world"), "{format:?}: {out}{err}");
        let requests = fake.requests();
        assert_eq!(requests.len(), 2, "{format:?}");
        assert!(
            requests[0].body.contains("office__get_weather")
                && requests[0].body.contains("Ask for the office politely.")
        );
        assert!(requests[1].body.contains("42") && requests[1].body.contains("12:00 in UTC"), "{}", requests[1].body);
        assert!(err.contains("2 rounds, 2 calls") && !err.contains(KEY) && !out.contains(KEY), "{err}");
        for entry in std::fs::read_dir(scratch.path(".")).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap_or_default();
            assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{path:?}");
        }
        let replayed = agent(&scratch, &["--replay", "agent", "-q"]);
        assert_eq!(
            (replayed.status.code(), text(&replayed.stdout).as_str()),
            (Some(0), "Hello, world\n"),
            "{format:?}"
        );
    }
}

#[test]
fn whoever_gives_up_cancels_what_is_under_way_and_keeps_what_was_said() {
    let scratch = Scratch::new();
    let heard = scratch.path("heard");
    let server = sh(&format!(
        r#"open '{{"tools":{{}}}}'
while hear; do case $line in
*tools/list*) result '{{"tools":[{{"name":"wait","inputSchema":{{"type":"object"}}}}]}}';;
*tools/call*) echo called >> {heard};;
*notifications/cancelled*) echo cancelled >> {heard};;
*) result '{{}}';;
esac; done"#,
        heard = heard.display()
    ));
    let file = configured(&scratch, &json!({"slow": server}));
    let turns = script(&scratch, "[[turn]]\ntext = \"I call it.\"\ncalls = [{ name = \"slow__wait\" }]\n");
    let mut tap = scratch.tap(["agent", "--config", &file, "--script", &turns, "--yes", "wait"]);
    tap.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = tap.spawn().unwrap();
    let until = |says: &str| {
        let begun = std::time::Instant::now();
        while !std::fs::read_to_string(&heard).unwrap_or_default().contains(says) {
            assert!(begun.elapsed() < LIMIT, "in vain waited for {says}");
            std::thread::sleep(std::time::Duration::from_millis(10)); // tidy: sleeps because it asks again until something is there, with a limit.
        }
    };
    until("called");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(child.id().try_into().unwrap()),
        nix::sys::signal::Signal::SIGINT,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "I call it.\n");
    until("cancelled");
    let replayed = agent(&scratch, &["--replay", "agent", "--json"]);
    assert!(text(&replayed.stdout).contains("I call it."), "{}", text(&replayed.stdout));
    let audit = talk(scratch.tap(["audit", "--json"]), b"");
    assert!(text(&audit.stdout).contains("given up"), "{}", text(&audit.stdout));
}

#[test]
fn a_conversation_goes_on_line_by_line_with_resources_and_prompts() {
    let scratch = Scratch::new();
    let server = sh(r#"open '{"tools":{},"resources":{},"prompts":{}}'
while hear; do case $line in
*tools/list*) result '{"tools":[]}';;
*resources/list*) result '{"resources":[{"uri":"note://a","name":"a"}]}';;
*resources/read*) result '{"contents":[{"uri":"note://a","text":"pears are ripe"}]}';;
*prompts/list*) result '{"prompts":[{"name":"greet"}]}';;
*prompts/get*) result '{"messages":[{"role":"user","content":{"type":"text","text":"Say hello to Ada."}}]}';;
*) result '{}';;
esac; done"#);
    let file = configured(&scratch, &json!({"notes": server}));
    let turns = script(
        &scratch,
        "[[turn]]\nexpect = [\"pears are ripe\"]\ntext = \"Eat them.\"\n[[turn]]\nexpect = [\"Say hello to Ada.\"]\ntext = \"Hello, Ada.\"\n",
    );
    let tap = scratch.tap(["agent", "--config", &file, "--script", &turns]);
    let output = talk(tap, b"what does @notes:note://a say?\n\n/prompt notes__greet\n/quit\nnever asked\n");
    assert_eq!(text(&output.stdout), "Eat them.\nHello, Ada.\n", "{}", text(&output.stderr));
    assert!(output.status.success());
    // Both questions again, in their order.
    let replayed = agent(&scratch, &["--replay", "agent", "-q"]);
    assert_eq!((text(&replayed.stdout).as_str(), replayed.status.code()), ("Eat them.\nHello, Ada.\n", Some(0)));
}

#[test]
fn a_person_is_asked_on_the_terminal_and_may_give_up() {
    let turn = |name: &str, arguments: &str| {
        format!("[[turn]]\ncalls = [{{ name = \"{name}\", arguments = {{ {arguments} }} }}]\n")
    };
    let (time, sum) = (turn("office__get_time", "zone = \"UTC\""), turn("office__add", "a = 1, b = 2"));
    let scratch = Scratch::new();
    let file = servers(&scratch);
    let turns = script(&scratch, &[time.as_str(), &sum, &sum, &time].concat());
    let run = scratch.tap(["agent", "--config", &file, "--script", &turns, "add"]);
    let mut terminal = Terminal::start(&run);
    terminal.wait(0, "get_time wants to be called, of the server office");
    terminal.wait(0, "call it?");
    terminal.type_for("perhaps\n", "call it?");
    terminal.type_for("y\n", "add wants to be called");
    // Always: the second time nobody is asked, and then it is the other tool's turn again.
    terminal.type_for("a\n", "get_time wants to be called");
    terminal.type_for("n\n", "a call was refused: office__get_time: a person");
    assert_eq!(terminal.close().wait().unwrap().code(), Some(4));
    let audit = text(&talk(scratch.tap(["audit", "--json"]), b"").stdout);
    let by: Vec<String> = audit
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["by"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(by, ["a person", "a person", "a person, for the session", "a person"]);
    // Ctrl-C while somebody is asked.
    let mut terminal = Terminal::start(&run);
    terminal.wait(0, "call it?");
    terminal.type_for("\x03", "given up");
    assert_eq!(terminal.close().wait().unwrap().code(), Some(130));
}

#[test]
fn arguments_over_several_lines_are_one_message() {
    const CALLS: &[(&str, &str)] =
        &[("office__add", "{\n  \"a\": 12,\r\n  \"b\": 30\n}"), ("office__get_time", "{\"zone\":\"a\\nb\"}")];
    let scratch = Scratch::new();
    let file = servers(&scratch);
    let fake = Fake::start(&[Way::Calls(CALLS), Way::Answers]);
    let base = fake.base(Format::OpenAiChat);
    let output = agent(&scratch, &["--config", &file, "--yes", "--model", "m", "--base-url", &base, QUESTION]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = &fake.requests()[1].body;
    assert!(told.contains("42") && told.contains("12:00 in a"), "{told}");
    let checked = talk(scratch.tap(["check", "agent", "--level", "warning"]), b"");
    assert!(checked.status.success(), "{}", text(&checked.stdout));
    assert!(agent(&scratch, &["--replay", "agent"]).status.success());
}
