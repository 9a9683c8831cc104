//! What a plan is going to do, before it does.

use crate::document::{Document, Section};
use crate::names::{self, Names};
use crate::study::hosts;
use crate::text::{counted, duration, listed, printable};
use crate::verdict::percent;
use plimsoll_model::{
    Commands, Contrast, Factor, Plan, Reboot, Rule, Subject, SubjectKind, Switch,
};

/// Pairs of names up to which the claims about each have a line.
const LINES: usize = 24;

impl Document {
    /// What a plan is going to do: its subjects, jobs, settings with what each is `now`, the text of every command
    /// that it runs, and claims, and what is known of what that takes.
    pub fn of_plan(
        plan: &Plan,
        title: &str,
        now: &[String],
        takes: Vec<(String, String)>,
    ) -> Document {
        let names = Names::of_plan(plan);
        let mut sections = vec![targets(plan, &names), jobs(plan, &names)];
        sections.extend(settings(plan, now));
        sections.extend(commands(plan));
        sections.push(family(plan, &names));
        let is_storage = plan.subjects.iter().any(|subject| subject.target().is_some());
        let heading = if is_storage { "Time and space" } else { "Time" };
        let mut outlook = Section::new("takes", heading);
        outlook.facts(takes);
        sections.push(outlook);
        let title = printable(title);
        Document { title, subtitle: String::new(), extent: String::new(), sections }
    }
}

fn targets(plan: &Plan, names: &Names) -> Section {
    let kind = plan.subjects.first().map_or(SubjectKind::Storage, Subject::kind);
    let mut section = Section::new("targets", kind.info().plural);
    let given = plan.subjects.iter().map(|subject| printable(&subject.to_string()));
    let mut facts: Vec<_> = names.subjects.iter().cloned().zip(given).collect();
    let clients = plan.clients().filter(|_| plan.is_remote()).map(hosts::name);
    let others = plan.others().map(|other| hosts::name(&other.host));
    let roles: [(&str, Vec<String>); 2] =
        [("load from", clients.collect()), ("watched", others.collect())];
    for (role, hosts) in roles.into_iter().filter(|(_, hosts)| !hosts.is_empty()) {
        facts.push((role.to_owned(), listed(&hosts)));
    }
    section.facts(facts);
    section
}

fn jobs(plan: &Plan, names: &Names) -> Section {
    let mut section = Section::new("jobs", "Jobs");
    let job =
        |(workload, number)| format!("{}: {}", names.workload(number), names::settings(workload));
    section.list(plan.workloads.iter().zip(0..).map(job).collect());
    section
}

fn settings(plan: &Plan, now: &[String]) -> Option<Section> {
    let mut section = Section::new("settings", "Settings");
    let setting = |(number, factor): (usize, &Factor)| {
        let levels: Vec<String> = factor.levels.iter().map(|l| printable(&l.to_string())).collect();
        let switch = match factor.switch {
            Switch::Live => "changed from trial to trial",
            Switch::Restart => {
                "changed once for each value in a block, because it restarts something"
            }
        };
        let (name, host) = (printable(&factor.name), hosts::name(&factor.host));
        let now = now.get(number).map_or_else(String::new, |now| format!("; {}", printable(now)));
        format!("{name} on {host}: {}; {switch}{now}", listed(&levels))
    };
    let mut lines: Vec<String> = plan.factors.iter().enumerate().map(setting).collect();
    lines.extend(plan.reboot.as_ref().map(reboot));
    section.list(lines);
    (!plan.factors.is_empty()).then_some(section)
}

/// Every command that the plan defines, whole: each line of it is a line here.
fn commands(plan: &Plan) -> Option<Section> {
    let mut section = Section::new("commands", "Commands that the plan runs");
    let mut facts = Vec::new();
    for (name, commands) in &plan.commands {
        let Commands { read, apply, undo, verify, .. } = commands;
        let verify = verify.as_ref().map(|text| ("verify", text));
        let all = [("read", read), ("apply", apply), ("undo", undo)].into_iter().chain(verify);
        for (what, text) in all {
            let lines = text.split('\n').filter(|line| !line.trim().is_empty());
            facts.extend(lines.map(|line| (printable(&format!("{name} {what}")), printable(line))));
        }
    }
    let reboots = plan.reboot.as_ref().and_then(|reboot| reboot.command.as_ref());
    facts.extend(reboots.map(|line| ("reboot".to_owned(), printable(line))));
    if facts.is_empty() {
        return None;
    }
    section.facts(facts);
    Some(section)
}

fn reboot(reboot: &Reboot) -> String {
    let by =
        reboot.command.as_ref().map_or_else(String::new, |line| format!(" by {}", printable(line)));
    let (host, within) = (hosts::name(&reboot.host), duration(reboot.within_seconds));
    format!("{host} is rebooted{by} before each change, and must work again within {within}")
}

/// What verdicts will be about.
fn family(plan: &Plan, names: &Names) -> Section {
    let mut section = Section::new("family", "Claims");
    let claims: Vec<&Contrast> = plan.contrasts.iter().filter(|c| c.claim).collect();
    if claims.is_empty() {
        section.text("Nothing is compared.");
        return section;
    }
    let others = plan.contrasts.len() - claims.len();
    let others = match others {
        0 => "No other comparisons.".to_owned(),
        more => format!(
            "{} {} an estimate without a verdict.",
            counted(more as u64, "other comparison"),
            if more == 1 { "has" } else { "have" }
        ),
    };
    section.text(format!(
        "{} with a joint confidence of {}, margin {}, {}. {others}",
        counted(claims.len() as u64, "claim"),
        percent(plan.design.confidence),
        percent(plan.design.margin),
        match plan.design.rule {
            Rule::Fixed { blocks } =>
                format!("by Student's t over {}", counted(blocks.into(), "block")),
            _ => "each checked after every block until it is decided".to_owned(),
        },
    ));
    let mut pairs: Vec<((String, String), Vec<String>)> = Vec::new();
    for claim in claims {
        let two = match plan.subjects.len() == 1 && plan.factors.is_empty() {
            true => names.two_works(plan, claim),
            false => names.two(plan, claim),
        };
        // Names of different work say which that is.
        let work = Some(claim.of.cell.workload).filter(|of| *of == claim.against.cell.workload);
        let work = work.map(|work| names.workload(work));
        match pairs.iter_mut().find(|(known, _)| *known == two) {
            Some((_, works)) => works.extend(work),
            None => pairs.push((two, work.into_iter().collect())),
        }
    }
    let more = pairs.len().saturating_sub(LINES);
    let line = |((a, b), works): ((String, String), Vec<String>)| {
        let works = if works.is_empty() { works } else { vec![listed(&works)] };
        [vec![format!("{b} against {a}")], works].concat().join(": ")
    };
    let mut lines: Vec<String> = pairs.into_iter().take(LINES).map(line).collect();
    if more > 0 {
        lines.push(format!("and {}", counted(more as u64, "more pair")));
    }
    section.list(lines);
    section
}
