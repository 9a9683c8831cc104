//! Every warning, each kind once, with what to do about it, ordered by how much it explains.

use super::disturbances::{self, BUSY};
use super::{Shown, hosts};
use crate::document::Warning;
use crate::text::{capital, counted, listed, printable, target, wrapped};
use plimsoll_explain::{Limit, Writes};
use plimsoll_model::units::{Bytes, GIB, amount};
use plimsoll_model::{
    Cell, Ended, Failure, Flag, HostName, OpKind, Outcome, Severity, StoredOn, Study, Subject,
    Target, Trial, Words,
};
use std::mem::discriminant;

/// Warnings that ask for the same.
struct Group<'a> {
    first: &'a Flag,
    advice: String,
    /// The first one's, without its subject.
    message: String,
    /// Whose it is, by name.
    subjects: Vec<String>,
    /// Whether the first one's message is that of all.
    alike: bool,
    trials: Vec<&'a Trial>,
}

/// Whether two flags are not about two rates of a router, each of which has words of its own.
fn are_of_one_rate(one: &Flag, other: &Flag) -> bool {
    match (one, other) {
        (
            Flag::KeptRate { workload, frame, caveat },
            Flag::KeptRate { workload: of, frame: size, caveat: words },
        ) => workload == of && frame == size && discriminant(caveat) == discriminant(words),
        _ => true,
    }
}

/// Failures first, then the flags, ordered by how much they explain; bursts only if the table does not explain its marks.
pub(crate) fn all(shown: &Shown<'_>, burst_explained: bool) -> Vec<Warning> {
    let study = shown.study;
    let subjects = Subjects::new(shown);
    let mut groups: Vec<Group<'_>> = Vec::new();
    // The sentences of the answer say how preliminary a quick look is, and that its time ended a study.
    let in_sentences = |flag: &&Flag| {
        matches!(flag, Flag::Quick { .. } | Flag::CapReached { .. } | Flag::LeftOut { .. })
    };
    let flags = study.flags.iter().filter(|flag| !in_sentences(flag));
    // At a fixed rate no speed is marked as that of a burst.
    let is_marked = shown.writes.iter().any(|writes| writes.sustained.is_err());
    let flags = flags.filter(|flag| is_marked && !burst_explained || flag.burst().is_none());
    let flags: Vec<Flag> = flags.filter_map(|flag| informed(study, flag)).collect();
    let mut add = |flag, trial: Option<_>| {
        let advice = advice(study, flag);
        let (message, subject) = subjects.apart(flag, &target(&flag.message()));
        // Of trials an example is enough; what is true of the study is shown whole.
        let same = |g: &&mut Group<'_>| {
            discriminant(g.first) == discriminant(flag)
                && are_of_one_rate(g.first, flag)
                && g.advice == advice
                && (trial.is_some() || g.message == message)
        };
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.alike &= group.first.message() == flag.message();
                group.trials.extend(trial);
                group.subjects.extend(subject.filter(|name| !group.subjects.contains(name)));
            }
            None => groups.push(Group {
                first: flag,
                advice,
                message,
                subjects: subject.into_iter().collect(),
                alike: true,
                trials: trial.into_iter().collect(),
            }),
        }
    };
    flags.iter().for_each(|flag| add(flag, None));
    for trial in &study.trials {
        // What others did is said by host and resource.
        // And what a stall explains, as a stall.
        let stalled = trial.result.parts.iter().any(|part| !part.stalls.is_empty());
        let own = trial.result.flags.iter().filter(|flag| match flag {
            Flag::OtherLoad { .. } => false,
            Flag::LongGap { .. } => !stalled,
            _ => true,
        });
        own.for_each(|flag| add(flag, Some(trial)));
    }
    let mut failed = Vec::new();
    for (cause, phase, trials) in failures(shown) {
        let (count, places) = where_seen(shown, &trials);
        let phase = printable(phase);
        let Failure { tried, on, happened, next, .. } = cause;
        // What ended the study says all of it where that is said.
        let ended = matches!(&study.ended, Ended::Failed { failure } if failure == cause);
        let reason = match ended {
            true => "the study ended with it".to_owned(),
            false => printable(&format!("{happened}; could not {tried} ({on})")),
        };
        let text = subjects.named(format!("{count} failed at '{phase}' ({places}): {reason}"));
        // A command in it has to stay one.
        let advice = shown.advised(next).filter(|_| !ended);
        let short = match ended {
            true => format!("{count} failed ({places}): {reason}"),
            false => format!("{count} failed ({places}): {}", printable(happened)),
        };
        let brief = in_brief(&subjects.named(short), advice.as_deref());
        failed.push(Warning { text, advice, brief, ..Warning::default() });
    }
    let mut warnings = disturbances::warnings(shown);
    let on_top = disturbances::heavy(shown).map(|(_, place)| place);
    // Of what disturbed a host one warning is on the screen: the first.
    let mut busy: Vec<&HostName> = disturbances::slowed(shown);
    for group in &groups {
        let example = if group.alike { "" } else { "; the first is shown" };
        let seen = match group.trials.is_empty() {
            true => String::new(),
            false => {
                let (count, places) = where_seen(shown, &group.trials);
                match group.trials.len() == study.trials.len() {
                    true => format!(" (in every trial{example})"),
                    false => format!(" ({count}: {places}{example})"),
                }
            }
        };
        let message = match group.trials.is_empty() {
            true => group.message.replace(SUBJECT, &listed(&group.subjects)),
            // Of trials one is the example.
            false => subjects.named(target(&group.first.message())),
        };
        // Not of addresses and names.
        let word = message.split(' ').next().unwrap_or_default();
        let text = match word.chars().all(char::is_alphabetic) {
            true => format!("{}{seen}", capital(&message)),
            false => format!("{message}{seen}"),
        };
        let host = group.first.busy_with_other_work();
        let has_no_effect = |host: &HostName| {
            disturbances::is_busy_anyway(study, host)
                && !disturbances::idle_windows_matter(shown, host)
        };
        let has_no_effect = host.is_some_and(has_no_effect);
        let text = if has_no_effect { text.replacen(LOW, WITHOUT_EFFECT, 1) } else { text };
        let is_told = has_no_effect
            || host.is_some_and(|host| busy.contains(&host))
            // What held trials up is said with what disturbed a host.
            || matches!(group.first, Flag::FarSlower { .. }) && !busy.is_empty();
        busy.extend(host.filter(|_| !is_told));
        let is_told = is_told || has_no_disk(study, group.first);
        let severity = if is_told { Severity::Note } else { group.first.severity() };
        let is_note = severity == Severity::Note;
        // Hosts of a lab share this machine with the lab's own servers.
        let is_of_lab =
            |host: &HostName, busy: f64| matches!(host, HostName::Lab { .. }) && busy < BUSY;
        let quiet = is_told
            || matches!(group.first, Flag::SameMachine { .. })
                && (is_note || is_on_loopback(study))
            || matches!(group.first, Flag::BusyBaseline { host, busy, .. } if is_of_lab(host, *busy));
        let is_in_rows = match group.first {
            // The rows name the resource.
            Flag::ClientSaturated { .. } | Flag::ServerSaturated { .. } => {
                let cells = shown.findings.workloads.iter().flat_map(|work| &work.cells);
                name_a_resource(shown, cells.map(|cell| cell.cell))
            }
            // Operations wait for a saturated resource, and for no disk that spins up.
            Flag::LongGap { .. } => {
                name_a_resource(shown, group.trials.iter().map(|trial| trial.cell))
            }
            _ => false,
        };
        let quiet = quiet || is_in_rows;
        let advice = shown.advised(&group.advice).filter(|_| !has_no_effect);
        let (brief, command) = group.brief(shown, &subjects);
        let urgent = severity.is_urgent();
        // The first sentence of the answer names the busiest host.
        let is_busy = matches!(group.first, Flag::BusyBaseline { .. }) && on_top.is_some();
        let is_minor = severity >= Severity::Cache || is_busy;
        let is_on_top =
            host.is_some_and(|host| on_top.as_ref() == Some(&disturbances::place(host)));
        let quiet = quiet || is_busy && is_on_top;
        let warning = Warning { text, advice, brief, command, urgent, quiet, is_minor };
        warnings.push((severity, warning));
    }
    // Stable: of the same severity in the order seen, disturbed trials before idle windows.
    warnings.sort_by_key(|(severity, _)| *severity);
    failed.extend(warnings.into_iter().map(|(_, warning)| warning));
    failed
}

/// Whether the addresses of all targets say that their servers are on the machine of the client.
fn is_on_loopback(study: &Study) -> bool {
    let mut targets = study.plan.subjects.iter().filter_map(Subject::target).peekable();
    targets.peek().is_some() && targets.all(Target::is_on_loopback)
}

impl Group<'_> {
    /// The warning for the screen, and the command that it names.
    fn brief(&self, shown: &Shown<'_>, subjects: &Subjects) -> (String, String) {
        let (seen, all) = (self.trials.len(), shown.study.trials.len());
        let trials = match seen {
            0 => None,
            _ if seen == all => Some("every trial".to_owned()),
            _ => Some(format!("{seen} of {}", counted(all as u64, "trial"))),
        };
        let Words { severity, text, action, .. } = self.first.words(trials.as_deref());
        let effect = target(&text);
        let effect = match self.trials.is_empty() {
            true => subjects.apart(self.first, &effect).0.replace(SUBJECT, &listed(&self.subjects)),
            false => subjects.named(effect),
        };
        let effect = match self.first {
            Flag::LongGap { .. } | Flag::BehindSchedule { .. }
                if shown.study.plan.cells().len() > 1 =>
            {
                format!("{effect} ({})", where_seen(shown, &self.trials).1)
            }
            _ => effect,
        };
        // Free space decides what can be done.
        let action = match (&self.first, room(shown.study, self.first)) {
            (Flag::WorkingSet { .. }, Some(_)) => {
                "For the disk, make room, or see --details.".into()
            }
            _ => action,
        };
        let action = shown.advised(&action).unwrap_or_default();
        match action.split_once(COMMAND) {
            // Whatever room there is.
            None if severity.is_urgent() => (format!("{effect}. {action}"), String::new()),
            // In a line of its own, so that it can be copied.
            Some((what, command)) => {
                (in_brief(&effect, Some(&format!("{what}:"))), format!("plimsoll {command}"))
            }
            None => (in_brief(&effect, Some(&action)), String::new()),
        }
    }
}

/// Begin of a warning of other work, and in its place if that moved no figure.
const LOW: &str = "Figures may be too low";
const WITHOUT_EFFECT: &str = "The figures are the same without it";
/// Begin of a command in what to do.
const COMMAND: &str = ": plimsoll ";

/// Begin of the explanation of the marks of bursts.
const BURST: &str = "* burst: a write cache may have taken these writes";

/// The marks of bursts in the table explained, in two lines, and in one without reason and advice; `None` where nothing is
/// a burst.
pub(crate) fn burst(shown: &Shown<'_>) -> Option<[String; 2]> {
    let flags = shown.study.flags.iter();
    let mut reasons: Vec<&str> = flags.filter_map(Flag::burst).collect();
    reasons.dedup();
    let because = match reasons.as_slice() {
        [] => String::new(),
        reasons => format!(" ({})", reasons.join("; ")),
    };
    let bursts = || shown.writes.iter().filter(|writes| writes.sustained.is_err());
    let is_sweep = |writes: &Writes| {
        shown.study.plan.workload(writes.cell).is_some_and(|workload| workload.steps.is_some())
    };
    if bursts().next().is_some() && bursts().all(is_sweep) {
        let text = "* burst into a write cache; plimsoll check measures the sustained speed.";
        return Some([text, text].map(str::to_owned));
    }
    let marked = bursts().next().is_some();
    marked.then(|| {
        let advice = shown.advised("For the sustained speed, raise --max-time.");
        [in_brief(&format!("{BURST}{because}"), advice.as_deref()), format!("{BURST}.")]
    })
}

/// Columns and lines of a warning on the screen.
const COLUMNS: usize = 80;
const LINES: usize = 2;

/// The effect and what to do, or the effect alone if both are too long.
pub(super) fn in_brief(effect: &str, action: Option<&str>) -> String {
    let both = with_action(effect, action);
    if fits(&both) { both } else { format!("{effect}.") }
}

/// The effect and what to do; a shorter form of the effect if both are too long. What to do is never left out.
pub(super) fn brief_or(effect: &str, shorter: &str, action: Option<&str>) -> String {
    let both = with_action(effect, action);
    if fits(&both) { both } else { with_action(shorter, action) }
}

fn with_action(effect: &str, action: Option<&str>) -> String {
    match action {
        Some(action) if !action.is_empty() => format!("{effect}. {action}"),
        _ => format!("{effect}."),
    }
}

fn fits(text: &str) -> bool {
    wrapped("! ", text, COLUMNS).lines().count() <= LINES
}

/// Whether the study has a trial that a flag about memory is about: with figures, of the flag's target and, for the memory of
/// its server, not of writes alone. True for other flags.
fn has_its_trial(study: &Study, flag: &Flag) -> bool {
    let (target, is_of_reads) = match flag {
        Flag::WorkingSet { target, .. } => (target, true),
        Flag::ClientMemory { target, .. } => (target, false),
        _ => return true,
    };
    let is_own = |trial: &&Trial| {
        let subject = study.subjects.get(usize::from(trial.cell.subject));
        trial.result.outcome == Outcome::Complete
            && subject.is_some_and(|facts| facts.given() == target)
    };
    let may_read = |trial: &Trial| {
        let ops = trial.result.parts.iter().flat_map(|part| &part.ops);
        let mut moved = ops.filter(|(_, stats)| stats.bytes > 0).map(|(kind, _)| *kind).peekable();
        moved.peek().is_none() || moved.any(|kind| ![OpKind::WRITE, OpKind::PUT].contains(&kind))
    };
    study.trials.iter().filter(is_own).any(|trial| !is_of_reads || may_read(trial))
}

/// A flag with what the study knows beside it: what the disks of a watched server read, and its memory. `None`
/// where that shows that there is nothing to warn of, and where no trial is there that it is about.
fn informed(study: &Study, flag: &Flag) -> Option<Flag> {
    if !has_its_trial(study, flag) {
        return None;
    }
    let Flag::WorkingSet { target, size, reads_from, settles } = flag else {
        return Some(flag.clone());
    };
    let subject = study.subjects.iter().position(|facts| facts.given() == target);
    let known = subject.and_then(|subject| plimsoll_explain::reads_from(study, subject));
    let reads_from = match reads_from {
        StoredOn::Unknown => known.unwrap_or(StoredOn::Unknown),
        tested => *tested,
    };
    let memory = subject.and_then(|subject| plimsoll_explain::server_memory(study, subject));
    let settles = settles.or(memory.map(|memory| Bytes(memory.0.saturating_mul(2))));
    (reads_from != StoredOn::Disk).then(|| Flag::WorkingSet {
        target: target.clone(),
        size: *size,
        reads_from,
        settles,
    })
}

/// The size of an example of which a server's memory would be the half.
const EXAMPLE: u64 = 4 * GIB;

/// The free bytes of a target, if they are too few for the working set that a flag advises.
fn room(study: &Study, flag: &Flag) -> Option<Bytes> {
    let Flag::WorkingSet { target, settles, .. } = flag else { return None };
    let subject = study.subjects.iter().find(|facts| facts.given() == target);
    // A file system without a total size does not report its space.
    let (total, free) = subject?.storage()?.space_bytes;
    let needed = settles.map_or(EXAMPLE, |size| size.0);
    (total > 0 && free < needed).then_some(Bytes(free))
}

/// Whether the rows of these cells name a resource as their bottleneck. Not of no cells.
fn name_a_resource(shown: &Shown<'_>, cells: impl Iterator<Item = Cell>) -> bool {
    let is_named = |cell: Cell| {
        let verdict = super::limits::of_cell(shown, cell).map(|limits| &limits.verdict);
        matches!(verdict, Some(Limit::Resource { .. } | Limit::Several { .. }))
    };
    let mut cells = cells.peekable();
    cells.peek().is_some() && cells.all(is_named)
}

/// Whether a flag is about the memory of a server that has no disk: a namespace of a lab.
fn has_no_disk(study: &Study, flag: &Flag) -> bool {
    let Flag::WorkingSet { target, .. } = flag else { return false };
    let subject = study.subjects.iter().position(|facts| facts.given() == target);
    let server = subject.and_then(|subject| study.plan.target(subject)?.host());
    let mut labs = study.hosts.iter().filter_map(|host| host.lab.as_ref());
    server.is_some_and(|server| labs.any(|lab| lab.is_namespace(server) && lab.has_disk(server)))
}

/// What to do about a flag. A size is advised only if the target has room for it.
fn advice(study: &Study, flag: &Flag) -> String {
    let Flag::WorkingSet { settles, .. } = flag else { return flag.advice() };
    if has_no_disk(study, flag) {
        return "A namespace of a lab keeps its disks in memory: measure a lab of machines."
            .to_owned();
    }
    match (room(study, flag), settles) {
        (None, _) => flag.advice(),
        (Some(free), Some(size)) => format!(
            "Measuring the disk needs {size} (twice the server's memory), but {} are free: free \
            some space, or drop the server's caches (--host with a login as root, and \
            --drop-caches).",
            amount(free)
        ),
        (Some(free), None) => format!(
            "Measuring the disk needs twice the server's memory, but {} are free: monitor the server with \
             --host, so that its memory is known, and free some space.",
            amount(free)
        ),
    }
}

/// Most kinds of work that are named as those whose trials were seen.
const PLACES_MOST: usize = 3;

/// In place of a subject in a message. No printable text has it.
const SUBJECT: &str = "\u{1}";

/// The subjects as they were given, the longest first, and what everything else calls them.
struct Subjects(Vec<(String, String)>);

impl Subjects {
    fn new(shown: &Shown<'_>) -> Subjects {
        let given = shown.study.subjects.iter().map(|facts| target(facts.given()));
        let mut all: Vec<(String, String)> =
            given.zip(shown.names.subjects.iter().cloned()).collect();
        all.retain(|(given, _)| !given.is_empty());
        all.sort_by_key(|(given, _)| std::cmp::Reverse(given.len()));
        Subjects(all)
    }

    /// The text of a flag without the first subject in it, and that one's name. All servers that are on the machine of
    /// the client are in one text.
    fn apart(&self, flag: &Flag, text: &str) -> (String, Option<String>) {
        if let Flag::SameMachine { host } = flag {
            let place = target(&format!("({host})"));
            return (text.replacen(&place, &format!("({SUBJECT})"), 1), Some(hosts::name(host)));
        }
        match self.0.iter().find(|(given, _)| text.contains(given.as_str())) {
            Some((given, name)) => (text.replacen(given, SUBJECT, 1), Some(name.clone())),
            None => (text.to_owned(), None),
        }
    }

    /// The text with subjects by their names.
    fn named(&self, text: String) -> String {
        let shorter = self.0.iter().filter(|(given, name)| given.len() > name.len());
        shorter.fold(text, |text, (given, name)| text.replace(given.as_str(), name))
    }
}

/// The reasons trials failed for, each once, with its trials.
fn failures<'a>(shown: &Shown<'a>) -> Vec<(&'a Failure, &'a str, Vec<&'a Trial>)> {
    let mut failures: Vec<(&Failure, &str, Vec<&Trial>)> = Vec::new();
    for trial in &shown.study.trials {
        let Outcome::Failed { phase, failure } = &trial.result.outcome else { continue };
        match failures.iter_mut().find(|(f, p, _)| *f == failure && p == phase) {
            Some((_, _, trials)) => trials.push(trial),
            None => failures.push((failure, phase, vec![trial])),
        }
    }
    failures
}

/// "3 of 12 trials", and where: "sequential read on nas", "sequential read, random read".
fn where_seen(shown: &Shown<'_>, trials: &[&Trial]) -> (String, String) {
    let mut places: Vec<_> =
        trials.iter().map(|t| (t.cell.workload, t.cell.setting, t.cell.subject)).collect();
    places.sort_unstable();
    places.dedup();
    let place = match places[..] {
        [(workload, setting, subject)] => {
            let setup = shown.names.setup(Cell { subject, workload, setting });
            format!("{} on {setup}", shown.names.workload(workload))
        }
        _ => {
            let mut workloads: Vec<_> = places.iter().map(|place| place.0).collect();
            workloads.dedup();
            let (named, others) = match workloads.len() {
                count if count > PLACES_MOST => (PLACES_MOST - 1, count + 1 - PLACES_MOST),
                count => (count, 0),
            };
            let workloads = workloads.into_iter().take(named);
            let mut names: Vec<_> = workloads.map(|work| shown.names.workload(work)).collect();
            names.extend((others > 0).then(|| format!("{others} others")));
            let commas = names.iter().any(|name| name.contains(", "));
            names.join(if commas { "; " } else { ", " })
        }
    };
    let all = counted(shown.study.trials.len() as u64, "trial");
    (format!("{} of {all}", trials.len()), place)
}
