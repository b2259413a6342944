//! Which rules a session broke, as far as it was followed: told by the thread that follows it, waited for by others.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tap_inspector::{FindingLine, SessionKey, Ticket};

use crate::subject::Findings;

/// How often who waits looks whether that is still worth it.
const LOOK: Duration = Duration::from_millis(50);

/// Which rules were broken, as far as a session was followed: told by one thread, waited for by another.
#[derive(Debug, Clone, Default)]
pub(super) struct Judged(Arc<(Mutex<Judgement>, Condvar)>);

#[derive(Debug, Default)]
struct Judgement {
    /// The question for which it is followed.
    ticket: Option<Ticket>,
    key: Option<SessionKey>,
    /// All up to this message was followed.
    through: u64,
    /// All that there was at the last look was followed.
    complete: bool,
    /// Nothing more will come.
    over: bool,
    /// It cannot be followed.
    lost: bool,
    /// How often somebody began to wait, and which of these waits were seen before the last look began.
    waits: u64,
    seen_waits: u64,
    findings: Arc<Findings>,
}

/// How far a look at a session came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) through: u64,
    pub(super) complete: bool,
    pub(super) over: bool,
    /// What [`Judged::look`] said before.
    pub(super) seen_waits: u64,
}

/// How a wait ended.
#[derive(Debug)]
pub(super) enum Waited {
    Known(Arc<Findings>),
    /// The session is not followed, or not any more.
    Lost,
    /// Nobody wants to know.
    Over,
}

impl Judged {
    fn now(&self) -> MutexGuard<'_, Judgement> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another session is followed now, or will be as soon as the question comes up. One that was asked for before changes
    /// nothing: it was withdrawn.
    pub(super) fn begin(&self, ticket: Ticket, key: SessionKey) {
        let mut now = self.now();
        if now.ticket.is_none_or(|newest| newest < ticket) {
            *now = Judgement { ticket: Some(ticket), key: Some(key), ..Judgement::default() };
        }
        drop(now);
        self.0.1.notify_all();
    }

    /// To be asked before a session is looked at, so that who waits by then knows that this look saw all.
    pub(super) fn look(&self) -> u64 {
        self.now().waits
    }

    /// So much was found in addition.
    pub(super) fn add(&self, ticket: Ticket, found: &[FindingLine], look: Look) {
        let mut now = self.now();
        if now.ticket != Some(ticket) {
            return;
        }
        if !found.is_empty() {
            let findings = Arc::make_mut(&mut now.findings);
            for finding in found {
                findings.entry(finding.at).or_default().push((finding.rule, finding.severity));
            }
        }
        (now.through, now.complete, now.over) = (look.through, look.complete, look.over);
        if look.complete {
            now.seen_waits = look.seen_waits;
        }
        drop(now);
        self.0.1.notify_all();
    }

    /// The session cannot be followed any more.
    pub(super) fn lose(&self, ticket: Ticket) {
        let mut now = self.now();
        now.lost |= now.ticket == Some(ticket);
        drop(now);
        self.0.1.notify_all();
    }

    /// The findings of a session once they are complete up to a message at least; up to its end when it is over.
    pub(super) fn wait(&self, key: SessionKey, last_seq: u64, live: bool, is_over: impl Fn() -> bool) -> Waited {
        let mut now = self.now();
        now.waits += 1;
        let wait = now.waits;
        loop {
            if is_over() {
                return Waited::Over;
            }
            if now.key != Some(key) || now.lost {
                return Waited::Lost;
            }
            let is_enough = live && (last_seq <= now.through || wait <= now.seen_waits);
            if now.complete && (now.over || is_enough) {
                return Waited::Known(now.findings.clone());
            }
            now = self.0.1.wait_timeout(now, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tap_session::{At, Severity};

    use super::*;

    const KEY: SessionKey = SessionKey(7);

    fn finding(seq: u64) -> FindingLine {
        FindingLine {
            at: At { seq, member: 0 },
            rule: "RPC-001",
            title: "",
            advice: "",
            severity: Severity::Error,
            detail: String::new(),
            by: "server",
        }
    }

    /// How many findings are known to who does not wait; `None` when they are not complete, -1 when they never will be.
    fn known(judged: &Judged, key: SessionKey, last_seq: u64, live: bool) -> Option<i64> {
        let looks = Cell::new(0);
        let is_over = || looks.replace(looks.get() + 1) > 0;
        match judged.wait(key, last_seq, live, is_over) {
            Waited::Known(findings) => i64::try_from(findings.len()).ok(),
            Waited::Lost => Some(-1),
            Waited::Over => None,
        }
    }

    #[test]
    fn findings_are_known_when_all_that_was_asked_for_was_followed() {
        for (live, complete, through, over, expected) in [
            (true, false, 9, false, None),
            (true, true, 9, false, Some(1)),
            // The session grew after the last look at it.
            (true, true, 8, false, None),
            // What only the end breaks is not told yet.
            (false, true, 9, false, None),
            (false, true, 9, true, Some(1)),
            (true, true, 9, true, Some(1)),
        ] {
            let judged = Judged::default();
            judged.begin(Ticket(3), KEY);
            judged.add(Ticket(3), &[finding(2)], Look { through, complete, over, seen_waits: 0 });
            assert_eq!(known(&judged, KEY, 9, live), expected, "{live} {complete} {through} {over}");
        }
    }

    #[test]
    fn a_look_that_began_after_the_question_saw_all_that_there_was() {
        let judged = Judged::default();
        judged.begin(Ticket(3), KEY);
        let wait = std::thread::spawn({
            let judged = judged.clone();
            move || judged.wait(KEY, 9, true, || false)
        });
        while judged.look() == 0 {
            std::thread::yield_now();
        }
        let look = Look { through: 8, complete: true, over: false, seen_waits: judged.look() };
        judged.add(Ticket(3), &[finding(2)], look);
        assert!(matches!(wait.join().unwrap(), Waited::Known(findings) if findings.len() == 1));
    }

    #[test]
    fn nobody_waits_for_a_session_that_is_not_followed() {
        let judged = Judged::default();
        assert_eq!(known(&judged, KEY, 1, false), Some(-1), "none is");
        judged.begin(Ticket(3), KEY);
        assert_eq!(known(&judged, KEY, 1, false), None, "it will be");
        judged.begin(Ticket(4), SessionKey(8));
        assert_eq!(known(&judged, KEY, 1, false), Some(-1), "another one is");
        let all = Look { through: 9, complete: true, over: true, seen_waits: 0 };
        // The thread that follows does not know yet.
        judged.begin(Ticket(3), KEY);
        judged.add(Ticket(3), &[finding(2)], all);
        judged.lose(Ticket(3));
        assert_eq!(known(&judged, SessionKey(8), 1, false), None);
        judged.add(Ticket(4), &[], all);
        assert_eq!(known(&judged, SessionKey(8), 1, false), Some(0), "what is found in one is not told of the other");
        judged.begin(Ticket(5), KEY);
        judged.lose(Ticket(5));
        assert_eq!(known(&judged, KEY, 1, false), Some(-1), "it cannot be followed");
    }
}
