//! How long a call takes that does nothing: the network's round trip, and what both ends take for any call.

use plimsoll_model::Deadline;

/// Calls until the shortest of them is believed.
const CALLS: usize = 10;
/// No more calls once they took so long together, in seconds.
const ENOUGH_SECONDS: f64 = 0.5;

/// Seconds of the shortest of several calls, one after the other; `None` where one fails: what does not
/// answer this call may still answer all others.
pub(crate) fn shortest<E>(
    deadline: &Deadline,
    mut call: impl FnMut() -> Result<(), E>,
) -> Option<f64> {
    let begun = deadline.now();
    let mut shortest = f64::INFINITY;
    for _ in 0..CALLS {
        let sent = deadline.now();
        call().ok()?;
        shortest = shortest.min(deadline.now().since(sent).as_secs_f64());
        if deadline.now().since(begun).as_secs_f64() > ENOUGH_SECONDS {
            break;
        }
    }
    (shortest.is_finite() && shortest > 0.0).then_some(shortest)
}
