//! Whether a form asks for something that belongs into no form: a guess from names and descriptions.
//!
//! Source: MCP client/elicitation, the warning about sensitive information.

use tap_jsonrpc::Node;

/// Longer names and descriptions are not read, bytes.
const LIMIT_BYTES: usize = 4096;

/// Words that mean a secret wherever they stand.
const ALWAYS: &[&str] = &["password", "passwords", "passwd", "passphrase", "passcode", "apikey", "cvv", "cvc"];

/// Two words that mean a secret together.
const TOGETHER: &[[&str; 2]] = &[
    ["api", "key"],
    ["access", "key"],
    ["private", "key"],
    ["secret", "key"],
    ["access", "token"],
    ["api", "token"],
    ["auth", "token"],
    ["bearer", "token"],
    ["refresh", "token"],
    ["client", "secret"],
    ["credit", "card"],
    ["card", "number"],
];

/// Words that mean a secret when a name ends with them: `github_token`, but not `token_count`.
const AT_END: &[&str] = &["token", "secret"];

/// Words before `token` that make it something else: `next_token`.
const HARMLESS: &[&str] = &["next", "page", "max", "min", "per", "stop", "start", "end", "continuation", "progress"];

/// Words that say that the secret is not wanted.
const NEGATIONS: &[&str] = &["not", "never", "no", "without", "don"];

/// Whether a property of this name, title and description looks like a secret.
pub(super) fn is_asked(name: &str, title: Option<Node<'_>>, description: Option<Node<'_>>) -> bool {
    let text = |node: Option<Node<'_>>| {
        let short = node.filter(|node| node.bytes().len() <= LIMIT_BYTES)?;
        short.text().map(|text| words(&text))
    };
    let names = |words: &[String]| is_secret(words) || ends_as_secret(words);
    (name.len() <= LIMIT_BYTES && names(&words(name)))
        || text(title).is_some_and(|words| names(&words))
        || text(description)
            .is_some_and(|words| is_secret(&words) && !words.iter().any(|word| NEGATIONS.contains(&word.as_str())))
}

/// The words of a text in small letters: `apiKey`, `API key` and `api_key` are the same two.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for character in text.chars() {
        let is_new = !character.is_alphanumeric() || (was_lower && character.is_uppercase());
        if is_new && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase() || character.is_numeric();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn is_secret(words: &[String]) -> bool {
    let one = words.iter().any(|word| ALWAYS.contains(&word.as_str()));
    one || words.windows(2).any(|pair| TOGETHER.iter().any(|[first, second]| pair[0] == *first && pair[1] == *second))
}

fn ends_as_secret(words: &[String]) -> bool {
    match words {
        [before @ .., last] if AT_END.contains(&last.as_str()) => {
            before.last().is_none_or(|before| !HARMLESS.contains(&before.as_str()))
        }
        _ => false,
    }
}
