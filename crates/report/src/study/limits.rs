//! The bottleneck of each workload, in words.

use super::{Shown, bottleneck, hosts};
use crate::device::amount;
use crate::figure::{BYTES, RATE, TIME};
use crate::text::{capital, listed, printable};
use crate::verdict::percent;
use plimsoll_explain::thresholds::MANY_CALLS;
use plimsoll_explain::{Condition, Limit, Limits, Resource, Role, Unseen, Use};
use plimsoll_model::{Cell, CpuTimes, HostName, Target, is_lab_name};

/// Work on a setup, and the limits of it.
pub(crate) fn of_cell<'a>(shown: &'a Shown<'_>, cell: Cell) -> Option<&'a Limits> {
    shown.limits.iter().find(|limits| limits.cell == cell)
}

/// What a resource is called: "the link", "the CPU of ssh://root@nas".
pub(crate) fn resource(one: &Use) -> String {
    let host = || one.host.as_ref().map(hosts::name).unwrap_or_default();
    match &one.resource {
        Resource::Link { .. } => "the link".to_owned(),
        Resource::Driver => "the load generator".to_owned(),
        Resource::Processor if is_elsewhere_both(one) => {
            format!("the CPU of the machine that {} and the server share", host())
        }
        Resource::Processor => format!("the CPU of {}", host()),
        Resource::Core { number } => format!("core {number} of {}", host()),
        Resource::Quota { cores, .. } if matches!(one.host, Some(HostName::Lab { .. })) => {
            format!("the CPU of {} (held to {} of a core by the lab)", host(), percent(*cores))
        }
        Resource::Quota { .. } => format!("the CPU quota of {}", host()),
        Resource::Threads { count: 1 } => format!("the one NFS thread of {}", host()),
        Resource::Threads { count } => format!("the {count} NFS threads of {}", host()),
        Resource::Disk { name } => format!("disk {} of {}", printable(name), host()),
        Resource::RoundTrip => "round trips".to_owned(),
    }
}

/// Whether it is of a machine that is client and server under the name of one of them: namespaces of a lab.
fn is_elsewhere_both(one: &Use) -> bool {
    one.role == Role::Both && one.host != Some(HostName::Local)
}

/// How busy it was. Headers, bursts and clocks make a full link a little more than full.
fn busy(one: &Use) -> String {
    percent(one.utilisation.min(1.0))
}

/// Works, on all setups, up to which each is named; and kinds of limits that are named of more.
const FEW: usize = 12;
const MOST: usize = 4;

/// Works with the same limit up to which each is named.
const SOME: usize = 2;

/// In place of the bottleneck if no monitored resource is it.
const NOT_MONITORED: &str = "not monitored";

/// Whether a resource that was not monitored may well be the bottleneck.
pub(crate) fn is_blind(limits: &Limits) -> bool {
    limits.unseen.iter().any(|unseen| *unseen != Unseen::RoundTrip) || !limits.held.is_empty()
}

/// What limits what, as sentences: works with the same limit together, in the plan's order.
pub(crate) fn sentences(shown: &Shown<'_>, name: &dyn Fn(Cell) -> String) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&Limits>)> = Vec::new();
    for limits in &shown.limits {
        let what = subject(limits);
        match groups.iter_mut().find(|(known, _)| *known == what) {
            Some((_, all)) => all.push(limits),
            None => groups.push((what, vec![limits])),
        }
    }
    if groups.is_empty() {
        return Vec::new();
    }
    if shown.limits.len() > FEW {
        return vec![counts(shown)];
    }
    let only = groups.len() == 1;
    let of_group = |(what, all): &(String, Vec<&Limits>)| {
        let named = all.iter().any(|limits| figure(limits).is_some());
        match only && !named && all.len() > 1 {
            true => what.clone(),
            false => {
                let works = listed(&works(shown, all, name));
                let at = if works.starts_with("everything") { "for" } else { "at" };
                format!("{what} {at} {works}")
            }
        }
    };
    let parts: Vec<String> = groups.iter().map(of_group).collect();
    let lower = |text: &str| text.replacen("Not", "not", 1);
    vec![match (parts.as_slice(), not_monitored(shown)) {
        ([only], Some(missing)) if only == NOT_MONITORED => {
            format!("Bottleneck {}", lower(&missing))
        }
        (parts, Some(missing)) => format!("Bottleneck: {}. {missing}", parts.join("; ")),
        (parts, None) => format!("Bottleneck: {}.", parts.join("; ")),
    }]
}

/// How many rows each bottleneck has, of many rows: "Bottleneck of 18 rows: link 12; server CPU 3; others 3."
pub(crate) fn counts(shown: &Shown<'_>) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for limits in &shown.limits {
        let Some(name) = bottleneck::name(shown, limits) else { continue };
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others: usize = counts.iter().skip(MOST).map(|(_, count)| count).sum();
    let mut words: Vec<String> =
        counts.iter().take(MOST).map(|(name, count)| format!("{name} {count}")).collect();
    words.extend((others > 0).then(|| format!("others {others}")));
    let (all, id) = (shown.limits.len(), printable(&shown.study.id.0));
    format!("Bottleneck of {all} rows: {} (plimsoll explain {id}).", words.join("; "))
}

/// What the limit is, without figures.
fn subject(limits: &Limits) -> String {
    match &limits.verdict {
        Limit::Resource { binding, .. } => resource(&limits.uses[*binding]),
        Limit::Several { uses, waiting } => {
            let mut names: Vec<String> =
                uses.iter().map(|place| resource(&limits.uses[*place])).collect();
            names.extend(waiting.then(|| "waiting elsewhere".to_owned()));
            format!("{} (about equal)", names.join(" or "))
        }
        Limit::Waiting | Limit::Unsaturated(_) if is_blind(limits) => NOT_MONITORED.to_owned(),
        Limit::Waiting | Limit::Unsaturated(_) => "none found,".to_owned(),
        Limit::Hidden => "a saturated resource that is not monitored".to_owned(),
        Limit::Contradiction(place) => {
            format!("figures that contradict each other ({})", resource(&limits.uses[*place]))
        }
    }
}

/// The works of a group with their figures: "sequential read (98–99%)", or by setup where others have
/// other limits.
fn works(shown: &Shown<'_>, all: &[&Limits], name: &dyn Fn(Cell) -> String) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), all.to_vec());
    for setup in shown.names.every_setup().filter(|_| shown.names.setups() > 1) {
        let on = |cell: Cell| (cell.subject, cell.setting) == (setup.subject, setup.setting);
        let of_setup = shown.limits.iter().filter(|limits| on(limits.cell)).count();
        let own: Vec<&Limits> = all.iter().copied().filter(|limits| on(limits.cell)).collect();
        if own.len() == of_setup && own.len() > SOME {
            words.push(format!("everything on {}{}", name(setup), share(&own)));
            rest.retain(|limits| !on(limits.cell));
        }
    }
    let all = &rest;
    let mut numbers: Vec<u16> = all.iter().map(|limits| limits.cell.workload).collect();
    numbers.dedup();
    for workload in numbers {
        let own: Vec<&&Limits> = all.iter().filter(|l| l.cell.workload == workload).collect();
        let of_work = shown.limits.iter().filter(|l| l.cell.workload == workload).count();
        let work = shown.names.workload(workload);
        let figures: Vec<String> = own.iter().filter_map(|limits| figure(limits)).collect();
        let range = |figures: &[String]| match figures {
            [] => String::new(),
            [first, .., last] if first != last => format!(" ({first}, {last})"),
            [first, ..] => format!(" ({first})"),
        };
        match own.len() == of_work {
            true => words.push(work + &range(&figures)),
            false => words.extend(own.iter().map(|limits| {
                let figure = figure(limits).into_iter().collect::<Vec<_>>();
                format!("{work} on {}{}", name(limits.cell), range(&figure))
            })),
        }
    }
    words
}

/// How full what binds is over several works, of a delay how much of their time: " (81–100%)".
fn share(all: &[&Limits]) -> String {
    let share = |limits: &&&Limits| {
        let one = limits.binding()?;
        Some(match one.is_delay() {
            true => one.demand_seconds / limits.response_seconds(),
            false => one.utilisation.min(1.0),
        })
    };
    let shares: Vec<f64> = all.iter().filter_map(|limits| share(&limits)).collect();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let most = shares.iter().copied().fold(0.0, f64::max);
    let whole = match all.first().and_then(|limits| limits.binding()) {
        Some(one) if one.is_delay() => " of the time",
        _ => "",
    };
    match (percent(least), percent(most)) {
        _ if shares.is_empty() => String::new(),
        (least, most) if least == most => format!(" ({most}{whole})"),
        (least, most) => format!(" ({}–{most}{whole})", least.trim_end_matches('%')),
    }
}

/// How busy the bottleneck is: "99%"; of a delay its time and the whole: "1.00 ms of 1.20 ms".
fn figure(limits: &Limits) -> Option<String> {
    let Some(one) = limits.binding() else {
        return match limits.verdict {
            Limit::Waiting if !is_blind(limits) => Some(format!(
                "{} of {}",
                TIME.value(limits.waiting_seconds),
                TIME.value(limits.response_seconds())
            )),
            Limit::Contradiction(place) => {
                limits.uses.get(place).map(|one| percent(one.utilisation))
            }
            _ => None,
        };
    };
    if let Resource::Quota { cores, .. } = one.resource {
        let cores = plimsoll_model::units::three_digits(cores);
        return Some(format!("{} of {cores} cores", busy(one)));
    }
    Some(match one.is_delay() {
        true => format!(
            "{} of {}",
            TIME.value(one.demand_seconds),
            TIME.value(limits.response_seconds())
        ),
        false => busy(one),
    })
}

/// What a processor is busy with: "sys 59%, sirq 28%".
fn classes(one: &Use) -> Option<String> {
    let cpu: &CpuTimes = one.classes.as_ref()?;
    let words = hosts::busy_classes(cpu);
    (!words.is_empty()).then(|| words.join(", "))
}

/// The resources that were not monitored though one may be the bottleneck of something, and the option that monitors them:
/// "Not monitored: server CPU, disks. Add --host ssh://root@nas."
pub(crate) fn not_monitored(shown: &Shown<'_>) -> Option<String> {
    let open = open(shown);
    let missing = |unseen: Unseen| open.iter().any(|limits| limits.unseen.contains(&unseen));
    let mut words: Vec<String> = Vec::new();
    if missing(Unseen::Server) {
        words.extend(["server CPU", "disks"].map(str::to_owned));
    }
    if missing(Unseen::SharedProcessor) {
        words.push("the server's share of this machine's CPU".to_owned());
    }
    if missing(Unseen::FewTicks) && !missing(Unseen::Server) {
        let mut few = open.iter().filter(|limits| limits.unseen.contains(&Unseen::FewTicks));
        let cpu = match few.all(|limits| shown.study.is_local(usize::from(limits.cell.subject))) {
            true => format!("CPU of {}", hosts::name(shown.study.plan.client())),
            false => "server CPU".to_owned(),
        };
        words.push(format!("{cpu} (too little CPU time to measure)"));
    }
    if missing(Unseen::Link) {
        words.push("link rate".to_owned());
    }
    for held in open.iter().flat_map(|limits| &limits.held) {
        let quota = format!(
            "the CPU of {} (held to {} of a core by the lab)",
            hosts::name(&held.host),
            percent(held.cores)
        );
        if !words.contains(&quota) {
            words.push(quota);
        }
    }
    if words.is_empty() {
        return None;
    }
    let mut text = format!("Not monitored: {}", words.join(", "));
    if let Some(options) = monitoring(shown) {
        text.push_str(&format!(". Add {options}"));
    }
    Some(text + ".")
}

/// Rows whose bottleneck may be a resource that was not monitored.
fn open<'a>(shown: &'a Shown<'_>) -> Vec<&'a Limits> {
    let open = |limits: &&Limits| {
        !matches!(limits.verdict, Limit::Resource { .. } | Limit::Contradiction(_))
            && is_blind(limits)
    };
    shown.limits.iter().filter(open).collect()
}

/// The options that monitor the hosts which may have the bottleneck: "--host ssh://root@nas". `None` if there are none.
pub(crate) fn monitoring(shown: &Shown<'_>) -> Option<String> {
    let open = open(shown);
    let mut hosts: Vec<String> = Vec::new();
    let servers = open.iter().filter(|limits| limits.unseen.contains(&Unseen::Server));
    let servers = servers.filter(|_| !shown.findings.imported);
    let servers = servers.map(|limits| server(shown, limits.cell.subject));
    let held =
        open.iter().flat_map(|limits| &limits.held).map(|held| printable(&held.host.to_string()));
    for host in servers.chain(held) {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    let options: Vec<String> = hosts.iter().map(|host| format!("--host {host}")).collect();
    (!options.is_empty()).then(|| options.join(" "))
}

/// The host of a subject's server, for `--host`: the client where the server is on the same machine, else how it may
/// be logged in to.
pub(crate) fn server(shown: &Shown<'_>, subject: u16) -> String {
    let plan = &shown.study.plan;
    let client = plan.client();
    let target = plan.target(usize::from(subject));
    match (target, target.and_then(Target::host), client) {
        (Some(target), ..) if target.is_on_loopback() => printable(&client.to_string()),
        // Hosts of a lab see each other by name.
        (_, Some(host), HostName::Lab { lab, .. }) if is_lab_name(host) => {
            format!("lab://{lab}/{host}")
        }
        _ => login(target),
    }
}

/// How a target's server may be logged in to.
pub(crate) fn login(target: Option<&Target>) -> String {
    let host = target.and_then(Target::host).map_or("SERVER".to_owned(), printable);
    format!("ssh://root@{host}")
}

/// The bottlenecks of these rows in a sentence: "The link is the bottleneck of sequential read; the bottleneck of 2 of 3
/// rows is not monitored."
pub(crate) fn lead(some: &[Limits], title: &dyn Fn(&Limits) -> String) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for limits in some {
        let told = told(limits);
        match groups.iter_mut().find(|(known, _)| *known == told) {
            Some((_, titles)) => titles.push(title(limits)),
            None => groups.push((told, vec![title(limits)])),
        }
    }
    groups.sort_by_key(|(_, titles)| std::cmp::Reverse(titles.len()));
    let rows_told = |(told, titles): &(String, Vec<String>)| {
        let rows = match titles.len() {
            all if all == some.len() && all > 1 => format!("all {all} rows"),
            few if few <= SOME => listed(titles),
            many => format!("{many} of {} rows", some.len()),
        };
        told.replace(ROWS, &rows)
    };
    let parts: Vec<String> = groups.iter().map(rows_told).collect();
    capital(&parts.join("; ")) + "."
}

/// In place of the rows in a sentence. No printable text has it.
const ROWS: &str = "\u{1}";

/// What there is to say of rows with such a verdict.
fn told(limits: &Limits) -> String {
    match &limits.verdict {
        Limit::Resource { .. } => match limits.binding() {
            Some(one) if one.is_delay() => format!("round trips are the bottleneck of {ROWS}"),
            Some(one) => format!("{} is the bottleneck of {ROWS}", resource(one)),
            None => format!("the bottleneck of {ROWS} is unknown"),
        },
        Limit::Several { .. } => {
            let names = subject(limits);
            let names = names.trim_end_matches(" (about equal)");
            format!("the bottleneck of {ROWS} cannot be distinguished: {names}")
        }
        Limit::Waiting | Limit::Unsaturated(_) if is_blind(limits) => {
            format!("the bottleneck of {ROWS} is not monitored")
        }
        Limit::Hidden => format!("the bottleneck of {ROWS} is not monitored"),
        Limit::Waiting | Limit::Unsaturated(_) => {
            format!("no monitored resource is saturated at {ROWS}")
        }
        Limit::Contradiction(_) => format!("the figures of {ROWS} contradict each other"),
    }
}

/// What a row needs besides its bottleneck, a sentence each.
pub(crate) fn notes(limits: &Limits) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(one) = limits.binding() {
        if matches!(one.resource, Resource::Quota { .. }) {
            let name = capital(&resource(one));
            let cores_used = figure(limits).unwrap_or_default();
            let cores = cores_used.split_once(" of ").map_or("", |(_, cores)| cores);
            notes.push(format!("{name} has a quota of {cores}."));
        }
        notes
            .extend(classes(one).map(|classes| format!("{}: {classes}.", capital(&resource(one)))));
        notes.extend(waited_for(limits, one).map(|disk| {
            format!(
                "Threads are busy because they wait for {}, which can work on several operations at a time: more \
                 threads help.",
                resource(disk)
            )
        }));
    }
    if let Limit::Several { uses, .. } = &limits.verdict {
        let some = || uses.iter().filter_map(|place| limits.uses.get(*place));
        if some().any(|one| matches!(one.resource, Resource::Threads { .. })) {
            notes.push(
                "The threads are busy because they wait for it: more of them help if it can do several operations \
                 at a time."
                    .to_owned(),
            );
        } else if uses.len() > 1 && all_full(limits, uses) {
            notes.push("All of them are saturated: more of one alone helps little.".to_owned());
        }
    }
    notes.extend(limits.one_thread().and_then(|one| {
        Some(format!(
            "{} was busy for one of its {:.0} cores, like a single thread that is always busy.",
            capital(&hosts::name(one.host.as_ref()?)),
            one.servers
        ))
    }));
    for (place, one) in limits.uses.iter().enumerate().filter(|(_, one)| one.is_contradictory()) {
        if limits.verdict != Limit::Contradiction(place) {
            notes.push(format!(
                "The figures of {} contradict each other (it would have been busy for {} of the time), and are not \
                 used.",
                resource(one),
                percent(one.utilisation)
            ));
        }
    }
    if let Some((calls, largest)) = limits.calls.filter(|(calls, _)| *calls >= MANY_CALLS) {
        notes.push(format!(
            "Each operation is {calls} calls, because client and server agreed on at most {} in one: each call takes \
             time of its own. Raise the largest transfer of the server.",
            BYTES.value(f64::from(largest))
        ));
    }
    notes
}

/// Whether each is busy nearly all the time.
fn all_full(limits: &Limits, uses: &[usize]) -> bool {
    uses.iter().all(|place| limits.uses[*place].is_full())
}

/// The disk that could do more at a time than the threads which are the limit ask of it.
fn waited_for<'a>(limits: &'a Limits, binding: &Use) -> Option<&'a Use> {
    let is_disk = |one: &&Use| matches!(one.resource, Resource::Disk { .. }) && one.servers > 1.0;
    let threads = matches!(binding.resource, Resource::Threads { .. });
    limits.uses.iter().filter(|_| threads).find(is_disk)
}

/// What is to be known of the hosts beside how busy they were, each once.
pub(crate) fn conditions(shown: &Shown<'_>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for condition in shown.limits.iter().flat_map(|limits| &limits.conditions) {
        let words = match condition {
            Condition::ClockMoved { host, hertz: (low, high) } => format!(
                "The clock of {} was not always the same ({:.2} to {:.2} GHz): the rate that its CPU \
                 allows is a bound, not a prediction.",
                hosts::name(host),
                low * 1e-9,
                high * 1e-9
            ),
            Condition::MemoryShort { host, bytes: (left, all) } => format!(
                "Memory of {} was short: {} of {} were available.",
                hosts::name(host),
                BYTES.value(*left as f64),
                BYTES.value(*all as f64)
            ),
            Condition::MemoryPressure { host, share } => format!(
                "Processes of {} waited for memory for {} of the time: memory may be the bottleneck.",
                hosts::name(host),
                percent(*share)
            ),
            Condition::RoundTripIsNoBound { seconds, response } => format!(
                "A call without work took {} before the load, longer than an operation under load ({}): it \
                 is no bound, and is not used.",
                TIME.value(*seconds),
                TIME.value(*response)
            ),
            Condition::WaitsForIo { host, share } => format!(
                "The cores of {} were idle with I/O outstanding for {} of their time (iowait): its disks may be \
                 the bottleneck.",
                hosts::name(host),
                percent(*share)
            ),
            Condition::Stolen { host, share } => format!(
                "A hypervisor took {} of the CPUs of {} for others: that is neither load nor cost.",
                percent(*share),
                hosts::name(host)
            ),
        };
        // Of several trials the first is told: the others differ by digits.
        let begins = words.split('(').next().unwrap_or_default().to_owned();
        if !all.iter().any(|known| known.starts_with(&begins)) {
            all.push(words);
        }
    }
    all
}

/// Operations per second in the unit of the workload's speed: "112 MB/s", "7334 IOPS".
pub(crate) fn amount_of(shown: &Shown<'_>, limits: &Limits, per_second: f64) -> String {
    let workload = shown.study.plan.workload(limits.cell);
    let by_bytes = workload.is_some_and(|w| super::speed(w) == plimsoll_model::Measure::THROUGHPUT);
    match by_bytes && limits.bytes_per_operation > 0.0 {
        true => plimsoll_model::units::bytes_per_second(per_second * limits.bytes_per_operation),
        false => format!("{} IOPS", RATE.value(per_second)),
    }
}

/// A resource in a table, with what it is.
pub(crate) fn row(one: &Use) -> String {
    match &one.resource {
        Resource::Link { interface, bits_per_second } => {
            format!("link ({}, {})", printable(interface), amount::link(*bits_per_second))
        }
        _ => without_article(&resource(one)),
    }
}

/// "the link" as "link".
pub(crate) fn without_article(name: &str) -> String {
    name.strip_prefix("the ").unwrap_or(name).to_owned()
}
