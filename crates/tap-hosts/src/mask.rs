//! A configuration's text such as it may be shown: without values that may be secrets.

use crate::document::{Document, DocumentError, Format};
use crate::node::{Map, Node, Value};
use crate::splice::Splices;

/// What stands in the place of a value that is not shown.
const HIDDEN: &str = "\"«hidden»\"";

/// Maps of which no value is shown: variables and headers.
const ALL_HIDDEN: [&str; 7] = ["env", "envs", "environment", "headers", "http_headers", "requestOptions", "oauth"];

/// What names of secrets have in them.
const SECRET: [&str; 12] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "authorization",
    "credential",
    "privatekey",
    "cookie",
    "bearer",
    "accesskey",
];

/// The text with `"«hidden»"` in place of each value that may be a secret: all variables and headers, and what a name says
/// is one, also as an argument. Secrets with a well-known shape are for whoever shows the text to find.
///
/// # Errors
///
/// When the text is not of its format.
pub fn masked(text: &str, format: Format) -> Result<String, DocumentError> {
    let document = Document::parse(text, format)?;
    let mut splices = Splices::default();
    mask(&document.root, false, &mut splices);
    // Aliases of YAML are the same place again, which would be changed twice.
    Ok(splices.without_doubles().apply(text).unwrap_or_default())
}

fn mask(node: &Node, is_secret: bool, splices: &mut Splices) {
    match &node.value {
        Value::Text(_) | Value::Bare(_) if is_secret => splices.replace(node.span.clone(), HIDDEN),
        Value::Map(Map(members)) => {
            for member in members {
                let is_secret = is_secret || ALL_HIDDEN.contains(&member.key.as_str()) || names_secret(&member.key);
                mask(&member.value, is_secret, splices);
            }
        }
        Value::List(list) => {
            let mut is_next_secret = false;
            for element in list {
                let option = element.text().filter(|text| text.starts_with('-'));
                match option.map(|option| option.split_once('=')) {
                    // `--was` has a word of ours in it.
                    Some(Some((name, _))) if names_secret(name) => {
                        splices.replace(element.span.clone(), format!("\"{name}=«hidden»\""));
                        is_next_secret = false;
                    }
                    _ => {
                        mask(element, is_secret || is_next_secret, splices);
                        is_next_secret = matches!(option, Some(option) if names_secret(option) && !ours(option));
                    }
                }
            }
        }
        _ => {}
    }
}

/// Options of ours that have a secret's name in them, and no secret.
fn ours(option: &str) -> bool {
    matches!(option, "--bearer-env" | "--header-env")
}

fn names_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|each| each.to_ascii_lowercase()).collect();
    // A variable's name is none: `bearer_token_env_var`.
    !plain.ends_with("envvar") && SECRET.iter().any(|word| plain.contains(word))
}
