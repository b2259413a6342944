//! The result of a call, as the message that a model's interface wants.

use crate::Format;
use crate::call::Call;
use crate::tree::Tree;

/// How much of a result a model is given, bytes of text, where nothing else is said.
pub const RESULT_LIMIT_BYTES: usize = 100_000;

/// A result for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The text of a JSON object: a message, or a part of one.
    pub text: String,
    /// What of it was cut or left out.
    pub notes: Vec<String>,
}

/// A part of a result.
enum Part {
    Text(String),
    Image { data: String, media_type: String },
}

/// Writes a result of MCP's for the model that made the call. At most about `limit_bytes` of text are told, and images no
/// larger than that.
#[must_use]
pub fn result(format: Format, call: &Call, result: &[u8], limit_bytes: usize) -> Told {
    let tree = Tree::read(result).unwrap_or(Tree::Object(Vec::new()));
    let has_failed = tree.get("isError").is_some_and(|failed| failed.is_token("true"));
    let mut notes = Vec::new();
    let mut parts: Vec<Part> = Vec::new();
    for block in tree.get("content").map(Tree::items).unwrap_or_default() {
        parts.push(part(format, block, limit_bytes, &mut notes));
    }
    // Where no text says it, structured content does.
    if !parts.iter().any(|part| matches!(part, Part::Text(_)))
        && let Some(structured) = tree.get("structuredContent")
    {
        parts.push(Part::Text(structured.write()));
    }
    cut(&mut parts, limit_bytes, &mut notes);
    Told { text: written(format, call, &parts, has_failed).write(), notes }
}

fn part(format: Format, block: &Tree, limit_bytes: usize, notes: &mut Vec<String>) -> Part {
    let text = |tree: &Tree, member: &str| tree.get(member).and_then(Tree::as_text);
    let kind = text(block, "type").unwrap_or_default();
    let inner = block.get("resource").unwrap_or(block);
    let about = || {
        let words = ["name", "uri", "mimeType"].iter().filter_map(|member| text(inner, member));
        std::iter::once(kind.clone()).chain(words).collect::<Vec<_>>().join(" ")
    };
    match kind.as_str() {
        "text" => Part::Text(text(block, "text").unwrap_or_default()),
        "resource" if inner.get("text").is_some() => Part::Text(text(inner, "text").unwrap_or_default()),
        "image" if format != Format::OpenAiChat => match (text(block, "data"), text(block, "mimeType")) {
            (Some(data), Some(media_type)) if data.len() <= limit_bytes.saturating_mul(20) => {
                Part::Image { data, media_type }
            }
            _ => {
                notes.push(format!("[{}] is not passed on", about()));
                Part::Text(format!("[{}: not passed on]", about()))
            }
        },
        "resource_link" => Part::Text(format!("[{}]", about())),
        _ => {
            notes.push(format!("[{}] is not passed on", about()));
            Part::Text(format!("[{}: not passed on]", about()))
        }
    }
}

/// Cuts texts so that all of them together are within the limit.
fn cut(parts: &mut Vec<Part>, limit_bytes: usize, notes: &mut Vec<String>) {
    let mut left = limit_bytes;
    let mut n_cut = 0;
    for part in parts.iter_mut() {
        if let Part::Text(text) = part {
            if text.len() <= left {
                left -= text.len();
                continue;
            }
            let end = text.floor_char_boundary(left);
            n_cut += text.len() - end;
            text.truncate(end);
            left = 0;
        }
    }
    if n_cut > 0 {
        let note = format!("[{n_cut} bytes more were cut]");
        notes.push(note.clone());
        parts.push(Part::Text(note));
    }
}

fn written(format: Format, call: &Call, parts: &[Part], has_failed: bool) -> Tree {
    let id = Tree::text(call.id.as_deref().unwrap_or_default());
    let texts = || {
        let texts = parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    // Interfaces without a word for a failure are told in the text.
    let said = || if has_failed { format!("The tool failed: {}", texts()) } else { texts() };
    match format {
        Format::OpenAiChat => {
            Tree::object([("role", Tree::text("tool")), ("tool_call_id", id), ("content", Tree::text(&said()))])
        }
        Format::OpenAiResponses => {
            let has_images = parts.iter().any(|part| matches!(part, Part::Image { .. }));
            let output = match has_images {
                false => Tree::text(&said()),
                true => Tree::Array(
                    parts
                        .iter()
                        .map(|part| match part {
                            Part::Text(text) => {
                                Tree::object([("type", Tree::text("input_text")), ("text", Tree::text(text))])
                            }
                            Part::Image { data, media_type } => {
                                let url = format!("data:{media_type};base64,{data}");
                                Tree::object([("type", Tree::text("input_image")), ("image_url", Tree::text(&url))])
                            }
                        })
                        .collect(),
                ),
            };
            Tree::object([("type", Tree::text("function_call_output")), ("call_id", id), ("output", output)])
        }
        Format::Anthropic => {
            let content = parts.iter().map(|part| match part {
                Part::Text(text) => Tree::object([("type", Tree::text("text")), ("text", Tree::text(text))]),
                Part::Image { data, media_type } => Tree::object([
                    ("type", Tree::text("image")),
                    (
                        "source",
                        Tree::object([
                            ("type", Tree::text("base64")),
                            ("media_type", Tree::text(media_type)),
                            ("data", Tree::text(data)),
                        ]),
                    ),
                ]),
            });
            // Texts must not be empty.
            let content = content.filter(|block| !block.get("text").is_some_and(|text| text.is_text(""))).collect();
            let mut block = Tree::object([
                ("type", Tree::text("tool_result")),
                ("tool_use_id", id),
                ("content", Tree::Array(content)),
            ]);
            if has_failed {
                block.set("is_error", Tree::Token("true".into()));
            }
            block
        }
        Format::Gemini => {
            let member = if has_failed { "error" } else { "output" };
            let mut response = Tree::object([("name", Tree::text(&call.name))]);
            if let Some(id) = &call.id {
                response.set("id", Tree::text(id));
            }
            response.set("response", Tree::object([(member, Tree::text(&texts()))]));
            let images: Vec<Tree> = parts
                .iter()
                .filter_map(|part| match part {
                    Part::Text(_) => None,
                    Part::Image { data, media_type } => Some(Tree::object([(
                        "inlineData",
                        Tree::object([("mimeType", Tree::text(media_type)), ("data", Tree::text(data))]),
                    )])),
                })
                .collect();
            if !images.is_empty() {
                response.set("parts", Tree::Array(images));
            }
            Tree::object([("functionResponse", response)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Call {
        Call { id: Some("c1".into()), name: "a".into(), arguments: "{}".into() }
    }

    #[test]
    fn every_kind_of_content_is_told_or_noted() {
        let all = r#"{"content":[{"type":"text","text":"t"},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"x:y","name":"n"},{"type":"resource","resource":{"uri":"x:z","text":"inside"}},{"type":"resource","resource":{"uri":"x:b","blob":"AA=="}}]}"#;
        for (format, expected, n_notes) in [
            (
                Format::OpenAiChat,
                r#"{"role":"tool","tool_call_id":"c1","content":"t\u000a[image image/png: not passed on]\u000a[audio audio/wav: not passed on]\u000a[resource_link n x:y]\u000ainside\u000a[resource x:b: not passed on]"}"#,
                3,
            ),
            (
                Format::OpenAiResponses,
                r#"{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"t"},{"type":"input_image","image_url":"data:image/png;base64,AA=="},{"type":"input_text","text":"[audio audio/wav: not passed on]"},{"type":"input_text","text":"[resource_link n x:y]"},{"type":"input_text","text":"inside"},{"type":"input_text","text":"[resource x:b: not passed on]"}]}"#,
                2,
            ),
            (
                Format::Anthropic,
                r#"{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"t"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},{"type":"text","text":"[audio audio/wav: not passed on]"},{"type":"text","text":"[resource_link n x:y]"},{"type":"text","text":"inside"},{"type":"text","text":"[resource x:b: not passed on]"}]}"#,
                2,
            ),
            (
                Format::Gemini,
                r#"{"functionResponse":{"name":"a","id":"c1","response":{"output":"t\u000a[audio audio/wav: not passed on]\u000a[resource_link n x:y]\u000ainside\u000a[resource x:b: not passed on]"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}}"#,
                2,
            ),
        ] {
            let told = result(format, &call(), all.as_bytes(), RESULT_LIMIT_BYTES);
            assert_eq!(told.text, expected);
            assert_eq!(told.notes.len(), n_notes, "{:?}", told.notes);
        }
    }

    #[test]
    fn a_failure_is_told_and_what_is_too_long_is_cut() {
        let failed = br#"{"content":[{"type":"text","text":"no"}],"isError":true}"#;
        for (format, expected) in [
            (Format::OpenAiChat, r#""content":"The tool failed: no""#),
            (Format::OpenAiResponses, r#""output":"The tool failed: no""#),
            (Format::Anthropic, r#""is_error":true"#),
            (Format::Gemini, r#""response":{"error":"no"}"#),
        ] {
            let told = result(format, &call(), failed, RESULT_LIMIT_BYTES);
            assert!(told.text.contains(expected), "{}", told.text);
        }
        let long =
            format!(r#"{{"content":[{{"type":"text","text":"{}"}},{{"type":"text","text":"more"}}]}}"#, "é".repeat(10));
        let told = result(Format::OpenAiChat, &call(), long.as_bytes(), 7);
        assert!(told.text.contains(r#""content":"ééé\u000a\u000a[18 bytes more were cut]""#), "{}", told.text);
        assert_eq!(told.notes, ["[18 bytes more were cut]"]);
        let structured = result(Format::Anthropic, &call(), br#"{"content":[],"structuredContent":{"n":1e400}}"#, 100);
        assert!(structured.text.contains(r#""text":"{\"n\":1e400}""#), "{}", structured.text);
    }
}
