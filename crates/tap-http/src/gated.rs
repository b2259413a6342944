//! An event stream whose events are judged while somebody wants that. Until then each piece goes on as it comes.
//!
//! An event that is held holds what comes behind it only where the events have ids: a client that got the second one would
//! never ask for the first again. What is no message, such as a comment that keeps the connection, goes on at once.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tap_frame::Direction;

use crate::body::BodyError;
use crate::events::{Cutter, Event, Part, event};
use crate::gate::{Gates, Told, Visit};
use crate::judged::Slow;
use crate::record::Exchange;

pub(crate) struct Gated<B> {
    inner: B,
    gates: Arc<Gates>,
    exchange: Arc<Exchange>,
    session: u64,
    cutter: Cutter,
    visit: Option<Visit>,
    /// Events of which it is not known what becomes of them, by where they begin; and what goes on behind them.
    waiting: BTreeMap<u64, (Event, Vec<Bytes>)>,
    has_ids: bool,
    out: VecDeque<Out>,
    slow: Option<Slow>,
    end: Option<End>,
    /// An error was about to be told: what went before it is given time to be written.
    is_warned: bool,
}

enum Out {
    Now(Frame<Bytes>),
    Slowly(Bytes, u64),
}

enum End {
    Whole,
    Broken(BodyError),
}

impl<B> Gated<B> {
    /// `visit` where the exchange is judged already.
    pub(crate) fn new(
        inner: B,
        gates: Arc<Gates>,
        exchange: Arc<Exchange>,
        session: u64,
        visit: Option<Visit>,
    ) -> Self {
        Self {
            inner,
            gates,
            exchange,
            session,
            cutter: Cutter::default(),
            visit,
            waiting: BTreeMap::new(),
            has_ids: false,
            out: VecDeque::new(),
            slow: None,
            end: None,
            is_warned: false,
        }
    }

    fn send(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.out.push_back(Out::Now(Frame::data(bytes)));
        }
    }

    fn take(&mut self, bytes: Bytes) {
        if !self.gates.is_armed() && self.waiting.is_empty() {
            let open = self.cutter.give_up();
            self.send(open);
            self.cutter.pass(&bytes);
            return self.send(bytes);
        }
        if self.visit.is_none() {
            self.visit = self.gates.enter(&self.exchange, self.session);
        }
        let mut parts = Vec::new();
        self.cutter.feed(&bytes, &mut |part| parts.push(part));
        for part in parts {
            self.take_part(part);
            // What is known at once goes before what follows.
            while let Some(told) = self.visit.as_mut().and_then(|visit| visit.told.try_recv().ok()) {
                self.obey(told);
            }
        }
    }

    fn take_part(&mut self, part: Part) {
        match part {
            Part::Other(bytes) => self.send(bytes),
            Part::WithId(bytes) => {
                self.has_ids = true;
                match self.waiting.last_entry() {
                    Some(mut last) => last.get_mut().1.push(bytes),
                    None => self.send(bytes),
                }
            }
            Part::Event(event) => {
                self.has_ids |= event.has_id;
                let (start, data, in_order) = (event.start, event.data.clone(), self.has_ids);
                let bytes = event.bytes.clone();
                self.waiting.insert(start, (event, Vec::new()));
                let visit = self.visit.as_ref();
                if !visit.is_some_and(|visit| visit.pass(Direction::ToClient, start, data, true, in_order)) {
                    self.waiting.remove(&start);
                    self.send(bytes);
                }
            }
        }
    }

    fn obey(&mut self, told: Told) {
        if self.end.is_some() && self.waiting.is_empty() {
            return;
        }
        match told {
            Told::Send { direction: Direction::ToClient, of, bytes, bytes_per_second } => {
                let bytes = match of.and_then(|of| self.waiting.get(&of)) {
                    Some((event, _)) => event.with(&bytes),
                    None => event(&bytes),
                };
                match bytes_per_second {
                    Some(rate) => self.out.push_back(Out::Slowly(bytes, rate)),
                    None => self.send(bytes),
                }
            }
            Told::Over { direction: Direction::ToClient, of, .. } => {
                let behind = self.waiting.remove(&of).map(|(_, behind)| behind);
                behind.into_iter().flatten().for_each(|bytes| self.send(bytes));
            }
            Told::Cut { direction: Direction::ToClient, is_broken } => {
                self.waiting.clear();
                self.end = Some(match is_broken {
                    true => End::Broken("the debugger broke it off".into()),
                    false => End::Whole,
                });
            }
            Told::Send { .. } | Told::Over { .. } | Told::Cut { .. } | Told::Answer { .. } => {}
        }
    }
}

impl<B> HttpBody for Gated<B>
where
    B: HttpBody<Data = Bytes, Error = BodyError> + Unpin,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        loop {
            if let Some(slow) = &mut this.slow {
                match ready!(Pin::new(slow).poll_frame(context)) {
                    Some(frame) => return Poll::Ready(Some(frame)),
                    None => this.slow = None,
                }
            }
            match this.out.pop_front() {
                Some(Out::Now(frame)) => return Poll::Ready(Some(Ok(frame))),
                Some(Out::Slowly(bytes, rate)) => {
                    this.slow = Some(Slow::new(bytes, rate));
                    continue;
                }
                None => {}
            }
            if let Some(visit) = &mut this.visit
                && let Poll::Ready(Some(told)) = visit.told.poll_recv(context)
            {
                this.obey(told);
                continue;
            }
            match &mut this.end {
                Some(_) if !this.waiting.is_empty() => return Poll::Pending,
                Some(End::Broken(_)) if !std::mem::replace(&mut this.is_warned, true) => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(end) => {
                    return match std::mem::replace(end, End::Whole) {
                        End::Whole => Poll::Ready(None),
                        End::Broken(error) => Poll::Ready(Some(Err(error))),
                    };
                }
                None => {}
            }
            match ready!(Pin::new(&mut this.inner).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => this.take(bytes),
                    Err(frame) => this.out.push_back(Out::Now(frame)),
                },
                over => {
                    let open = this.cutter.give_up();
                    this.send(open);
                    this.end = Some(match over {
                        Some(Err(error)) => End::Broken(error),
                        _ => End::Whole,
                    });
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let is_done = self.waiting.is_empty() && self.out.is_empty() && self.slow.is_none();
        is_done && self.end.is_none() && self.cutter.is_whole() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
