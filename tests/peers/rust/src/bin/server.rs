//! A small server on the Rust SDK, Streamable HTTP in both eras, on a port that the system chooses.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{ErrorData, Implementation, ProgressNotificationParam, ServerCapabilities, ServerConfig};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler, tool, tool_handler, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Progress {
    n: u32,
}

#[derive(Clone)]
struct Server {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Server {
    fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    #[tool(description = "Add two numbers")]
    async fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> String {
        (a + b).to_string()
    }

    #[tool(description = "Always fail")]
    async fn fail(&self) -> Result<String, ErrorData> {
        Err(ErrorData::internal_error("it always fails", None))
    }

    #[tool(description = "Tell of progress n times")]
    async fn progress(
        &self,
        Parameters(Progress { n }): Parameters<Progress>,
        context: RequestContext<RoleServer>,
    ) -> String {
        for step in 1..=n {
            if let Some(token) = context.meta.get_progress_token() {
                let told = ProgressNotificationParam::new(token, f64::from(step)).with_total(f64::from(n));
                let _ = context.peer.notify_progress(told).await;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        "done".into()
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("tap-test-rust-server", "1.0.0"))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let service = StreamableHttpService::new(
        || Ok(Server::new()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    Ok(axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?)
}
