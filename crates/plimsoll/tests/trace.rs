//! `plimsoll trace` on this machine. In a machine of a lab, whose kernel has the tracer: tests/machines/trace.rs.

#[path = "../../../tests/support/mod.rs"]
mod support;

use support::{Plimsoll, probes};

/// Whether this kernel would be traced.
fn has_tracer() -> bool {
    ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].iter().any(|place| {
        let tracers = std::fs::read_to_string(format!("{place}/available_tracers"));
        tracers.is_ok_and(|tracers| tracers.contains("function_graph"))
    })
}

#[test]
fn a_kernel_that_cannot_be_traced_is_named_with_what_it_lacks() {
    if has_tracer() {
        return;
    }
    let program =
        Plimsoll::new().with("PLIMSOLL_PROBES", probes().to_str().expect("a path in letters"));
    let ran = program.run(&["trace", "local", "--to=127.0.0.1", "--quiet"]).expect(5);
    let reasons = ["not root", "not mounted", "has no tracefs", "has no function_graph tracer"];
    assert!(reasons.iter().any(|reason| ran.err.contains(reason)), "{ran:?}");
    assert!(ran.err.contains(" next: "), "{ran:?}");
    // Nothing was measured, and no probe is left.
    let list = program.run(&["export", "latest", "--folded"]).expect(2);
    assert!(list.err.contains("the store is empty"), "{list:?}");
}

#[test]
fn orders_that_make_no_sense_are_refused() {
    let program = Plimsoll::new();
    for words in [
        &["trace"][..],
        &["trace", "local", "fsync"],
        &["trace", "local", "fork"],
        &["trace", "local", "--payload=0"],
        &["trace", "local", "--subsystems=/no/such/file"],
        &["trace", "local", "--dir=/tmp"],
    ] {
        program.run(words).expect(2);
    }
}
