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

/// What the names of secrets in an address are, beside those that have a word of [`SECRET`] in them.
const SECRET_PARAMETERS: [&str; 8] = ["key", "auth", "pass", "pwd", "sig", "signature", "code", "jwt"];

/// The shortest value in a query, and the shortest part of a path, that looks made up by a machine: letters and digits mixed.
const RANDOM_VALUE: usize = 16;
const RANDOM_SEGMENT: usize = 32;

/// Which part of an address may be a secret, without its value: its user, a parameter of its query, or a part of its path. What
/// the host fills in (`${input:key}`) may be one as well.
pub(crate) fn secret_part(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (rest, fragment) = rest.split_once('#').map_or((rest, None), |(rest, fragment)| (rest, Some(fragment)));
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = before.split_once('/').unwrap_or((before, ""));
    if authority.contains('@') {
        return Some("its user".into());
    }
    for parameter in query.split(['&', ';']).chain(fragment) {
        let (name, value) = parameter.split_once('=').unwrap_or(("", parameter));
        let plain: String =
            name.chars().filter(char::is_ascii_alphanumeric).map(|each| each.to_ascii_lowercase()).collect();
        let is_named = names_secret(name)
            || plain.ends_with("key")
            || SECRET_PARAMETERS.contains(&plain.as_str())
            || name.contains(['%', '$', '{']);
        if !value.is_empty() && (is_named || value.contains(['$', '{']) || is_random(value, RANDOM_VALUE)) {
            return Some(match name {
                "" => "its query".into(),
                name => format!("`{name}=`"),
            });
        }
    }
    path.split('/').any(|segment| is_random(segment, RANDOM_SEGMENT)).then(|| "in its path".into())
}

/// Whether a text looks as if a machine had made it up.
fn is_random(text: &str, shortest: usize) -> bool {
    let longest = text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '%' | '+' | '=' | '.'));
    longest.into_iter().any(|word| {
        word.len() >= shortest
            && word.bytes().any(|byte| byte.is_ascii_digit())
            && word.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_an_address_that_may_be_a_secret_is_named() {
        for (url, expected) in [
            ("https://example.com/mcp", None),
            ("https://example.com/mcp?project=docs&read_only=true", None),
            ("https://example.com/v1/servers/3/mcp?", None),
            ("https://example.com/mcp?key=", None),
            ("https://me:x@example.com/mcp", Some("its user")),
            ("https://x@example.com", Some("its user")),
            ("https://example.com?key=x", Some("`key=`")),
            ("https://example.com/mcp?a=b&api_key=x", Some("`api_key=`")),
            ("https://example.com/mcp?exaApiKey=x", Some("`exaApiKey=`")),
            ("https://example.com/mcp?access_token=x", Some("`access_token=`")),
            ("https://example.com/mcp?profile=a1b2c3d4e5f6a7b8", Some("`profile=`")),
            ("https://example.com/mcp?who=${input:who}", Some("`who=`")),
            ("https://example.com/mcp?a1b2c3d4e5f6a7b8", Some("its query")),
            ("https://example.com/mcp#token=x", Some("`token=`")),
            ("https://example.com/s/MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3/mcp", Some("in its path")),
        ] {
            assert_eq!(secret_part(url).as_deref(), expected, "{url}");
        }
    }
}
