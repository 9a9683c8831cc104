//! Figures that are not what was meant, not comparable or preliminary.

use super::{Words, operations};
use crate::flag::Severity;
use crate::units;

pub(super) fn same_target(target: &str) -> Words {
    Words::new(Severity::NotMeant, format!("All differences are noise: {target} was given twice"))
        .action("Check for a typing error, if that was not intended.")
        .fact(format!("{target} was given twice"))
}

pub(super) fn stability_differs(detail: &str) -> Words {
    Words::new(Severity::Comparison, format!("Write speeds are not comparable: {detail}"))
        .action("Compare with --stability filesync.")
        .advice("Compare with --stability filesync, or read the write verdicts with this in mind.")
        .fact(format!("writes are not stable at the same time: {detail}"))
}

pub(super) fn rate_held(target: &str, run: &str, by: &str) -> Words {
    Words::new(
        Severity::Comparison,
        format!("The speed of '{run}' on {target} is rate-limited by its tool ({by})"),
    )
    .action("The target may be faster: run the tool without the limit.")
}

pub(super) fn operation_refused(target: &str, tried: &str, reason: &str) -> Words {
    Words::new(
        Severity::Comparison,
        format!("{target} has fewer figures: it refused to {tried} ({reason})"),
    )
}

pub(super) fn second_writer(target: &str) -> Words {
    Words::new(
        Severity::NotMeant,
        format!("Locks on {target} do not work: a second program got a lock that was held"),
    )
    .action("Let only one program at a time open a database there.")
}

pub(super) fn left_out(workloads: &[String]) -> Words {
    Words::new(
        Severity::Preliminary,
        format!("Not measured for lack of time: {}", workloads.join(", ")),
    )
    .action("Name them by --pattern, or leave out --quick.")
}

pub(super) fn quick(resolvable: Option<f64>) -> Words {
    Words::new(
        Severity::Preliminary,
        match resolvable {
            Some(ratio) => format!(
                "A quick look: differences below {:.0}% are inconclusive",
                (ratio - 1.0) * 100.0
            ),
            None => "A quick look: small differences are inconclusive".to_owned(),
        },
    )
    .action("Leave out --quick for a verdict that you can rely on.")
}

pub(super) fn cap_reached(blocks: u32, wanted: u32) -> Words {
    Words::new(
        Severity::Preliminary,
        format!("The time limit ended the study after {blocks} blocks"),
    )
    .details(format!("narrow intervals take about {} more", wanted.saturating_sub(blocks)))
    .action("Raise --max-time for narrower intervals.")
}

pub(super) fn few_operations(count: u64, seen: &str) -> Words {
    Words::new(
        Severity::Preliminary,
        format!("The rate is uncertain: only {} completed{seen}", operations(count)),
    )
    .action("Lengthen --time.")
    .fact(format!("only {} completed", operations(count)))
}

pub(super) fn void_points(count: u32, seen: &str) -> Words {
    let steps = match count {
        1 => "1 step was void and was".to_owned(),
        _ => format!("{count} steps were void and were"),
    };
    let text = format!("{steps} measured again, because the load generator was late");
    Words::new(Severity::Note, format!("{text}{seen}"))
        .action("Stop other work on the machine that makes the load.")
        .fact(text)
}

pub(super) fn search_unfinished(width_ratio: f64, seen: &str) -> Words {
    let text = format!(
        "the time of the search was over when the largest accepted value was known within {:.0}%",
        100.0 * width_ratio
    );
    Words::new(Severity::Preliminary, format!("Unfinished: {text}{seen}"))
        .action("Search a narrower range, or allow more time with --max-time.")
        .fact(text)
}

pub(super) fn long_gap(seconds: f64) -> Words {
    Words::new(
        Severity::Preliminary,
        format!("No operation completed for {}", units::seconds(seconds)),
    )
    .action("Look for a disk that spins up, a busy server or a lossy link.")
    .fact(format!("no operation completed for {}", units::seconds(seconds)))
}

pub(super) fn in_flight_mismatch(integrated: f64, by_littles_law: f64) -> Words {
    Words::new(
        Severity::Preliminary,
        format!(
            "The operations in flight ({integrated:.2}) do not match rate × response time \
             ({by_littles_law:.2})"
        ),
    )
    .action("Treat the trial as suspect; run again on a quieter machine.")
}
