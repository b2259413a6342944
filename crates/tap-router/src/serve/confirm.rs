//! Asking the host's person about a call: with a form, as a server would (2025-06-18 and later, client/elicitation).

use std::sync::Arc;

use tap_jsonrpc::Node;
use tap_peer::{Asked, quoted};
use tap_protocol::Revision;
use tap_session::Kept;
use tokio::sync::{mpsc, oneshot};

use super::Event;
use crate::host::Ask;
use crate::policy::{Consent, Question};

/// How much of the arguments is shown, characters.
const SHOWN: usize = 2_000;

/// The form.
const FORM: &str = r#"{"type":"object","properties":{"answer":{"type":"string","title":"Make this call?","enum":["no","yes","always"],"enumNames":["No","Yes, this once","Yes, and this tool for the whole session"]}},"required":["answer"]}"#;

/// Asks by way of the loop before the host.
pub(super) fn by_elicitation(events: mpsc::UnboundedSender<Event>) -> Ask {
    Arc::new(move |question| {
        let events = events.clone();
        Box::pin(async move {
            let params = format!("{{\"message\":{},\"requestedSchema\":{FORM}}}", quoted(&message(&question)));
            let asked = Asked {
                method: "elicitation/create".into(),
                params: Some(Kept(params.into())),
                revision: Revision::LATEST,
                tag: Some(question.tag),
                key: Some("mcp-tap-confirm".into()),
                together: 1,
            };
            let (reply, answer) = oneshot::channel();
            if events.send(Event::Asked { server: "mcp-tap".into(), asked, reply }).is_err() {
                return Consent::Nobody;
            }
            match answer.await {
                Ok(Ok(answer)) => consent(Node::new(answer.as_bytes())),
                // A host that cannot be asked says so; one that was and did not answer has nobody there.
                Ok(Err(_)) | Err(_) => Consent::Nobody,
            }
        })
    })
}

fn message(question: &Question) -> String {
    let mut arguments: String = question.arguments.chars().take(SHOWN).collect();
    if arguments.len() < question.arguments.len() {
        arguments.push_str(" … (cut)");
    }
    let because = question.because.as_ref().map(|because| format!("\n({because})")).unwrap_or_default();
    format!("`{}` of the server {} is to be called with\n{arguments}{because}", question.tool, question.server)
}

fn consent(answer: Node<'_>) -> Consent {
    if answer.get("action").and_then(Node::text).as_deref() != Some("accept") {
        return Consent::No;
    }
    match answer.at(&["content", "answer"]).and_then(Node::text).as_deref() {
        Some("yes") => Consent::Yes,
        Some("always") => Consent::Always,
        _ => Consent::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        for (answer, expected) in [
            (r#"{"action":"accept","content":{"answer":"yes"}}"#, Consent::Yes),
            (r#"{"action":"accept","content":{"answer":"always"}}"#, Consent::Always),
            (r#"{"action":"accept","content":{"answer":"no"}}"#, Consent::No),
            (r#"{"action":"accept","content":{"answer":true}}"#, Consent::No),
            (r#"{"action":"accept"}"#, Consent::No),
            (r#"{"action":"decline","content":{"answer":"yes"}}"#, Consent::No),
            (r#"{"action":"cancel"}"#, Consent::No),
            ("[]", Consent::No),
        ] {
            assert_eq!(consent(Node::new(answer.as_bytes())), expected, "{answer}");
        }
        assert!(Node::new(FORM.as_bytes()).get("properties").is_some());
    }

    #[test]
    fn the_question_has_what_is_to_be_called_with_what() {
        let question = Question {
            server: "files".into(),
            tool: "write".into(),
            arguments: format!("{{\"text\":\"{}\"}}", "x".repeat(3_000)),
            because: Some("it changes files".into()),
            annotations: None,
            tag: 1,
        };
        let message = message(&question);
        assert!(message.starts_with("`write` of the server files is to be called with\n{\"text\":\"xxx"), "{message}");
        assert!(message.ends_with("x … (cut)\n(it changes files)") && message.len() < 2_200, "{message}");
    }
}
