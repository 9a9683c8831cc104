//! Showing results: tables, verdicts and sentences for the terminal, CSV.
#![forbid(unsafe_code)]
