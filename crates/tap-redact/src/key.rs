//! Names of members, headers, parameters and options whose values are secrets.

/// Words that make a name one of a secret, wherever they stand.
const SECRET: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passphrases",
    "passcode",
    "pwd",
    "secret",
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "credentials",
];

/// Words that do it together, in this order.
const SECRET_PAIRS: &[(&str, &str)] = &[
    ("api", "key"),
    ("access", "key"),
    ("account", "key"),
    ("private", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("secret", "key"),
    ("shared", "key"),
    ("service", "key"),
    ("connection", "string"),
    ("code", "verifier"),
];

/// Words that say of a token that it is none to hide: a place in a list, a call, a count.
const PLAIN_TOKENS: &[&str] = &[
    "progress",
    "page",
    "next",
    "previous",
    "continuation",
    "continue",
    "sync",
    "cursor",
    "pagination",
    "cancel",
    "cancellation",
    "max",
    "min",
    "total",
    "count",
    "first",
    "last",
];

/// Words behind which a name is about a secret, and not one.
const ABOUT: &[&str] = &[
    "type",
    "name",
    "count",
    "length",
    "limit",
    "endpoint",
    "url",
    "uri",
    "expires",
    "expiry",
    "expiration",
    "at",
    "in",
    "policy",
    "strength",
    "hint",
    "required",
    "supported",
    "header",
    "id",
    "path",
    "file",
    "methods",
    "format",
];

/// Words that a member of a secret's object ends with when it says something about it, beside [`ABOUT`].
const BESIDE: &[&str] = &[
    "username",
    "user",
    "email",
    "description",
    "desc",
    "title",
    "label",
    "kind",
    "scope",
    "scopes",
    "scheme",
    "message",
    "error",
    "reason",
    "status",
    "state",
    "created",
    "updated",
    "modified",
    "version",
    "namespace",
    "provider",
    "issuer",
    "iss",
    "audience",
    "aud",
    "exp",
    "iat",
    "nbf",
    "ttl",
    "domain",
    "host",
    "port",
    "realm",
    "region",
    "enabled",
    "placeholder",
    "algorithm",
    "alg",
    "method",
    "role",
    "roles",
    "ref",
];

/// Whether a member by this name, inside of an object that is called like a secret, tells of it and is none:
/// `{"token":{"expiresIn":3600,"value":"…"}}`.
pub(crate) fn is_about(name: &str) -> bool {
    words(name).last().is_none_or(|last| ABOUT.contains(&last.as_str()) || BESIDE.contains(&last.as_str()))
}

/// Whether a member by this name says how another one of the same object, its value, is called.
pub(crate) fn names_another(name: &str) -> bool {
    let names = ["name", "key", "field", "header", "variable", "parameter", "param", "option", "label"];
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a member by this name is called by another one of the same object.
pub(crate) fn is_named_by_another(name: &str) -> bool {
    ["value", "val", "values"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a value by this name is a secret: `apiKey`, `X-Auth-Token`, `DB_PASSWORD`, but not `progressToken`, `maxTokens` or
/// `token_type`.
pub(crate) fn is_secret(name: &str) -> bool {
    // A marker has the word in it, and what it stands for had it not.
    if name.len() > 80 || name.contains('«') {
        return false;
    }
    let words = words(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((last, before)) = words.split_last() else {
        return false;
    };
    if !before.is_empty() && ABOUT.contains(last) && !words.windows(2).any(|pair| pair == ["access", "key"]) {
        return false;
    }
    let is_pair = |pair: &[&str]| SECRET_PAIRS.iter().any(|(first, second)| pair == [*first, *second]);
    let is_token = *last == "token" && !before.iter().any(|word| PLAIN_TOKENS.contains(word));
    is_token || words.iter().any(|word| SECRET.contains(word)) || words.windows(2).any(is_pair)
}

/// The words of a name in lower case, however they are put together.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous_is_lower = false;
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let begins = character.is_ascii_uppercase()
            && (previous_is_lower || (!word.is_empty() && characters.peek().is_some_and(char::is_ascii_lowercase)));
        if (!character.is_alphanumeric() || begins) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        previous_is_lower = character.is_lowercase() || character.is_ascii_digit();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_and_others_are_none() {
        for name in [
            "password",
            "Passwd",
            "pwd",
            "secret",
            "token",
            "accessToken",
            "access_token",
            "refresh-token",
            "id_token",
            "apiKey",
            "api_key",
            "APIKey",
            "apikey",
            "X-API-Key",
            "x-auth-token",
            "Authorization",
            "Cookie",
            "Set-Cookie",
            "privateKey",
            "client_secret",
            "clientSecret",
            "connectionString",
            "DB_PASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "secretAccessKey",
            "accountKey",
            "code_verifier",
            "--token",
            "botToken",
            "passwords",
            "credentials",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "progressToken",
            "progress_token",
            "maxTokens",
            "max_tokens",
            "tokens",
            "totalTokens",
            "nextPageToken",
            "pageToken",
            "token_type",
            "tokenType",
            "tokenCount",
            "password_policy",
            "key",
            "keys",
            "monkey",
            "primaryKey",
            "tokenizer",
            "secretary",
            "author",
            "id",
            "name",
            "publicKey",
            "keyword",
            "cursor",
            "nextCursor",
            "maxToken",
            "token_endpoint",
            "secretName",
            "«secret 1»",
            "",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
