//! The bottleneck of each workload: every resource, how busy it was, and where the time of an operation goes.

use super::answer::{
    NOTHING as NOTHING_COMPLETE, at_each_rate, explain_routers, is_narrow, repeated,
};
use super::costs;
use crate::chart::{Axis, Stack, Stacks, Table};
use crate::document::{Document, Figure, Layout, Section};
use crate::figure::{SHARE, TIME};
use crate::measure::is_of_paths;
use crate::study::bottleneck::{Notes, Room, at_fixed_rates, in_a_word, named_sentences, words};
use crate::study::byte_costs::RecordedDevice;
use crate::study::limits::{
    amount_of, conditions, lead, not_monitored, resource, row, server, without_article,
};
use crate::study::{self, Shown, byte_costs, head, hosts, paths};
use crate::text::{listed, printable};
use crate::verdict::percent;
use plimsoll_explain::thresholds::MAY_BIND_ELSEWHERE;
use plimsoll_explain::{Ladder, Limit, Limits, Resource, Unseen, Use};
use plimsoll_model::{HostName, Study};

/// Rows of work that are explained one by one.
const MOST: usize = 20;
const NOTHING: &str = "–";
/// In place of a demand that is not known.
const INCONCLUSIVE: &str = "inconclusive";

impl Document {
    /// What limits each workload of a study, and what would have to be measured to be sure; `devices` are
    /// those of its hosts that were measured by themselves.
    pub fn explaining(study: &Study, devices: &[RecordedDevice]) -> Document {
        let shown = Shown::new(study);
        let mut answer = Section::new("answer", "");
        let is_of_routers = explain_routers(&mut answer, &shown);
        let mut has_bounds = false;
        match shown.limits.is_empty() {
            true if !is_of_routers => without_limits(&mut answer, &shown),
            true => {}
            false => {
                has_bounds = explained(&mut answer, &shown);
                answer.list(byte_costs::sentences(&shown, devices));
            }
        }
        commands(&mut answer, &shown, devices);
        let mut resources = Section::details("resources", "Every resource");
        resources_of(&mut resources, &shown, has_bounds);
        resources.table(paths::uses(&shown), Layout::Words);
        at_each_rate(&mut resources, &shown);
        let sections = vec![answer, resources, costs::section(&shown)];
        let title = format!("Bottlenecks of {}", listed(&shown.names.subjects));
        Document { title, subtitle: head::title(study), extent: String::new(), sections }
    }
}

/// What there is to say of work that is no closed loop of operations: paths, clocks, fixed rates.
fn without_limits(section: &mut Section, shown: &Shown<'_>) {
    let is_monitored = hosts::are_monitored(shown.study);
    let mut said = [paths::explained(shown), named_sentences(shown)].concat();
    if is_monitored {
        said.extend(paths::unlimited(shown));
        said.extend(at_fixed_rates(shown));
    }
    let mut cells = shown.findings.workloads.iter().flat_map(|found| &found.cells);
    let is_complete = cells.any(|cell| cell.complete > 0);
    match said.is_empty() {
        _ if !is_complete => section.text(NOTHING_COMPLETE),
        true if is_monitored => section.text(NO_RULE),
        true => section.text(NOTHING_SEEN),
        false => section.list(said),
    }
    let mut others = Vec::new();
    hosts::busiest(&mut others, shown);
    hosts::fullest_links(&mut others, shown);
    section.list(others);
}

/// What there is to say of work that nothing names a bottleneck of, although hosts were monitored.
const NO_RULE: &str = "This work has no single bottleneck. The report has the load of each host.";
/// What there is to say where neither hosts nor a load generator were seen.
const NOTHING_SEEN: &str = "The bottleneck is not known: no host, link or disk was monitored, nor the load \
                            generator.";

/// What would tell more, to be typed.
fn commands(section: &mut Section, shown: &Shown<'_>, devices: &[RecordedDevice]) {
    let (id, command) = (printable(&shown.study.id.0), repeated(&shown.study.plan.command));
    let unseen = |what| shown.limits.iter().any(|limits| limits.unseen.contains(&what));
    let open = |limits: &Limits| !matches!(limits.verdict, Limit::Resource { .. });
    let few = shown.limits.iter().find_map(few_threads);
    let title = match shown.limits.iter().any(open) {
        true => Some("To find it"),
        false => few.map(|_| "With more threads"),
    };
    let mut options = String::new();
    if unseen(Unseen::Server) {
        options.push_str(&format!(" --host {}", server(shown, 0)));
    }
    let mut held: Vec<&HostName> =
        shown.limits.iter().flat_map(|limits| &limits.held).map(|held| &held.host).collect();
    held.dedup();
    held.iter()
        .for_each(|host| options.push_str(&format!(" --host {}", printable(&host.to_string()))));
    if shown.limits.iter().any(|limits| open(limits) && limits.ladder.is_none()) {
        options.push_str(" --explain");
    }
    if let Some((host, count)) = few {
        // Only more of them tell whether what they wait for can do more at a time.
        let more = count.saturating_mul(8);
        let host = printable(&host.to_string());
        options.push_str(&format!(" --set {host}/nfsd-threads=as-found,{more}"));
    }
    let own = command.starts_with("plimsoll check") && !options.is_empty();
    if let Some(title) = title.filter(|_| own) {
        section.command(title, format!("{command}{options}"), String::new());
    }
    if let Some(host) = unmeasured(shown, devices) {
        let why = "copies, encryption and signing".to_owned();
        section.command("Its CPU alone", format!("plimsoll device {host}").trim_end().into(), why);
    }
    section.command("More", format!("plimsoll explain {id} --details"), String::new());
}

/// The host whose NFS threads are the limit or named beside something else, and how many it has.
fn few_threads(limits: &Limits) -> Option<(&HostName, u32)> {
    let named = match &limits.verdict {
        Limit::Several { uses, .. } => uses.as_slice(),
        Limit::Resource { binding, .. } => std::slice::from_ref(binding),
        _ => &[],
    };
    named.iter().filter_map(|place| limits.uses.get(*place)).find_map(|one| match one.resource {
        Resource::Threads { count } => Some((one.host.as_ref()?, count)),
        _ => None,
    })
}

/// A host whose processor is the limit, and that was not measured by itself.
fn unmeasured(shown: &Shown<'_>, devices: &[RecordedDevice]) -> Option<String> {
    let is_processor = |one: &&Use| {
        matches!(one.resource, Resource::Processor | Resource::Core { .. } | Resource::Quota { .. })
    };
    let bound = shown.limits.iter().filter_map(Limits::binding).filter(is_processor);
    let mut hosts = bound.filter_map(|one| one.host.as_ref());
    let is_measured = |host: &HostName| devices.iter().any(|device| *host == *device.facts.given);
    match hosts.find(|host| !is_measured(host))? {
        HostName::Local => Some(String::new()),
        host => Some(printable(&host.to_string())),
    }
}

/// Those that are explained one by one.
fn first<'a>(shown: &'a Shown<'_>) -> &'a [Limits] {
    &shown.limits[..shown.limits.len().min(MOST)]
}

pub(super) fn section(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("limits", "Bottlenecks");
    if !shown.limits.is_empty() {
        let has_bounds = explained(&mut section, shown);
        resources_of(&mut section, shown, has_bounds);
    }
    section.list(paths::explained(shown));
    section.list(paths::rfc_6349(shown));
    section.list(paths::costs(shown));
    if is_of_paths(shown.study) {
        section.list(paths::interfaces(shown));
    }
    section.list(paths::root_adds(shown));
    section.list(named_sentences(shown));
    section
}

/// A bound, as both tables have it.
const BOUND: &str = "Bound: the rate that the resource would allow if it were the only bottleneck.";

/// A table of them, and where the time goes; `has_bounds`: a table before it explains bounds.
fn resources_of(section: &mut Section, shown: &Shown<'_>, has_bounds: bool) {
    let (some, all) = (first(shown), shown.limits.len());
    if some.is_empty() {
        return;
    }
    let bound = if has_bounds { String::new() } else { format!("{BOUND} ") };
    section.text(format!(
        "Busy: utilisation during the load. Demand: service demand, the time for which one operation uses the \
         resource. {bound}Twice as fast: the gain if the resource were twice as fast, by mean value analysis of \
         a closed network that is fitted to the measured rate. Waiting elsewhere: the rest of the time of an \
         operation, which no monitored resource explains."
    ));
    if some.len() < all {
        section.text(format!("The first {MOST} of {all}."));
    }
    section.table(table(shown, some), Layout::Words);
    section.figures(figure(shown, some));
}

/// The bottleneck of each row with what comes after it, below a sentence, and the reasons as notes. Whether the table has
/// bounds.
fn explained(section: &mut Section, shown: &Shown<'_>) -> bool {
    let some = first(shown);
    section.text(lead(some, &|limits| title(shown, limits)));
    let mut notes = Notes::default();
    let mut table = bottlenecks(shown, some, &mut notes);
    // What follows the bottleneck is with the details, too.
    while !is_narrow(&table) && table.header.len() > LEAST_COLUMNS {
        table.header.pop();
        table.rows.iter_mut().for_each(|row| row.truncate(table.header.len()));
    }
    let has_bounds = table.header.iter().any(|heading| heading == "bound");
    section.table(table, Layout::Words);
    let notes: Vec<String> = notes.texts().collect();
    let missing = not_monitored(shown);
    let missing = missing.filter(|missing| !notes.iter().any(|note| note.contains(missing)));
    section.texts(notes);
    section.texts(missing);
    section.nearly_always(has_bounds.then(|| {
        format!(
            "{BOUND} Runner-up: the next bottleneck, or the busiest monitored resource if the bottleneck is \
             not known."
        )
    }));
    let mut hosts = Vec::new();
    hosts::busiest(&mut hosts, shown);
    hosts::fullest_links(&mut hosts, shown);
    hosts.extend(conditions(shown));
    section.list(hosts);
    has_bounds
}

/// Columns that a narrow screen has of bottlenecks: work, subject, bottleneck.
const LEAST_COLUMNS: usize = 3;

/// A row for each: its bottleneck and the rate that this would allow alone, and the same of what comes after it.
fn bottlenecks(shown: &Shown<'_>, some: &[Limits], notes: &mut Notes) -> Table {
    let several = shown.names.setups() > 1;
    let subject = several.then_some("on").into_iter();
    let header = std::iter::once("work").chain(subject);
    let header = header.chain(["bottleneck", "bound", "runner-up", "bound"]);
    let mut table = Table::new(header.map(str::to_owned).collect());
    let bound = |limits: &Limits, one: Option<&Use>| {
        let alone = one.and_then(|one| one.alone_per_second);
        alone.map_or(NOTHING.to_owned(), |rate| amount_of(shown, limits, rate))
    };
    for limits in some {
        let words = words(shown, &[limits.cell], &|_| String::new(), Room::Names, notes);
        let mut bottleneck = words.unwrap_or_else(|| NOTHING.to_owned());
        let ladder = limits.ladder.as_ref().map(|ladder| by_depth(shown, limits, ladder));
        for note in study::limits::notes(limits).into_iter().chain(ladder) {
            bottleneck.push_str(&notes.mark(&note));
        }
        let (binding, next) = in_order(limits);
        let mut row = vec![shown.names.workload(limits.cell.workload)];
        row.extend(several.then(|| shown.names.setup(limits.cell)));
        row.extend([
            bottleneck,
            bound(limits, binding),
            next.map_or(NOTHING.to_owned(), |one| in_a_word(shown, limits, one)),
            bound(limits, next),
        ]);
        table.rows.push(row);
    }
    table
}

/// The bottleneck, of several the one that allows least; and what comes after it, or the busiest that was monitored if
/// none of them is the bottleneck.
fn in_order(limits: &Limits) -> (Option<&Use>, Option<&Use>) {
    let at = |place: &usize| limits.uses.get(*place);
    match &limits.verdict {
        Limit::Resource { runner_up, .. } => (limits.binding(), runner_up.as_ref().and_then(at)),
        Limit::Several { uses, .. } => {
            let alone = |one: &&Use| one.alone_per_second.unwrap_or(f64::INFINITY);
            let least = uses.iter().filter_map(at).min_by(|a, b| alone(a).total_cmp(&alone(b)));
            (least, None)
        }
        Limit::Unsaturated(uses) => (None, uses.first().and_then(at)),
        Limit::Waiting | Limit::Hidden | Limit::Contradiction(_) => {
            let known = |one: &&Use| !one.is_delay() && !one.is_contradictory();
            let busy = limits.uses.iter().filter(known);
            (None, busy.max_by(|a, b| a.utilisation.total_cmp(&b.utilisation)))
        }
    }
}

/// "random read on nfs".
fn title(shown: &Shown<'_>, limits: &Limits) -> String {
    let work = shown.names.workload(limits.cell.workload);
    match shown.names.setups() {
        0 | 1 => work,
        _ => format!("{work} on {}", shown.names.setup(limits.cell)),
    }
}

fn table(shown: &Shown<'_>, all: &[Limits]) -> Table {
    let header = ["work", "resource", "busy", "demand", "bound", "twice as fast"];
    let mut table = Table::new(header.map(str::to_owned).into());
    let gain = |gain: f64| match gain {
        gain if gain < 0.005 => NOTHING.to_owned(),
        gain => format!("+{}", percent(gain)),
    };
    for limits in all {
        let mut work = title(shown, limits);
        for one in &limits.uses {
            let busy = match (one.is_delay(), one.is_contradictory()) {
                (true, _) => NOTHING.to_owned(),
                (false, true) => format!("{} (contradictory)", percent(one.utilisation)),
                (false, false) => percent(one.utilisation),
            };
            let demand = match one.is_conclusive() || one.is_delay() {
                true => TIME.value(one.demand_seconds),
                false => INCONCLUSIVE.to_owned(),
            };
            let alone = one.alone_per_second.map(|most| amount_of(shown, limits, most));
            table.rows.push(vec![
                std::mem::take(&mut work),
                row(one),
                busy,
                demand,
                alone.unwrap_or_else(|| NOTHING.to_owned()),
                gain(one.gain),
            ]);
        }
        table.rows.push(vec![
            work,
            "waiting elsewhere".to_owned(),
            NOTHING.to_owned(),
            TIME.value(limits.waiting_seconds),
            NOTHING.to_owned(),
            gain(limits.waiting_gain),
        ]);
    }
    table
}

/// What more and fewer in flight did.
fn by_depth(shown: &Shown<'_>, limits: &Limits, ladder: &Ladder) -> String {
    let rungs: Vec<String> = ladder
        .rungs
        .iter()
        .map(|rung| {
            let rate = amount_of(shown, limits, rung.per_second);
            format!("{rate} with {:.0} in flight", rung.in_flight)
        })
        .collect();
    let mut text = format!("With other numbers in flight: {}.", rungs.join(", "));
    text.push_str(match ladder.more_helps() {
        Some(false) => " More in flight does not help.",
        Some(true) => " More in flight helps.",
        None => "",
    });
    let matters = |one: &&Use| one.utilisation >= MAY_BIND_ELSEWHERE;
    for one in limits.uses.iter().filter(matters) {
        if let (Some(false), Some((least, most))) = (ladder.is_constant(one), ladder.demands(one)) {
            text.push_str(&format!(
                " The demand of an operation on {} depends on the load ({} to {}), so its bound is not a \
                 prediction.",
                resource(one),
                TIME.value(least),
                TIME.value(most)
            ));
        }
    }
    text
}

/// Where the time of one operation goes.
fn figure(shown: &Shown<'_>, all: &[Limits]) -> Option<Figure> {
    let mut parts: Vec<String> = Vec::new();
    for one in all.iter().flat_map(|limits| &limits.uses) {
        let name = short(one);
        if !parts.contains(&name) {
            parts.push(name);
        }
    }
    let (queues, waiting) = (parts.len(), parts.len() + 1);
    parts.extend(["queues for these", "waiting elsewhere"].map(str::to_owned));
    let stack = |limits: &Limits| {
        let mut values = vec![0.0; parts.len()];
        for one in &limits.uses {
            if let Some(place) = parts.iter().position(|part| *part == short(one)) {
                values[place] += one.service_seconds();
            }
        }
        let served: f64 = values.iter().sum();
        values[waiting] = limits.waiting_seconds;
        values[queues] = (limits.response_seconds() - served - limits.waiting_seconds).max(0.0);
        let whole: f64 = values.iter().sum();
        let shares = values.into_iter().map(|seconds| seconds / whole).collect();
        Stack { label: title(shown, limits), whole: TIME.value(whole), values: shares }
    };
    let stacks: Vec<Stack> = all.iter().map(stack).collect();
    let numbered: Vec<String> =
        parts.iter().zip(1..).map(|(part, number)| format!("{number} {part}")).collect();
    let caption = format!(
        "Where the time of one operation goes: {}. Times on different resources may overlap.",
        numbered.join(", ")
    );
    let chart = Stacks {
        title: "Time of one operation".to_owned(),
        description: caption.clone(),
        axis: Axis::new("share of the time of an operation", SHARE),
        parts,
        stacks,
    };
    Some(Figure::new("limits-time".to_owned(), Box::new(chart), caption))
}

fn short(one: &Use) -> String {
    without_article(&resource(one))
}
