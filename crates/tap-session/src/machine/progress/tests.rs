//! Tests of progress, cancellation, logging, pings and completion.
