//! Real clients and real servers of others, with and without a tap between them.
//!
//! Each test has one conversation three times: directly; through a tap, where the client must see the same; and through
//! a tap between two witnesses, where the recording must hold the bytes that they saw. `tests/peers` has the programs.

mod conversation;

use std::fs;

use serde_json::json;

use crate::replay::real::everything;
use crate::{peers, support::Scratch};
use conversation::{Conversation, check};

#[test]
fn everything_server_and_typescript_client() {
    let Some(node) = peers::node("everything server and TypeScript client") else {
        return;
    };
    let mut script = everything();
    // What is another every time is no matter here.
    if let Some(steps) = script["steps"].as_array_mut() {
        steps.push(json!(["tools/call", {"name": "get-env"}]));
    }
    check(&Conversation {
        scratch: &Scratch::new(),
        client: node.client(),
        server: node.server("everything", &[]),
        script,
        reset: &|| {},
        calls: "
            -> initialize: ok
            <- roots/list: ok
            -> ping: ok
            -> tools/list: ok
            -> tools/call echo: ok
            -> tools/call get-sum: ok
            -> tools/call get-sum: tool error
            -> tools/call no-such-tool: tool error
            -> tools/call get-tiny-image: ok
            -> tools/call get-structured-content: ok
            -> tools/call trigger-long-running-operation: ok
            -> tools/call trigger-sampling-request: no answer
            <- sampling/createMessage: ok
            -> tools/call trigger-sampling-request: ok
            <- sampling/createMessage: ok
            -> tools/call trigger-elicitation-request: ok
            <- elicitation/create: ok
            -> tools/call trigger-url-elicitation: ok
            <- elicitation/create: ok
            -> tools/call trigger-url-elicitation: error -32042
            -> tools/call get-roots-list: ok
            -> logging/setLevel: ok
            -> resources/list: ok
            -> resources/templates/list: ok
            -> resources/subscribe demo://resource/dynamic/text/1: ok
            -> tools/call toggle-subscriber-updates: ok
            -> tools/call toggle-subscriber-updates: ok
            -> resources/unsubscribe demo://resource/dynamic/text/1: ok
            -> resources/read demo://resource/dynamic/text/1: ok
            -> resources/read demo://nowhere: error -32602
            -> prompts/list: ok
            -> prompts/get args-prompt: ok
            -> completion/complete: ok
            -> tools/call get-env: ok
        ",
        server_name: "mcp-servers/everything 2.0.0",
        revision: "2025-11-25",
        breaks: &[],
    });
}

#[test]
fn filesystem_server_and_typescript_client() {
    let Some(node) = peers::node("filesystem server and TypeScript client") else {
        return;
    };
    let scratch = Scratch::new();
    let folder = scratch.path("folder");
    let inside = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (folder_text, new, outside) = (inside(""), inside("new.txt"), scratch.path("outside.txt"));
    check(&Conversation {
        scratch: &scratch,
        client: node.client(),
        server: node.server("filesystem", &[&folder_text]),
        script: json!({
            "capabilities": {"roots": {"listChanged": true}},
            "roots": [format!("file://{folder_text}")],
            "steps": [
                ["wait", "roots/list"],
                ["tools/list"],
                ["tools/call", {"name": "list_directory", "arguments": {"path": folder_text}}],
                ["tools/call", {"name": "read_text_file", "arguments": {"path": inside("hello.txt")}}],
                // More than fits into a pipe at once.
                ["tools/call", {"name": "read_text_file", "arguments": {"path": inside("large.txt")}}],
                ["tools/call", {"name": "write_file", "arguments": {"path": new, "content": "one\r\ntwo\n"}}],
                ["tools/call", {"name": "edit_file", "arguments": {
                    "path": new,
                    "edits": [{"oldText": "two", "newText": "☃"}],
                }}],
                ["tools/call", {"name": "get_file_info", "arguments": {"path": new}}],
                ["tools/call", {"name": "read_text_file", "arguments": {"path": outside}}],
                ["tools/call", {"name": "write_file", "arguments": {"path": 7}}],
                ["tools/call", {"name": "list_allowed_directories"}],
            ],
        }),
        reset: &|| {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("hello.txt"), "hello ☃\n").unwrap();
            fs::write(folder.join("large.txt"), "0123456789 ☃ \"quoted\"\n".repeat(40_000)).unwrap();
            fs::write(&outside, "not to be read").unwrap();
        },
        calls: "
            -> initialize: ok
            <- roots/list: ok
            -> tools/list: ok
            -> tools/call list_directory: ok
            -> tools/call read_text_file: ok
            -> tools/call read_text_file: ok
            -> tools/call write_file: ok
            -> tools/call edit_file: ok
            -> tools/call get_file_info: ok
            -> tools/call read_text_file: tool error
            -> tools/call write_file: tool error
            -> tools/call list_allowed_directories: ok
        ",
        server_name: "secure-filesystem-server 0.2.0",
        revision: "2025-11-25",
        breaks: &[],
    });
}

#[test]
fn memory_server_and_typescript_client() {
    let Some(node) = peers::node("memory server and TypeScript client") else {
        return;
    };
    let scratch = Scratch::new();
    let memory = scratch.path("memory.jsonl");
    let graph = json!({"uri": "memory://knowledge-graph"});
    check(&Conversation {
        scratch: &scratch,
        client: node.client(),
        server: node.server("memory", &[]),
        script: json!({
            "environment": {"MEMORY_FILE_PATH": memory},
            "steps": [
                ["tools/list"],
                ["resources/list"],
                ["resources/subscribe", &graph],
                ["tools/call", {"name": "create_entities", "arguments": {"entities": [
                    {"name": "Ada", "entityType": "person", "observations": ["likes maths"]},
                    {"name": "Zürich", "entityType": "city", "observations": ["☃"]},
                ]}}],
                ["tools/call", {"name": "create_relations", "arguments": {"relations": [
                    {"from": "Ada", "to": "Zürich", "relationType": "lives in"},
                ]}}],
                ["tools/call", {"name": "search_nodes", "arguments": {"query": "Ada"}}],
                ["resources/read", &graph],
                ["tools/call", {"name": "delete_entities", "arguments": {"entityNames": ["Ada"]}}],
                ["tools/call", {"name": "open_nodes", "arguments": {"names": ["Zürich"]}}],
                ["tools/call", {"name": "add_observations", "arguments": {"observations": [
                    {"entityName": "nobody", "contents": ["nothing"]},
                ]}}],
                ["tools/call", {"name": "create_entities", "arguments": {"wrong": 1}}],
                ["tools/call", {"name": "read_graph"}],
            ],
        }),
        reset: &|| {
            let _ = fs::remove_file(&memory);
        },
        calls: "
            -> initialize: ok
            -> tools/list: ok
            -> resources/list: ok
            -> resources/subscribe memory://knowledge-graph: ok
            -> tools/call create_entities: ok
            -> tools/call create_relations: ok
            -> tools/call search_nodes: ok
            -> resources/read memory://knowledge-graph: ok
            -> tools/call delete_entities: ok
            -> tools/call open_nodes: ok
            -> tools/call add_observations: tool error
            -> tools/call create_entities: tool error
            -> tools/call read_graph: ok
        ",
        server_name: "memory-server 0.6.3",
        revision: "2025-11-25",
        breaks: &[],
    });
}

#[test]
fn python_server_and_typescript_client() {
    let name = "Python server and TypeScript client";
    let Some((node, python)) = peers::node_and_python(name) else {
        return;
    };
    check(&Conversation {
        scratch: &Scratch::new(),
        client: node.client(),
        server: python.server(),
        script: python_script(),
        reset: &|| {},
        calls: "
            -> initialize: ok
            -> tools/list: ok
            -> tools/call add: ok
            -> tools/call add: tool error
            -> tools/call fail: tool error
            -> tools/call progress: ok
            -> tools/call log: ok
            -> tools/call order: ok
            <- elicitation/create: ok
            -> resources/list: ok
            -> resources/read note://snowman: ok
            -> resources/read note://nowhere: error -32602
            -> prompts/list: ok
            -> prompts/get greet: ok
        ",
        server_name: "tap-test-server 1.0.0",
        revision: "2025-11-25",
        breaks: &[],
    });
}

#[test]
fn python_server_and_python_client_in_the_modern_era() {
    let Some(python) = peers::python("Python server and Python client in the modern era") else {
        return;
    };
    check(&Conversation {
        scratch: &Scratch::new(),
        client: python.client(),
        server: python.server(),
        script: python_script(),
        reset: &|| {},
        // No handshake, and the question of `order` is an answer: the call is made again with what the user said.
        calls: "
            -> server/discover: ok
            -> tools/list: ok
            -> tools/call add: ok
            -> tools/call add: tool error
            -> tools/call fail: tool error
            -> tools/call progress: ok
            -> tools/call log: ok
            -> tools/call order: ok
            -> tools/call order: ok
            -> resources/list: ok
            -> resources/read note://snowman: ok
            -> resources/read note://nowhere: error -32602
            -> prompts/list: ok
            -> prompts/get greet: ok
        ",
        server_name: "tap-test-server 1.0.0",
        revision: "2026-07-28",
        breaks: &[],
    });
}

#[test]
fn everything_server_and_python_client_that_falls_back_to_a_handshake() {
    let name = "everything server and Python client that falls back to a handshake";
    let Some((node, python)) = peers::node_and_python(name) else {
        return;
    };
    check(&Conversation {
        scratch: &Scratch::new(),
        client: python.client(),
        server: node.server("everything", &[]),
        script: json!({
            "steps": [
                ["tools/list"],
                ["tools/call", {"name": "echo", "arguments": {"message": "☃"}}],
                ["tools/call", {"name": "get-sum", "arguments": {"a": "x"}}],
            ],
        }),
        reset: &|| {},
        calls: "
            -> server/discover: error -32601
            -> initialize: ok
            -> tools/list: ok
            -> tools/call echo: ok
            -> tools/call get-sum: tool error
        ",
        server_name: "mcp-servers/everything 2.0.0",
        revision: "2025-11-25",
        breaks: &[],
    });
}

/// What clients ask the small Python server: also where it is recorded, and played.
pub(crate) fn python_script() -> serde_json::Value {
    json!({
        "capabilities": {"elicitation": {"form": {}}},
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "add", "arguments": {"a": 2, "b": 40}}],
            ["tools/call", {"name": "add", "arguments": {"a": "x", "b": 1}}],
            ["tools/call", {"name": "fail"}],
            ["tools/call", {"name": "progress", "arguments": {"n": 3}}, {"progress": true}],
            ["tools/call", {"name": "log", "arguments": {"text": "☃"}}],
            ["tools/call", {"name": "order"}],
            ["resources/list"],
            ["resources/read", {"uri": "note://snowman"}],
            ["resources/read", {"uri": "note://nowhere"}],
            ["prompts/list"],
            ["prompts/get", {"name": "greet", "arguments": {"name": "Bo"}}],
        ],
    })
}
