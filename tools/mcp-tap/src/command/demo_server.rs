//! The server of the demo: three tools, one stray line on stdout, some talk on stderr.

use std::io::{BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};

/// How long one step of the slow tool takes.
const STEP: Duration = Duration::from_millis(80);

pub(crate) fn serve() -> std::io::Result<u8> {
    let mut out = std::io::stdout().lock();
    let mut log = std::io::stderr().lock();
    writeln!(log, "weather server: listening on stdio")?;
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else {
            continue;
        };
        let Some(id) = message.get("id") else {
            continue;
        };
        let answer = match message["method"].as_str() {
            Some("initialize") => json!({"result": {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "weather", "version": "0.3.0"}}}),
            Some("tools/list") => {
                // What a forgotten debugging line does to a stdio server.
                writeln!(out, "cache warmed in 12 ms")?;
                json!({"result": {"tools": tools()}})
            }
            Some("tools/call") => call(&message["params"], &mut out, &mut log)?,
            Some("ping") => json!({"result": {}}),
            _ => json!({"error": {"code": -32601, "message": "no such method"}}),
        };
        let mut answer = answer;
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = id.clone();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    writeln!(log, "weather server: end of input, good bye")?;
    Ok(0)
}

fn tools() -> Value {
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!([
        {"name": "forecast", "description": "Tomorrow's weather in a city.", "inputSchema": city},
        {"name": "report", "description": "A long report, with progress.", "inputSchema": city},
    ])
}

fn call(params: &Value, out: &mut impl Write, log: &mut impl Write) -> std::io::Result<Value> {
    let city = params["arguments"]["city"].as_str().unwrap_or_default();
    let text = |text: String, failed: bool| json!({"result": {"content": [{"type": "text", "text": text}], "isError": failed}});
    Ok(match params["name"].as_str() {
        Some("forecast") if city == "Atlantis" => {
            writeln!(log, "weather server: no station near {city:?}")?;
            text(format!("there is no weather station in {city}"), true)
        }
        Some("forecast") => text(format!("{city}: 7 degrees, rain in the afternoon"), false),
        Some("report") => {
            for step in 1..=3 {
                std::thread::sleep(STEP);
                let token = &params["_meta"]["progressToken"];
                let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": step, "total": 3}});
                writeln!(out, "{progress}")?;
                out.flush()?;
            }
            text(format!("{city}: a long report"), false)
        }
        _ => json!({"error": {"code": -32602, "message": format!("no tool {}", params["name"])}}),
    })
}
