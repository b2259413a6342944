//! What a tool answered: shown to a person, and written to files.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tap_jsonrpc::Node;
use tap_session::Kept;

use crate::failure::Failure;
use crate::new_file::{NewFile, Readers, cannot_write};
use crate::output::{Output, Style};
use crate::text::{pretty, shown, size};

/// Shows a result: texts as they are, and of the rest what it is.
pub(super) fn write(out: &mut Output, result: &Kept) -> std::io::Result<()> {
    let node = result.node();
    let is_terminal = std::io::stdout().is_terminal();
    let mut texts = Vec::new();
    for block in node.get("content").into_iter().flat_map(Node::elements) {
        match plain(block) {
            Some(text) => {
                match is_terminal {
                    true => writeln!(out, "{}", shown(text.trim_end_matches('\n'), true))?,
                    false => writeln!(out, "{}", text.trim_end_matches('\n'))?,
                }
                texts.push(text);
            }
            None => {
                let line = out.styled(Style::Dim, &format!("[{}]", about(block)));
                writeln!(out, "{line}")?;
            }
        }
    }
    let Some(structured) = node.get("structuredContent") else {
        return Ok(());
    };
    // Servers say it as text as well, for clients that know no other (2025-06-18, server/tools, Structured Content).
    if texts.iter().any(|text| is_same(text, structured)) {
        return Ok(());
    }
    let text = pretty(&String::from_utf8_lossy(structured.bytes()));
    match is_terminal {
        true => writeln!(out, "{}", shown(&text, true)),
        false => writeln!(out, "{text}"),
    }
}

/// Whether a text is a value, or what a server makes of one that is no object.
fn is_same(text: &str, value: Node<'_>) -> bool {
    let read = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).ok();
    match (read(text.as_bytes()), read(value.bytes())) {
        (Some(a), Some(b)) if a == b => true,
        // `{"result": 5}` is how SDKs wrap what is no object; others choose another name.
        (text_value, Some(b)) => {
            let inner = b.as_object().filter(|object| object.len() == 1).and_then(|object| object.values().next());
            inner.is_some_and(|inner| text_value.as_ref() == Some(inner) || inner.as_str() == Some(text))
        }
        _ => false,
    }
}

/// The text of a block that is one.
fn plain(block: Node<'_>) -> Option<String> {
    let text = |node: Node<'_>| Some(node.get("text")?.text()?.into_owned());
    match block.get("type")?.text()?.as_ref() {
        "text" => text(block),
        "resource" => text(block.get("resource")?),
        _ => None,
    }
}

/// What a block is that is no text.
fn about(block: Node<'_>) -> String {
    let text = |node: Node<'_>, member: &str| node.get(member).and_then(Node::text).map(|text| text.into_owned());
    let kind = text(block, "type").unwrap_or_else(|| "something without a type".into());
    let inner = block.get("resource").unwrap_or(block);
    let mut words = vec![kind];
    words.extend(["name", "uri", "mimeType"].iter().filter_map(|member| text(inner, member)));
    if let Some(bytes) = bytes(block) {
        words.push(size(bytes.len() as u64));
        if let Ok(dimensions) = imagesize::blob_size(&bytes) {
            words.push(format!("{}×{}", dimensions.width, dimensions.height));
        }
    }
    shown(&words.join(", "), false)
}

/// What a block holds that is no text.
fn bytes(block: Node<'_>) -> Option<Vec<u8>> {
    let data = match block.get("type")?.text()?.as_ref() {
        "image" | "audio" => block.get("data")?,
        "resource" => block.get("resource")?.get("blob")?,
        _ => return None,
    };
    STANDARD.decode(data.text()?.as_bytes()).ok()
}

/// Writes what a result holds to files: what is no text, or the texts where there is nothing else.
pub(super) fn save(path: &Path, result: &Kept) -> Result<(), Failure> {
    let blocks: Vec<Node<'_>> = result.node().get("content").into_iter().flat_map(Node::elements).collect();
    let mut parts: Vec<Vec<u8>> = blocks.iter().filter_map(|block| bytes(*block)).collect();
    if parts.is_empty() {
        parts = blocks.iter().filter_map(|block| plain(*block)).map(String::into_bytes).collect();
    }
    if parts.is_empty() {
        return Err(Failure::new("the result holds nothing that could be written to a file")
            .hint("--json prints it as the server wrote it"));
    }
    for (index, part) in parts.iter().enumerate() {
        let path = numbered(path, index);
        let file = NewFile::create(&path, Readers::Usual)?;
        file.writer()?.write_all(part).map_err(|error| cannot_write(&path, &error))?;
        file.finish()?;
    }
    Ok(())
}

/// `page.png`, `page-2.png`, …
fn numbered(path: &Path, index: usize) -> PathBuf {
    if index == 0 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{}{ending}", index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(result: &str) -> String {
        let shared = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut out = Output::plain(Box::new(Shared(shared.clone())));
        write(&mut out, &Kept(result.to_owned().into())).unwrap();
        out.finish().unwrap();
        let bytes = shared.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_kind_of_content_is_shown() {
        for (result, expected) in [
            (r#"{"content":[{"type":"text","text":"a\nb\n"},{"type":"text","text":"c"}]}"#, "a\nb\nc\n"),
            (r#"{"content":[{"type":"image","data":"AAEC","mimeType":"image/png"}]}"#, "[image, image/png, 3 B]\n"),
            (r#"{"content":[{"type":"audio","data":"not base64","mimeType":"audio/wav"}]}"#, "[audio, audio/wav]\n"),
            (
                r#"{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}"#,
                "[resource_link, a, file:///a]\n",
            ),
            (r#"{"content":[{"type":"resource","resource":{"uri":"x:y","text":"inside"}}]}"#, "inside\n"),
            (r#"{"content":[{"type":"resource","resource":{"uri":"x:y","blob":"AAEC"}}]}"#, "[resource, x:y, 3 B]\n"),
            (r#"{"content":[{"new":1}]}"#, "[something without a type]\n"),
            // Said twice, shown once.
            (r#"{"content":[{"type":"text","text":"{\"a\": 1}"}],"structuredContent":{"a":1}}"#, "{\"a\": 1}\n"),
            (r#"{"content":[{"type":"text","text":"5"}],"structuredContent":{"result":5}}"#, "5\n"),
            (r#"{"content":[{"type":"text","text":"five"}],"structuredContent":{"result":"five"}}"#, "five\n"),
            (
                r#"{"content":[{"type":"text","text":"inside\n"}],"structuredContent":{"content":"inside\n"}}"#,
                "inside\n",
            ),
            (
                r#"{"content":[{"type":"text","text":"short"}],"structuredContent":{"a":1e400}}"#,
                "short\n{\n  \"a\": 1e400\n}\n",
            ),
            (r#"{"content":[],"structuredContent":null}"#, "null\n"),
            ("{}", ""),
        ] {
            assert_eq!(written(result), expected, "{result}");
        }
    }

    #[test]
    fn what_is_no_text_goes_to_files() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("page.png");
        let result = |text: &str| Kept(text.to_owned().into());
        let two =
            r#"{"content":[{"type":"text","text":"t"},{"type":"image","data":"AA=="},{"type":"audio","data":"AQ=="}]}"#;
        save(&path, &result(two)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [0]);
        assert_eq!(std::fs::read(scratch.path().join("page-2.png")).unwrap(), [1]);
        save(&path, &result(r#"{"content":[{"type":"text","text":"t"}]}"#)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"t");
        assert!(save(&path, &result("{}")).is_err());
    }
}
