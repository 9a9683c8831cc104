//! What the memory does: the probe's STREAM kernels and pointer chase.

use super::bench::Bench;
use super::clean::{Odd, clean};
use super::inventory::Fields;
use plimsoll_model::device::{LatencyFigure, MemoryFigures, StreamFigure};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::probe::Request;

/// Most places that are measured: caches and memory.
const MOST_PLACES: usize = 16;
/// Memory for a short measurement.
const QUICK_BYTES: u64 = 128 << 20;

/// Measures the memory.
pub(super) fn measure(bench: &mut Bench<'_>, odd: &mut Odd) -> MemoryFigures {
    let mut memory = MemoryFigures::default();
    let request = match bench.quick {
        true => Request::new("memory").set("limit_bytes", QUICK_BYTES),
        false => Request::new("memory"),
    };
    bench.say("STREAM and the latency of each cache");
    bench.verb(request, &mut |section| take(&mut memory, section, odd));
    let streams = memory.streams.iter().filter(|s| s.verified == Some(false)).count();
    let latencies = memory.latencies.iter().filter(|l| l.verified == Some(false)).count();
    if streams + latencies > 0 {
        bench.failed(
            Failure::new(Cause::Trial, "check the content of the measured memory")
                .on(bench.reach.name())
                .happened(format!("{} measurement(s) left wrong content", streams + latencies))
                .next("The memory is faulty: run a memory test on the host."),
        );
    }
    if memory.streams.iter().any(|stream| stream.past_caches == Some(false)) {
        bench.note(
            "The arrays were smaller than four times the last-level cache, the minimum of STREAM: \
            part of the memory rate is that of the cache."
                .to_owned(),
        );
    }
    if memory.floating_point.as_deref() == Some("software") {
        bench.note(
            "The host has no floating-point hardware: scale, add and triad measure its emulation; \
            copy measures the memory."
                .to_owned(),
        );
    }
    memory
}

/// Reads a section of the verb `memory`.
pub fn take(memory: &mut MemoryFigures, section: serde_json::Value, odd: &mut Odd) {
    let fields = Fields(clean(section, odd));
    match fields.text("section").as_deref() {
        Some("memory") => {
            let figures: MemoryFigures = fields.all().unwrap_or_default();
            memory.floating_point = figures.floating_point;
            memory.limit_bytes = figures.limit_bytes;
            memory.largest_cache_bytes = figures.largest_cache_bytes;
        }
        Some("memory_stream") if memory.streams.len() < MOST_PLACES => {
            memory.streams.extend(fields.all::<StreamFigure>());
        }
        Some("memory_latency") if memory.latencies.len() < MOST_PLACES => {
            memory.latencies.extend(fields.all::<LatencyFigure>());
        }
        _ => {}
    }
}
