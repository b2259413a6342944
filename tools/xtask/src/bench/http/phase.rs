//! What the load client is asked to do over HTTP.

use serde::Serialize;

use super::super::Arguments;

/// One thing that the load client is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Phase {
    /// Small calls on one connection.
    One,
    /// Small calls on 64.
    Many,
    /// The same, and each is answered with an event stream: as most servers do.
    ManyEventStreams,
    /// Calls with a long text.
    Large,
    /// How soon an event is here, when the next does not exist yet.
    FirstEvent,
    /// Many event streams for long.
    Streams,
}

impl Phase {
    /// All, in order.
    pub(super) const ALL: [Self; 6] =
        [Self::One, Self::Many, Self::ManyEventStreams, Self::Large, Self::FirstEvent, Self::Streams];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::One => "1 connection",
            Self::Many => "64 connections",
            Self::ManyEventStreams => "64, event streams",
            Self::Large => "1 MiB messages",
            Self::FirstEvent => "first event",
            Self::Streams => "streams",
        }
    }

    /// The load client's options. Most take a second or so: many short turns are fairer than a few long ones.
    pub(super) fn client_arguments(self, arguments: &Arguments) -> Vec<String> {
        let words: &[&str] = match self {
            Self::One => &["--connections", "1", "--calls", "10000"],
            Self::Many => &["--connections", "64", "--calls", "20000"],
            Self::ManyEventStreams => &["--connections", "64", "--calls", "15000", "--event-streams"],
            Self::Large => &["--connections", "4", "--calls", "100", "--text-bytes", "1048576"],
            Self::FirstEvent => &["--phase", "first-event", "--calls", "50", "--interval-ms", "10"],
            Self::Streams => &["--phase", "streams"],
        };
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        if self == Self::Streams {
            words.extend(["--streams".to_owned(), arguments.streams.to_string()]);
            words.extend(["--seconds".to_owned(), arguments.stream_seconds.to_string()]);
        }
        words
    }

    /// How many bytes are written and deleted before each run: see the phases over stdio.
    pub(super) fn warm_up_bytes(self) -> usize {
        match self {
            Self::One | Self::FirstEvent | Self::Streams => 0,
            Self::Many | Self::ManyEventStreams => 64 << 20,
            Self::Large => 512 << 20,
        }
    }

    /// What is told of a run while it goes on.
    pub(super) fn shown(self) -> [&'static str; 3] {
        match self {
            Self::One | Self::Many | Self::ManyEventStreams => ["/calls_per_s", "/p99_us", "/proxy_cpu_us_per_call"],
            Self::Large => ["/echoed_mib_per_s", "/p99_us", "/proxy_peak_rss_kib"],
            Self::FirstEvent => ["/p50_us", "/p99_us", "/before_next"],
            Self::Streams => ["/exact", "/late", "/proxy_peak_rss_kib"],
        }
    }
}
