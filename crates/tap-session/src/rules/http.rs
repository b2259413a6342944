//! Rules of the HTTP transports.

rules! { HTTP: }
