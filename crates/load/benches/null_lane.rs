//! What the program itself costs: 4 KiB random reads, one in flight, through `Box<dyn Lane>`, the
//! driver and its books, on a share that completes everything at once. Prints nanoseconds of CPU
//! time an operation; fails if an operation is missing in the histogram.

use load::{
    Content, FileId, Files, LaidOut, MockShare, NullShare, Reply, RunSpec, Share, SystemClock,
    VirtualClock, run,
};
use model::units::{Bytes, GIB, KIB};
use model::{Clock, Layout, OpKind, Pattern, Stability, Workload};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn main() {
    let laid_out = |file| LaidOut { file: FileId(file), generation: 0 };
    let mut spec = RunSpec {
        workload: Workload {
            pattern: Pattern::RandomRead,
            block: Bytes(4 * KIB),
            size: Bytes(GIB),
            workers: NonZeroU16::MIN,
            depth: NonZeroU16::MIN,
            layout: Layout::Disjoint,
            stability: Stability::Unstable,
            verify: false,
        },
        files: Files { read: laid_out(1), write: laid_out(2) },
        content: Arc::new(Content::new(1)),
        clock: Arc::new(SystemClock::new()),
        duration: Duration::from_secs(1),
        window: Duration::from_millis(100),
        operation_timeout: Duration::from_secs(30),
        seed: 1,
    };
    println!("one look at the clock: {:.1} ns", look(&*spec.clock));
    let share = NullShare::new();
    for depth in [1, 32] {
        spec.workload.depth = NonZeroU16::new(depth).unwrap_or(NonZeroU16::MIN);
        let mut costs: Vec<f64> = (0..5).map(|_| cost(&share, &spec)).collect();
        costs.sort_by(f64::total_cmp);
        println!("null lane, 4 KiB reads, depth {depth}: {:.1} ns of CPU an operation", costs[2]);
    }
    // What simulated studies cost: no look at a real clock.
    let clock = Arc::new(VirtualClock::new());
    let service = Duration::from_nanos(250);
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, move |_, _| Reply::After(service));
    spec.clock = clock;
    spec.workload.depth = NonZeroU16::MIN;
    println!("mock lane, depth 1: {:.1} ns of CPU an operation", cost(&share, &spec));
}

/// Nanoseconds of one look at the clock: at depth 1 an operation takes two of them.
fn look(clock: &dyn Clock) -> f64 {
    const LOOKS: u32 = 1_000_000;
    let start = clock.now();
    for _ in 0..LOOKS {
        std::hint::black_box(clock.now());
    }
    (clock.now() - start).as_nanos() as f64 / f64::from(LOOKS)
}

/// Nanoseconds of CPU time an operation, in one run.
fn cost(share: &dyn Share, spec: &RunSpec) -> f64 {
    let result = match run(share, spec, &AtomicBool::new(false), None) {
        Ok(result) => result,
        Err(failure) => panic!("{failure}"),
    };
    let reads = &result.measured(Duration::ZERO).kinds[&OpKind::Read];
    assert_eq!(reads.operations, reads.client.len(), "every operation is in the histogram");
    assert_eq!(reads.operations + result.late, result.total.read_ops, "none is lost");
    result.cpu.as_nanos() as f64 / result.total.read_ops as f64
}
