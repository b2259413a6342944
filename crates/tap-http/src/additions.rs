//! Fields that are added to requests on their way to a server, such as a token that its user was given for it.
//!
//! They are added behind the record and are not in it, whatever they are.

use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

/// Fields that say how a message is cut and where it goes: wrong ones would not add to a request but break it.
const NOT_ALLOWED: [HeaderName; 7] = [CONNECTION, CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// That a field of this name cannot be added.
#[derive(Debug, thiserror::Error)]
#[error("a header {0} cannot be added")]
pub struct NotAllowed(HeaderName);

/// Fields to add.
#[derive(Debug, Clone, Default)]
pub struct Additions(Vec<(HeaderName, HeaderValue)>);

impl Additions {
    /// Adds a field to those that are to be added.
    ///
    /// # Errors
    ///
    /// For fields that a connection needs to itself.
    pub fn push(&mut self, name: HeaderName, mut value: HeaderValue) -> Result<(), NotAllowed> {
        if NOT_ALLOWED.contains(&name) {
            return Err(NotAllowed(name));
        }
        // It is then neither printed nor compressed in a way that its length could be found out by.
        value.set_sensitive(true);
        self.0.push((name, value));
        Ok(())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a field of this name is among them.
    #[must_use]
    pub fn has(&self, name: &HeaderName) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// Adds those of which a client has sent none.
    pub fn add_to(&self, headers: &mut HeaderMap) {
        for (name, value) in self.0.iter().filter(|(name, _)| !headers.contains_key(name)).collect::<Vec<_>>() {
            headers.append(name, value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use http::header::AUTHORIZATION;

    use super::*;

    #[test]
    fn what_a_client_sends_itself_is_left_alone() {
        let mut additions = Additions::default();
        let name = HeaderName::from_static("x-key");
        for (name, value) in [(AUTHORIZATION, "Bearer ours"), (name.clone(), "1"), (name.clone(), "2")] {
            additions.push(name, HeaderValue::from_static(value)).unwrap();
        }
        assert!(additions.push(HOST, HeaderValue::from_static("other")).is_err());
        assert!(!format!("{additions:?}").contains("ours"));
        let mut headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer theirs"))]);
        additions.add_to(&mut headers);
        assert_eq!(headers.get_all(AUTHORIZATION).iter().collect::<Vec<_>>(), ["Bearer theirs"]);
        assert_eq!(headers.get_all(name).iter().collect::<Vec<_>>(), ["1", "2"]);
    }
}
