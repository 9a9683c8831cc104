//! What a client does by itself between a program and the wire: wrappers around any lane.

mod attribute_cache;
mod inner;
mod read_ahead;
#[cfg(test)]
mod tests;
mod write_back;

use crate::share::{Lane, LaneRequest};
use attribute_cache::AttributeCache;
use inner::Wrapped;
use plimsoll_model::{Failure, Technique};
use read_ahead::ReadAhead;
use std::time::Duration;
use write_back::WriteBack;

/// Longest lifetime of attributes in seconds: longer than any study.
const LONGEST_SECONDS: f64 = 1e9;

/// A lane with these techniques, the first next to the program. `largest_write`: the largest write of one
/// operation on the wire, in bytes; 0 where there is no limit.
pub(crate) fn lane(
    techniques: &[Technique],
    request: LaneRequest,
    largest_write: u32,
    make: &mut dyn FnMut(LaneRequest) -> Result<Box<dyn Lane>, Failure>,
) -> Result<Box<dyn Lane>, Failure> {
    let Some((outer, inner)) = techniques.split_first() else { return make(request) };
    let (depth, clock) = (request.depth, request.clock.clone());
    match outer {
        Technique::ReadAhead { window } => {
            // Beside what is asked for, the window is in flight.
            let both = depth.saturating_add(window.get());
            let below = LaneRequest { depth: both, ..request };
            let inner = lane(inner, below, largest_write, make)?;
            Ok(Box::new(Wrapped(ReadAhead::new(inner, *window, both, clock))))
        }
        Technique::AttributeCache { lifetime_seconds } => {
            let inner = lane(inner, request, largest_write, make)?;
            let lifetime = lifetime_seconds.min(LONGEST_SECONDS);
            let lifetime = Duration::try_from_secs_f64(lifetime).unwrap_or_default();
            Ok(Box::new(Wrapped(AttributeCache::new(inner, lifetime, depth, clock))))
        }
        Technique::WriteBack { gather } => {
            let largest = if largest_write == 0 { u32::MAX } else { largest_write };
            let most = u32::try_from(gather.0).unwrap_or(u32::MAX).clamp(1, largest);
            // Beside what is asked for, writes are in flight in the background.
            let both = depth.saturating_add(WriteBack::BACKGROUND);
            let block = request.block.max(most);
            let below = LaneRequest { depth: both, block, ..request };
            let inner = lane(inner, below, largest_write, make)?;
            Ok(Box::new(Wrapped(WriteBack::new(inner, most, both, clock))))
        }
    }
}
