//! A handler made of parts: roots that are known, and functions for what has to be worked out.

use std::collections::BTreeSet;

use tap_protocol::METHOD_NOT_FOUND;
use tap_session::ErrorReply;

use crate::handler::{Asked, Cannot, Handler, Notified, Reply};
use crate::text::quoted;

type Answer = Box<dyn Fn(Asked) -> Reply + Send + Sync>;

/// A [`Handler`] that is put together: what is given is declared, and the rest is not.
#[derive(Default)]
pub struct Answers {
    roots: Option<Vec<(String, Option<String>)>>,
    sampling: Option<(Answer, bool)>,
    elicitation: Option<(Answer, BTreeSet<&'static str>)>,
    heard: Option<Box<dyn Fn(Notified) + Send + Sync>>,
}

impl Answers {
    /// Folders that servers may use: addresses that begin with `file://`, and names for people.
    #[must_use]
    pub fn roots(mut self, roots: Vec<(String, Option<String>)>) -> Self {
        self.roots = Some(roots);
        self
    }

    /// Asks a model. With `tools` the model can be given tools.
    #[must_use]
    pub fn sampling(mut self, tools: bool, answer: impl Fn(Asked) -> Reply + Send + Sync + 'static) -> Self {
        self.sampling = Some((Box::new(answer), tools));
        self
    }

    /// Asks a person, by a form.
    #[must_use]
    pub fn elicitation_by_form(self, answer: impl Fn(Asked) -> Reply + Send + Sync + 'static) -> Self {
        self.elicitation(BTreeSet::from(["form"]), Box::new(answer))
    }

    /// Asks a person, by a form or by a page that is to be opened: `mode` says which.
    #[must_use]
    pub fn elicitation_by_form_and_url(self, answer: impl Fn(Asked) -> Reply + Send + Sync + 'static) -> Self {
        self.elicitation(BTreeSet::from(["form", "url"]), Box::new(answer))
    }

    fn elicitation(mut self, modes: BTreeSet<&'static str>, answer: Answer) -> Self {
        self.elicitation = Some((answer, modes));
        self
    }

    /// Hears what servers say.
    #[must_use]
    pub fn heard(mut self, heard: impl Fn(Notified) + Send + Sync + 'static) -> Self {
        self.heard = Some(Box::new(heard));
        self
    }

    fn answer_now(&self, asked: Asked) -> Result<Reply, Cannot> {
        let unsupported = || Cannot::unsupported(&asked.method);
        match asked.method.as_str() {
            "roots/list" => {
                let roots = self.roots.as_ref().ok_or_else(unsupported)?;
                let roots = roots.iter().map(|(uri, name)| match name {
                    Some(name) => format!("{{\"uri\":{},\"name\":{}}}", quoted(uri), quoted(name)),
                    None => format!("{{\"uri\":{}}}", quoted(uri)),
                });
                let result = format!("{{\"roots\":[{}]}}", roots.collect::<Vec<_>>().join(","));
                Ok(Box::pin(std::future::ready(Ok(result))))
            }
            "sampling/createMessage" => Ok(self.sampling.as_ref().ok_or_else(unsupported)?.0(asked)),
            "elicitation/create" => {
                let (answer, modes) = self.elicitation.as_ref().ok_or_else(unsupported)?;
                let mode = asked.params.as_ref().and_then(|params| params.node().get("mode")?.text()).map(String::from);
                // A form, where nothing is said (2025-11-25, client/elicitation).
                let mode = mode.unwrap_or_else(|| "form".into());
                match modes.contains(mode.as_str()) {
                    true => Ok(answer(asked)),
                    false => Err(Cannot(ErrorReply::new(
                        tap_protocol::INVALID_PARAMS,
                        format!("this client has no elicitation in the mode `{mode}`"),
                    ))),
                }
            }
            _ => Err(Cannot(ErrorReply::new(METHOD_NOT_FOUND, "unknown method"))),
        }
    }
}

impl Handler for Answers {
    fn capabilities(&self) -> String {
        let mut parts = Vec::new();
        if self.roots.is_some() {
            parts.push("\"roots\":{}".to_owned());
        }
        if let Some((_, tools)) = &self.sampling {
            parts.push(format!("\"sampling\":{}", if *tools { "{\"tools\":{}}" } else { "{}" }));
        }
        if let Some((_, modes)) = &self.elicitation {
            let modes: Vec<String> = modes.iter().map(|mode| format!("{}:{{}}", quoted(mode))).collect();
            parts.push(format!("\"elicitation\":{{{}}}", modes.join(",")));
        }
        format!("{{{}}}", parts.join(","))
    }

    fn answer(&self, asked: Asked) -> Reply {
        self.answer_now(asked).unwrap_or_else(|cannot| Box::pin(std::future::ready(Err(cannot))))
    }

    fn notified(&self, notified: Notified) {
        if let Some(heard) = &self.heard {
            heard(notified);
        }
    }
}

#[cfg(test)]
mod tests {
    use tap_protocol::Revision;
    use tap_session::Kept;

    use super::*;

    fn said(answers: &Answers, method: &str, params: &str) -> String {
        let params = Some(Kept(params.to_owned().into()));
        let asked =
            Asked { method: method.into(), params, revision: Revision::LATEST, tag: None, key: None, together: 1 };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        match runtime.block_on(answers.answer(asked)) {
            Ok(text) => text,
            Err(Cannot(reply)) => format!("{} {}", reply.code, reply.message),
        }
    }

    #[test]
    fn what_is_given_is_declared_and_answered_and_nothing_else_is() {
        let yes = || |_| -> Reply { Box::pin(std::future::ready(Ok("{\"yes\":1}".into()))) };
        let none = Answers::default();
        assert_eq!(none.capabilities(), "{}");
        let form = Answers::default().elicitation_by_form(yes());
        assert_eq!(form.capabilities(), r#"{"elicitation":{"form":{}}}"#);
        let all = Answers::default()
            .roots(vec![("file:///a".into(), Some("a \"b\"".into())), ("file:///c".into(), None)])
            .sampling(true, yes())
            .elicitation_by_form_and_url(yes());
        assert_eq!(all.capabilities(), r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}"#);
        for (answers, method, params, expected) in [
            (&none, "roots/list", "{}", "-32601 this client has no `roots/list`"),
            (&none, "sampling/createMessage", "{}", "-32601 this client has no `sampling/createMessage`"),
            (&form, "elicitation/create", "{}", "{\"yes\":1}"),
            (
                &form,
                "elicitation/create",
                r#"{"mode":"url"}"#,
                "-32602 this client has no elicitation in the mode `url`",
            ),
            (&all, "elicitation/create", r#"{"mode":"url"}"#, "{\"yes\":1}"),
            (&all, "sampling/createMessage", "{}", "{\"yes\":1}"),
            (&all, "roots/list", "{}", r#"{"roots":[{"uri":"file:///a","name":"a \"b\""},{"uri":"file:///c"}]}"#),
            (&all, "tasks/get", "{}", "-32601 unknown method"),
        ] {
            assert_eq!(said(answers, method, params), expected, "{method} {params}");
        }
    }
}
