//! A real client, on the Rust SDK.
//!
//! `client SCRIPT.json URL`: SCRIPT and what is printed are as in ../../node/client.mjs; of the methods it knows two, and it
//! answers nothing. {"mode": "legacy" | "modern"} says how it opens.

use anyhow::{Context, Result, bail};
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::ServiceError;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientLifecycleMode, ClientServiceExt, ServiceExt};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(script), Some(url)) = (arguments.next(), arguments.next()) else {
        bail!("wanted: SCRIPT URL");
    };
    let script: Value = serde_json::from_slice(&std::fs::read(script)?)?;
    let transport = StreamableHttpClientTransport::from_uri(url);
    let own = ClientConfig::new(ClientCapabilities::default(), Implementation::new("tap-test-client", "1.0.0"));
    let connected = match script["mode"].as_str() {
        Some("legacy") => own.serve(transport).await,
        Some("modern") => {
            let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
            own.serve_with_lifecycle(transport, ClientLifecycleMode::Discover { preferred_versions }).await
        }
        mode => bail!("no mode: {mode:?}"),
    };
    let client = match connected {
        Ok(client) => client,
        Err(_) => {
            println!("{}", json!({"refused": true}));
            return Ok(());
        }
    };
    let server = client.peer_info().and_then(|peer| peer.server_info.clone());
    println!("{}", json!({"server": server}));
    for step in script["steps"].as_array().context("no steps")? {
        let line = match step[0].as_str() {
            Some("tools/list") => match client.list_all_tools().await {
                Ok(tools) => json!({"step": step[0], "result": {"tools": tools}}),
                Err(error) => json!({"step": step[0], "error": told(error)}),
            },
            Some("tools/call") => {
                let name = step[1]["name"].as_str().context("no name")?;
                let mut params = CallToolRequestParams::new(name.to_owned());
                if let Some(arguments) = step[1]["arguments"].as_object() {
                    params = params.with_arguments(arguments.clone());
                }
                match client.call_tool(params).await {
                    Ok(result) => json!({"step": step[0], "target": name, "result": result}),
                    Err(error) => json!({"step": step[0], "target": name, "error": told(error)}),
                }
            }
            _ => continue,
        };
        println!("{line}");
    }
    client.cancel().await?;
    Ok(())
}

/// An error of the server's as it is, and of others only that there was one: their words may name ports.
fn told(error: ServiceError) -> Value {
    match error {
        ServiceError::McpError(error) => json!(error),
        _ => json!({"code": null}),
    }
}
