//! Which sessions of the legacy era there are.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::child::Child;
use crate::reference::new_uuid;

/// Sessions by their ids.
#[derive(Debug)]
pub(super) struct Sessions {
    children: Mutex<HashMap<String, Child>>,
    limit: usize,
}

impl Sessions {
    /// No sessions, and room for so many.
    pub(super) fn new(limit: usize) -> Self {
        Self { children: Mutex::default(), limit }
    }

    fn children(&self) -> MutexGuard<'_, HashMap<String, Child>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, id: &str) -> Option<Child> {
        self.children().get(id).cloned()
    }

    /// Makes room for one more: where there is none, the session that was quiet for longest ends. False when all are busy.
    pub(super) fn make_room(&self) -> bool {
        let mut children = self.children();
        if children.len() < self.limit {
            return true;
        }
        let quiet = children.iter().filter_map(|(id, child)| Some((child.quiet_since()?, id.clone()))).min();
        match quiet.and_then(|(_, id)| children.remove(&id)) {
            Some(child) => {
                child.end();
                true
            }
            None => false,
        }
    }

    /// An id for a session, which nobody can guess.
    pub(super) fn new_id() -> String {
        new_uuid()
    }

    pub(super) fn insert(&self, id: String, child: Child) {
        self.children().insert(id, child);
    }

    pub(super) fn remove(&self, id: &str) -> Option<Child> {
        self.children().remove(id)
    }
}
