//! `mcp-tap tools`: what servers offer.

mod text;

use std::sync::Arc;

use tap_peer::{Answers, CallOptions, Client, ListKind, Listing};
use tap_session::Kept;

use super::client::{Manner, Meant, meant_and_left_out, run_until_stopped};
use crate::arguments::{Global, Server, Tools};
use crate::failure::{COULD_NOT, Failure};
use crate::output::Output;
use crate::recording::say;
use crate::text::shown;

/// What one server offers.
pub(super) struct Offered {
    name: String,
    opened: tap_peer::Opened,
    pub(super) lists: Vec<(ListKind, Listing)>,
    /// Lists that could not be had, and why.
    pub(super) problems: Vec<String>,
    /// Tools that are not on their list since they cannot be called this way, and why.
    left_out: Vec<String>,
}

pub(crate) fn tools(global: &Global, tools: &Tools) -> Result<u8, Failure> {
    let (servers, n_left_out) = meant_and_left_out(global, &tools.server)?;
    let n_servers = servers.len();
    let asked = run_until_stopped(async { Ok(ask_all(global, &tools.server, &servers).await) })?;
    let mut out = if tools.json { Output::new(global) } else { Output::paged(global) };
    let mut code = if n_left_out > 0 { COULD_NOT } else { 0 };
    for (server, asked) in servers.iter().zip(asked) {
        match asked {
            Ok((offered, id)) => {
                if !offered.problems.is_empty() {
                    code = COULD_NOT;
                }
                match tools.json {
                    true => out.json_with_verbatim(&as_json(&offered))?,
                    false => text::write(&mut out, &offered, tools.verbose)?,
                }
                if let Some(id) = id.filter(|_| !global.quiet) {
                    let name = shown(&server.name, false);
                    say(&format!("recorded as {name}: mcp-tap inspect {id}"));
                }
            }
            Err(failure) if n_servers == 1 => return Err(failure),
            Err(failure) => {
                code = COULD_NOT;
                say(&shown(&failure.message, true));
            }
        }
    }
    out.finish()?;
    Ok(code)
}

/// Waits for all futures, side by side.
async fn all<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |context| {
        let mut is_done = true;
        for (future, result) in &mut waiting {
            if result.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *result = Some(value),
                    std::task::Poll::Pending => is_done = false,
                }
            }
        }
        match is_done {
            true => std::task::Poll::Ready(waiting.iter_mut().filter_map(|(_, result)| result.take()).collect()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

/// What servers offer, and as what the session with each is recorded. Side by side: a slow one holds up no other.
pub(super) async fn ask_all(
    global: &Global,
    how: &Server,
    servers: &[Meant],
) -> Vec<Result<(Offered, Option<String>), Failure>> {
    all(servers.iter().map(|server| ask(global, how, server)).collect()).await
}

async fn ask(global: &Global, how: &Server, server: &Meant) -> Result<(Offered, Option<String>), Failure> {
    let manner = Manner::of(how, Arc::new(Answers::default()));
    let session = manner.connect(global, server).await?;
    let offered = offered(&session.name, &session.client).await;
    for what in offered.left_out.iter().filter(|_| !global.quiet) {
        say(&shown(&format!("{}: {what}", session.name), false));
    }
    let (_, id) = session.close().await;
    Ok((offered, id))
}

/// Lists everything that a server declared.
async fn offered(name: &str, client: &Client) -> Offered {
    let opened = client.opened().clone();
    let mut offered =
        Offered { name: name.to_owned(), opened, lists: Vec::new(), problems: Vec::new(), left_out: Vec::new() };
    for kind in ListKind::ALL {
        if !offered.opened.offers(&[kind.capability()]) {
            continue;
        }
        match client.list(kind, CallOptions::default()).await {
            Ok(listing) => {
                if let Some(why) = listing.not_whole {
                    offered.problems.push(format!("{}: there may be more: {}", kind.method(), why.says()));
                }
                let left_out = listing.left_out.iter();
                offered.left_out.extend(left_out.map(|(name, why)| format!("left out `{name}`: {why}")));
                offered.lists.push((kind, listing));
            }
            // Many servers that have resources know nothing of templates.
            Err(tap_peer::ListError::Call(error))
                if kind == ListKind::Templates && error.code() == Some(tap_protocol::METHOD_NOT_FOUND) => {}
            Err(error) => offered.problems.push(format!("{}: {error}", kind.method())),
        }
    }
    offered
}

/// A server and its lists as one JSON object, with the items as the server wrote them.
fn as_json(offered: &Offered) -> String {
    let opened = &offered.opened;
    let quoted = tap_peer::quoted;
    let maybe = |text: &Option<String>| text.as_deref().map_or_else(|| "null".to_owned(), quoted);
    let verbatim = |kept: &Kept| String::from_utf8_lossy(&kept.0).replace('\n', " ");
    let mut members = vec![
        format!("\"name\":{}", quoted(&offered.name)),
        format!("\"server\":{{\"name\":{},\"version\":{}}}", maybe(&opened.name), maybe(&opened.version)),
        format!("\"revision\":{}", quoted(opened.revision.as_str())),
        format!("\"capabilities\":{}", opened.capabilities.as_ref().map_or_else(|| "null".into(), verbatim)),
        format!("\"instructions\":{}", maybe(&opened.instructions)),
    ];
    for (kind, listing) in &offered.lists {
        let items: Vec<String> = listing.items.iter().map(|item| verbatim(&item.0)).collect();
        members.push(format!("{}:[{}]", quoted(kind.member()), items.join(",")));
    }
    let problems: Vec<String> = offered.problems.iter().map(|problem| quoted(problem)).collect();
    members.push(format!("\"problems\":[{}]", problems.join(",")));
    format!("{{{}}}", members.join(","))
}
