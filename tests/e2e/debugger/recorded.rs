//! What the recording keeps of a session that was debugged, and who makes what of it.

use serde_json::{Value, json};

use super::*;

/// A session in which a call was edited, one dropped, one answered, one let go after a while, and one of ours put in.
fn debugged(scratch: &Scratch) {
    let mut live = Live::start(scratch, &[], &[TAP, "demo-server"]);
    live.send(INITIALIZE);
    live.line();
    live.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    live.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert!(live.line().contains("cache"));
    assert!(live.line().contains("forecast"));
    live.done(&["break", "is:c2s tool:forecast"]);
    // 2: edited.
    live.send(&request(2, "forecast", r#"{"city":"Bern"}"#));
    let number = live.held(1)[0]["number"].to_string();
    let file = scratch.path("edited.json");
    std::fs::write(&file, live.done(&["held", &number]).replace("Bern", "Oslo")).unwrap();
    live.done(&["release", &number, "--edited", file.to_str().unwrap()]);
    assert!(live.line().contains("Oslo"));
    // 3: dropped. 4: answered in the server's place. 5: let go.
    live.send(&request(3, "forecast", r#"{"city":"Rome"}"#));
    let number = live.held(1)[0]["number"].to_string();
    live.done(&["release", &number, "--drop"]);
    live.held(0);
    live.send(&request(4, "forecast", r#"{"city":"Paris"}"#));
    let number = live.held(1)[0]["number"].to_string();
    live.done(&["release", &number, "--error", "-32000:refused"]);
    assert!(live.line().contains("refused"));
    live.send(&request(5, "forecast", r#"{"city":"Lima"}"#));
    let number = live.held(1)[0]["number"].to_string();
    live.done(&["release", &number]);
    assert!(live.line().contains("Lima"));
    // Ours, of which the client sees nothing.
    live.done(&["break", "off"]);
    let ours = r#"{"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Tokyo"}}}"#;
    assert!(live.done(&["inject", ours]).contains("Tokyo"));
    live.end();
}

fn output(scratch: &Scratch, arguments: &[&str]) -> Output {
    scratch.tap(arguments).output().unwrap()
}

fn calls(scratch: &Scratch, filter: &str) -> Vec<(u64, String, Value)> {
    // Where there are none, that is not a failure of this.
    let printed = output(scratch, &["log", "-s", "last", "--json", filter]).stdout;
    let rows: Vec<Value> =
        String::from_utf8(printed).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |row: &Value| {
        let done = &row["done"];
        let deed = done["deed"].as_str().unwrap_or("-");
        let made = if done["made"] == true { " made" } else { "" };
        (row["seq"].as_u64().unwrap(), format!("{deed}{made} {}", row["status"]), row["id"].clone())
    };
    rows.iter().map(told).collect()
}

#[test]
fn every_command_knows_what_was_received_and_what_was_made() {
    let scratch = Scratch::new();
    debugged(&scratch);

    // The list: what the client asked, and beside it what we asked.
    let told: Vec<(String, Value)> =
        calls(&scratch, "tool:forecast").into_iter().map(|(_, told, id)| (told, id)).collect();
    assert_eq!(told.len(), 6, "{told:?}");
    assert_eq!(told[0], ("edited \"ok\"".into(), json!(2)));
    assert_eq!(told[1], ("edited made \"ok\"".into(), json!(2)));
    assert_eq!(told[2], ("dropped null".into(), json!(3)));
    assert_eq!(told[3], ("answered \"error\"".into(), json!(4)));
    assert_eq!(told[4], ("released \"ok\"".into(), json!(5)));
    assert_eq!(told[5].0, "injected made \"ok\"");
    for (filter, expected) in [("is:edited", 2), ("is:held", 4), ("is:injected", 1), ("is:dropped", 3), ("is:fault", 0)]
    {
        assert_eq!(calls(&scratch, filter).len(), expected, "{filter}");
    }
    let text = String::from_utf8(output(&scratch, &["log", "-s", "last", "is:held"]).stdout).unwrap();
    assert!(text.contains("edited] tools/call forecast") && text.contains("[held "), "{text}");

    // One call: both versions, and what differs.
    let seq = calls(&scratch, "is:edited")[0].0;
    let text = String::from_utf8(output(&scratch, &["show", &format!("last:{seq}")]).stdout).unwrap();
    for part in ["edited by ", "arg.city", "- \"Bern\"", "+ \"Oslo\"", "in place of "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let shown = scratch.json(&["show", "--json", &format!("last:{seq}")]);
    assert_eq!(shown[0]["other"]["message"]["params"]["arguments"]["city"], "Oslo");
    assert_eq!(shown[0]["answer"]["status"], "ok");

    // Nobody is blamed for what we did: the server's own stray line is all there is.
    let check = String::from_utf8(output(&scratch, &["check", "last"]).stdout).unwrap();
    assert!(check.contains("FRM-001") && check.matches("  by the ").count() == 1, "{check}");

    // As text: the same again.
    let file = scratch.path("all.jsonl");
    let name = file.to_str().unwrap();
    assert!(output(&scratch, &["export", "last", "-o", name]).status.success());
    let again = scratch.path("again.jsonl");
    assert!(output(&scratch, &["export", name, "-o", again.to_str().unwrap()]).status.success());
    let [first, second] = [&file, &again].map(|file| std::fs::read_to_string(file).unwrap());
    assert_eq!(first, second);
}

#[test]
fn a_fixture_says_to_a_client_what_it_got_and_to_a_server_what_it_got() {
    let scratch = Scratch::new();
    debugged(&scratch);
    let fixture = scratch.path("debugged.mcprec");
    let fixture = fixture.to_str().unwrap();
    assert!(output(&scratch, &["export", "last", "-o", fixture]).status.success());

    // In the server's place: the client asks as it did, and is told what it was told, ours included.
    let input = [
        INITIALIZE.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        request(2, "forecast", r#"{"city":"Bern"}"#),
        request(4, "forecast", r#"{"city":"Paris"}"#),
        request(5, "forecast", r#"{"city":"Lima"}"#),
    ];
    let played = talk(scratch.tap(["replay", fixture]), format!("{}\n", input.join("\n")).as_bytes());
    let text = String::from_utf8(played.stdout).unwrap();
    let told: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of =
        |id: u64| told.iter().find(|line| line["id"] == id).unwrap_or_else(|| panic!("{id}: {told:?}")).to_string();
    assert!(of(2).contains("Oslo"), "what it was told then");
    assert!(of(4).contains("refused"));
    assert!(of(5).contains("Lima"));

    // In the client's place: the server is asked what it was asked, which was not what the client had written.
    let verified = output(&scratch, &["verify", "--json", fixture, "--", TAP, "demo-server"]);
    let text = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success(), "{text}{}", String::from_utf8_lossy(&verified.stderr));
    // Three calls, edited, let go and ours, each with the answer that it had then: those of Oslo, Lima and Tokyo.
    let verdict: Value = serde_json::from_str(&text).unwrap();
    let calls = verdict["recordings"][0]["calls"].as_array().unwrap();
    let forecasts: Vec<_> = calls.iter().filter(|call| call["name"] == "forecast").collect();
    assert_eq!(forecasts.len(), 3, "{text}");
    assert!(forecasts.iter().all(|call| call["outcome"] == "same"), "{text}");
}
