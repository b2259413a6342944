//! Which recordings there are, and how each is made: who talks to whom, over what, and about what.

use crate::third_party::python_script;
use serde_json::{Value, json};

/// What a conversation goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// The client starts the server.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The older HTTP+SSE.
    Sse,
}

/// A recording and how it is made.
pub(super) struct Conversation {
    /// Its name in `recordings/`.
    pub(super) file: &'static str,
    /// Programs in `tests/peers`, or a host that is run by one of them.
    pub(super) client: &'static str,
    pub(super) server: &'static str,
    pub(super) over: Over,
    /// What the client is told to do.
    pub(super) script: fn() -> Value,
}

impl Conversation {
    /// What the session is called.
    pub(super) fn name(&self) -> &'static str {
        self.file.trim_end_matches(".mcprec")
    }

    /// Whether its client is a host, with a model that follows the script.
    pub(super) fn is_of_host(&self) -> bool {
        self.client.starts_with("host ")
    }

    /// Where the server takes requests.
    pub(super) const fn path(&self) -> &'static str {
        match self.over {
            Over::Sse => "/sse",
            Over::Stdio | Over::Http => "/mcp",
        }
    }
}

const fn on_stdio(
    file: &'static str,
    client: &'static str,
    server: &'static str,
    script: fn() -> Value,
) -> Conversation {
    Conversation { file, client, server, over: Over::Stdio, script }
}

/// All that there are.
pub(super) const ALL: &[Conversation] = &[
    on_stdio("typescript1.mcprec", "node client.mjs", "node server1.mjs stdio", everything),
    Conversation {
        file: "typescript1-http.mcprec",
        client: "node client.mjs",
        server: "node server1.mjs http",
        over: Over::Http,
        script: over_http,
    },
    Conversation {
        file: "typescript1-sse.mcprec",
        client: "node client.mjs",
        server: "node server1.mjs sse",
        over: Over::Sse,
        script: over_http,
    },
    on_stdio("typescript2.mcprec", "node client2.mjs", "node server2.mjs stdio", rounds),
    Conversation {
        file: "typescript2-http.mcprec",
        client: "node client2.mjs",
        server: "node server2.mjs http",
        over: Over::Http,
        script: rounds,
    },
    on_stdio("python.mcprec", "python client.py", "python server.py", python_script),
    on_stdio("python-legacy.mcprec", "python client.py", "python server.py", small_legacy),
    on_stdio("python-falls-back.mcprec", "python client.py", "node server1.mjs stdio", falls_back),
    on_stdio("python1.mcprec", "python1 client.py", "python1 server.py", python_script),
    Conversation {
        file: "python1-http.mcprec",
        client: "python1 client.py",
        server: "python1 server.py streamable-http",
        over: Over::Http,
        script: python_script,
    },
    Conversation {
        file: "rust-http.mcprec",
        client: "rust client",
        server: "rust server",
        over: Over::Http,
        script: rust_modern,
    },
    Conversation {
        file: "rust-http-legacy.mcprec",
        client: "rust client",
        server: "rust server",
        over: Over::Http,
        script: rust_legacy,
    },
    on_stdio("demo-server.mcprec", "python client.py", "tap demo-server", demo),
    on_stdio("pydantic-ai.mcprec", "agent agent.py", "python server.py", agent),
    Conversation {
        file: "pydantic-ai-http.mcprec",
        client: "agent agent.py",
        server: "python1 server.py streamable-http",
        over: Over::Http,
        script: agent,
    },
    on_stdio("codex.mcprec", "host codex", "python server.py", || host("codex")),
    on_stdio("claude-code.mcprec", "host claude", "python server.py", || host("claude")),
    Conversation {
        file: "opencode-http.mcprec",
        client: "host opencode",
        server: "node server1.mjs http",
        over: Over::Http,
        script: opencode,
    },
];

/// All that the server of the first TypeScript SDK can do in the legacy era.
fn everything() -> Value {
    json!({
        "capabilities": {"sampling": {}, "elicitation": {"form": {}}},
        "steps": [
            ["ping"],
            ["tools/list"],
            ["tools/call", {"name": "test_simple_text", "arguments": {}}],
            ["tools/call", {"name": "test_image_content"}],
            ["tools/call", {"name": "test_audio_content"}],
            ["tools/call", {"name": "test_multiple_content_types"}],
            ["tools/call", {"name": "test_tool_with_logging"}],
            ["tools/call", {"name": "test_error_handling"}],
            ["tools/call", {"name": "no_such_tool"}],
            ["tools/call", {"name": "test_tool_with_progress"}, {"progress": true}],
            ["tools/call", {"name": "test_sampling", "arguments": {"prompt": "say ☃"}}, {"cancel": "sampling/createMessage"}],
            ["tools/call", {"name": "test_sampling", "arguments": {"prompt": "say ☃"}}],
            ["tools/call", {"name": "test_elicitation", "arguments": {"message": "Who are you?"}}],
            ["tools/call", {"name": "test_elicitation_sep1034_defaults"}],
            ["tools/call", {"name": "test_add_tool"}],
            ["tools/list"],
            ["tools/call", {"name": "test_added_tool"}],
            ["resources/list"],
            ["resources/list", {"cursor": "from-2"}],
            ["resources/templates/list"],
            ["resources/subscribe", {"uri": "test://watched-resource"}],
            ["tools/call", {"name": "test_update_resource"}],
            ["resources/unsubscribe", {"uri": "test://watched-resource"}],
            ["resources/read", {"uri": "test://static-binary"}],
            ["resources/read", {"uri": "test://template/7/data"}],
            ["resources/read", {"uri": "test://nowhere"}],
            ["prompts/list"],
            ["prompts/list", {"cursor": "from-2"}],
            ["prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "one", "arg2": "two"}}],
            ["prompts/get", {"name": "test_prompt_with_image"}],
            ["completion/complete", {
                "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
                "argument": {"name": "arg1", "value": "par"},
            }],
            ["logging/setLevel", {"level": "debug"}],
        ],
    })
}

fn over_http() -> Value {
    json!({
        "capabilities": {"sampling": {}, "elicitation": {"form": {}}},
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "test_image_content"}],
            ["tools/call", {"name": "test_tool_with_logging"}],
            ["tools/call", {"name": "test_error_handling"}],
            ["tools/call", {"name": "test_tool_with_progress"}, {"progress": true}],
            ["tools/call", {"name": "test_sampling", "arguments": {"prompt": "say ☃"}}],
            ["tools/call", {"name": "test_elicitation", "arguments": {"message": "Who are you?"}}],
            ["tools/call", {"name": "test_add_tool"}],
            ["tools/list"],
            ["resources/list"],
            ["resources/read", {"uri": "test://nowhere"}],
            ["prompts/get", {"name": "test_simple_prompt"}],
        ],
    })
}

/// What the modern era has in place of requests of the server's.
fn rounds() -> Value {
    json!({
        "mode": "2026-07-28",
        "capabilities": {"sampling": {}, "elicitation": {"form": {}}, "roots": {"listChanged": true}},
        "roots": ["file:///somewhere"],
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "test_simple_text"}],
            ["tools/call", {"name": "test_image_content"}],
            ["tools/call", {"name": "test_error_handling"}],
            ["tools/call", {"name": "no_such_tool"}],
            ["tools/call", {"name": "test_tool_with_progress"}, {"progress": true}],
            ["tools/call", {"name": "test_input_required_result_elicitation"}],
            ["tools/call", {"name": "test_input_required_result_sampling"}],
            ["tools/call", {"name": "test_input_required_result_list_roots"}],
            ["tools/call", {"name": "test_input_required_result_multi_round"}],
            ["tools/call", {"name": "test_input_required_result_multiple_inputs"}],
            ["resources/list"],
            ["resources/read", {"uri": "test://static-text"}],
            ["resources/read", {"uri": "test://nowhere"}],
            ["prompts/list"],
            ["prompts/get", {"name": "test_input_required_result_prompt"}],
        ],
    })
}

fn small_legacy() -> Value {
    let mut script = python_script();
    script["mode"] = "legacy".into();
    script
}

/// A client of both eras with a server of one.
fn falls_back() -> Value {
    json!({
        "capabilities": {"elicitation": {"form": {}}},
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "test_simple_text"}],
            ["tools/call", {"name": "test_elicitation", "arguments": {"message": "Who are you?"}}],
            ["tools/call", {"name": "test_tool_with_progress"}, {"progress": true}],
            ["tools/call", {"name": "no_such_tool"}],
        ],
    })
}

fn rust_modern() -> Value {
    json!({
        "mode": "modern",
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "add", "arguments": {"a": 2, "b": 40}}],
            ["tools/call", {"name": "add", "arguments": {"a": "x", "b": 1}}],
            ["tools/call", {"name": "fail"}],
            ["tools/call", {"name": "progress", "arguments": {"n": 3}}],
        ],
    })
}

fn rust_legacy() -> Value {
    let mut script = rust_modern();
    script["mode"] = "legacy".into();
    script
}

/// The weather server that comes with the program.
fn demo() -> Value {
    json!({
        "mode": "legacy",
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "forecast", "arguments": {"city": "Oslo"}}],
            ["tools/call", {"name": "report", "arguments": {"city": "Oslo"}}, {"progress": true}],
            ["tools/call", {"name": "forecast", "arguments": {"city": "Atlantis"}}],
        ],
    })
}

/// What the model of an agent calls.
fn agent() -> Value {
    json!({
        "calls": [
            ["add", {"a": 2, "b": 40}],
            // Refused, and the library lets the model try again.
            ["add", {"a": "x", "b": 1}],
            ["fail", {}],
            ["progress", {"n": 3}],
            ["log", {"text": "☃"}],
            ["order", {}],
        ],
        "elicitation": {"flavour": "vanilla"},
    })
}

/// What the model of a host calls.
fn host(name: &str) -> Value {
    json!({"host": name, "calls": [
        ["add", {"a": 2, "b": 40}],
        ["fail", {}],
        ["progress", {"n": 2}],
        ["log", {"text": "☃"}],
    ]})
}

fn opencode() -> Value {
    json!({"host": "opencode", "calls": [
        ["test_simple_text", {}],
        ["test_image_content", {}],
        ["test_error_handling", {}],
        ["test_tool_with_progress", {}],
    ]})
}
