//! A router before servers that are shell scripts, and before a host of each era.
