//! Conducting a study: plan, order, runner, record, stop rule.
#![forbid(unsafe_code)]
