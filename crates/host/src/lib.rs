//! Reaching hosts and watching their load.
#![forbid(unsafe_code)]
