//! One trial: prepare, drive, clean up, emit events.
#![forbid(unsafe_code)]
