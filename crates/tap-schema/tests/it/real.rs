//! Real tools, where they are at hand: every schema in the captures beside this repository compiles, and judges.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use tap_schema::{Checked, Schema};

/// The messages in one capture: whole lines from stdio, or lines of bodies from HTTP.
fn messages(capture: &str) -> Vec<Value> {
    let entries = capture.lines().filter_map(|entry| serde_json::from_str::<Value>(entry).ok());
    let texts = entries.flat_map(|entry| {
        let text = entry["line"].as_str().or(entry["data"].as_str()).unwrap_or_default().to_owned();
        text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim().to_owned()).collect::<Vec<_>>()
    });
    texts.filter_map(|text| serde_json::from_str(&text).ok()).collect()
}

#[test]
fn every_captured_schema_compiles_and_judges_what_was_sent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: no captures at {}", folder.display());
        return;
    };
    let mut schemas: BTreeMap<String, Schema> = BTreeMap::new();
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let messages = messages(&std::fs::read_to_string(file.unwrap().path()).unwrap());
        let mut inputs: BTreeMap<&str, String> = BTreeMap::new();
        for tool in messages.iter().filter_map(|message| message["result"]["tools"].as_array()).flatten() {
            for (member, schema) in
                ["inputSchema", "outputSchema"].iter().filter_map(|name| Some((name, tool.get(name)?)))
            {
                let text = schema.to_string();
                let compiled = Schema::compile(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
                assert!(compiled.ignored_patterns().is_empty(), "{text}");
                schemas.entry(text.clone()).or_insert(compiled);
                if *member == "inputSchema" {
                    inputs.insert(tool["name"].as_str().unwrap_or_default(), text);
                }
            }
        }
        for params in messages.iter().map(|message| &message["params"]) {
            let input = params["name"].as_str().and_then(|name| inputs.get(name));
            if let (Some(text), Some(arguments)) = (input, params.get("arguments")) {
                let verdict = schemas[text].check(arguments.to_string().as_bytes());
                assert!(!matches!(verdict, Checked::NotChecked(_)), "{verdict:?} for {arguments} by {text}");
                let name = if verdict == Checked::Valid { "valid" } else { "invalid" };
                *verdicts.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
    println!("{} schemas, and arguments that are {verdicts:?}, in {}", schemas.len(), folder.display());
}
