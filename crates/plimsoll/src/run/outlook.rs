//! What a plan would take, and what its settings are now: shown before it is run, changing nothing.

use crate::{output, settings};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Factor, Failure, HostFacts, NfsVersion, Plan, Rule, Subject, SubjectFacts, Switch, Target,
};
use plimsoll_report::{Document, counted, duration};
use plimsoll_study::{Estimate, estimate};

const GRACE: &str = "grace period";
const TOO_LITTLE: &str = "time limit";
/// Of a time that depends on the target.
const BETTER: &str = "the first block gives a better estimate";
/// The default of the kernel's server and of NFS-Ganesha.
const GRACE_SECONDS: f64 = 90.0;

/// Shows all of it. With `read_hosts` the hosts are asked what the settings are, which runs commands there; the
/// exit code is that of the first setting that cannot be read.
pub fn show(about: &str, plan: &Plan, read_hosts: bool) -> Result<u8, Failure> {
    let (mut now, mut code) = (Vec::new(), 0);
    for factor in plan.factors.iter().filter(|_| read_hosts) {
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
        "{}; {} with joint confidence, and {}",
        trials(plan, &estimate(plan)),
        counted(claims as u64, "claim"),
        counted(others as u64, "estimate"),
    )];
    // The study itself says how long it takes.
    let takes = takes(plan).into_iter().filter(|(name, _)| name == TOO_LITTLE);
    lines.extend(takes.map(|(name, value)| format!("{name}: {value}")));
    lines.join("\n")
}

/// Says before the first block what the grace periods take, if a target that was opened speaks version 4.
pub fn say_grace(plan: &Plan, opened: &[SubjectFacts], _: &[HostFacts]) {
    if let Some(line) = grace_of(plan, opened) {
        output::complain(&line);
    }
}

pub(super) fn grace_of(plan: &Plan, opened: &[SubjectFacts]) -> Option<String> {
    let is_4 = |facts: &SubjectFacts| {
        facts.storage().and_then(|facts| facts.protocol.nfs_version()).is_some_and(NfsVersion::is_4)
    };
    let takes = grace(plan, estimate(plan).whole_plots).filter(|_| opened.iter().any(is_4));
    takes.map(|takes| format!("{GRACE}: {takes}"))
}

fn trials(plan: &Plan, estimate: &Estimate) -> String {
    let blocks = counted(estimate.blocks.into(), "block");
    let blocks = match plan.design.rule {
        Rule::Fixed { .. } => blocks,
        _ => format!("{blocks} or more"),
    };
    let plots = match (estimate.whole_plots, &plan.reboot) {
        (0, _) => String::new(),
        (plots, None) => format!(", {}", counted(plots, "restart")),
        (reboots, Some(_)) => format!(", {}", counted(reboots, "reboot")),
    };
    let combinations = counted(estimate.cells, "combination");
    format!("{combinations} in {blocks}: {}{plots}", counted(estimate.trials, "trial"))
}

pub(super) fn takes(plan: &Plan) -> Vec<(String, String)> {
    let estimate = estimate(plan);
    let cap = plan.design.cap_seconds;
    let amount = |bytes: Bytes| match bytes.0 {
        0 => "nothing".to_owned(),
        few @ ..500_000_000 => format!("{:.1} MB", few as f64 / 1e6),
        bytes @ ..1_000_000_000_000 => format!("{:.1} GB", bytes as f64 / 1e9),
        bytes => format!("{:.1} TB", bytes as f64 / 1e12),
    };
    let mut facts = vec![("trials".to_owned(), trials(plan, &estimate))];
    if plan.subjects.iter().any(|subject| subject.target().is_some()) {
        facts.push(("written".to_owned(), format!("{} in all", amount(estimate.written))));
        facts.push((
            "space".to_owned(),
            format!("at most {} on each target", amount(estimate.held)),
        ));
    }
    facts.push(("time".to_owned(), time(&estimate, duration(cap))));
    facts.extend(grace(plan, estimate.whole_plots).map(|text| (GRACE.to_owned(), text)));
    if estimate.first_blocks_seconds > cap {
        let happened = format!(
            "the first {} take longer than max-time ({}): the trials that do not fit are left out",
            counted(estimate.blocks.into(), "block"),
            duration(cap)
        );
        facts.push((TOO_LITTLE.to_owned(), happened));
    }
    facts
}

/// How long it takes. Where the target's speed decides, the assumed speed is part of the figure.
fn time(estimate: &Estimate, cap: String) -> String {
    let (seconds, rests_on) = (duration(estimate.seconds), estimate.rests_on.join("; "));
    match (estimate.is_known, rests_on.is_empty()) {
        (true, true) => format!("about {seconds}, at most {cap}"),
        (true, false) => format!("about {seconds}, at most {cap}. Assumed: {rests_on}"),
        (false, true) => format!("about {seconds}, at most {cap}; {BETTER}"),
        (false, false) => {
            format!("about {seconds}, at most {cap}; {BETTER}. Assumed: {rests_on}")
        }
    }
}

/// What the estimate does not have: how long an NFS server of version 4 lets nobody open files after each
/// restart (RFC 8881, section 8.4.2.1).
fn grace(plan: &Plan, whole_plots: u64) -> Option<String> {
    let restarts = |factor: &Factor| factor.switch == Switch::Restart;
    let may_be_4 = |target: &Target| matches!(target, Target::Nfs(nfs) if nfs.may_be_4());
    let any = plan.factors.iter().any(restarts)
        && plan.subjects.iter().filter_map(Subject::target).any(may_be_4);
    any.then(|| {
        format!(
            "at most {} more with NFS version 4: after a restart, a server usually opens no file for up to 90 s. \
             ?vers=3 in the target avoids this",
            duration(GRACE_SECONDS * whole_plots as f64)
        )
    })
}
