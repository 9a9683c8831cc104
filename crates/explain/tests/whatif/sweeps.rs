//! Resources of several changes and of other numbers in flight are those of the row today, in whatever place they are.

use crate::support::servers::{Truth, study, with_ladder};
use crate::{base, ends, one};
use plimsoll_explain::whatif::{WhatIf, predict};

/// An operation takes 10 + 100 + 100 + 300 + 50 µs.
fn with_disk() -> Truth {
    Truth { disk: 300e-6, seconds: 60.0, ..base(1) }
}

fn is_near(times: f64, expected: f64) -> bool {
    (times / expected - 1.0).abs() < 0.01
}

/// With several in flight an operation takes 50 µs of the server's 100. Without the disk, that halved the time of the
/// client: 2.2 times as much was predicted at most, where 2.67 times may be carried.
#[test]
fn demands_of_a_sweep_are_of_the_same_resource_without_the_disk() {
    let truth = with_disk();
    let at = move |depth: u16| match depth {
        1 => truth,
        _ => Truth { depth, server: 50e-6, ..truth },
    };
    let study = with_ladder(study(truth, true), true, [1, 4, 16], at);
    let (low, high) = ends(&one(&study, &WhatIf::Memory(2.0)));
    assert!(is_near(low, 1.0) && is_near(high, 560.0 / 210.0), "{low} {high}");
}

/// After more memory, a shorter round trip changed nothing at the upper end: 2.15 times instead of 2.55.
#[test]
fn changes_have_no_order() {
    let study = study(with_disk(), true);
    let (memory, trip) = (WhatIf::Memory(2.0), WhatIf::RoundTrip { seconds: 10e-6 });
    let found = predict(&study, &[memory.clone(), trip.clone()]);
    assert_eq!(found, predict(&study, &[trip, memory]));
    let (_, high) = ends(&found[0]);
    assert!(is_near(high, 560.0 / 220.0), "{high}");
}
