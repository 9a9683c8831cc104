//! What a plan would take, and what its settings are now: shown before it is run, changing nothing.

use crate::{output, settings};
use plimsoll_model::{Failure, Plan, Rule, units::Bytes};
use plimsoll_report::{Document, counted, duration};
use plimsoll_study::{Estimate, estimate};

/// Shows all of it, and asks the hosts what the settings are unless this is to be offline. The exit code
/// is that of the first setting that cannot be read.
pub fn show(about: &str, plan: &Plan, offline: bool) -> Result<u8, Failure> {
    let (mut now, mut code) = (Vec::new(), 0);
    for factor in plan.factors.iter().filter(|_| !offline) {
        now.push(match settings::read(plan, factor) {
            Ok(level) => format!("now {level}"),
            Err(failure) => {
                output::complain(&format!("plimsoll: {failure}"));
                code = if code == 0 { failure.cause.exit_code() } else { code };
                format!("cannot be read: {}", failure.happened)
            }
        });
    }
    output::print(&Document::of_plan(plan, about, &now, takes(plan)).text(&output::style()))?;
    Ok(code)
}

/// A few lines of it, before a run.
pub fn in_brief(plan: &Plan) -> String {
    let claims = plan.contrasts.iter().filter(|contrast| contrast.claim).count();
    let others = plan.contrasts.len() - claims;
    let mut lines = vec![format!(
        "{}; {} in the family, {} beside them",
        trials(plan, &estimate(plan)),
        counted(claims as u64, "claim"),
        counted(others as u64, "estimate"),
    )];
    let takes =
        takes(plan).into_iter().filter(|(name, _)| ["time", "too little"].contains(&&**name));
    lines.extend(takes.map(|(name, value)| format!("{name}: {value}")));
    lines.join("\n")
}

fn trials(plan: &Plan, estimate: &Estimate) -> String {
    let blocks = counted(estimate.blocks.into(), "block");
    let blocks = match plan.design.rule {
        Rule::Fixed { .. } => blocks,
        _ => format!("{blocks} or more"),
    };
    let plots = match (estimate.whole_plots, &plan.reboot) {
        (0, _) => String::new(),
        (plots, None) => format!(", {}", counted(plots, "whole plot")),
        (reboots, Some(_)) => format!(", {}", counted(reboots, "reboot")),
    };
    let cells = counted(estimate.cells, "cell");
    format!("{cells} in {blocks}: {}{plots}", counted(estimate.trials, "trial"))
}

fn takes(plan: &Plan) -> Vec<(String, String)> {
    let estimate = estimate(plan);
    let cap = plan.design.cap_seconds;
    let amount = |bytes: Bytes| match bytes.0 {
        0 => "nothing".to_owned(),
        few @ ..500_000_000 => format!("{:.1} MB", few as f64 / 1e6),
        bytes => format!("{:.1} GB", bytes as f64 / 1e9),
    };
    let mut facts = vec![
        ("trials".to_owned(), trials(plan, &estimate)),
        ("written".to_owned(), format!("{}, in all", amount(estimate.written))),
        ("space".to_owned(), format!("{} on each target, at most", amount(estimate.held))),
        (
            "time".to_owned(),
            format!(
                "about {}, by {}; {} at most",
                duration(estimate.seconds),
                estimate.rests_on.join("; "),
                duration(cap)
            ),
        ),
    ];
    if estimate.seconds > cap {
        let happened = format!(
            "the first {} take longer than max-time, {}: what does not fit is left out",
            counted(estimate.blocks.into(), "block"),
            duration(cap)
        );
        facts.push(("too little".to_owned(), happened));
    }
    facts
}
