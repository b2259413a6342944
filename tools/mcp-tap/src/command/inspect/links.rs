//! Which messages belong to which others, gathered while a session is followed.

use tap_inspector::SessionKey;
use tap_session::{At, Link};

/// How many are kept, the first ones: some forty megabytes.
const KEPT: usize = 1_000_000;

/// How many are given at once.
const GIVEN: usize = 10_000;

/// The links of a session, in the order of the messages that they begin at.
#[derive(Debug, Default)]
pub(super) struct Links {
    key: Option<SessionKey>,
    links: Vec<Link>,
}

impl Links {
    /// Those of a session that is about to be followed.
    pub(super) fn of(key: SessionKey) -> Self {
        Self { key: Some(key), links: Vec::new() }
    }

    /// Some more. Of messages that came long ago some are known only now.
    pub(super) fn add(&mut self, links: &[Link]) {
        for link in links {
            if self.links.len() >= KEPT {
                return;
            }
            let place = self.links.partition_point(|other| other.from <= link.from);
            self.links.insert(place, *link);
        }
    }

    /// Those of the messages from one to another, both included.
    pub(super) fn between(&self, key: SessionKey, first: At, last: At) -> Vec<Link> {
        if self.key != Some(key) {
            return Vec::new();
        }
        let from = self.links.partition_point(|link| link.from < first);
        self.links[from..].iter().take_while(|link| link.from <= last).take(GIVEN).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use tap_session::LinkKind;

    use super::*;

    fn link(from: u64, to: u64) -> Link {
        let at = |seq| At { seq, member: 0 };
        Link { from: at(from), to: at(to), kind: LinkKind::Progress }
    }

    #[test]
    fn links_are_found_by_where_they_begin_whenever_they_came() {
        let mut links = Links::of(SessionKey(1));
        links.add(&[link(4, 1), link(9, 1)]);
        links.add(&[link(6, 2)]);
        let between = |first, last| links.between(SessionKey(1), link(first, 1).from, link(last, 1).from);
        assert_eq!(between(1, 100), [link(4, 1), link(6, 2), link(9, 1)]);
        assert_eq!(between(5, 6), [link(6, 2)]);
        assert_eq!(between(7, 8), []);
        assert_eq!(links.between(SessionKey(2), link(1, 1).from, link(9, 1).from), []);
    }
}
