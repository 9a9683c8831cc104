//! Call trees of kernel functions: the text of the function_graph tracer, and calls and time by subsystem. Pure.
#![forbid(unsafe_code)]

mod blocks;
mod call;
mod folded;
pub mod fuzzing;
mod line;
mod parse;
mod shares;

pub use blocks::{BadLine, Blocks};
pub use call::{Call, Capture, corrected};
pub use folded::folded;
pub use parse::{DEPTH, parse};
pub use shares::{BlockShare, Shares, mode, shares};
