//! Bottlenecks of routers as `plimsoll explain` tells them: what sets the rate of each load, the figures that show it, what
//! would help, and the CPU time of a packet at each host.

use super::fit::is_narrow;
use super::forwarding::{LIMIT, LOAD, SETTING, SOFTIRQ, flows, has_credit, label, searches};
use super::names::Brief;
use super::rows::NOTHING;
use super::{causes, connections, forwarding, parts, routed};
use crate::chart::Table;
use crate::document::{Layout, Section};
use crate::figure::{RATE, TIME};
use crate::study::bottleneck::range;
use crate::study::{Shown, hosts, paths, rates};
use crate::text::{capital, listed, printable};
use crate::verdict::percent;
use plimsoll_explain::thresholds::{BESIDE_NONE_FOUND, LOST_ENOUGH};
use plimsoll_explain::{
    CellFindings, ConnectionLimit, Forwarded, QueueSeen, RateLimit, Routed, RouterCpu,
};
use plimsoll_model::{Cell, Measure, Metric, PathSubject, Subject};

const SOFTNET: &str = "softnet\ndrops";
/// In place of loads and of utilisations in a sentence. No printable text has them.
const LOADS: &str = "\u{1}";
const BUSY: &str = "\u{2}";
const ALSO_BUSY: &str = "\u{3}";

const FIXED: &str =
    "The frames have a fixed rate below the one that R keeps, so no resource had to be saturated.";

/// A router with a load: what is known of it, however the load was searched.
struct Seen<'a> {
    cell: Cell,
    limit: &'a RateLimit,
    cpu: RouterCpu,
    queue: Option<&'a QueueSeen>,
    softnet_dropped: Option<f64>,
    sender: Option<f64>,
    passes_by: bool,
    has_credit: bool,
}

impl<'a> Seen<'a> {
    fn of_search(shown: &Shown<'_>, router: &'a Forwarded) -> Seen<'a> {
        Seen {
            cell: router.cell,
            limit: &router.limit,
            cpu: router.cpu,
            queue: router.queue.as_ref(),
            softnet_dropped: router.softnet_dropped,
            sender: router.sender,
            passes_by: router.passes_by(),
            has_credit: has_credit(shown, router.cell),
        }
    }

    /// `None` if nothing was lost at any rate.
    fn of_rates(router: &'a Routed) -> Option<Seen<'a>> {
        Some(Seen {
            cell: router.cell,
            limit: router.limit.as_ref()?,
            cpu: router.cpu,
            queue: router.queue.as_ref(),
            softnet_dropped: router.softnet_dropped,
            sender: None,
            passes_by: false,
            has_credit: false,
        })
    }
}

/// Adds what a study says of its routers; whether it says anything.
pub(in crate::sections) fn explain(section: &mut Section, shown: &Shown<'_>) -> bool {
    let brief = Brief::new(shown);
    let searched: Vec<Seen<'_>> =
        shown.forwarded.iter().map(|router| Seen::of_search(shown, router)).collect();
    let stepped: Vec<Seen<'_>> = shown.routed.iter().filter_map(Seen::of_rates).collect();
    let is_known = searched.iter().any(|router| *router.limit != RateLimit::Unknown);
    if !is_known && !hosts::are_monitored(shown.study) {
        return false;
    }
    let of_searches = |cells: &[Cell]| causes::loads(shown, &brief, cells);
    let of_rates = |cells: &[Cell]| works(shown, cells);
    let mut said: Vec<String> = parts::sentences(shown);
    if parts::are_shown(shown) && !said.is_empty() {
        said.push(FIXED.to_owned());
    }
    said.extend(shown.routed.iter().map(|routed| forwards(shown, routed)));
    said.extend(limits(&searched, &of_searches));
    said.extend(causes::sentences(shown, &brief));
    said.extend(limits(&stepped, &of_rates));
    said.extend(of_queues(&stepped, &of_rates));
    said.extend(of_connections(shown, &brief));
    if said.is_empty() {
        return false;
    }
    section.list(said);
    let evidence = evidence(shown, &brief);
    if !evidence.rows.is_empty() {
        section.table(evidence, Layout::Words);
        section.text(format!(
            "R core: the busiest one at the kept rate. Lossy: the lowest rate above it that lost at least {}. Lost and \
             drops: shares of the frames sent at the lossy rate.",
            percent(LOST_ENOUGH)
        ));
    }
    if let Some(table) = connections::table(shown, &brief) {
        section.table(table, Layout::Words);
    }
    if let Some(routed) = routed::only(shown) {
        section.table(routed::table(routed), Layout::Figures);
    }
    costs(section, shown, &brief);
    match parts::are_shown(shown) {
        true => section.table(parts::table(shown), Layout::Words),
        false => section.facts(brief.settings.clone()),
    }
    section.texts(names(shown));
    let all: Vec<&Seen<'_>> = searched.iter().chain(&stepped).collect();
    section.list(helps(shown, &all));
    spread(section, shown, &all);
    true
}

/// What a router did at each rate, for the details.
pub(in crate::sections) fn at_each_rate(section: &mut Section, shown: &Shown<'_>) {
    let mut legend = Some(rates::LEGEND);
    for found in searches(shown) {
        for (setup, table) in rates::tables(shown, found.number) {
            section.texts(legend.take().map(str::to_owned));
            let load = capital(&label(shown, found));
            section.text(match shown.names.setups() {
                0 | 1 => format!("{load}:"),
                _ => format!("{load}, {setup}:"),
            });
            section.table(table, Layout::Figures);
        }
    }
}

/// What a router forwards of rising rates.
fn forwards(shown: &Shown<'_>, routed: &Routed) -> String {
    match shown.names.setups() {
        0 | 1 => routed::sentence(routed),
        _ => format!("{}: {}", capital(&shown.names.setup(routed.cell)), routed::sentence(routed)),
    }
}

/// Utilisations that a sentence has.
type Shares = [Option<f64>; 2];
/// A sentence with utilisations that is about a cell.
type Told = (String, Shares);

/// What sets the rate of each load, a sentence for loads with the same limit. The queues of a router have sentences of
/// their own, as its counters tell more of them.
fn limits(all: &[Seen<'_>], loads: &dyn Fn(&[Cell]) -> String) -> Vec<String> {
    together(all.iter().filter_map(|router| Some((router.cell, told(router)?))), loads)
}

/// Each sentence once, with the cells that it is about and the range of their utilisations.
fn together(
    all: impl Iterator<Item = (Cell, Told)>,
    loads: &dyn Fn(&[Cell]) -> String,
) -> Vec<String> {
    let mut groups: Vec<(String, Vec<Shares>, Vec<Cell>)> = Vec::new();
    for (cell, (words, shares)) in all {
        match groups.iter_mut().find(|(known, ..)| *known == words) {
            Some((_, all, cells)) => {
                all.push(shares);
                cells.push(cell);
            }
            None => groups.push((words, vec![shares], vec![cell])),
        }
    }
    let sentence = |(words, shares, cells): (String, Vec<Shares>, Vec<Cell>)| {
        let busy = |place: usize| {
            range(&shares.iter().filter_map(|shares| shares[place]).collect::<Vec<f64>>())
        };
        let words = words.replace(BUSY, &busy(0)).replace(ALSO_BUSY, &busy(1));
        words.replace(LOADS, &loads(&cells))
    };
    groups.into_iter().map(sentence).collect()
}

/// A sentence about the limit of a router, and the utilisations in it.
fn told(router: &Seen<'_>) -> Option<Told> {
    let one = |words: String, share: f64| Some((words, [Some(share), None]));
    if router.passes_by {
        let words = format!(
            "The interfaces of R did not see the frames ({LOADS}): they are offloaded, or do not go through R."
        );
        return Some((words, [None, None]));
    }
    match router.limit {
        RateLimit::Core { share } => {
            let interrupts = match router.cpu.softirq {
                Some(_) => format!(", soft interrupts{ALSO_BUSY}"),
                None => String::new(),
            };
            let words = format!(
                "A core of R sets the rate ({LOADS}): the kernel takes{BUSY} of the busiest core{interrupts}."
            );
            Some((words, [Some(*share), router.cpu.softirq]))
        }
        RateLimit::Link { interface, share } => one(
            format!(
                "The link {} of R, not the CPU, sets the rate ({LOADS}): it is{BUSY} busy.",
                printable(interface)
            ),
            *share,
        ),
        RateLimit::Sender => {
            let words =
                format!("The sender, not R, sets the rate ({LOADS}): R keeps at least that.");
            Some(match router.sender {
                Some(_) => {
                    let busy = format!(" The busiest core or process of the sender is{BUSY} busy.");
                    (words + &busy, [router.sender, None])
                }
                None => (words, [None, None]),
            })
        }
        RateLimit::NotCpu { share } => {
            let what = if router.has_credit { "policer" } else { "shaper or a link" };
            let words = format!(
                "A {what}, not the CPU, sets the rate ({LOADS}): the busiest core of R is{BUSY} busy."
            );
            one(words, *share)
        }
        RateLimit::Unknown => Some(match router.cpu.busiest {
            Some(_) => {
                let words = format!(
                    "No bottleneck was found ({LOADS}): the busiest core of R is{BUSY} busy, and no link of R is known to be \
                     saturated."
                );
                (words, [router.cpu.busiest, None])
            }
            None => {
                let words = format!("The bottleneck is not known ({LOADS}): R was not monitored.");
                (words, [None, None])
            }
        }),
        RateLimit::CpuQueue { .. } | RateLimit::Queue { .. } => None,
    }
}

/// The queues of routers that were offered rising rates: a sentence each.
fn of_queues(all: &[Seen<'_>], loads: &dyn Fn(&[Cell]) -> String) -> Vec<String> {
    let sentence = |router: &Seen<'_>| {
        let loads = loads(&[router.cell]);
        match router.limit {
            RateLimit::Queue { .. } => causes::of_queue(&[(router.queue?, router.limit)], &loads),
            RateLimit::CpuQueue { .. } => {
                Some(causes::of_cpu_queue(router.softnet_dropped?, &loads))
            }
            _ => None,
        }
    };
    all.iter().filter_map(sentence).collect()
}

/// Names of work, each with its setup if there are several.
fn works(shown: &Shown<'_>, cells: &[Cell]) -> String {
    let name = |cell: &Cell| {
        let work = shown.names.workload(cell.workload);
        match shown.names.setups() {
            0 | 1 => work,
            _ => format!("{work}, {}", shown.names.setup(*cell)),
        }
    };
    listed(&cells.iter().map(name).collect::<Vec<String>>())
}

/// What sets the rate of new connections, a sentence each. That a table was full has one among the causes.
fn of_connections(shown: &Shown<'_>, brief: &Brief) -> Vec<String> {
    let mut all = Vec::new();
    for router in &shown.new_connections {
        let loads = causes::loads(shown, brief, &[router.cell]);
        let busy = |share: f64| range(&[share]);
        all.extend(match router.limit {
            ConnectionLimit::Table => None,
            ConnectionLimit::Core { share } => Some(format!(
                "A core of R sets the rate ({loads}): the kernel takes{} of the busiest core.",
                busy(share)
            )),
            ConnectionLimit::SharedCore { share } => Some(format!(
                "A core of the machine that R shares with the ends sets the rate ({loads}): it is{} busy.",
                busy(share)
            )),
            ConnectionLimit::End { share } => Some(format!(
                "The sender, not R, sets the rate ({loads}): its busiest core or process is{} busy.",
                busy(share)
            )),
            ConnectionLimit::NotOpened { share } => Some(format!(
                "Attempts that fail set the rate ({loads}): {} of them were refused, or had no answer after a second. Look \
                 for a rule of R that limits new connections.",
                whole(share)
            )),
            ConnectionLimit::RoundTrips => Some(format!(
                "Round trips set the rate ({loads}): no core is saturated, so more at a time may open more."
            )),
            ConnectionLimit::Unknown => {
                Some(format!("The bottleneck is not known ({loads}): R was not monitored."))
            }
        });
    }
    all
}

/// A row for each search: the router at the rate that it keeps, and at the first one that lost frames.
fn evidence(shown: &Shown<'_>, brief: &Brief) -> Table {
    let has_settings = shown.names.setups() > 1;
    let mut header = vec![LOAD];
    header.extend(has_settings.then_some(SETTING));
    header.extend(["kept/s", SOFTIRQ, "R\ncore", "lossy\nat/s", "lost", "R core\nthen"]);
    header.extend([SOFTNET, "queue\ndrops", LIMIT]);
    let mut table = Table::new(header.into_iter().map(str::to_owned).collect());
    for found in searches(shown) {
        for cell in &found.cells {
            let of_cell = |router: &&Forwarded| router.cell == cell.cell;
            let Some(router) = shown.forwarded.iter().find(of_cell) else { continue };
            let mut row = vec![label(shown, found)];
            row.extend(has_settings.then(|| brief.setup(shown, cell.cell)));
            row.extend(figures(shown, cell, router));
            table.rows.push(row);
        }
    }
    // What a screen has no room for is among the details.
    for heading in [SOFTNET, SOFTIRQ] {
        let place = table.header.iter().position(|known| known == heading);
        if let Some(place) = place.filter(|_| !is_narrow(&table)) {
            table.header.remove(place);
            table.rows.iter_mut().for_each(|row| drop(row.remove(place)));
        }
    }
    table
}

fn figures(shown: &Shown<'_>, cell: &CellFindings, router: &Forwarded) -> [String; 9] {
    let share = |share: Option<f64>| share.map_or_else(|| NOTHING.to_owned(), whole);
    let lossy = router.first_loss();
    let busiest = lossy.and_then(|at| at.cores.iter().copied().reduce(f64::max));
    // What was not counted is not 0.
    let softnet = router.softnet_dropped.and(lossy).map(|at| at.softnet_dropped);
    let queue = router.queue.as_ref().and(lossy).map(|at| at.queue_dropped);
    [
        forwarding::kept_in_words(shown, cell),
        share(router.cpu.softirq),
        share(router.cpu.busiest),
        lossy.map_or_else(|| NOTHING.to_owned(), |at| RATE.value(at.offered)),
        lossy.map_or_else(|| NOTHING.to_owned(), |at| percent(at.loss())),
        share(busiest),
        softnet.map_or_else(|| NOTHING.to_owned(), percent),
        queue.map_or_else(|| NOTHING.to_owned(), percent),
        forwarding::limit(router, has_credit(shown, cell.cell)),
    ]
}

/// To whole percents.
fn whole(share: f64) -> String {
    percent((100.0 * share).round() / 100.0)
}

/// CPU time of a packet at each host, in the searches.
fn costs(section: &mut Section, shown: &Shown<'_>, brief: &Brief) {
    let known = |measure: Measure| {
        let metric = Metric::all(measure);
        searches(shown).flat_map(|found| &found.cells).any(|cell| cell.levels.contains_key(&metric))
    };
    let of_hosts = [Measure::MACHINE_CPU_PER_OP, Measure::SERVER_CPU_PER_OP];
    let are_apart = !paths::ends_share_a_machine(shown.study) && of_hosts.into_iter().all(known);
    let [a, b] = match are_apart {
        true => of_hosts,
        false => [Measure::NEAR_CPU_PER_PACKET, Measure::FAR_CPU_PER_PACKET],
    };
    let ends = [(a, "A"), (b, "B"), (Measure::ROUTER_CPU_PER_PACKET, "R")];
    let ends: Vec<(Measure, &str)> =
        ends.into_iter().filter(|(measure, _)| known(*measure)).collect();
    if ends.is_empty() {
        return;
    }
    let has_settings = shown.names.setups() > 1;
    let mut header = vec![LOAD.to_owned()];
    header.extend(has_settings.then(|| SETTING.to_owned()));
    header.extend(ends.iter().map(|(_, end)| format!("CPU a packet\nat {end}")));
    let mut table = Table::new(header);
    for found in searches(shown) {
        for cell in found.cells.iter().filter(|cell| cell.complete > 0) {
            let mut row = vec![label(shown, found)];
            row.extend(has_settings.then(|| brief.setup(shown, cell.cell)));
            row.extend(ends.iter().map(|(measure, _)| {
                let level = cell.levels.get(&Metric::all(*measure));
                level.map_or_else(
                    || NOTHING.to_owned(),
                    |level| TIME.within(level.estimate, level.interval),
                )
            }));
            table.rows.push(row);
        }
    }
    section.table(table, Layout::Figures);
    let at_ends = match are_apart {
        true => "all busy time of the host above idle",
        false => "the probe's processes",
    };
    let at_router = match forwarding::shares_a_machine(shown) {
        true => "interrupts and soft interrupts of the whole machine, which the ends share",
        false => "its kernel above idle",
    };
    section.text(format!("CPU at A and B: {at_ends}. At R: {at_router}."));
}

fn path<'a>(shown: &'a Shown<'_>) -> Option<&'a PathSubject> {
    shown.study.plan.subjects.first().and_then(Subject::path)
}

/// "A: ssh://lan. B: ssh://wan. R: ssh://root@router."
fn names(shown: &Shown<'_>) -> Option<String> {
    let path = path(shown)?;
    let [a, b] = [&path.from.host, &path.to.host].map(hosts::name);
    let via = hosts::name(path.via.as_ref()?);
    let is_shared = forwarding::shares_a_machine(shown);
    let shared =
        if is_shared { " R is a namespace: its cores are those of the machine." } else { "" };
    Some(format!("A: {a}. B: {b}. R: {via}.{shared}"))
}

/// What would help, a sentence for each kind of limit.
fn helps(shown: &Shown<'_>, all: &[&Seen<'_>]) -> Vec<String> {
    let told = all.iter().filter_map(|router| Some((router.cell, help(shown, router)?)));
    together(told, &|_: &[Cell]| String::new())
}

fn help(shown: &Shown<'_>, router: &Seen<'_>) -> Option<Told> {
    let idle = idle_core(shown, router);
    let words = match router.limit {
        _ if router.passes_by => return None,
        RateLimit::Core { .. } if idle.is_some() => {
            return Some((
                format!(
                    "More cores help: packet steering spreads the flows over the cores of R, of which the next one \
                     is{BUSY} busy."
                ),
                [idle, None],
            ));
        }
        RateLimit::Core { .. } => {
            "Less CPU time a packet helps: plimsoll net --parts shows the cost of each part of R's path."
        }
        RateLimit::CpuQueue { .. } => {
            "A longer CPU queue (sysctl net.core.netdev_max_backlog) or more cores for packets help."
        }
        RateLimit::Queue { .. } if router.queue.is_some_and(QueueSeen::shapes) => {
            "A higher rate of the shaper helps. A faster CPU of R does not."
        }
        RateLimit::Queue { .. } => {
            "A faster link behind the queue helps. A faster CPU of R does not."
        }
        RateLimit::Link { .. } => "A faster link of R helps. A faster CPU of R does not.",
        RateLimit::NotCpu { .. } => {
            "A faster CPU of R does not help: look for a shaper, a policer or a slower link on the path."
        }
        RateLimit::Sender => {
            "Only a faster sender shows how much more R keeps. plimsoll net --direct measures both ends without R."
        }
        RateLimit::Unknown => return None,
    };
    Some((words.to_owned(), [None, None]))
}

/// Utilisation of the next core, if the packets could use it: they are of several flows.
fn idle_core(shown: &Shown<'_>, router: &Seen<'_>) -> Option<f64> {
    let mut own = searches(shown).filter(|found| found.number == router.cell.workload);
    let is_one = own.next().is_none_or(|found| flows(found) == "1");
    router.cpu.next.filter(|next| !is_one && *next < BESIDE_NONE_FOUND)
}

/// The command that compares packets on one core with packets on all.
fn spread(section: &mut Section, shown: &Shown<'_>, all: &[&Seen<'_>]) {
    let is_core = |router: &&&Seen<'_>| matches!(router.limit, RateLimit::Core { .. });
    let is_idle = all.iter().filter(is_core).any(|router| idle_core(shown, router).is_some());
    let command = super::repeated(&shown.study.plan.command);
    let is_free = ["--set", "--parts", "--direct"].iter().all(|option| !command.contains(option));
    let via = path(shown).and_then(|path| path.via.as_ref());
    if let Some(via) = via.filter(|_| is_idle && is_free && command.starts_with("plimsoll net ")) {
        let via = printable(&via.to_string());
        let line = format!("{command} --set {via}/packet-steering=off,all");
        section.command("Spread the packets", line, String::new());
    }
}
