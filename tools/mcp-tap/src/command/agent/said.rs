//! What a person says, as a model is told: with resources that are named in it, and prompts of servers.

use std::time::Duration;

use tap_jsonrpc::Node;
use tap_models::Part;
use tap_peer::quoted;
use tap_router::Router;

use super::host_call;

/// How long a resource or a prompt may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The parts of what was said. `@SERVER:URI` stands for a resource, `/prompt NAME name=value …` for a prompt of a server's.
///
/// # Errors
///
/// When something that is named cannot be had.
pub(super) async fn parts(text: &str, router: Option<&Router>) -> Result<Vec<Part>, String> {
    let Some(router) = router else { return Ok(vec![Part::Text(text.to_owned())]) };
    if let Some(words) = text.strip_prefix("/prompt ") {
        return prompt(words, router).await;
    }
    let mut parts = vec![Part::Text(text.to_owned())];
    for word in text.split_whitespace() {
        let Some((server, uri)) = word.strip_prefix('@').and_then(|word| word.split_once(':')) else { continue };
        if !router.servers().any(|known| known == server) {
            continue;
        }
        let uri = uri.trim_end_matches([',', ';', '?', '!', ')']);
        let result = resource(uri, router).await.map_err(|what| format!("@{server}:{uri}: {what}"))?;
        let contents = Node::new(result.as_bytes()).get("contents").into_iter().flat_map(Node::elements);
        for content in contents {
            let of = |member: &str| content.get(member).and_then(Node::text).map(std::borrow::Cow::into_owned);
            let uri = of("uri").unwrap_or_else(|| uri.to_owned());
            parts.push(match (of("text"), of("blob"), of("mimeType")) {
                (Some(text), ..) => Part::Resource { uri, text },
                (None, Some(data), Some(media_type)) if media_type.starts_with("image/") => {
                    Part::Image { data, media_type }
                }
                _ => Part::Resource { uri, text: "(no text)".into() },
            });
        }
    }
    Ok(parts)
}

async fn resource(uri: &str, router: &Router) -> Result<String, String> {
    let params = format!("{{\"uri\":{}}}", quoted(uri));
    let read = router.read_resource(Node::new(params.as_bytes()), host_call(0));
    match tokio::time::timeout(PATIENCE, read).await {
        Ok(read) => read.map_err(|reply| reply.message),
        Err(_) => Err("it was not read in time".into()),
    }
}

async fn prompt(words: &str, router: &Router) -> Result<Vec<Part>, String> {
    let mut words = words.split_whitespace();
    let name = words.next().unwrap_or_default();
    let arguments: Vec<String> = words
        .map(|word| {
            let (name, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is no name=value"))?;
            Ok(format!("{}:{}", quoted(name), quoted(value)))
        })
        .collect::<Result<_, String>>()?;
    let params = format!("{{\"name\":{},\"arguments\":{{{}}}}}", quoted(name), arguments.join(","));
    let get = router.get_prompt(Node::new(params.as_bytes()), host_call(0));
    let result = match tokio::time::timeout(PATIENCE, get).await {
        Ok(got) => got.map_err(|reply| reply.message)?,
        Err(_) => return Err("the prompt was not there in time".into()),
    };
    let mut parts = Vec::new();
    for message in Node::new(result.as_bytes()).get("messages").into_iter().flat_map(Node::elements) {
        let Some(content) = message.get("content") else { continue };
        let of = |node: Node<'_>, member: &str| node.get(member).and_then(Node::text).map(std::borrow::Cow::into_owned);
        let is_model = message.get("role").is_some_and(|role| role.is_text("assistant"));
        match (of(content, "text"), content.get("resource"), of(content, "data"), of(content, "mimeType")) {
            // A prompt may have answers of a model in it, as examples: they are said to be that.
            (Some(text), ..) if is_model => parts.push(Part::Text(format!("(You answered: {text})"))),
            (Some(text), ..) => parts.push(Part::Text(text)),
            (None, Some(resource), ..) => parts.push(Part::Resource {
                uri: of(resource, "uri").unwrap_or_default(),
                text: of(resource, "text").unwrap_or_default(),
            }),
            (None, None, Some(data), Some(media_type)) => parts.push(Part::Image { data, media_type }),
            _ => {}
        }
    }
    match parts.is_empty() {
        true => Err(format!("the prompt {name} says nothing")),
        false => Ok(parts),
    }
}
