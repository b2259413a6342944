//! Whoever drops an answer drops its request, while everything else goes on.

use std::time::Duration;

use clap::Parser;
use tap_models::{ModelRequest, Part, Turn};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Heard, HttpModel, Model};
use crate::arguments::{Arguments, Command};

/// How long anything may take before the test says that it hangs.
const LIMIT: Duration = Duration::from_secs(60);

fn model(address: std::net::SocketAddr) -> HttpModel {
    let base = format!("http://{address}/v1");
    let parsed = Arguments::try_parse_from(["mcp-tap", "ask", "--model", "m", "--base-url", &base, "hi"]).unwrap();
    match parsed.command {
        Some(Command::Ask(ask)) => HttpModel::new(&ask.model).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// What a provider sends before it says nothing more.
const NOTHING: &str = "";
const HALF: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"so\"}}]}\n\n";

#[test]
fn an_answer_that_is_dropped_ends_its_connection() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for said in [NOTHING, HALF] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let model = model(listener.local_addr().unwrap());
            let turns = [Turn::User(vec![Part::Text("hi".into())])];
            let request = ModelRequest::new("m", &turns);
            let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
            let mut listen = move |event: Heard<'_>| {
                let _ = heard.send(matches!(event, Heard::Event(_)));
            };
            let mut answer = model.ask(request, &mut listen);
            let mut provider = tokio::select! {
                _ = &mut answer => panic!("there is no answer"),
                accepted = listener.accept() => accepted.unwrap().0,
            };
            let served = async {
                let mut request = [0; 4096];
                let n_read = provider.read(&mut request).await.unwrap();
                assert!(request[..n_read].starts_with(b"POST /v1/chat/completions"));
                provider.write_all(said.as_bytes()).await.unwrap();
                // The request is on its way, and where something is said it was heard.
                while hears.recv().await != Some(!said.is_empty()) {}
            };
            tokio::select! {
                _ = &mut answer => panic!("there is no answer"),
                () = served => {}
            }
            drop(answer);
            let ended = async {
                let mut rest = Vec::new();
                // A reset is an end as well.
                let _ = provider.read_to_end(&mut rest).await;
            };
            tokio::time::timeout(LIMIT, ended).await.unwrap();
        }
    });
}
