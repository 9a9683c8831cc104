//! The bottleneck of a row of the answer: a word and a percentage.

use super::Shown;
use super::limits::{self, is_blind};
use crate::document::Section;
use crate::text::{capital, listed, printable};
use crate::verdict::percent;
use plimsoll_explain::thresholds::{BESIDE_NONE_FOUND, RATE_REACHED};
use plimsoll_explain::{Condition, Limit, Limits, NamedLimit, Resource, Role, Unseen, Use};
use plimsoll_model::{Cell, Flag, HostName, Measure, Metric, NamedBottleneck, Target, Trial};

/// A bottleneck with its utilisation.
#[derive(Clone, Debug, PartialEq)]
struct Bottleneck {
    /// "link", "server CPU".
    name: String,
    /// Share (0..1) of the time that it was busy; `None` of what has no utilisation.
    busy: Option<f64>,
    /// The same for a column with little room, if that is shorter.
    short: Option<String>,
    /// Why nothing more definite is named; empty if that needs no reason.
    reason: String,
}

/// How much room a column of bottlenecks has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Each cell has its name.
    Names,
    /// Cells are in the order of their columns.
    Order,
    /// Several resources of a cell stand in one line.
    Line,
}

/// Reasons below a table, numbered.
#[derive(Clone, Default)]
pub(crate) struct Notes(Vec<String>);

impl Notes {
    /// The mark of a reason: " (1)"; empty without one.
    pub(crate) fn mark(&mut self, reason: &str) -> String {
        if reason.is_empty() {
            return String::new();
        }
        let known = self.0.iter().position(|known| known == reason).unwrap_or_else(|| {
            self.0.push(reason.to_owned());
            self.0.len() - 1
        });
        format!(" ({})", known + 1)
    }

    /// Adds the reasons; a screen without room has where they are.
    pub(crate) fn add_to(self, section: &mut Section) {
        for (number, text) in (1..).zip(self.texts()) {
            section.text_or_shorter(text, format!("({number}) See --details."));
        }
    }

    /// "(1) Not monitored: …".
    pub(crate) fn texts(self) -> impl Iterator<Item = String> {
        self.0.into_iter().zip(1..).map(|(reason, number)| format!("({number}) {reason}"))
    }
}

/// A cell, and how busy its bottleneck was, as a share.
type Utilisation = (Cell, Option<f64>);

/// The bottleneck of the cells of a row, for its column: one if they share it, else one line for each, `by `label` or in
/// their order. `None` if nothing is known of any.
pub(crate) fn words(
    shown: &Shown<'_>,
    cells: &[Cell],
    label: &dyn Fn(Cell) -> String,
    room: Room,
    notes: &mut Notes,
) -> Option<String> {
    let groups = grouped(shown, cells);
    let known: usize = groups.iter().map(|(_, cells)| cells.len()).sum();
    let only = groups.len() == 1 && known == cells.len();
    // Cells that share one, or without one, are not in the order of their columns.
    let is_other_order = known < cells.len() || groups.iter().any(|(_, cells)| cells.len() > 1);
    let named = room == Room::Names || is_other_order;
    let lines = groups.into_iter().map(|(found, cells)| {
        let shares: Vec<f64> = cells.iter().filter_map(|(_, busy)| *busy).collect();
        let name = match &found.short {
            Some(short) if room == Room::Line => short,
            _ => &found.name,
        };
        let text = format!("{name}{}{}", range(&shares), notes.mark(&found.reason));
        match only {
            // A percentage is one of each, and not of what they share.
            true if known > 1 && !shares.is_empty() => {
                let each = if known == 2 { "both" } else { "all" };
                format!("{each}: {text}")
            }
            true => text,
            false if !named => text.replace('\n', " "),
            false => {
                let names: Vec<String> = cells.iter().map(|(cell, _)| label(*cell)).collect();
                format!("{}: {text}", names.join(", "))
            }
        }
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The bottlenecks of the cells of a row, each once with the cells that share it.
fn grouped(shown: &Shown<'_>, cells: &[Cell]) -> Vec<(Bottleneck, Vec<Utilisation>)> {
    let mut groups: Vec<(Bottleneck, Vec<Utilisation>)> = Vec::new();
    for cell in cells {
        let found = limits::of_cell(shown, *cell).and_then(|limits| of_limits(shown, limits));
        let found = found.or_else(|| at_a_fixed_rate(shown, *cell));
        let Some(found) = found.or_else(|| named(shown, *cell)) else { continue };
        let same =
            |known: &Bottleneck| (&known.name, &known.reason) == (&found.name, &found.reason);
        match groups.iter_mut().find(|(known, _)| same(known)) {
            Some((_, all)) => all.push((*cell, found.busy)),
            None => {
                let busy = found.busy;
                groups.push((found, vec![(*cell, busy)]));
            }
        }
    }
    groups
}

/// The bottlenecks of cells in a few words, without utilisations and reasons, each once: "link / disk". `None` if nothing
/// is known of any.
pub(crate) fn brief(shown: &Shown<'_>, cells: &[Cell]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for (found, _) in grouped(shown, cells) {
        let whole = found.short.unwrap_or(found.name).replace('\n', " ");
        let name = whole.split("; ").next().unwrap_or_default().to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(BY_COLUMN))
}

/// What parts the bottlenecks of several columns in a line.
pub(crate) const BY_COLUMN: &str = " / ";

/// The bottlenecks of the cells of a row in one line, in the order of their columns: from the longest words to the
/// shortest. Empty if nothing is known of any.
pub(crate) fn lines(shown: &Shown<'_>, cells: &[Cell], notes: &mut Notes) -> Vec<String> {
    let groups = grouped(shown, cells);
    if groups.is_empty() {
        return Vec::new();
    }
    let mut line = |text: &dyn Fn(&Bottleneck, &[f64]) -> String| {
        let marked = |(found, cells): &(Bottleneck, Vec<Utilisation>)| {
            let shares: Vec<f64> = cells.iter().filter_map(|(_, busy)| *busy).collect();
            text(found, &shares) + &notes.mark(&found.reason)
        };
        groups.iter().map(marked).collect::<Vec<_>>().join(BY_COLUMN)
    };
    let name =
        |found: &Bottleneck| found.short.clone().unwrap_or_else(|| found.name.replace('\n', " "));
    let short = |found: &Bottleneck| {
        name(found).replace("CPU quota", "quota").replace("none found", "none")
    };
    let mut all = vec![
        line(&|found, shares| name(found) + &range(shares)),
        line(&|found, shares| short(found) + &range(shares)),
        line(&|found, _| short(found)),
    ];
    let shortest = |found: &Bottleneck| {
        let host = |text: String, role: &str| {
            let resources = [format!("{role} quota"), format!("{role} CPU")];
            resources.iter().fold(text, |text, resource| text.replace(resource.as_str(), role))
        };
        ["client", "server"].iter().fold(short(found), |text, role| host(text, role))
    };
    all.push(line(&|found, _| shortest(found)));
    let first = |found: &Bottleneck| {
        short(found).split(['≈', ';']).next().unwrap_or_default().trim_end().to_owned()
    };
    all.push(line(&|found, _| match first(found) {
        first if short(found).contains('≈') => format!("{first}, …"),
        // "None found" is complete without the busiest resource.
        first => first,
    }));
    all.push(format!("{}, …", first(&groups[0].0)));
    all
}

/// " 94%", " 88–94%".
pub(crate) fn range(shares: &[f64]) -> String {
    let whole = |share: f64| percent((100.0 * share.min(1.0)).round() / 100.0);
    let least = shares.iter().copied().reduce(f64::min).map(whole);
    let most = shares.iter().copied().reduce(f64::max).map(whole);
    match (least, most) {
        (Some(least), Some(most)) if least != most => {
            format!(" {}–{most}", least.trim_end_matches('%'))
        }
        (Some(only), _) => format!(" {only}"),
        _ => String::new(),
    }
}

/// A bottleneck without its utilisation, in one line.
pub(crate) fn name(shown: &Shown<'_>, limits: &Limits) -> Option<String> {
    let name = match limits.binding() {
        Some(one) => resource_name(shown, limits.cell, one),
        None => of_limits(shown, limits)?.name,
    };
    // Without what is busiest, though no bottleneck.
    let name = name.split("; ").next().unwrap_or_default();
    Some(name.replace('\n', " "))
}

/// Whether a resource of the client is the bottleneck of all work on a subject. Not of no work.
pub(super) fn is_client_in_all(shown: &Shown<'_>, subject: u16) -> bool {
    let of_client = |cell: Cell| {
        let one = limits::of_cell(shown, cell).and_then(Limits::binding);
        let is_network = |one: &Use| matches!(one.resource, Resource::Link { .. });
        one.is_some_and(|one| one.role == Role::Client && !one.is_delay() && !is_network(one))
    };
    let cells = shown.findings.workloads.iter().flat_map(|work| &work.cells);
    let mut own = cells.map(|found| found.cell).filter(|cell| cell.subject == subject).peekable();
    own.peek().is_some() && own.all(of_client)
}

/// The link that carries a row, in bits per second, if it is the bottleneck of all of its cells.
pub(crate) fn common_link(shown: &Shown<'_>, cells: &[Cell]) -> Option<u64> {
    let rate = |cell: &Cell| match limits::of_cell(shown, *cell)?.binding()?.resource {
        Resource::Link { bits_per_second, .. } => Some(bits_per_second),
        _ => None,
    };
    let rates: Vec<u64> = cells.iter().map(rate).collect::<Option<_>>()?;
    rates.iter().max().copied()
}

fn of_limits(shown: &Shown<'_>, limits: &Limits) -> Option<Bottleneck> {
    let name = |one: &Use| resource_name(shown, limits.cell, one);
    let missing = || limits::not_monitored(shown).unwrap_or_default();
    let plain = |word: &str, reason: String| {
        Some(Bottleneck { name: word.to_owned(), busy: None, short: None, reason })
    };
    match &limits.verdict {
        Limit::Resource { .. } => {
            let one = limits.binding()?;
            let busy = Some(one.utilisation).filter(|_| !one.is_delay());
            Some(Bottleneck { name: name(one), busy, short: None, reason: String::new() })
        }
        Limit::Several { uses, waiting } => {
            let some = || uses.iter().filter_map(|place| limits.uses.get(*place)).take(2);
            let mut names: Vec<String> = some()
                .map(|one| match one.is_delay() {
                    true => name(one),
                    false => name(one) + &range(&[one.utilisation]),
                })
                .collect();
            let mut short: Vec<String> = some().map(name).collect();
            let reason = match (waiting, is_blind(limits)) {
                (false, _) => ALIKE.to_owned(),
                (true, true) => missing(),
                (true, false) => OR_WAITING.to_owned(),
            };
            if *waiting && names.len() < 2 {
                let other = if is_blind(limits) { "not monitored" } else { "waiting" };
                // Its percentage has room beside such a word.
                short.clone_from(&names);
                names.push(other.to_owned());
                short.push(other.to_owned());
            }
            let name = names.join("\nor ");
            Some(Bottleneck { name, busy: None, short: Some(short.join(" ≈ ")), reason })
        }
        Limit::Unsaturated(_) | Limit::Waiting if is_blind(limits) => {
            let word = match limits.unseen.contains(&Unseen::Server) {
                true if busiest(limits).is_some() => "server not monitored",
                _ => "not monitored",
            };
            Some(beside_busiest(shown, limits, word, missing()))
        }
        Limit::Unsaturated(uses) => {
            let some: Vec<&Use> =
                uses.iter().filter_map(|place| limits.uses.get(*place)).take(2).collect();
            let reason = UNSATURATED.to_owned();
            Some(match some[..] {
                [one] => Bottleneck {
                    name: format!("none found; {}", name(one)),
                    busy: Some(one.utilisation),
                    short: None,
                    reason,
                },
                _ => {
                    let words = |separator: &str, word: &dyn Fn(&Use) -> String| {
                        let words: Vec<String> = some.iter().map(|one| word(one)).collect();
                        format!("none found; {}", words.join(separator))
                    };
                    let percentages = |one: &Use| in_a_word(shown, limits, one);
                    let (name, short) = (words(", ", &percentages), words(" ≈ ", &name));
                    Bottleneck { name, busy: None, short: Some(short), reason }
                }
            })
        }
        Limit::Waiting => {
            let for_io = |one: &Condition| matches!(one, Condition::WaitsForIo { .. });
            let reason = match limits.conditions.iter().any(for_io) {
                true => WAITING_FOR_IO,
                false => WAITING,
            };
            Some(beside_busiest(shown, limits, "none found", reason.to_owned()))
        }
        Limit::Hidden => Some(beside_busiest(shown, limits, "not monitored", HIDDEN.to_owned())),
        Limit::Contradiction(place) => {
            let one = limits.uses.get(*place)?;
            let reason = format!(
                "The figures contradict each other: {} would have been busy for more than all of the time.",
                limits::resource(one)
            );
            plain("inconclusive", reason)
        }
    }
}

/// The busiest of the monitored resources, if it was busy for a large part of the time.
fn busiest(limits: &Limits) -> Option<&Use> {
    let known = limits.uses.iter().filter(|one| one.is_conclusive() && !one.is_delay());
    let busiest = known.max_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
    busiest.filter(|one| one.utilisation >= BESIDE_NONE_FOUND)
}

/// Why nothing is named, with the busiest of what was monitored: "none found; link 76%".
fn beside_busiest(shown: &Shown<'_>, limits: &Limits, word: &str, reason: String) -> Bottleneck {
    let busiest = busiest(limits);
    let name = match busiest {
        Some(one) => format!("{word}; {}", resource_name(shown, limits.cell, one)),
        None => word.to_owned(),
    };
    Bottleneck { name, busy: busiest.map(|one| one.utilisation), short: None, reason }
}

/// Work at a fixed rate has no bottleneck but that rate, if it was reached. `None` of other work.
fn at_a_fixed_rate(shown: &Shown<'_>, cell: Cell) -> Option<Bottleneck> {
    let workload = shown.study.plan.workload(cell).filter(|workload| workload.has_fixed_rate())?;
    let own: Vec<&Trial> = shown.study.trials.iter().filter(|trial| trial.cell == cell).collect();
    let is_behind = |flag: &Flag| matches!(flag, Flag::BehindSchedule { .. });
    let is_flagged = own.iter().any(|trial| trial.result.flags.iter().any(is_behind));
    // A trial of few operations has no flag, as some may have been in flight at its end.
    let due = workload.main().and_then(|part| part.arrival.per_second());
    let rate =
        |trial: &&Trial| trial.result.value(workload.headline_part(), Metric::all(Measure::IOPS));
    let done: Vec<f64> = own.iter().filter_map(rate).collect();
    let mean = done.iter().sum::<f64>() / done.len().max(1) as f64;
    let is_short =
        due.is_some_and(|due| !done.is_empty() && mean < RATE_REACHED * f64::from(due.get()));
    own.first()?;
    let (name, reason) = match is_flagged || is_short {
        true => ("not known", BEHIND),
        false => ("nothing saturated", FIXED),
    };
    Some(Bottleneck { name: name.to_owned(), busy: None, short: None, reason: reason.to_owned() })
}

/// "The fixed rate was reached, so no resource had to be saturated (random read at 500/s): …" of all work at a fixed rate, a
/// sentence for each reason.
pub(crate) fn at_fixed_rates(shown: &Shown<'_>) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for cell in shown.findings.workloads.iter().flat_map(|found| &found.cells) {
        let Some(found) = at_a_fixed_rate(shown, cell.cell) else { continue };
        let work = shown.names.workload(cell.cell.workload);
        match reasons.iter_mut().find(|(reason, _)| *reason == found.reason) {
            Some((_, works)) if works.contains(&work) => {}
            Some((_, works)) => works.push(work),
            None => reasons.push((found.reason, vec![work])),
        }
    }
    let is_option = shown.study.plan.command.contains(" --rate");
    let sentence = |(reason, works): &(String, Vec<String>)| {
        let works = listed(works);
        match reason.split_once(':') {
            Some((fact, advice)) if is_option => format!("{fact} ({works}):{advice}"),
            // Films and photos have a rate of their own.
            Some((fact, _)) => format!("{fact} ({works})."),
            None => format!("{reason} ({works})"),
        }
    };
    reasons.iter().map(sentence).collect()
}

/// The bottleneck that the kind of the subject names.
fn named(shown: &Shown<'_>, cell: Cell) -> Option<Bottleneck> {
    let found = shown.named_limits.iter().find(|limit| limit.cell == cell)?;
    let NamedBottleneck { name, share, reason } = &found.bottleneck;
    let (name, reason) = ((*name).to_owned(), printable(reason));
    Some(Bottleneck { name, busy: *share, short: None, reason })
}

/// "Monotonic clock: vDSO.", with the reason.
pub(crate) fn named_sentences(shown: &Shown<'_>) -> Vec<String> {
    let sentence = |limit: &NamedLimit| {
        let NamedBottleneck { name, share, reason } = &limit.bottleneck;
        let mut work = capital(&shown.names.workload(limit.cell.workload));
        if shown.names.setups() > 1 {
            work = format!("{work} on {}", shown.names.setup(limit.cell));
        }
        let share = range(share.as_slice());
        format!("{work}: {name}{share}. {}", printable(reason)).trim_end().to_owned()
    };
    shown.named_limits.iter().map(sentence).collect()
}

const FIXED: &str = "The fixed rate was reached, so no resource had to be saturated: leave out --rate to find the limit.";
const BEHIND: &str = "The fixed rate was not reached: leave out --rate to find the bottleneck.";
const ALIKE: &str = "These cannot be distinguished: doubling either would help about as much.";
const WAITING: &str =
    "No monitored resource is saturated: operations wait for locks, timers or too few threads.";
const UNSATURATED: &str =
    "No monitored resource is saturated. The busiest one takes most of an operation's time.";
const OR_WAITING: &str =
    "The resource cannot be distinguished from waiting for locks, timers or too few threads.";
const WAITING_FOR_IO: &str =
    "No monitored resource is saturated; the server waits for its disks (iowait).";
const HIDDEN: &str =
    "More operations in flight do not help, so a resource that is not monitored is saturated.";

/// "link 94%", "round trips".
pub(crate) fn in_a_word(shown: &Shown<'_>, limits: &Limits, one: &Use) -> String {
    let name = resource_name(shown, limits.cell, one);
    if one.is_delay() { name } else { name + &range(&[one.utilisation]) }
}

/// Whether client and server of a subject are one machine, whose resources have one name then, whoever uses them.
fn on_one_machine(shown: &Shown<'_>, cell: Cell) -> bool {
    let (plan, subject) = (&shown.study.plan, usize::from(cell.subject));
    let target = plan.target(subject);
    let servers = || plan.far_ends(subject).map(|server| &server.host);
    let is_local = matches!(target, Some(Target::Directory(_))) && servers().next().is_none();
    let is_loopback = target.is_some_and(Target::is_on_loopback);
    let is_same = |host: &HostName| shown.study.is_on_machine_of_client(host);
    is_local || is_loopback || servers().any(is_same)
}

/// Whose a resource is: "client ", "server ", "router " of a host of that name; empty of a machine that client and server
/// share.
pub(crate) fn whose(shown: &Shown<'_>, cell: Cell, one: &Use) -> String {
    // Parts of one machine in a lab have quotas of their own.
    let is_in_lab = matches!(one.host, Some(HostName::Lab { .. }));
    let is_apart = is_in_lab && matches!(one.resource, Resource::Quota { .. });
    match one.role {
        _ if on_one_machine(shown, cell) && !is_apart => String::new(),
        Role::Client => "client ".to_owned(),
        Role::Server => match one.host.as_ref().and_then(|host| on_the_way(shown, cell, host)) {
            Some(name) => format!("{name} "),
            None => "server ".to_owned(),
        },
        Role::Both => String::new(),
    }
}

/// The name of a monitored host that is not the server itself but on the way to it, as far as that is known: another host
/// of the lab, or one beside a host with the name of the target.
fn on_the_way(shown: &Shown<'_>, cell: Cell, host: &HostName) -> Option<String> {
    let subject = usize::from(cell.subject);
    let server = shown.study.plan.target(subject)?.host()?;
    let own = host.name();
    let mut monitored = shown.study.plan.far_ends(subject);
    let is_beside = monitored.any(|other| other.host.name() == server);
    let lab = shown.study.hosts.iter().find(|facts| facts.name == *host);
    let lab = lab.and_then(|facts| facts.lab.as_ref());
    let in_lab = lab.is_some_and(|lab| {
        let ends = lab.settings.iter().filter(|(key, _)| key.ends_with(" between"));
        ends.flat_map(|(_, hosts)| hosts.split(", ")).any(|other| other == server)
    });
    (own != server && (is_beside || in_lab)).then(|| printable(own))
}

/// "link", "server CPU"; of a machine that client and server share "CPU".
pub(crate) fn resource_name(shown: &Shown<'_>, cell: Cell, one: &Use) -> String {
    let whose = whose(shown, cell, one);
    match &one.resource {
        Resource::Link { .. } => "link".to_owned(),
        Resource::Driver => "load generator".to_owned(),
        Resource::Processor => format!("{whose}CPU"),
        Resource::Core { .. } => format!("{whose}CPU core"),
        Resource::Quota { .. } => format!("{whose}CPU quota"),
        Resource::Threads { .. } => "NFS threads".to_owned(),
        Resource::Disk { .. } => "disk".to_owned(),
        Resource::RoundTrip => "round trips".to_owned(),
    }
}
