//! An event stream as a body: each event is made when it is due, and not before.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use tap_http_echo_server::answer::{End, Stream};
use tap_http_echo_server::event;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// The body of an event stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    stream: Stream,
    ticks: Interval,
    next: usize,
    is_over: bool,
}

impl EventStream {
    pub(crate) fn new(stream: Stream) -> Self {
        // An interval of nothing is refused by the clock.
        let between = stream.interval.max(Duration::from_nanos(1));
        let mut ticks = interval_at(Instant::now() + between, between);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { stream, ticks, next: 0, is_over: false }
    }
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        let number = this.next;
        let mut data = Vec::new();
        if number < this.stream.n_events {
            // Not the first: the clock wakes up to a millisecond late.
            if number > 0 {
                ready!(this.ticks.poll_tick(context));
            }
            event::notification(&mut data, &this.stream.name, number, event::now_ns());
            this.next += 1;
        } else {
            match &this.stream.end {
                // Nobody wakes this: the stream ends when the client goes away.
                End::Never => return Poll::Pending,
                End::Answer { id, text } if !this.is_over => event::answer(&mut data, number, id, text),
                End::Answer { .. } | End::Notification => return Poll::Ready(None),
            }
            this.is_over = true;
        }
        Poll::Ready(Some(Ok(Frame::data(data.into()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use tap_http_echo_server::answer::Answer;
    use tap_http_echo_server::answer::answer;

    #[tokio::test]
    async fn events_come_one_by_one_and_the_answer_last() {
        let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stream","arguments":{"events":2,"interval_ms":1,"text":"x"}}}"#;
        let Answer::Stream(stream) = answer(call) else { panic!("no stream") };
        let mut body = EventStream::new(stream);
        let mut events = Vec::new();
        while let Some(frame) = body.frame().await {
            events.push(frame.unwrap().into_data().unwrap());
        }
        let made: Vec<u64> = events.iter().filter_map(|event| event::made_at_ns(event)).collect();
        assert_eq!((events.len(), made.len()), (3, 2));
        assert!(made[0] + 500_000 < made[1], "the second is made a tick later: {made:?}");
        let mut expected = Vec::new();
        event::answer(&mut expected, 2, "1", "\"x\"");
        assert_eq!(events[2], expected);
    }
}
