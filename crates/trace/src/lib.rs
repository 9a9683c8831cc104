//! Call trees of kernel functions: the text of the function_graph tracer, and calls and time by subsystem. Samples of
//! them: the text of perf script. Pure.
#![forbid(unsafe_code)]

mod blocks;
mod call;
mod folded;
pub mod fuzzing;
mod line;
mod parse;
mod samples;
mod shares;

pub use blocks::{BadLine, Blocks};
pub use call::{Call, Capture, corrected};
pub use folded::folded;
pub use parse::{DEPTH, parse};
pub use samples::{FIELDS, SampleCounts, Sampled, Samples, count_samples, parse_samples};
pub use shares::{BlockShare, Shares, mode, shares};
