//! Which sessions of the legacy era there are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::child::Child;
use crate::reference::new_uuid;

/// Sessions by their ids.
#[derive(Debug)]
pub(super) struct Sessions {
    all: Mutex<All>,
    limit: usize,
}

#[derive(Debug, Default)]
struct All {
    children: HashMap<String, Child>,
    /// Places that are taken for sessions whose servers are being started.
    n_reserved: usize,
}

/// A place for a session, until it is there or will not be.
#[derive(Debug)]
pub(super) struct Place {
    sessions: Arc<Sessions>,
    is_filled: bool,
}

impl Place {
    /// The session is there, unless its server has ended meanwhile.
    pub(super) fn fill(mut self, id: String, child: Child) {
        self.is_filled = true;
        let mut all = self.sessions.all();
        all.n_reserved -= 1;
        // A server's end removes the session, and may have done so already.
        if !child.is_over() {
            all.children.insert(id, child);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_filled {
            self.sessions.all().n_reserved -= 1;
        }
    }
}

impl Sessions {
    /// No sessions, and room for so many.
    pub(super) fn new(limit: usize) -> Self {
        Self { all: Mutex::default(), limit }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, id: &str) -> Option<Child> {
        self.all().children.get(id).cloned()
    }

    /// A place for one more: where there is none, the session that was quiet for longest ends. `None` when all are busy.
    pub(super) fn place(self: &Arc<Self>) -> Option<Place> {
        let mut all = self.all();
        if self.limit <= all.children.len() + all.n_reserved {
            let quiet = all.children.iter().filter_map(|(id, child)| Some((child.quiet_since()?, id.clone()))).min();
            let (_, id) = quiet?;
            all.children.remove(&id)?.end();
        }
        all.n_reserved += 1;
        Some(Place { sessions: self.clone(), is_filled: false })
    }

    /// An id for a session, which nobody can guess.
    pub(super) fn new_id() -> String {
        new_uuid()
    }

    pub(super) fn remove(&self, id: &str) -> Option<Child> {
        self.all().children.remove(id)
    }
}
