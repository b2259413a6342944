//! The map from ids: shared between the clones of a state, and quick.

use foldhash::quality::RandomState;
use imbl::shared_ptr::DefaultSharedPtr;

/// A map by what a peer chose. Looked into several times a message, so that the hash of the standard library, which takes
/// longer than all the rest of it, is not used; this one is seeded at random too, so that nobody can choose ids that meet.
pub(crate) type IdMap<K, V> = imbl::GenericHashMap<K, V, RandomState, DefaultSharedPtr>;
