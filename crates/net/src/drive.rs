//! The parts of a workload under way at both ends: started in their order, until all have ended.

use crate::complaints::closed;
use crate::ends::{Ends, Pair};
use crate::order::{DRAIN, Once, Order, SETUP};
use crate::report::Ending;
use plimsoll_model::{Failure, Job};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for one end before the other one is looked at.
pub(crate) const SLICE: Duration = Duration::from_millis(10);
/// Time for reports after the end of a trial; a message may queue behind the load.
pub(crate) const REPORTING: Duration = Duration::from_secs(15);
/// Time for a trial to end early.
const CANCELLING: Duration = Duration::from_secs(10);

/// A part of a workload under way.
pub(crate) struct Running<'a> {
    pub job: &'a Job,
    pub order: Order,
    pub once: Once,
}

/// Starts every part and waits for the end of all.
pub(crate) fn drive(
    ends: &Ends,
    sessions: &mut [Pair],
    running: &[Running<'_>],
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let under_way = &mut sessions[..running.len()];
    let is_over = |pairs: &mut [Pair]| {
        let mut all = pairs.iter_mut().flat_map(Pair::both);
        stop.load(Ordering::Relaxed) || all.any(|s| s.report.end == Some(Ending::Failed))
    };
    // All listen before the first load begins, behind which their messages would queue.
    for (number, part) in running.iter().enumerate() {
        if !is_over(under_way) {
            listen(ends, &mut under_way[number], number, part, stop)?;
        }
    }
    for (number, part) in running.iter().enumerate().rev() {
        if !is_over(under_way) {
            connect(ends, &mut under_way[number], part)?;
        }
    }
    let longest = running.iter().map(|part| part.once.lead + part.order.longest(&part.once)).max();
    let (begun, mut is_cancelled) = (Instant::now(), false);
    let mut patience = SETUP + longest.unwrap_or_default() + DRAIN + REPORTING;
    while under_way.iter_mut().flat_map(Pair::both).any(|session| session.is_busy()) {
        if !is_cancelled && is_over(under_way) {
            is_cancelled = true;
            // A host that hangs holds nobody up for the rest of the trial.
            patience = patience.min(begun.elapsed() + CANCELLING);
            for session in under_way.iter_mut().flat_map(Pair::both) {
                session.cancel()?;
            }
        }
        for session in under_way.iter_mut().flat_map(Pair::both) {
            session.take_in(Instant::now() + SLICE)?;
            if session.is_busy() && begun.elapsed() > patience {
                return Err(session.late(patience));
            }
        }
    }
    Ok(())
}

/// Starts a part at the end that listens, and waits for its port.
fn listen(
    ends: &Ends,
    pair: &mut Pair,
    number: usize,
    part: &Running<'_>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let listener = ends.opener.other();
    let end = Instant::now() + REPORTING;
    // Parts at the same time cannot share a port.
    let port = match ends.port {
        0 => 0,
        port => port.saturating_add(u16::try_from(number).unwrap_or(0)),
    };
    let peer = ends.addresses.end(ends.opener);
    let translated = ends.translated.filter(|address| *address != peer.ip);
    let text = part.order.listening(listener, &part.once, peer, translated, port);
    let Some(session) = pair.at(listener) else { return Err(closed()) };
    session.begin(part.once.number, &text)?;
    while session.report.port.is_none() && session.is_busy() && !stop.load(Ordering::Relaxed) {
        session.take_in(Instant::now() + SLICE)?;
        if session.report.port.is_none() && Instant::now() > end {
            return Err(session.late(REPORTING));
        }
    }
    Ok(())
}

/// Starts a part at the end that connects; not if the other one does not listen, which says why.
fn connect(ends: &Ends, pair: &mut Pair, part: &Running<'_>) -> Result<(), Failure> {
    let (opener, listener) = (ends.opener, ends.opener.other());
    let Some(session) = pair.at(listener) else { return Err(closed()) };
    let Some(port) = session.report.port.filter(|_| session.is_busy()) else { return Ok(()) };
    let text = part.order.connecting(opener, &part.once, ends.addresses.end(listener), port);
    let Some(session) = pair.at(opener) else { return Err(closed()) };
    session.begin(part.once.number, &text)
}
