//! Whether a plan can be conducted at all: looked at before anything is touched.

use plimsoll_model::{
    Cause, Contrast, Failure, HostName, Measurand, Plan, Subject, Switch, Workload, factor,
};

/// Longest time that a reboot may take, in seconds: a day.
const LONGEST_REBOOT: f64 = 86_400.0;

/// # Errors
/// [`Cause::Usage`] for a plan without subjects or workloads, a job that no subject can do, steps that a
/// job does not have, a contrast that compares nothing, a factor that has nothing to be varied over, a
/// reboot of a host that drives the trials or that is no restart for every factor, and more cells than
/// can be numbered.
pub(crate) fn plan(plan: &Plan) -> Result<(), Failure> {
    let bad = |on: &str, happened: String, next: &str| {
        Err(Failure::new(Cause::Usage, "run the plan").on(on).happened(happened).next(next))
    };
    // Some kinds have facts to find out without any work.
    let inventory = |subject: &Subject| subject.kind().info().has_inventory;
    let idle = plan.workloads.is_empty() && !plan.subjects.iter().all(inventory);
    if plan.subjects.is_empty() || idle {
        let happened = "it has no subject or no workload".to_owned();
        return bad("the plan", happened, "Name a subject and a workload.");
    }
    for workload in &plan.workloads {
        let Some(main) = workload.main() else {
            return bad("a workload", "it has no parts".into(), "Name a job.");
        };
        let kind = main.job.subject();
        if let Some(other) = workload.parts.iter().find(|part| part.job.subject() != kind) {
            let happened = format!(
                "{} measures {kind}, but {} measures {}: they cannot be parts of one workload",
                main.job.kind(),
                other.job.kind(),
                other.job.subject()
            );
            return bad("a workload", happened, "Give each its own workload.");
        }
        workload.expect_steps()?;
        if !plan.subjects.iter().any(|subject| subject.kind() == kind) {
            let given: Vec<_> = plan.subjects.iter().map(ToString::to_string).collect();
            let happened = format!("{} measures {kind}, and the plan has none", main.job.kind());
            return bad(
                &given.join(", "),
                happened,
                &format!("Add {kind}, or choose another job."),
            );
        }
    }
    for factor in &plan.factors {
        if factor.levels.len() < 2 {
            let happened = "it has fewer than two values to compare".into();
            return bad(&factor.name, happened, "Give two values or more: NAME=a,b.");
        }
    }
    if let Some(reboot) = &plan.reboot {
        let host = &reboot.host;
        if *host == HostName::Local || plan.clients().any(|client| client == host) {
            let happened = "it runs the load".to_owned();
            return bad(&format!("the reboot of {host}"), happened, "Reboot the host of a server.");
        }
        let live = plan.factors.iter().any(|factor| factor.switch == Switch::Live);
        if live || plan.factors.is_empty() {
            let happened = "it needs settings that restart, and some settings do not".to_owned();
            return bad(
                &format!("the reboot of {host}"),
                happened,
                "Vary only settings that restart.",
            );
        }
        if !(reboot.within_seconds > 0.0 && reboot.within_seconds <= LONGEST_REBOOT) {
            let happened = format!("{} s is not a valid time", reboot.within_seconds);
            return bad(&format!("the reboot of {host}"), happened, "Give at most a day.");
        }
    }
    let most = usize::from(u16::MAX);
    let counts = [plan.subjects.len(), plan.workloads.len(), factor::settings(&plan.factors)];
    if counts.iter().any(|count| *count > most) {
        let happened = format!("it has more than {most} subjects, workloads or settings");
        return bad("the plan", happened, "Split the plan.");
    }
    match plan.contrasts.iter().find(|contrast| compares_nothing(plan, contrast)) {
        Some(contrast) => {
            let happened = format!("it compares a cell with itself: {contrast:?}");
            bad("a contrast of the plan", happened, "Compare two different cells of the plan.")
        }
        None => Ok(()),
    }
}

fn compares_nothing(plan: &Plan, contrast: &Contrast) -> bool {
    let settings = factor::settings(&plan.factors);
    let known = |figure: &Measurand| {
        let parts = |w: &Workload| w.together().unwrap_or(w.parts.len() as u16 - 1);
        usize::from(figure.cell.subject) < plan.subjects.len()
            && usize::from(figure.cell.setting) < settings
            && plan.workload(figure.cell).is_some_and(|w| figure.part <= parts(w))
    };
    contrast.of == contrast.against || !known(&contrast.of) || !known(&contrast.against)
}
