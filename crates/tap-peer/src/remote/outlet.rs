//! How much of what a server said waits for whoever it is for, and how much its answers may have in memory.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// What may wait for the client, bytes. Whoever reads from the server waits beyond that.
const OUTLET_BYTES: usize = 16 * 1024 * 1024;

/// What all answers may have together that are not with the client yet, bytes. Whoever has more waits.
const HELD_BYTES: usize = 512 * 1024 * 1024;

/// How long whoever has part of an answer waits for others that have parts of theirs. After that its answer is given up,
/// since they may be waiting for it.
const HELD_LIMIT: Duration = Duration::from_secs(30);

/// How much waits for the client that asks.
#[derive(Debug, Default)]
pub struct Outlet {
    n_bytes: AtomicUsize,
    /// What answers have that are still being read.
    held_bytes: AtomicUsize,
    changed: Notify,
    is_broken: AtomicBool,
}

impl Outlet {
    /// So many bytes more wait.
    pub fn add(&self, n_bytes: usize) {
        self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
    }

    /// So many bytes were taken by the client.
    pub fn taken(&self, n_bytes: usize) {
        self.n_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    /// The client has gone away, and takes nothing more.
    pub fn has_broken(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    /// Whether more may be said to the client: not so much waits for it that it seems not to read.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.n_bytes.load(Ordering::Relaxed) < OUTLET_BYTES
    }

    /// Waits until there is room.
    pub async fn room(&self) {
        self.until(Self::has_room).await;
    }

    /// Waits until the client has gone away.
    pub async fn broken(&self) {
        self.until(|outlet| outlet.is_broken.load(Ordering::Relaxed)).await;
    }

    fn all_bytes(&self) -> usize {
        self.n_bytes.load(Ordering::Relaxed) + self.held_bytes.load(Ordering::Relaxed)
    }

    async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.changed.notified();
            // Whoever looks and then waits must not miss what changes in between.
            let mut changed = pin!(changed);
            changed.as_mut().enable();
            if is_so(self) {
                return;
            }
            changed.await;
        }
    }
}

/// What an answer has in memory while it is read; counted until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    outlet: Arc<Outlet>,
    n_bytes: usize,
}

impl Held {
    /// Nothing yet.
    pub(super) fn new(outlet: Arc<Outlet>) -> Self {
        Self { outlet, n_bytes: 0 }
    }

    /// Takes room for so many bytes more, and waits for it. False when there is none for long.
    pub(super) async fn grow(&mut self, n_bytes: usize) -> bool {
        let has_room = |outlet: &Outlet| {
            let held = outlet.held_bytes.load(Ordering::Relaxed);
            let fits = outlet.all_bytes() + n_bytes <= HELD_BYTES;
            // What is alone may always go on: how much one answer has is bounded elsewhere.
            let taken = fits || held == self.n_bytes;
            taken
                && outlet
                    .held_bytes
                    .compare_exchange(held, held + n_bytes, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
        };
        loop {
            if has_room(&self.outlet) {
                self.n_bytes += n_bytes;
                return true;
            }
            let room = self.outlet.until(|outlet| {
                outlet.all_bytes() + n_bytes <= HELD_BYTES || outlet.held_bytes.load(Ordering::Relaxed) == self.n_bytes
            });
            // Where the client does not read there is nothing to do but to wait for it.
            if tokio::time::timeout(HELD_LIMIT, room).await.is_err() && self.outlet.n_bytes.load(Ordering::Relaxed) == 0
            {
                return false;
            }
        }
    }

    /// Gives what there is to somebody else, and has nothing then.
    pub(super) fn split(&mut self) -> Self {
        Self { outlet: self.outlet.clone(), n_bytes: std::mem::take(&mut self.n_bytes) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.outlet.held_bytes.fetch_sub(self.n_bytes, Ordering::Relaxed);
        self.outlet.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_wait_for_each_other_when_they_are_too_large_together() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let outlet = Arc::new(Outlet::default());
            let [mut one, mut other] = [Held::new(outlet.clone()), Held::new(outlet.clone())];
            assert!(one.grow(HELD_BYTES - 10).await);
            assert!(other.grow(10).await);
            // There is no room for either, until what the one had is with the client.
            let given = one.split();
            {
                let mut waiting = pin!(other.grow(HELD_BYTES));
                assert!(once(waiting.as_mut()).await.is_none());
                drop(given);
                assert!(waiting.await);
            }
            drop((one, other));
            assert_eq!(outlet.held_bytes.load(Ordering::Relaxed), 0);
        });
    }

    /// What comes of a future that is polled once.
    async fn once<T>(mut future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        std::future::poll_fn(|context| match future.as_mut().poll(context) {
            std::task::Poll::Ready(value) => std::task::Poll::Ready(Some(value)),
            std::task::Poll::Pending => std::task::Poll::Ready(None),
        })
        .await
    }
}
