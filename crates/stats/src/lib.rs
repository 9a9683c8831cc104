//! Intervals, verdicts, stop rule, sequences: pure reckoning.
#![forbid(unsafe_code)]
