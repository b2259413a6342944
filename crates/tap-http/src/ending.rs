//! The end of many connections at once, asked for in two steps, and as good as free until then.
//!
//! A connection is polled several times for each exchange, so that whatever says when to stop is asked as often. A channel
//! costs a lock or two each time; here it is one load of a number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use tokio::sync::Notify;

/// What is asked of all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// To go on.
    GoOn,
    /// To begin nothing new, and to end when what has begun is done.
    Finish,
    /// To end at once.
    Cut,
}

/// What ends, and who has not ended yet.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    stage: AtomicU8,
    n_joined: AtomicU64,
    /// Those who have not ended, and how each is woken once it was polled.
    members: Mutex<HashMap<u64, Option<Waker>>>,
    /// Told when the last of them has ended.
    all_ended: Notify,
}

impl Ending {
    /// One more that is to end with the others.
    pub(crate) fn join(self: &Arc<Self>) -> Member {
        let number = self.n_joined.fetch_add(1, Ordering::Relaxed);
        self.members().insert(number, None);
        Member { ending: self.clone(), number, waker: None }
    }

    /// Asks this of all members, those to come included.
    pub(crate) fn ask(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Release);
        let wakers: Vec<Waker> = self.members().values().flatten().cloned().collect();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits until every member has ended.
    pub(crate) async fn all_ended(&self) {
        loop {
            let ended = self.all_ended.notified();
            if self.members().is_empty() {
                return;
            }
            ended.await;
        }
    }

    fn members(&self) -> MutexGuard<'_, HashMap<u64, Option<Waker>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that ends with the others. It has ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Member {
    ending: Arc<Ending>,
    number: u64,
    waker: Option<Waker>,
}

impl Member {
    /// What is asked now. The task is woken when that changes.
    pub(crate) fn stage(&mut self, context: &Context<'_>) -> Stage {
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            self.waker = Some(context.waker().clone());
            self.ending.members().insert(self.number, self.waker.clone());
        }
        // After the waker is left, or the word could come in between and wake nobody.
        match self.ending.stage.load(Ordering::Acquire) {
            0 => Stage::GoOn,
            1 => Stage::Finish,
            _ => Stage::Cut,
        }
    }

    /// Runs a future to its end. `None` where all were cut before that.
    pub(crate) async fn until_cut<T>(&mut self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|context| match self.stage(context) {
            Stage::Cut => std::task::Poll::Ready(None),
            Stage::GoOn | Stage::Finish => future.as_mut().poll(context).map(Some),
        })
        .await
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut members = self.ending.members();
        members.remove(&self.number);
        if members.is_empty() {
            self.ending.all_ended.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn all_are_woken_once_asked_and_waited_for() {
        for _ in 0..200 {
            let ending = Arc::new(Ending::default());
            let tasks: Vec<_> = (0..8)
                .map(|_| {
                    let mut member = ending.join();
                    tokio::spawn(async move { member.until_cut(std::future::pending::<()>()).await })
                })
                .collect();
            let limit = Duration::from_secs(30);
            ending.ask(Stage::Finish);
            assert!(tokio::time::timeout(Duration::from_millis(1), ending.all_ended()).await.is_err());
            ending.ask(Stage::Cut);
            tokio::time::timeout(limit, ending.all_ended()).await.unwrap();
            for task in tasks {
                assert_eq!(tokio::time::timeout(limit, task).await.unwrap().unwrap(), None);
            }
            let mut late = ending.join();
            assert_eq!(tokio::time::timeout(limit, late.until_cut(std::future::pending::<()>())).await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn what_ends_by_itself_is_not_waited_for() {
        let ending = Arc::new(Ending::default());
        let mut member = ending.join();
        assert_eq!(member.until_cut(async { 1 }).await, Some(1));
        drop(member);
        tokio::time::timeout(Duration::from_secs(30), ending.all_ended()).await.unwrap();
    }
}
