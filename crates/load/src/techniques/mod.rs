//! What a client does by itself between a program and the wire: wrappers around any lane.

mod read_ahead;

use crate::share::{Lane, LaneRequest};
use plimsoll_model::{Failure, Technique};
use read_ahead::ReadAhead;

/// A lane with these techniques, the first next to the program.
pub(crate) fn lane(
    techniques: &[Technique],
    request: LaneRequest,
    make: &mut dyn FnMut(LaneRequest) -> Result<Box<dyn Lane>, Failure>,
) -> Result<Box<dyn Lane>, Failure> {
    let Some((outer, inner)) = techniques.split_first() else { return make(request) };
    match outer {
        Technique::ReadAhead { window } => {
            let (depth, clock) = (request.depth, request.clock.clone());
            // Beside what is asked for, the window is in flight.
            let both = depth.saturating_add(window.get());
            let inner = lane(inner, LaneRequest { depth: both, ..request }, make)?;
            Ok(Box::new(ReadAhead::new(inner, *window, both, clock)))
        }
    }
}
