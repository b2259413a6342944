//! The server's chair.
