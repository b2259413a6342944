//! Headers that a user wants added to requests, with secrets from the environment and from nowhere else: a command line
//! can be read by everybody on the machine.

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use tap_http::Additions;

use crate::arguments::Credentials;
use crate::failure::Failure;

/// What is to be added. No failure tells a value.
pub(crate) fn additions(credentials: &Credentials) -> Result<Additions, Failure> {
    additions_from(credentials, |variable| std::env::var(variable).ok())
}

fn additions_from(credentials: &Credentials, variable: impl Fn(&str) -> Option<String>) -> Result<Additions, Failure> {
    let mut additions = Additions::default();
    let valued = |name: &str| {
        let value = variable(name).filter(|value| !value.trim().is_empty());
        value.map(|value| value.trim().to_owned()).ok_or_else(|| {
            Failure::new(format!("the environment has no {name}, which is to hold a secret for the server"))
                .hint(format!("set it where mcp-tap is started: {name}=… mcp-tap proxy …"))
        })
    };
    let mut add = |name: HeaderName, value: &str| {
        let parsed = HeaderValue::from_str(value)
            .map_err(|_| Failure::new(format!("the value for the header {name} holds what no header may hold")))?;
        additions.push(name, parsed).map_err(|error| Failure::new(error.to_string()))
    };
    if let Some(name) = &credentials.bearer_env {
        add(AUTHORIZATION, &format!("Bearer {}", valued(name)?))?;
    }
    for header in &credentials.header {
        let form =
            || Failure::new("a header for --header is not `Name: value`").hint("such as --header 'X-Key: ${KEY}'");
        let (name, value) = header.split_once(':').ok_or_else(form)?;
        let name: HeaderName = name.trim().parse().map_err(|_| form())?;
        add(name, &filled(value.trim(), &valued)?)?;
    }
    for header in &credentials.header_env {
        let form =
            || Failure::new("a header for --header-env is not `Name=VARIABLE`").hint("such as --header-env X-Key=KEY");
        let (name, variable) = header.split_once('=').ok_or_else(form)?;
        let name: HeaderName = name.trim().parse().map_err(|_| form())?;
        add(name, &valued(variable.trim())?)?;
    }
    Ok(additions)
}

/// The text with each `${NAME}` replaced by what that stands for.
fn filled(text: &str, valued: &impl Fn(&str) -> Result<String, Failure>) -> Result<String, Failure> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else {
            return Err(Failure::new("a header for --header has a `${` without its `}`"));
        };
        filled.push_str(before);
        filled.push_str(&valued(name)?);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn added(bearer_env: Option<&str>, header: &[&str]) -> Result<HeaderMap, String> {
        let credentials = Credentials {
            bearer_env: bearer_env.map(str::to_owned),
            header: header
                .iter()
                .filter(|header| !header.starts_with("env "))
                .map(|header| (*header).to_owned())
                .collect(),
            header_env: header.iter().filter_map(|header| header.strip_prefix("env ")).map(str::to_owned).collect(),
        };
        let variable = |name: &str| match name {
            "TOKEN" => Some("s3cret\n".to_owned()),
            "EMPTY" => Some(String::new()),
            "BROKEN" => Some("s3\ncret".to_owned()),
            _ => None,
        };
        let mut headers = HeaderMap::new();
        additions_from(&credentials, variable).map_err(|failure| failure.message)?.add_to(&mut headers);
        Ok(headers)
    }

    #[test]
    fn secrets_come_from_the_environment() {
        let headers = added(Some("TOKEN"), &["X-Key: a ${TOKEN} b${TOKEN}", "X-Plain:c", "env X-Other=TOKEN"]).unwrap();
        for (name, value) in
            [("x-other", "s3cret"), ("authorization", "Bearer s3cret"), ("x-key", "a s3cret bs3cret"), ("x-plain", "c")]
        {
            assert_eq!(headers.get(name).unwrap(), value);
        }
    }

    #[test]
    fn what_is_wrong_is_told_without_the_secret() {
        for (bearer, header, says) in [
            (Some("MISSING"), None, "has no MISSING"),
            (Some("EMPTY"), None, "has no EMPTY"),
            (Some("BROKEN"), None, "the header authorization holds"),
            (None, Some("X-Key: ${MISSING}"), "has no MISSING"),
            (None, Some("X-Key: ${TOKEN"), "without its `}`"),
            (None, Some("s3cret"), "not `Name: value`"),
            (None, Some("a b: c"), "not `Name: value`"),
            (None, Some("env X-Key"), "not `Name=VARIABLE`"),
            (None, Some("env X-Key=MISSING"), "has no MISSING"),
            (None, Some("Host: c"), "header host cannot"),
        ] {
            let told = added(bearer, &header.into_iter().collect::<Vec<_>>()).unwrap_err();
            assert!(told.contains(says) && !told.contains("s3"), "{told}");
        }
    }
}
