//! Calls spread over several connections.

use super::{Calling, Exchange, Full, Pipeline, Protocol};
use crate::socket::{MOST_SOCKETS, wait_any};
use std::time::Duration;

/// Several connections to one peer that take calls in turn, as those of nconnect= in the Linux kernel's
/// client do. Each has slots for all calls, as replies may come to one connection later than to others.
pub struct Spread<P: Protocol> {
    pipelines: Vec<Pipeline<P>>,
    next: usize,
}

impl<P: Protocol> Spread<P> {
    /// Most connections.
    pub const MOST: usize = MOST_SOCKETS;

    /// Over a first connection.
    pub fn new(first: Pipeline<P>) -> Self {
        Spread { pipelines: vec![first], next: 0 }
    }

    /// Adds a connection with as many slots; one above [`Spread::MOST`] is closed.
    pub fn add(&mut self, further: Pipeline<P>) {
        if self.pipelines.len() < Self::MOST {
            self.pipelines.push(further);
        }
    }
}

impl<P: Protocol> Calling<P> for Spread<P> {
    /// That of the first connection.
    fn protocol_mut(&mut self) -> &mut P {
        self.pipelines[0].protocol_mut()
    }

    fn in_flight(&self) -> usize {
        self.pipelines.iter().map(Pipeline::in_flight).sum()
    }

    fn submit(&mut self, tag: u32, request: P::Request<'_>) -> Result<(), Full> {
        let turn = self.next;
        self.pipelines[turn].submit(tag, request)?;
        self.next = (turn + 1) % self.pipelines.len();
        Ok(())
    }

    fn flush(&mut self, with: &mut impl Exchange<P>) -> Result<(), P::Error> {
        self.pipelines.iter_mut().try_for_each(|pipeline| pipeline.flush(with))
    }

    fn reap(&mut self, until: u64, with: &mut impl Exchange<P>) -> Result<usize, P::Error> {
        loop {
            let mut completed = 0;
            for pipeline in &mut self.pipelines {
                completed += pipeline.reap(0, with)?;
            }
            let now = with.now();
            if completed > 0 || until <= now || self.in_flight() == 0 {
                return Ok(completed);
            }
            let later = self.pipelines.iter().filter_map(|pipeline| pipeline.calls.next_later());
            let due = later.fold(until, u64::min);
            let left = Duration::from_nanos(due.saturating_sub(now));
            let waits = self.pipelines.iter().filter(|pipeline| pipeline.in_flight() > 0);
            wait_any(waits.map(|pipeline| (&pipeline.socket, pipeline.waits_for())), left)?;
        }
    }

    fn moved_bytes(&self) -> Option<u64> {
        Some(self.pipelines.iter().map(Pipeline::moved_bytes).sum())
    }
}
