//! The highest rate that is kept: the search of a router's forwarding rate (method, section 7).
//!
//! [`count`] makes the figures of a trial of its segments, and [`Search`] says which trial comes next. The search
//! follows the multiple loss ratio search of RFC 9971 in the logarithm of the rate. A trial's sender may be late, so
//! that segments of a trial are dropped; a queue may take what is too much, so that rising delay counts as loss; and
//! credit may let too much through for a while, so that an overload trial and a long trial follow. A search has a time in
//! which it ends, with what is known by then.

mod bounds;
mod finish;
mod lengths;
mod search;
mod segments;
mod slope;

pub use finish::{Caveat, Found, Kept};
pub use lengths::{MOST_SECONDS, QUICK_SECONDS, confirm_seconds, enough_seconds};
pub use search::{Purpose, Search, Settings, Trial};
pub use segments::{
    LEAD_SECONDS, LONGEST_LEAD_SECONDS, LONGEST_SECONDS, MOST_LENGTHS, RateTrial, SEGMENT_SECONDS,
    Segment, count, late_seconds,
};
pub use slope::Slope;
