//! What a sweep over the number of operations in flight shows.

use crate::support::servers::{SERVER, Truth, study, with_ladder};
use crate::{base, named, one, support};
use plimsoll_explain::Resource;

/// A thread that is always busy and moves between the two cores makes neither full.
#[test]
fn one_core_s_worth_on_several_is_what_a_thread_makes_of_them() {
    let ladder = |truth: Truth| {
        one(&with_ladder(study(truth, true), true, [1, 4, 16], move |depth| Truth {
            depth,
            ..truth
        }))
    };
    let thread = Truth { server: 400e-6, hidden: 405e-6, ..base(16) };
    let found = ladder(thread);
    assert_eq!(named(&found), "hidden", "{found:#?}");
    assert_eq!(found.one_thread().unwrap().host, SERVER.parse().ok());
    let found = ladder(Truth { server: 100e-6, ..thread });
    assert_eq!((named(&found).as_str(), found.one_thread()), ("hidden", None));
}

#[test]
fn a_ladder_tells_something_full_from_waiting() {
    let hidden = Truth { hidden: 400e-6, ..base(16) };
    let ladder = |truth: Truth| {
        with_ladder(study(truth, true), true, [1, 4, 16], move |depth| Truth { depth, ..truth })
    };
    assert_eq!(named(&one(&ladder(hidden))), "hidden");
    let slow = Truth { round_trip: 0.0, hidden: 0.0, ..base(4) };
    let mut waiting = ladder(Truth { round_trip: 5e-3, ..slow });
    // As if nobody had measured the round trip.
    support::storage(&mut waiting.subjects[0]).round_trip_seconds = None;
    let found = one(&waiting);
    assert_eq!(named(&found), "waiting", "{found:#?}");
    let ladder = found.ladder.unwrap();
    assert!(!ladder.is_saturated());
    assert_eq!(ladder.rungs.len(), 3);
}

/// Copies of few files by more workers, of which 9, 11 and 10 were in flight, slower each time: "more helps".
#[test]
fn what_hardly_has_more_in_flight_does_not_tell_whether_that_helps() {
    let found = |depths| {
        let at = |depth| Truth { disk: 400e-6, ..base(depth) };
        one(&with_ladder(study(at(4), true), true, depths, at)).ladder.unwrap().more_helps()
    };
    assert_eq!(found([8, 9, 10]), None);
    assert_eq!(found([1, 4, 16]), Some(false));
    let at = |depth| Truth { round_trip: 50e-3, ..base(depth) };
    let waiting = one(&with_ladder(study(at(4), true), true, [1, 4, 16], at));
    assert_eq!(waiting.ladder.unwrap().more_helps(), Some(true));
}

/// Interrupts coalesce: at four times the rate an operation takes half as much.
#[test]
fn demands_that_depend_on_load_are_found() {
    let truth = Truth { server: 200e-6, ..base(16) };
    let at =
        move |depth: u16| Truth { depth, server: if depth > 4 { 200e-6 } else { 400e-6 }, ..truth };
    let found = one(&with_ladder(study(truth, true), true, [1, 4, 16], at));
    let ladder = found.ladder.as_ref().unwrap();
    for one in &found.uses {
        let expected = match one.resource {
            Resource::Processor => Some(false),
            Resource::RoundTrip => Some(true),
            _ => Some(true),
        };
        assert_eq!(ladder.is_constant(one), expected, "{one:?}");
    }
}
