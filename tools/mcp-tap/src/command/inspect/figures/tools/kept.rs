//! What was offered at points of a session, so that going back costs as much as going on.

use tap_inspector::SessionKey;
use tap_session::HttpSessionNumber;
use tap_store::{Store, StoreError};

use super::{Earlier, Offered};

/// So many messages are looked at between two points from which it can be gone on; twice as many whenever there are too many
/// points.
const STRIDE: u64 = 20_000;

/// So many points are kept.
const POINTS: usize = 64;

/// What was called is kept at a point while it is so much; a peer can make up any number of names.
const CALLED: usize = 10_000;

/// What is kept between questions.
pub(in super::super) struct Kept {
    pub(super) offered: Option<Offered>,
    /// What was offered at points of the same session, in order, so that to go back costs no more than to go on.
    points: Vec<Offered>,
    stride: u64,
    pub(super) earlier: Option<Earlier>,
}

impl Default for Kept {
    fn default() -> Self {
        Self { offered: None, points: Vec::new(), stride: STRIDE, earlier: None }
    }
}

impl Kept {
    /// What was offered at the nearest point before a message that is known, or at the beginning.
    pub(super) fn begin(&mut self, key: SessionKey, conversation: Option<HttpSessionNumber>, seq: u64) -> Offered {
        let is_of_this = |offered: &Offered| offered.key == key && offered.conversation == conversation;
        if !self.points.first().is_none_or(is_of_this) {
            self.points.clear();
            self.stride = STRIDE;
        }
        let newest = self.offered.take().filter(|offered| is_of_this(offered) && offered.through <= seq);
        let point = self.points.iter().rev().find(|point| point.through <= seq);
        match (newest, point) {
            (Some(newest), Some(point)) if newest.through < point.through => point.clone(),
            (Some(newest), _) => newest,
            (None, Some(point)) => point.clone(),
            (None, None) => Offered::new(key, conversation),
        }
    }

    /// Looks on up to a message. False when that was withdrawn; what was looked at by then stays.
    pub(super) fn advance(
        &mut self,
        offered: &mut Offered,
        store: &Store,
        seq: u64,
        is_withdrawn: impl Fn() -> bool,
    ) -> Result<bool, StoreError> {
        while offered.through < seq {
            let next = (offered.through / self.stride).saturating_add(1).saturating_mul(self.stride);
            if !offered.advance(store, next.min(seq), &is_withdrawn)? {
                return Ok(false);
            }
            if offered.through == next
                && offered.called.len() <= CALLED
                && self.points.last().is_none_or(|point| point.through < next)
            {
                self.points.push(offered.clone());
                if self.points.len() > POINTS {
                    self.stride *= 2;
                    let stride = self.stride;
                    self.points.retain(|point| point.through.is_multiple_of(stride));
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tap_store::{SessionId, import};

    use super::*;
    use crate::reference::new_uuid;

    /// A session in which tools are called, and listed anew now and then with one more of them.
    fn session(n_calls: u64) -> Store {
        let mut text = format!(
            r#"{{"mcp-tap":"recording/1","profile":"lossless","uuid":"{}","server":"s","command":["s"],"transport":"stdio","recorded_unix_ns":1764504000000000000}}"#,
            new_uuid()
        );
        for n in 0..n_calls {
            let (method, result) = match n % 7 {
                3 => {
                    let tools: Vec<String> = (0..=n / 7).map(|tool| format!(r#"{{"name":"t{tool}"}}"#)).collect();
                    (r#""tools/list""#, format!(r#"{{"tools":[{}]}}"#, tools.join(",")))
                }
                _ => (r#""tools/call","params":{"name":"t0"}"#, r#"{"content":[]}"#.to_owned()),
            };
            text.push_str(&format!(
                "\n{{\"to\":\"server\",\"msg\":{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":{method}}}}}\n{{\"to\":\"client\",\"msg\":{{\"jsonrpc\":\"2.0\",\"id\":{n},\"result\":{result}}}}}"
            ));
        }
        let store = Store::in_memory().unwrap();
        import(&store, std::io::Cursor::new(text), Path::new("calls"), &new_uuid()).unwrap();
        store.catch_up(SessionId(1), |_| {}).unwrap();
        store
    }

    #[test]
    fn going_back_begins_at_the_nearest_point_and_comes_to_the_same() {
        let store = session(300);
        let key = SessionKey(1);
        let mut kept = Kept { stride: 4, ..Kept::default() };
        let told = |offered: &Offered| {
            let told = offered.told(offered.through, None, true);
            let lines: Vec<_> = told.lines.iter().map(|line| (line.name.clone(), line.n_calls, line.here)).collect();
            (lines, told.listed)
        };
        let mut look = |seq: u64| {
            let mut offered = kept.begin(key, None, seq);
            let from = offered.through;
            assert!(kept.advance(&mut offered, &store, seq, || false).unwrap());
            let now = told(&offered);
            kept.offered = Some(offered);
            assert!(kept.points.len() <= POINTS && kept.points.is_sorted_by(|a, b| a.through < b.through));
            (from, kept.stride, now)
        };
        look(600);
        // Steps back, and a leap, and on again.
        for seq in (560..600).rev().chain([100, 99, 98, 3, 300, 299, 600]) {
            let (from, stride, now) = look(seq);
            assert!(from <= seq && seq - from <= stride.max(300), "from {from} to {seq}");
            assert!(seq - from <= stride || [300, 600].contains(&seq), "from {from} to {seq} by {stride}");
            let mut anew = Offered::new(key, None);
            assert!(anew.advance(&store, seq, || false).unwrap());
            assert_eq!(now, told(&anew), "{seq}");
        }
    }

    #[test]
    fn what_is_known_of_one_session_is_not_told_of_another() {
        let store = session(30);
        let mut kept = Kept { stride: 4, ..Kept::default() };
        let mut offered = kept.begin(SessionKey(1), None, 60);
        assert!(kept.advance(&mut offered, &store, 60, || false).unwrap());
        assert_eq!(kept.begin(SessionKey(1), None, 59).through, 56);
        assert_eq!(kept.begin(SessionKey(2), None, 60).through, 0);
        assert_eq!(kept.begin(SessionKey(1), Some(HttpSessionNumber(1)), 60).through, 0);
    }

    #[test]
    fn what_is_withdrawn_goes_on_from_where_it_was() {
        let store = session(300);
        let mut kept = Kept { stride: 4, ..Kept::default() };
        let mut offered = kept.begin(SessionKey(1), None, 600);
        let left = std::cell::Cell::new(10);
        let is_withdrawn = || {
            left.set(left.get() - 1);
            left.get() < 0
        };
        assert!(!kept.advance(&mut offered, &store, 600, is_withdrawn).unwrap());
        assert_eq!((offered.through, kept.begin(SessionKey(1), None, 600).through), (40, 40));
    }
}
