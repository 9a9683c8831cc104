//! Both ends of predicted ranges, held against exact mean value analysis.

use crate::support::servers::{Truth, study};
use crate::{ends, link, one, server, support};
use plimsoll_explain::whatif::{Answer, NewDisk, WhatIf};
use plimsoll_model::StoredOn;
use proptest::prelude::*;

fn demands() -> impl Strategy<Value = Truth> {
    let seconds = || 5e-6..2e-3;
    (1..33_u16, seconds(), seconds(), seconds(), seconds(), any::<bool>(), any::<bool>()).prop_map(
        |(depth, server, link, disk, round_trip, one_core, has_disk)| Truth {
            depth,
            driver: 10e-6,
            server,
            link,
            disk: if has_disk { disk } else { 0.0 },
            at_a_time: 1.0,
            round_trip,
            one_core,
            seconds: 60.0,
            ..Truth::default()
        },
    )
}

/// Counters count whole operations and bytes.
const ROUNDING: f64 = 1.01;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// What the changed server carries, by exact mean value analysis, lies inside the range.
    #[test]
    fn the_truth_lies_inside(
        truth in demands(), times in 0.3..5.0f64, which in 0..4_usize, watched in any::<bool>(),
    ) {
        let (change, new) = match which {
            0 => (link(times), Truth { link: truth.link / times, ..truth }),
            1 => (server(times), Truth { server: truth.server / times, ..truth }),
            2 => (WhatIf::Disk(NewDisk::Times(times)), Truth { disk: truth.disk / times, ..truth }),
            _ => {
                let seconds = truth.round_trip / times;
                (WhatIf::RoundTrip { seconds }, Truth { round_trip: seconds, ..truth })
            }
        };
        let mut study = study(truth, watched);
        support::storage(&mut study.subjects[0]).reads_from =
            (truth.disk > 0.0).then_some(StoredOn::Disk);
        let found = one(&study, &change);
        if !matches!(found.answer, Answer::CannotSay(_)) {
            let (low, high) = ends(&found);
            let really = new.carries(truth.depth) / truth.carries(truth.depth);
            let margin = match found.answer {
                Answer::Same { .. } => 1.0 + study.plan.design.margin,
                _ => ROUNDING,
            };
            prop_assert!(low <= really * margin, "{low} {really}: {found:#?}");
            prop_assert!(really <= high * margin, "{really} {high}: {found:#?}");
        }
    }

    /// More of a change brings no less at most, and no end is below 0 or above the other.
    #[test]
    fn ends_are_in_order(truth in demands(), times in 1.0..5.0f64) {
        let study = study(truth, true);
        for change in [link(times), server(times), WhatIf::Disk(NewDisk::Times(times))] {
            let found = one(&study, &change);
            if !matches!(found.answer, Answer::CannotSay(_)) {
                let (low, high) = ends(&found);
                prop_assert!(low.is_finite() && high.is_finite());
                prop_assert!(0.0 <= low && low <= high && low * 1.05 >= 1.0, "{low} {high}");
            }
        }
    }
}
