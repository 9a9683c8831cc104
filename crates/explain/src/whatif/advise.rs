//! Changes worth trying, by what a study predicts of them, and those that would not help.
//!
//! Rules are a table. Each needs a figure of the study, and fires where that figure is there: what was not monitored
//! is no reason for advice.

use super::{
    Answer, LinkEnd, LinkRate, NewDisk, Prediction, ProcessorSpeed, Processors, Purpose, WhatIf,
    demands::Demands, predict,
};
use crate::thresholds::{BUSIER_THAN_AVERAGE, LEAST_GAIN, MANY_CALLS};
use crate::{Condition, Limits, Resource, Role, Use, limits};
use plimsoll_model::{Cell, HostName, Study, Target};
use std::num::NonZeroU16;

/// What a change costs, the cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// A setting.
    Free,
    /// A cable, a card or a switch.
    Cable,
    /// A computer, a disk or memory.
    Box,
}

/// A rule: what it proposes where the study has its figure.
pub struct Rule {
    /// What the change costs.
    pub cost: Cost,
    /// Figure of the study that it needs.
    pub needs: &'static str,
    /// Source of the rule.
    pub source: &'static str,
    find: fn(&Study, &Limits) -> Option<Proposal>,
    /// Resources of which an operation takes less by a setting.
    eases: fn(&Use) -> bool,
    /// Times as much as a setting may make them do.
    factor: f64,
}

/// A change that may be worth trying.
#[derive(Clone, Debug, PartialEq)]
pub enum Proposal {
    /// A change that is predicted.
    Change(WhatIf),
    /// Values of a setting of a host that `--set` can compare.
    Setting {
        /// The host.
        host: HostName,
        /// The setting, as `--set` has it: "nfsd-threads".
        setting: String,
        /// Its values: "as-found,64".
        values: String,
    },
}

/// What a change would bring to one row, as times today.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// The row.
    pub cell: Cell,
    /// At least; `None` if that is not known.
    pub low: Option<f64>,
    /// At most.
    pub high: f64,
}

/// A change with what it would bring.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// What it costs.
    pub cost: Cost,
    /// The change.
    pub proposal: Proposal,
    /// Rows that it would help.
    pub gains: Vec<Gain>,
    /// Source of the rule.
    pub source: &'static str,
    /// Figure of the study that the rule needs.
    pub needs: &'static str,
}

/// A change that would not help, with the prediction of each row.
#[derive(Clone, Debug, PartialEq)]
pub struct Useless {
    /// The change.
    pub change: WhatIf,
    /// Its predictions.
    pub predictions: Vec<Prediction>,
}

/// Advice from a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// Changes that would help, the cheapest first, of the same cost what helps most first.
    pub help: Vec<Suggestion>,
    /// Changes that would not help.
    pub useless: Vec<Useless>,
    /// Changes of which nothing can be said.
    pub unknown: Vec<Useless>,
    /// Rows that were looked at.
    pub rows: usize,
}

/// Rates of Ethernet in bits per second. Source: IEEE 802.3.
const ETHERNET: [u64; 6] =
    [100_000_000, 1_000_000_000, 2_500_000_000, 10_000_000_000, 25_000_000_000, 100_000_000_000];
/// A factor of speed that a user can buy. Chosen: that of `explain`.
const TWICE: f64 = 2.0;
/// NFS threads that are tried, as times those of today. Chosen: that of `explain`.
const MORE_THREADS: u32 = 8;

/// Every rule.
pub const RULES: [Rule; 10] = [
    Rule {
        cost: Cost::Free,
        needs: "all NFS threads of the server are busy",
        source: "nfsd(7): a thread serves one call at a time",
        find: threads,
        eases: is_threads,
        factor: MORE_THREADS as f64,
    },
    Rule {
        cost: Cost::Free,
        needs: "one core of the server is much busier than the others",
        source: "Linux, Documentation/networking/scaling.rst: RPS",
        find: one_core,
        eases: is_server_processor,
        factor: TWICE,
    },
    Rule {
        cost: Cost::Free,
        needs: "the clock of the server moved during the load",
        source: "Linux, Documentation/admin-guide/pm/cpufreq.rst: governors",
        find: governor,
        eases: is_server_processor,
        factor: TWICE,
    },
    Rule {
        cost: Cost::Free,
        needs: "an operation is eight calls or more",
        source: "nfsd(7): max_block_size",
        find: block_size,
        eases: is_call,
        factor: TWICE,
    },
    Rule {
        cost: Cost::Free,
        needs: "operations in flight",
        source: "closed network: n/(R + (n - 1) D)",
        find: workers,
        eases: |_| false,
        factor: 1.0,
    },
    Rule {
        cost: Cost::Cable,
        needs: "rate of the link",
        source: "IEEE 802.3: rates of Ethernet",
        find: link,
        eases: |_| false,
        factor: 1.0,
    },
    Rule {
        cost: Cost::Box,
        needs: "CPU time of the server",
        source: "closed network: demand of the server's CPU",
        find: server_processor,
        eases: |_| false,
        factor: 1.0,
    },
    Rule {
        cost: Cost::Box,
        needs: "CPU time of the client",
        source: "closed network: demand of the client's CPU",
        find: client_processor,
        eases: |_| false,
        factor: 1.0,
    },
    Rule {
        cost: Cost::Box,
        needs: "busy time of the server's disk",
        source: "closed network: demand of the disk",
        find: disk,
        eases: |_| false,
        factor: 1.0,
    },
    Rule {
        cost: Cost::Box,
        needs: "reads of the server's disk",
        source: "closed network without the demand of the disk",
        find: memory,
        eases: |_| false,
        factor: 1.0,
    },
];

fn of_server(one: &Use) -> bool {
    one.role != Role::Client
}

fn is_processor(one: &Use) -> bool {
    matches!(one.resource, Resource::Processor | Resource::Core { .. } | Resource::Quota { .. })
}

fn is_server_processor(one: &Use) -> bool {
    is_processor(one) && of_server(one)
}

fn is_threads(one: &Use) -> bool {
    matches!(one.resource, Resource::Threads { .. })
}

/// What each call takes time of.
fn is_call(one: &Use) -> bool {
    one.is_delay() || is_server_processor(one)
}

fn setting(
    host: &HostName,
    setting: impl Into<String>,
    values: impl Into<String>,
) -> Option<Proposal> {
    Some(Proposal::Setting { host: host.clone(), setting: setting.into(), values: values.into() })
}

fn threads(_: &Study, limits: &Limits) -> Option<Proposal> {
    limits.uses.iter().find_map(|one| match one.resource {
        Resource::Threads { count } => {
            let more = count.saturating_mul(MORE_THREADS);
            setting(one.host.as_ref()?, "nfsd-threads", format!("as-found,{more}"))
        }
        _ => None,
    })
}

fn one_core(study: &Study, limits: &Limits) -> Option<Proposal> {
    let core = limits.uses.iter().find(|one| {
        matches!(one.resource, Resource::Core { .. }) && of_server(one) && one.is_nearly_saturated()
    })?;
    let classes = core.classes?;
    // Receiving packets is work of soft interrupts.
    let receives = classes.softirq * BUSIER_THAN_AVERAGE >= classes.busy().0 - classes.softirq;
    let host = core.host.as_ref()?;
    let facts = study.hosts.iter().find(|facts| facts.name == *host)?;
    let loads = study.trials.iter().flat_map(|trial| &trial.loads);
    let own = loads.filter(|load| load.host == *host);
    let busiest = own.flat_map(|load| &load.interfaces).max_by_key(|one| one.received_bytes)?;
    let all = (1_u64 << facts.cpus.min(63)) - 1;
    let mask = format!("as-found,{all:x}");
    receives.then(|| setting(host, format!("rps:{}", busiest.name), mask))?
}

fn governor(study: &Study, limits: &Limits) -> Option<Proposal> {
    let subject = usize::from(limits.cell.subject);
    let is_server = |host: &HostName| study.plan.far_ends(subject).any(|far| far.host == *host);
    let moved = limits.conditions.iter().find_map(|condition| match condition {
        Condition::ClockMoved { host, .. } if is_server(host) => Some(host),
        _ => None,
    })?;
    setting(moved, "governor", "as-found,performance")
}

fn block_size(study: &Study, limits: &Limits) -> Option<Proposal> {
    let subject = usize::from(limits.cell.subject);
    let (calls, _) = limits.calls.filter(|(calls, _)| *calls >= MANY_CALLS)?;
    let is_nfs = matches!(study.plan.target(subject), Some(Target::Nfs(_)));
    let host = study.plan.far_ends(subject).next()?;
    let proposal = || setting(&host.host, "nfsd-max-block-size", "as-found,1MiB");
    (is_nfs && calls > 0).then(proposal)?
}

fn workers(study: &Study, limits: &Limits) -> Option<Proposal> {
    let main = study.plan.workload(limits.cell)?.main()?;
    let twice = NonZeroU16::new(main.workers.get().saturating_mul(2))?;
    main.job.settable().workers.then_some(Proposal::Change(WhatIf::Readers(twice)))
}

fn link(_: &Study, limits: &Limits) -> Option<Proposal> {
    let rate = limits.uses.iter().find_map(|one| match one.resource {
        Resource::Link { bits_per_second, .. } => Some(bits_per_second),
        _ => None,
    })?;
    let faster = ETHERNET.into_iter().find(|known| *known >= rate.saturating_mul(2))?;
    let to = LinkRate::BitsPerSecond(faster);
    Some(Proposal::Change(WhatIf::Link { end: LinkEnd::Path, to }))
}

fn processor(of: Processors) -> Proposal {
    Proposal::Change(WhatIf::Processor { of, speed: ProcessorSpeed::times(TWICE) })
}

fn server_processor(study: &Study, limits: &Limits) -> Option<Proposal> {
    let has_server = !study.is_local(usize::from(limits.cell.subject));
    let found = has_server && limits.uses.iter().any(is_server_processor);
    found.then(|| processor(Processors::Server))
}

fn client_processor(_: &Study, limits: &Limits) -> Option<Proposal> {
    let is_own = |one: &Use| is_processor(one) || one.resource == Resource::Driver;
    let found = limits.uses.iter().any(|one| is_own(one) && !of_server(one));
    found.then(|| processor(Processors::Client))
}

fn has_disk(limits: &Limits) -> bool {
    limits.uses.iter().any(|one| matches!(one.resource, Resource::Disk { .. }))
}

fn disk(_: &Study, limits: &Limits) -> Option<Proposal> {
    has_disk(limits).then_some(Proposal::Change(WhatIf::Disk(NewDisk::Times(TWICE))))
}

fn memory(study: &Study, limits: &Limits) -> Option<Proposal> {
    let kind = study.plan.workload(limits.cell)?.main()?.job.kind();
    (has_disk(limits) && kind.ends_with("-read")).then_some(Proposal::Change(WhatIf::Memory(TWICE)))
}

/// Advice for a purpose, or for all rows of a study.
pub fn advise(study: &Study, purpose: Option<Purpose>) -> Advice {
    let is_asked = |cell: Cell| {
        let main = study.plan.workload(cell).and_then(|workload| workload.main());
        purpose.is_none_or(|purpose| main.is_some_and(|main| purpose.has(&main.job)))
    };
    let rows: Vec<Limits> =
        limits(study).into_iter().filter(|limits| is_asked(limits.cell)).collect();
    let mut advice = Advice { rows: rows.len(), ..Advice::default() };
    for rule in &RULES {
        let mut proposals: Vec<Proposal> = Vec::new();
        for proposal in rows.iter().filter_map(|limits| (rule.find)(study, limits)) {
            if !proposals.contains(&proposal) {
                proposals.push(proposal);
            }
        }
        for proposal in proposals {
            advice.add(study, rule, proposal, &rows);
        }
    }
    advice.help.sort_by(|a, b| a.cost.cmp(&b.cost).then(b.weight().total_cmp(&a.weight())));
    advice
}

impl Gain {
    /// Geometric mean of both ends.
    fn weight(&self) -> f64 {
        (self.low.unwrap_or(1.0).max(1.0) * self.high).sqrt()
    }

    /// Whether the lower end is a gain as well.
    fn is_sure(&self) -> bool {
        self.low.is_some_and(|low| low >= 1.0 + LEAST_GAIN)
    }
}

impl Suggestion {
    /// Rank among the changes: that of the row that gains most.
    pub fn weight(&self) -> f64 {
        self.gains.iter().map(Gain::weight).fold(0.0, f64::max)
    }
}

impl Advice {
    /// The change that would help most, which the answer names first.
    pub fn best(&self) -> Option<&Suggestion> {
        self.help.iter().max_by(|a, b| a.weight().total_cmp(&b.weight()))
    }

    fn add(&mut self, study: &Study, rule: &Rule, proposal: Proposal, rows: &[Limits]) {
        let gains = match &proposal {
            Proposal::Setting { .. } => {
                rows.iter().filter_map(|row| by_demand(study, rule, &proposal, row)).collect()
            }
            Proposal::Change(change) => {
                let own = |one: &Prediction| rows.iter().any(|row| row.cell == one.cell);
                let all = predict(study, std::slice::from_ref(change));
                let predictions: Vec<Prediction> = all.into_iter().filter(own).collect();
                let mut gains: Vec<Gain> = predictions.iter().filter_map(gain).collect();
                // A study does not show how much of what is read stays in more memory: the upper end is no estimate.
                if matches!(change, WhatIf::Memory(_)) && !gains.iter().any(Gain::is_sure) {
                    gains.clear();
                }
                if gains.is_empty() {
                    let change = change.clone();
                    let is_known = |one: &Prediction| {
                        gain(one).is_none() && !matches!(one.answer, Answer::CannotSay(_))
                    };
                    let list = match predictions.iter().any(is_known) {
                        true => &mut self.useless,
                        false => &mut self.unknown,
                    };
                    list.push(Useless { change, predictions });
                    return;
                }
                gains
            }
        };
        if !gains.is_empty() {
            let Rule { cost, needs, source, .. } = *rule;
            self.help.push(Suggestion { cost, proposal, gains, source, needs });
        }
    }
}

/// What a row gains; `None` if that is next to nothing, or not known.
fn gain(one: &Prediction) -> Option<Gain> {
    let (low, high) = match one.answer {
        Answer::Between { low, high } => (Some(low), high),
        Answer::AtMost { low, high, .. } => (low, high),
        Answer::Same { .. } | Answer::CannotSay(_) => return None,
    };
    // Of a change the spread of today is no part.
    let [least, most] = one.spread;
    let high = high / one.today / most;
    let low = low.map(|low| low / one.today / least);
    (high >= 1.0 + LEAST_GAIN).then_some(Gain { cell: one.cell, low, high })
}

/// What a setting brings to a row that it is proposed for, at most, by the bounds of a prediction.
fn by_demand(study: &Study, rule: &Rule, proposal: &Proposal, row: &Limits) -> Option<Gain> {
    (rule.find)(study, row).filter(|own| own == proposal)?;
    let rates = Demands::eased(study, row, rule.eases, rule.factor)?.rates()?;
    let high = (rates.high / row.per_second).min(rule.factor);
    (high >= 1.0 + LEAST_GAIN).then_some(Gain { cell: row.cell, low: Some(1.0), high })
}
